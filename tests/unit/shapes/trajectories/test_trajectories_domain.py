"""Hierarchies and data fitted to each other, trajectories read, and auxiliary attributes."""

import itertools
from decimal import Decimal
from fractions import Fraction

import polars as pl
import pytest

from cloister import InputError, Trajectories, hierarchy_rows, icd9, intervals, protect_trajectories
from cloister.shapes.trajectories.format.data import TrajectoriesRequest, weights_of
from cloister.shapes.trajectories.format.domain import USUAL_AGES, Unknown, ValueTree, fit_hierarchies, usual_codes
from cloister.shapes.trajectories.format.request import attributes_of, join_attributes


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


@pytest.mark.parametrize("code", ["", " ", "*", " * ", "a\0b", "\ud800", 401, None, ["a"]])
@pytest.mark.parametrize("where", ["records", "vocabulary"])
def test_what_is_no_code_is_refused(code, where):
    """What cannot be written, read again or told from the root is no code, whoever gives it."""
    records = [[("a", 1)], [(code if where == "records" else "a", 1)]]
    with pytest.raises(InputError, match="has a code that is no text, empty") as refused:
        Trajectories.from_records(records, vocabulary=["b"] if where == "records" else ["b", code])

    assert refused.value.row == (2 if where == "records" else None)


@pytest.mark.parametrize("record", [[("a",)], ["a"], 7, [None]])
def test_what_is_no_pair_is_refused(record):
    """A patient is a list of pairs."""
    with pytest.raises(InputError, match="Patient 2 is no list of pairs"):
        Trajectories.from_records([[("a", 1)], record])


@pytest.mark.parametrize("age", ["1e99999999", "1e-99999999", 10**9, pytest.param(10**5000, id="long")])
def test_ages_beyond_measure_are_refused(age):
    """An age that would take gigabytes to write is no age."""
    with pytest.raises(InputError, match="An age is not a number from 0 on"):
        Trajectories.from_records([[("a", age)]])


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["a", "a", "b"], "3 patients have 2 different ids"),
        (["a", "a ", "b"], "3 patients have 2 different ids"),
        (pl.Series([1, 2, 1]), "3 patients have 2 different ids"),
        (["a", None, "b"], "1 of 3 patients have no id"),
        (["a", " ", "b"], "1 of 3 patients have no id"),
        (["a", 1, "b"], "all of one kind"),
        (["a", "b"], "2 ids for 3 patients"),
    ],
)
def test_ids_that_do_not_tell_patients_apart_are_refused(ids, words):
    """Each record has an id of its own: two records of one patient would count twice towards k."""
    with pytest.raises(InputError, match=words):
        Trajectories.from_records([[("a", 1)]] * 3, ids)


def test_spaces_around_ids_and_codes_do_not_count(tmp_path):
    """`P1` and `P1 ` are one patient, as ` a` and `a` are one code."""
    path = tmp_path / "events.csv"
    path.write_text("id,code,age\nP1,a,1\nP1 , a,2\n")

    assert Trajectories.read(path).ids.to_list() == ["P1"]
    assert pairs_of(Trajectories.read(path)) == [[("a", "1"), ("a", "2")]]
    made = Trajectories.from_records([[(" a", 1)]], [" P1"])
    assert (made.ids.to_list(), made.vocabulary) == (["P1"], ("a",))


@pytest.mark.parametrize(
    "weights",
    [
        *[("1e99999999", "0"), ("1", "0", "0"), ("1",), (), ("", "1"), ("1/0", "1"), ("-0", "1"), ("0.5", "0.6")],
        *[(None, 1), ("1", "." * 9), (Decimal("1e99999999"), 0), ("0." + "0" * 99 + "1", 1), ("nan", "1")],
    ],
)
def test_weights_that_are_none_are_refused(weights):
    """Two numbers of a length that can be worked with, together 1."""
    with pytest.raises(InputError, match="Weights are two numbers"):
        weights_of(*weights)


@pytest.mark.parametrize(
    ("weights", "found"),
    [
        ((" 0.5", "1/2 "), (Fraction(1, 2), Fraction(1, 2))),
        ((1, 0.0), (Fraction(1), Fraction(0))),
        ((1e-05, 0.99999), (Fraction(1, 10**5), Fraction(99999, 10**5))),
        ((Fraction(1, 3), Fraction(2, 3)), (Fraction(1, 3), Fraction(2, 3))),
        ((".25", "0.75"), (Fraction(1, 4), Fraction(3, 4))),
    ],
)
def test_weights_are_exact_ratios(weights, found):
    """Numbers as typed, and as Python has them."""
    assert weights_of(*weights) == found


def test_ages_of_90_and_over_are_one():
    """With the usual ages nobody's age of 90 or more stands in the data any more."""
    before = Trajectories.from_records([[("001", 95), ("250", 91), ("001", 89.5)], [("001", 90)]])
    domain = fit_hierarchies(before, icd9(), USUAL_AGES, Unknown.ERROR)

    assert domain.trajectories.age_values == ("89.5", ">=90")
    assert pairs_of(domain.trajectories) == [[("001", "89.5"), ("001", ">=90"), ("250", ">=90")], [("001", ">=90")]]
    hierarchy = domain.ages.bind("age", domain.trajectories.age_values)
    assert [level[1] for level in hierarchy.labels] == [">=90"] * 5 + ["*"]
    assert ValueTree.of(hierarchy, domain.trajectories.age_values).labels == ("89.5", ">=90", "*")


