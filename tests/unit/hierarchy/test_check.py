"""The check of hierarchy rows: each problem found, with lines and without labels."""

import pytest

from cloister.hierarchy import check_rows

LEGAL = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]


def kinds(rows: list[list[str]]) -> list[str]:
    """The kinds of problems found."""
    return [problem.kind for problem in check_rows(rows)]


def test_a_legal_hierarchy() -> None:
    """Nothing is wrong with it."""
    assert check_rows(LEGAL) == []


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], ["empty"]),
        ([[]], ["no-root"]),
        ([["a"], ["b"]], ["no-root"]),
        ([["a", ""], ["b", ""]], ["no-root"]),
        ([*LEGAL, ["d", "y"]], ["ragged"]),
        ([*LEGAL, ["a", "x", "*"]], ["duplicate"]),
        ([*LEGAL, ["d", "z", "all"]], ["two-roots"]),
        ([["a", "x", "p", "*"], ["b", "x", "q", "*"]], ["not-nested"]),
        ([["a", "x", "p", "*"], ["a", "x", "q", "all"], ["b"]], ["ragged", "duplicate", "two-roots", "not-nested"]),
        ([["1", "1", "2", "*"], ["2", "2", "2", "*"]], []),
    ],
)
def test_problems_in_the_order_to_repair_them(rows: list[list[str]], expected: list[str]) -> None:
    """Every problem is found; labels that recur at other levels are none."""
    assert kinds(rows) == expected


def test_nesting_names_levels_and_lines() -> None:
    """A break of nesting names both levels, how many labels break it and where."""
    rows = [["a", "x", "p", "*"], ["b", "x", "q", "*"], ["c", "y", "q", "*"], ["d", "y", "p", "*"]]
    (problem,) = check_rows(rows)

    assert "Levels 1 and 2 do not nest" in problem.message
    assert "those of 2 do not, on lines 2, 4." in problem.message
    assert problem.rows == (2, 4)


def test_lines_of_the_file_are_used() -> None:
    """Where rows come from a file, its own lines are told; a long list is cut."""
    (problem,) = check_rows([["a", "*"]] * 8, range(10, 90, 10))

    assert "again on lines 20, 30, 40, 50, 60 and 2 more" in problem.message
    assert problem.rows == (20, 30, 40, 50, 60, 70, 80)


def test_messages_hold_no_label() -> None:
    """Messages tell lines and numbers, never what stands there."""
    secret = "PATIENT-7-SECRET"
    rows = [[secret, secret, f"{secret}1", f"{secret}2"], [secret, secret, f"{secret}3", f"{secret}4"], [secret]]

    problems = check_rows(rows)
    assert len(problems) == 4
    assert secret not in repr(problems)
