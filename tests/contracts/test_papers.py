"""The audit of the papers says what is so: its evidence exists, its reasons are there, its page is the one written."""

import ast
from functools import cache

import pytest
from benchmarks.papers.audit import PAGE, STATES, page, read
from house import REPOSITORY, for_all

PAPERS = read()
ROWS = [(paper.title, row) for paper in PAPERS for row in paper.rows]


def name_of(item):
    """A row by its paper and place."""
    title, row = item
    return f"{title}, {row.place}: {row.says}"


@cache
def functions_of(file):
    """The test functions of a file with their decorators, by name."""
    tree = ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))
    return {
        node.name: [ast.unparse(one) for one in node.decorator_list]
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


@for_all(ROWS, name_of)
def test_evidence_exists(item):
    """Every test that is named is a function of its file, and every page is there."""
    for evidence in item[1].evidence:
        file, _, test = evidence.partition("::")
        assert (REPOSITORY / file).is_file()
        assert file.startswith("docs/") or test in functions_of(file)


@for_all(ROWS, name_of)
def test_evidence_needs_no_data(item):
    """No test that is named needs data which are not in the repository."""
    for evidence in item[1].evidence:
        file, _, test = evidence.partition("::")
        assert file.startswith("docs/") or "pytest.mark.realdata" not in functions_of(file)[test]


@for_all(ROWS, name_of)
def test_states_and_reasons(item):
    """A state is one of four; one that is full has evidence, any other a reason."""
    row = item[1]

    assert row.state in STATES
    assert row.evidence if row.state == "full" else row.reason
    assert not (row.state == "full" and row.reason)


@for_all(ROWS, name_of)
def test_items_are_short(item):
    """An item is said in a few words: whole sentences belong to the paper."""
    row = item[1]

    assert len(row.says) <= 120
    assert "|" not in "".join([row.place, row.says, row.reason])


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.title)
def test_every_paper_has_its_items(paper):
    """Each paper has 25 items or more, none of them twice."""
    keys = [(row.place, row.says) for row in paper.rows]

    assert len(keys) == len(set(keys)) >= 25


def test_the_page_is_the_one_that_is_written():
    """docs/papers.md is what ``python -m benchmarks.papers.audit`` writes."""
    assert PAGE.read_text(encoding="utf-8") == page(PAPERS)