def test_a_bound_below_groups_too():
    """What lies below the bottom is one age."""
    before = Trajectories.from_records([[("001", 3), ("001", 17), ("001", 18)]])
    domain = fit_hierarchies(before, icd9(), intervals(2, bottom=18), Unknown.ERROR)

    assert pairs_of(domain.trajectories) == [[("001", "<18"), ("001", "<18"), ("001", "18")]]
    assert domain.ages.bind("age", ["<18", "18"]).labels[1] == ("<18", "[18-19]")


def test_ages_without_a_group_are_left_alone():
    """Where no age lies beyond the bound, the data are as they were."""
    before = Trajectories.from_records([[("001", 3)]])

    assert fit_hierarchies(before, icd9(), USUAL_AGES, Unknown.ERROR).trajectories is before


STRANGE = [[("001", 3), ("XX", 2)], [("XX", 4), ("003", 4)]]


def test_unknown_codes_are_refused_put_under_the_root_or_dropped():
    """Each of the three answers does what it says."""
    before = Trajectories.from_records(STRANGE)
    with pytest.raises(InputError, match="1 of 3 distinct codes are not in the hierarchy icd9"):
        fit_hierarchies(before, icd9(), USUAL_AGES, Unknown.ERROR)
    under = fit_hierarchies(before, icd9(), USUAL_AGES, Unknown.ROOT)
    without = fit_hierarchies(before, icd9(), USUAL_AGES, Unknown.DROP)

    tree = ValueTree.of(under.codes.bind("code", before.vocabulary), before.vocabulary)
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
        fit_hierarchies(before, icd9(), USUAL_AGES, Unknown.DROP)


def test_the_classification_that_knows_more_codes_is_taken():
    """ICD-9-CM or ICD-10-CM by what is recorded; neither is an error that says what to give."""
    assert usual_codes(Trajectories.from_records([[("401.1", 1), ("250.00", 1)]])).spec == "icd9"
    assert usual_codes(Trajectories.from_records([[("I10", 1), ("E11.9", 1)]])).spec == "icd10"
    with pytest.raises(InputError, match="code_hierarchy"):
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
        protect_trajectories(Trajectories.from_records([[("001", 3)], [("002", 3)]]), k=2, **options)


def test_ages_that_a_file_lacks_are_counted():
    """A hierarchy file must have every age."""
    before = Trajectories.from_records([[("001", 3), ("001", 4)]])

    with pytest.raises(InputError, match="1 of 2 distinct ages are not in the hierarchy rows"):
        fit_hierarchies(before, icd9(), hierarchy_rows([["3", "*"]]), Unknown.ERROR)


IDS = pl.Series(["1", "2", "3"])


def attributes(**columns):
    """Auxiliary columns of three patients."""
    return join_attributes(pl.DataFrame(columns), IDS, "attributes.csv", None, "events.csv")


def test_side_columns_stand_in_the_order_of_the_patients():
    """Rows are joined by id, missing stays missing."""
    table = attributes(id=[3, 1, 2], dna=["c", None, "b"])

    assert table.frame.rows() == [(None,), ("b",), ("c",)]
    seen = attributes_of(table, 3, "dna")
    assert seen.rank.tolist() == [0, 1, 2]
    assert seen.sensitive.tolist() == [-1, 0, 1]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": [1, 2], "dna": ["a", "b"]}, "1 of 3 patients of events.csv are not in attributes.csv, and 0 of 2"),
        ({"id": [1, 2, 3, 4], "dna": list("abcd")}, "0 of 3 .* and 1 of 4"),
        ({"id": [1, 2, 2, 3], "dna": list("abcd")}, "4 rows of 3 patients"),
        ({"id": [1, None, 3], "dna": list("abc")}, "1 of 3 rows of attributes.csv have no patient"),
        ({"id": [1, 2, 3]}, "no column besides 'id'"),
        ({"who": [1, 2, 3], "dna": list("abc")}, "no column of patients"),
        ({"id": [1, 2, 3], "patient_id": list("abc")}, "identifies patients"),
        ({"id": [1, 2, 3], " Patient_ID": list("abc")}, "identifies patients"),
        ({"id": [1, 2, 3], "copy": ["1", "2", "3"]}, "identifies patients"),
        ({"id": [1, 2, 3], "copy": ["1 ", " 2", "3"]}, "identifies patients"),
        ({"id": ["1", "2", "3", "3 "], "dna": list("abcd")}, "4 rows of 3 patients"),
    ],
)
def test_side_files_that_do_not_fit_are_refused(columns, words):
    """One row a patient, the same patients, and no other id."""
    with pytest.raises(InputError, match=words):
        attributes(**columns)


def test_a_sensitive_column_must_be_there():
    """Without auxiliary columns, or without this one, nothing can be promised of it."""
    with pytest.raises(InputError, match="Give one with attributes"):
        attributes_of(None, 3, "dna")
    with pytest.raises(InputError, match="no column 'rna'"):
        attributes_of(attributes(id=[1, 2, 3], dna=list("abc")), 3, "rna")


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), "0.7", True])
def test_a_bound_on_the_loss_is_a_share(share):
    """Anything else is refused before any work is done."""
    with pytest.raises(InputError, match="a number from 0 to 1"):
        TrajectoriesRequest(2, icd9(), USUAL_AGES, max_loss=share)
