"""Hierarchies and data fitted to each other, trajectories read, and what rides along."""

import itertools

import polars as pl
import pytest

from cloister import InputError, Trajectories, anonymize_trajectories, hierarchy_rows, icd9, intervals
from cloister.trajectories.domain import USUAL_AGES, Unknown, fitted, usual_codes
from cloister.trajectories.side import joined, side_of
from cloister.trajectories.tree import Tree


def pairs_of(trajectories):
    """The pairs of each patient as text."""
    bounds = trajectories.offsets.tolist()
    codes, ages = trajectories.codes.tolist(), trajectories.ages.tolist()
    return [
        [(trajectories.vocabulary[codes[at]], trajectories.age_values[ages[at]]) for at in range(start, end)]
        for start, end in itertools.pairwise(bounds)
    ]


def test_a_file_reads_as_its_records(tmp_path):
    """Lines in any order give patients in the order of their ids, pairs by age as a number, then by code."""
    path = tmp_path / "events.csv"
    path.write_text("id,code,age\n2,b,9\n1,a,33\n2,b,10.0\n2,a,10\n2,b,9\n")
    read = Trajectories.read(path)
    made = Trajectories.from_records([[("a", 33)], [("b", 9), ("b", 9), ("a", 10), ("b", 10)]])

    assert read.ids.to_list() == ["1", "2"]
    assert pairs_of(made) == pairs_of(read) == [[("a", "33")], [("b", "9"), ("b", "9"), ("a", "10"), ("b", "10")]]


@pytest.mark.parametrize("code", ["*", " * "])
def test_the_root_is_no_code(tmp_path, code):
    """A code that reads as the root of every hierarchy is refused, with its line."""
    path = tmp_path / "events.csv"
    path.write_text(f"id,code,age\n1,a,1\n1,{code},1\n")

    with pytest.raises(InputError, match=r"record 2, line 3 is the first"):
        Trajectories.read(path)


def test_ages_of_90_and_over_are_one():
    """With the usual ages nobody's age of 90 or more stands in the data any more."""
    before = Trajectories.from_records([[("001", 95), ("250", 91), ("001", 89.5)], [("001", 90)]])
    domain = fitted(before, icd9(), USUAL_AGES, Unknown.ERROR)

    assert domain.trajectories.age_values == ("89.5", ">=90")
    assert pairs_of(domain.trajectories) == [[("001", "89.5"), ("001", ">=90"), ("250", ">=90")], [("001", ">=90")]]
    ladder = domain.ages.bind("age", domain.trajectories.age_values)
    assert [level[1] for level in ladder.labels] == [">=90"] * 5 + ["*"]
    assert Tree.of(ladder, domain.trajectories.age_values).labels == ("89.5", ">=90", "*")


def test_a_bound_below_groups_too():
    """What lies below the bottom is one age."""
    before = Trajectories.from_records([[("001", 3), ("001", 17), ("001", 18)]])
    domain = fitted(before, icd9(), intervals(2, bottom=18), Unknown.ERROR)

    assert pairs_of(domain.trajectories) == [[("001", "<18"), ("001", "<18"), ("001", "18")]]
    assert domain.ages.bind("age", ["<18", "18"]).labels[1] == ("<18", "[18-19]")


def test_ages_without_a_group_are_left_alone():
    """Where no age lies beyond the bound, the data are as they were."""
    before = Trajectories.from_records([[("001", 3)]])

    assert fitted(before, icd9(), USUAL_AGES, Unknown.ERROR).trajectories is before


STRANGE = [[("001", 3), ("XX", 2)], [("XX", 4), ("003", 4)]]


def test_unknown_codes_are_refused_put_under_the_root_or_dropped():
    """Each of the three answers does what it says."""
    before = Trajectories.from_records(STRANGE)
    with pytest.raises(InputError, match="1 of 3 distinct codes are not in the hierarchy icd9"):
        fitted(before, icd9(), USUAL_AGES, Unknown.ERROR)
    under = fitted(before, icd9(), USUAL_AGES, Unknown.ROOT)
    without = fitted(before, icd9(), USUAL_AGES, Unknown.DROP)

    tree = Tree.of(under.codes.bind("code", before.vocabulary), before.vocabulary)
    assert [tree.labels[tree.meet(2, other)] for other in (0, 1)] == ["*", "*"]
    assert tree.labels[tree.meet(0, 1)] == "001-009 Intestinal infectious diseases"
    assert (without.dropped, without.trajectories.vocabulary, without.trajectories.age_values) == (
        2,
        ("001", "003"),
        ("3", "4"),
    )
    assert pairs_of(without.trajectories) == [[("001", "3")], [("003", "4")]]


