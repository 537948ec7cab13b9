"""Labels that list values: what is released, verified, read by recipients, and refused."""

import numpy as np
import polars as pl
import pytest

import cloister as cl
from cloister.hierarchy.value_lists import read_list
from cloister.io import Tally

RNG = np.random.default_rng(7)
SHARES = [0.3, 0.25, 0.22, 0.2, 0.03]
PATIENTS = pl.DataFrame(
    {
        "region": RNG.choice(["east", "north", "south", "west", "island"], 300, p=SHARES),
        "stage": RNG.choice([1, 2, 3, 4], 300),
        "job": pl.Series(RNG.choice(["", "clerk", "cook", "nurse", "pilot"], 300)).replace("", None),
        "sex": RNG.choice(["F", "M"], 300),
        "dx": RNG.choice(["a", "b", "c", "d"], 300),
    }
)
ASKED = {
    "qi": dict.fromkeys(["region", "stage", "job", "sex"], "suppress"),
    "sensitive": ["dx"],
    "accept": ["dx"],
    "k": 11,
}


@pytest.fixture(scope="module")
def release():
    """The default release."""
    return cl.protect_table(PATIENTS, **ASKED)


@pytest.fixture(scope="module")
def opened(release, tmp_path_factory):
    """The release as a recipient opens it."""
    folder = tmp_path_factory.mktemp("listed") / "release"
    release.write(folder)
    return cl.open(folder)


def lists(release, column):
    """The lists among the labels of a column."""
    return sorted(label for label in release.frame[column].cast(pl.String).drop_nulls().unique() if read_list(label))


def test_labels_list_values_and_lose_less(release):
    """By default; a list has at most five of eleven records' values, none of them rare, and never a missing one."""
    nested = cl.protect_table(PATIENTS, **ASKED, labels="nested")
    found = [read_list(label) for column in ASKED["qi"] for label in lists(release, column)]

    assert found
    assert max(map(len, found)) <= 5
    assert not any("island" in values for values in found)
    assert not any(lists(nested, column) for column in ASKED["qi"])
    assert release.summary()["utility"]["loss"] < 0.9 * nested.summary()["utility"]["loss"]


@pytest.mark.parametrize("forged", ["{east | island}", "{west | east}", "{east}", "{}"])
def test_a_list_that_may_not_be_is_found(release, forged):
    """The verifier refuses lists without the value of a record, of a rare value, out of order and of one value."""
    changed = release.frame.with_columns(pl.col("region").replace(lists(release, "region")[0], forged))

    assert not release._check(Tally(changed)).holds


def test_a_list_longer_than_half_of_k_is_found():
    """At k = 5 a list has two values at most."""
    release = cl.protect_table(PATIENTS, **{**ASKED, "k": 5})
    label = lists(release, "region")[0]
    third = next(one for one in ("east", "north", "south", "west") if one not in read_list(label))
    longer = "{" + " | ".join(sorted([*read_list(label), third])) + "}"
    changed = release.frame.with_columns(pl.col("region").replace(label, longer))

    assert not release._check(Tally(changed)).holds


def test_counts_of_a_recipient_add_up(opened):
    """Of values that exclude each other: bounds hold the truth, and expectations sum to all records."""
    for column, values in (("region", PATIENTS["region"].unique()), ("stage", [1, 2, 3, 4])):
        found = {value: opened.answer({column: value}) for value in values}

        assert sum(one.expected for one in found.values()) == pytest.approx(300)
        for value, one in found.items():
            assert one.lower <= (PATIENTS[column] == value).sum() <= one.upper
    one, other = (opened.answer({"region": value}).upper for value in (["east"], ["east", "north"]))
    assert one < other < 300


def test_drawn_values_are_listed(opened):
    """Imputation stays inside each list; numbers stay numbers."""
    (drawn,) = opened.impute(n=1, seed=0)

    assert drawn["stage"].dtype.is_integer()
    for column in ASKED["qi"]:
        labels, values = (frame[column].cast(pl.String).to_list() for frame in (opened.data, drawn))
        assert all(value in read_list(label) for label, value in zip(labels, values, strict=True) if read_list(label))


def test_the_codebook_marks_lists(opened, release):
    """So that programs read them without the hierarchy; a list states no bounds."""
    book = opened.codebook.filter(pl.col("meaning") == "one of the listed values")

    assert sorted(book["label"]) == sorted(label for column in ASKED["qi"] for label in lists(release, column))
    assert book["lower"].null_count() == book.height


def test_an_adversary_finds_k_records(opened):
    """Known values match lists that have them."""
    found = cl.attack(opened.folder, original=PATIENTS)

    assert found.summary()["holds"]


@pytest.mark.parametrize(
    "settings",
    [{"k": 3}, {"qi": {"dx": "suppress", "region": "suppress@1"}, "sensitive": [], "accept": [], "undecided": "drop"}],
    ids=str,
)
def test_there_are_no_lists(settings):
    """Below k = 4, and where the values themselves are not allowed."""
    release = cl.protect_table(PATIENTS, **{**ASKED, **settings})

    assert not lists(release, "region")
