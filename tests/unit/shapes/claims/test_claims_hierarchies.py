"""The hierarchies that claims have by default."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloister.errors import InputError
from cloister.shapes.claims.format.hierarchies import bounds_of, hierarchies, hierarchy_named

NUMBERS = st.integers(0, 400).map(str)
CODES = st.from_regex(r"[0-9]{3}(\.[0-9]{1,2})?|V[0-9]{2}(\.[0-9])?|E[0-9]{3}", fullmatch=True)
VALUES = {
    "age": st.one_of(NUMBERS, st.just("90+")),
    "days-in-hospital": st.one_of(st.integers(0, 14).map(str), st.just("15+")),
    "length-of-stay": st.one_of(NUMBERS, st.just("162+")),
    "days-since-first-claim": NUMBERS,
    "weeks-since-first-claim": NUMBERS,
    "pay-delay": st.one_of(NUMBERS, st.just("162+")),
    "diagnosis": st.one_of(CODES, st.sampled_from(["no code", "786.5", "786.2", "786", "780.6", "78650"])),
    "diagnosis-group": st.sampled_from(["AMI", "CHF", "MISCL1", "own group"]),
    "procedure": st.from_regex(r"[0-9]{5}", fullmatch=True),
    "procedure-group": st.sampled_from(["ANES", "SO", "OTHER"]),
    "place": st.sampled_from(["OFFICE", "HOME", "INPATIENT HOSPITAL"]),
    "specialty": st.sampled_from(["SURGERY", "INTERNAL", "OTHER"]),
}


def path(word, value):
    """The labels of a value, from fine to coarse."""
    return [level[0] for level in hierarchy_named(word, {}).bind("column", [value]).labels]


def test_every_word_is_tested():
    """The words of the tests are those there are."""
    assert VALUES.keys() == hierarchies({}).keys()


@pytest.mark.parametrize("word", VALUES)
def test_levels_are_nested(word):
    """Values with one label share their label at every level above, and all share the root."""

    @given(st.lists(VALUES[word], min_size=1, max_size=12))
    def holds(values):
        hierarchy = hierarchy_named(word, {}).bind("column", values)
        for low, high in zip(hierarchy.labels, hierarchy.labels[1:]):
            assert len(set(low)) == len(set(zip(low, high)))
        assert hierarchy.values == hierarchy.labels[0]
        assert {"*"} == set(hierarchy.labels[-1])

    holds()


@pytest.mark.parametrize(
    ("word", "value", "labels"),
    [
        ("age", "44", ["44", "[40-44]", "[40-49]", "[40-59]", "*"]),
        ("age", "83", ["83", "[80-84]", "80+", "80+", "*"]),
        ("days-in-hospital", "4", ["4", "[2-4]", "1+", "*"]),
        ("days-in-hospital", "15+", ["15+", "15+", "1+", "*"]),
        ("days-in-hospital", "0", ["0", "0", "0", "*"]),
        ("length-of-stay", "0", ["0", "0", "none", "*"]),
        ("length-of-stay", "6", ["6", "6", "[2-6]", "*"]),
        ("length-of-stay", "14", ["14", "[1-2] weeks", "7+", "*"]),
        ("length-of-stay", "200", ["200", "26+ weeks", "7+", "*"]),
        ("length-of-stay", "162+", ["162+", "162+", "162+", "*"]),
        ("days-since-first-claim", "95", ["95", "[3-4) months", "[3-6) months", "[0-6) months", "*"]),
        ("weeks-since-first-claim", "13", ["13", "week 1", "*"]),
        ("diagnosis", "786.50", ["786.50", "786/ROAMI", "ROAMI", "circulatory", "*"]),
        ("pay-delay", "95", ["95", "[3-4) months", "[3-6) months", "*"]),
        ("diagnosis", "no code", ["no code", "no code", "MISCL1", "other", "*"]),
        ("icd10", "no code", ["no code", "no code", "no code", "no code", "no code", "*"]),
        ("diagnosis", "786.2", ["786.2", "786", "RESPR4", "respiratory", "*"]),
        ("diagnosis", "e950.1", ["e950.1", "E950", "MSC2a3", "other", "*"]),
        ("procedure", "99213", ["99213", "EM", "other", "*"]),
        ("procedure", "33010", ["33010", "SCS", "surgery", "*"]),
        ("specialty", "GENERAL PRACTICE", ["GENERAL PRACTICE", "primary", "*"]),
        ("place", "OFFICE", ["OFFICE", "outpatient", "*"]),
    ],
)
def test_labels_are_those_of_the_bands(word, value, labels):
    """Each value has the labels that the hierarchy states."""
    assert labels == path(word, value)


def test_bounds_are_taken_off_the_words():
    """`age@1-3` is age from level 1 to 3, `age@2` level 2 alone, `age` all levels."""
    words = ("age@1-3", "age@2", "age", "interval:5,10@1")

    assert [bounds_of(one) for one in words] == [(1, 3), (2, 2), (0, None), (1, 1)]
    assert [hierarchy_named(one, {}).spec for one in words] == ["age", "age", "age", "interval:5,10"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("diagnoses", "Did you mean diagnosis?"),
        ("age@3-1", "from the lower to the higher"),
        ("interval:5,7", "each divides the next"),
    ],
)
def test_unknown_hierarchies_are_refused(words, said):
    """A word that is none is refused with the nearest one there is."""
    with pytest.raises(InputError, match=said.replace("?", r"\?")):
        hierarchy_named(words, {})


def test_values_that_do_not_fit_are_counted_not_shown():
    """An age that is no number is refused without being told."""
    with pytest.raises(InputError, match="1 of 2 distinct values of column 'age' are not whole numbers") as refusal:
        hierarchy_named("age", {}).bind("age", ["7", "SECRET"])
    assert "SECRET" not in refusal.value.message


@pytest.mark.parametrize(("word", "most"), [("length-of-stay", 36_525), ("pay-delay", 3_650)])
def test_numbers_of_days_are_days(word, most):
    """A number that no patient lives to see is a date or a mistake."""
    hierarchy = hierarchy_named(word, {})

    assert [str(most + 1), "20240302"] == hierarchy.outside(["0", str(most), str(most + 1), "20240302"])


def test_no_code_is_one_more_code():
    """Beside codes of ICD-10 it is a leaf of its own, in the order of the texts; anything else is refused as before."""
    hierarchy = hierarchy_named("icd10", {})
    bound, without = (
        hierarchy.bind("dx", values) for values in (["z21", "no code", None, "B20"], ["B20", "z21", None])
    )

    assert bound.values == ("B20", "no code", "z21", None)
    assert bound.labels[2] == ("B20", "no code", "Z21", None)
    assert bound.n_leaves == without.n_leaves + 1
    assert bound.leaves[3].tolist() == [without.leaves[3][0], 1, *without.leaves[3][1:]]
    with pytest.raises(InputError, match="1 of 1 distinct values"):
        hierarchy.bind("dx", ["SECRET"])