def test_patients_are_not_dropped_with_their_codes():
    """A patient who would be left without codes is not lost silently."""
    before = Trajectories.from_records([*STRANGE, [("XX", 4)]])

    with pytest.raises(InputError, match="1 of 3 patients have only codes that are not in the hierarchy"):
        fitted(before, icd9(), USUAL_AGES, Unknown.DROP)


def test_the_classification_that_knows_more_codes_is_taken():
    """ICD-9-CM or ICD-10-CM by what is recorded; neither is an error that says what to give."""
    assert usual_codes(Trajectories.from_records([[("401.1", 1), ("250.00", 1)]])).spec == "icd9"
    assert usual_codes(Trajectories.from_records([[("I10", 1), ("E11.9", 1)]])).spec == "icd10"
    with pytest.raises(InputError, match="--code-hierarchy"):
        usual_codes(Trajectories.from_records([[("XX", 1)]]))


@pytest.mark.parametrize(
    "options",
    [
        {"diversity": 3},
        {"sensitive_codes": []},
        {"sensitive_codes": "001"},
        {"sensitive_codes": [1]},
        {"sensitive_codes": ["001", " "]},
        {"sensitive_codes": [], "sensitive": "dna"},
    ],
)
def test_what_is_sensitive_must_be_named(options):
    """No release comes without the diversity that was asked for, or with that of the letters of a code."""
    with pytest.raises(InputError, match=r"sensitive|Sensitive"):
        anonymize_trajectories(Trajectories.from_records([[("001", 3)], [("002", 3)]]), k=1, **options)


def test_ages_that_a_file_lacks_are_counted():
    """A hierarchy file must have every age."""
    before = Trajectories.from_records([[("001", 3), ("001", 4)]])

    with pytest.raises(InputError, match="1 of 2 distinct ages are not in the hierarchy rows"):
        fitted(before, icd9(), hierarchy_rows([["3", "*"]]), Unknown.ERROR)


IDS = pl.Series(["1", "2", "3"])


def side(**columns):
    """Side columns of three patients."""
    return joined(pl.DataFrame(columns), IDS, "side.csv", None, "events.csv")


def test_side_columns_stand_in_the_order_of_the_patients():
    """Rows are joined by id, missing stays missing."""
    table = side(id=[3, 1, 2], dna=["c", None, "b"])

    assert table.frame.rows() == [(None,), ("b",), ("c",)]
    seen = side_of(table, 3, "dna")
    assert seen.rank.tolist() == [0, 1, 2]
    assert seen.sensitive.tolist() == [-1, 0, 1]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": [1, 2], "dna": ["a", "b"]}, "1 of 3 patients of events.csv are not in side.csv, and 0 of 2"),
        ({"id": [1, 2, 3, 4], "dna": list("abcd")}, "0 of 3 .* and 1 of 4"),
        ({"id": [1, 2, 2, 3], "dna": list("abcd")}, "4 rows of 3 patients"),
        ({"id": [1, None, 3], "dna": list("abc")}, "1 of 3 rows of side.csv have no patient"),
        ({"id": [1, 2, 3]}, "no column besides 'id'"),
        ({"who": [1, 2, 3], "dna": list("abc")}, "no column of patients"),
        ({"id": [1, 2, 3], "patient_id": list("abc")}, "identifies patients"),
        ({"id": [1, 2, 3], "copy": ["1", "2", "3"]}, "identifies patients"),
    ],
)
def test_side_files_that_do_not_fit_are_refused(columns, words):
    """One row a patient, the same patients, and no other id."""
    with pytest.raises(InputError, match=words):
        side(**columns)


def test_a_sensitive_column_must_be_there():
    """Without side columns, or without this one, nothing can be promised of it."""
    with pytest.raises(InputError, match="Give one with --side"):
        side_of(None, 3, "dna")
    with pytest.raises(InputError, match="no column 'rna'"):
        side_of(side(id=[1, 2, 3], dna=list("abc")), 3, "rna")
