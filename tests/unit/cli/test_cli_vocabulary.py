"""Hierarchies of codes by the vocabulary tables of OMOP, as Athena delivers them."""

import json
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles.hierarchies import of_ancestors

from cloister.errors import InputError
from cloister.sources import vocabulary_hierarchy

SNOMED = {1: "404684003", 2: "100", 3: "200", 4: "110", 5: "111", 6: "210", 8: "300"}
DIRECT = {1: [], 2: [1], 3: [1], 4: [2, 3], 5: [4], 6: [3], 8: [1]}


def distances(direct, code):
    """The least distance from a concept to each of its ancestors, itself included."""
    found, step, near = {}, 0, {code}
    while near:
        found |= dict.fromkeys(near - found.keys(), step)
        step, near = step + 1, {above for one in near for above in direct[one]} - found.keys()
    return found


def write(folder, codes, direct, others=()):
    """Write the two tables in tabs, names with unpaired quotes; ``others``: (id, vocabulary, code)."""
    folder.mkdir(exist_ok=True)
    known = [(number, "SNOMED", code) for number, code in codes.items()]
    concepts = [f'{number}\tA "name\t{vocabulary}\t{code}' for number, vocabulary, code in (*known, *others)]
    links = [f"{above}\t{one}\t{far}\t{far}" for one in direct for above, far in distances(direct, one).items()]
    heads = (
        "concept_id\tconcept_name\tvocabulary_id\tconcept_code",
        "ancestor_concept_id\tdescendant_concept_id\tmin_levels_of_separation\tmax_levels_of_separation",
    )
    (folder / "CONCEPT.csv").write_text("\n".join([heads[0], *concepts]) + "\n")
    (folder / "CONCEPT_ANCESTOR.csv").write_text("\n".join([heads[1], *links]) + "\n")


@pytest.fixture
def vocabulary(tmp_path):
    """A folder in which 110 has two direct ancestors, and J18 is no standard concept."""
    write(tmp_path / "athena", SNOMED, DIRECT, [(7, "ICD10CM", "J18"), (9, "ICD10CM", "110")])
    return tmp_path / "athena"


def test_of_several_ancestors_the_smallest_number_counts(vocabulary):
    """The concept with two direct ancestors is below the one with the smaller id; labels of a level are as deep."""
    rows = vocabulary_hierarchy(f"omop:{vocabulary}", ["110", "111", "210", "300"]).rows

    assert rows[:-1] == (
        ("110", "110", "100", "404684003", "*"),
        ("111", "110", "100", "404684003", "*"),
        ("210", "210", "200", "404684003", "*"),
        ("300", "300", "300", "404684003", "*"),
    )
    assert rows[-1] == ("", "", "", "", "*")


@st.composite
def graphs(draw):
    """Concepts by number, each with direct ancestors among those before it, and some of them as codes."""
    size = draw(st.integers(2, 9))
    direct = {1: []}
    for number in range(2, size + 1):
        direct[number] = sorted(draw(st.sets(st.integers(1, number - 1), max_size=3)))
    # A direct ancestor that is also one of an ancestor is at least one level away all the same.
    return direct, sorted(draw(st.sets(st.integers(1, size), min_size=1)))


@examples(60)
@given(graph=graphs())
def test_rows_are_those_of_the_definition(tmp_path_factory, graph):
    """Each code has the labels of its path, aligned at the root; all levels nest."""
    direct, chosen = graph
    folder, name = tmp_path_factory.mktemp("athena"), {number: f"C{number}" for number in direct}
    write(folder, name, direct)
    paths = [[name[one] for one in of_ancestors(direct, code)] for code in chosen]
    if all(len(path) == 1 for path in paths):
        return
    rows = vocabulary_hierarchy(f"omop:{folder}", [name[code] for code in chosen]).rows[:-1]
    height = max(map(len, paths))

    assert rows == tuple((*[path[0]] * (height - len(path)), *path, "*") for path in paths)
    for fine, coarse in pairwise(range(1, height + 1)):
        assert len({(row[fine], row[coarse]) for row in rows}) == len({row[fine] for row in rows})


def test_a_level_of_a_vocabulary_is_a_utility_policy(vocabulary, cloister, tmp_path):
    """Codes below one concept are a set; ``protect`` and ``verify`` take the policy, and the file of all levels."""
    data, policy, levels = tmp_path / "codes.csv", tmp_path / "policy.json", tmp_path / "snomed.csv"
    data.write_text("id,codes\n1,111 210\n2,110 210\n3,300 111\n4,111 110\n5,210\n6,300 110\n")
    build = ("hierarchy", "build", f"omop:{vocabulary}", data, "--column", "codes", "--out")

    assert cloister(*build, policy, "--policy", "2").code == 0
    assert json.loads(policy.read_text()) == {"100": ["110", "111"], "200": ["210"], "300": ["300"]}
    assert cloister(*build, levels).out == "snomed.csv: 4 values, 5 levels.\n"
    asked = ("-k", "2", "-m", "1", "--method", "cba", "--code-hierarchy", levels, "--policy", policy)
    assert cloister("protect", "codes", data, *asked, "--out", tmp_path / "out").code == 0
    assert cloister("verify", tmp_path / "out", "--policy", policy).code == 0


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        (["J18"], "no ancestor of these codes in ICD10CM"),
        (["110", "111", "MARKER"], "1 of 3 codes are not in SNOMED"),
        (["MARKER"], "None of the 1 codes"),
    ],
)
def test_codes_without_ancestors_are_refused(vocabulary, cloister, tmp_path, codes, said):
    """Codes of no vocabulary, or of one without ancestors, are counted and not named."""
    data = tmp_path / "codes.csv"
    pl.DataFrame({"codes": codes}).write_csv(data)
    ran = cloister("hierarchy", "build", f"omop:{vocabulary}", data)

    assert ran.code == 2
    assert said in ran.err
    assert "MARKER" not in ran.err


def test_a_vocabulary_is_first_built_as_a_file(vocabulary, cloister, data):
    """Where a hierarchy is used, a vocabulary is refused with the command that makes its file."""
    ran = cloister("hierarchy", "check", f"omop:{vocabulary}", data, "--column", "diagnosis")

    assert ran.code == 2
    assert "cloister hierarchy build omop:FOLDER" in ran.err


def test_concepts_in_a_circle_are_refused(tmp_path):
    """Concepts that are above each other have no root; whole numbers may end in .0."""
    heads = "ancestor_concept_id\tdescendant_concept_id\tmin_levels_of_separation\n"
    (tmp_path / "CONCEPT.csv").write_text("concept_id\tvocabulary_id\tconcept_code\n1\tS\tA\n2\tS\tB\n")
    (tmp_path / "CONCEPT_ANCESTOR.csv").write_text(heads + "1\t2\t1.0\n2\t1\t1.0\n")

    with pytest.raises(InputError, match="above each other, in a circle"):
        vocabulary_hierarchy(f"omop:{tmp_path}", ["A", "B"])
