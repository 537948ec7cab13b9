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
    """So that programs read them without the hierarchy; of numbers the least and the greatest are bounds."""
    book = opened.codebook.filter(pl.col("meaning") == "one of the listed values")

    assert sorted(book["label"]) == sorted(label for column in ASKED["qi"] for label in lists(release, column))
    for label, low, high in book.filter(column="stage").select("label", "lower", "upper").iter_rows():
        assert (low, high) == (read_list(label)[0], read_list(label)[-1])
    assert book.filter(pl.col("column") != "stage")["lower"].null_count() > 0


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


def opened_release(tmp_path, values):
    """A recipient's view of classes of ten with two of some values each; five records of each other value follow."""
    frame = pl.DataFrame({"code": values, "sex": [*"FFFFFMMMMM", *["F"] * (len(values) - 10)]})
    qi = {"code": "suppress", "sex": "suppress"}
    cl.protect_table(frame, qi=qi, k=5, method="cluster", suppression=0).write(tmp_path / "release")
    return cl.open(tmp_path / "release"), frame


PAIRS = {
    "words among truth values": ("true", "x", ["false"] * 20),
    "words among numbers": ("other", "unknown", ["1"] * 10 + ["2"] * 10),
    "numbers": ("1", "2", ["3"] * 10),
    "decimals": ("0.5", "1", ["2"] * 10),
}


@pytest.mark.parametrize("case", PAIRS)
def test_values_in_lists_count_for_the_type_of_a_column(case, tmp_path):
    """A list of words makes a column text, one of numbers leaves it a column of numbers; counts and draws work."""
    one, other, others = PAIRS[case]
    opened, frame = opened_release(tmp_path, [one, one, one, other, other, one, one, other, other, other, *others])
    (drawn,) = opened.impute(n=1, seed=0)

    assert any(read_list(label) for label in opened.data["code"].cast(pl.String).unique())
    assert sum(opened.answer({"code": value}).expected for value in frame["code"].unique()) == pytest.approx(len(frame))
    assert sorted(map(str, set(opened.data["code"].cast(pl.String)) & {*others})) == sorted({*others})
    assert drawn["code"].dtype.is_numeric() == all(value.replace(".", "").isdigit() for value in frame["code"])


def test_a_value_that_reads_as_a_list_is_one_value(tmp_path):
    """No label lists values where some value looks like a list, and the codebook says what is meant."""
    values = ["a", "a", "a", "b", "b", "b", "b", "a", "a", "a", *["{a | b}"] * 10]
    opened, _ = opened_release(tmp_path, values)

    assert opened.answer({"code": "{a | b}"}).lower == 10
    assert opened.answer({"code": "a"}).upper == 10


def test_a_list_that_was_released_can_be_asked_for(opened, release):
    """As its values."""
    label = lists(release, "region")[0]

    assert opened.answer({"region": label}) == opened.answer({"region": [*read_list(label)]})


@pytest.mark.parametrize("extra", [[], ["M"], ["other"], [None]])
def test_a_suppressed_record_changes_no_label(extra):
    """A rare or missing value of a record that is not released does not show in the labels of others."""
    regions = ["u"] * 6 + ["v"] * 6 + ["w"] * len(extra)
    frame = pl.DataFrame({"sex": [*"FFFMMM" * 2, *extra], "region": regions})
    qi = {"sex": "suppress", "region": "suppress@0-0"}
    release = cl.protect_table(frame, qi=qi, k=5, method="cluster", suppression=0.1)

    assert release.frame["sex"].to_list() == ["*"] * 12


@pytest.mark.parametrize("hidden", ["cccdde", "cdecde", "defghi"])
def test_the_loss_does_not_say_what_stars_cover(hidden):
    """Equal released records have equal losses, whatever values their `*` cover."""
    frame = pl.DataFrame({"x": [*"aaabbbbbaaccccc", *hidden], "s": [*"FFFFFMMMMMXXXXX", *"Z" * 6]})
    release = cl.protect_table(frame, qi={"x": "suppress", "s": "suppress@0-0"}, k=5, method="cluster", suppression=0)

    assert sorted(release.frame["x"].unique()) == ["*", "c", "{a | b}"]
    assert release.summary()["utility"]["columns"]["x"]["loss"] == pytest.approx((10 / 2 + 6) / 21)


def test_each_listed_value_is_drawn_in_each_class(opened):
    """Imputed tables do not contradict the release: every class has every value that its label lists."""
    for drawn in opened.impute(n=3, seed=1):
        both = pl.concat([opened.data.select(pl.all().cast(pl.String).name.prefix("of ")), drawn], how="horizontal")
        for column in ASKED["qi"]:
            labels = [f"of {name}" for name in ASKED["qi"]]
            for own in both.filter(pl.col(f"of {column}").str.starts_with("{")).partition_by(labels):
                assert {*own[column].cast(pl.String)} == {*read_list(own[f"of {column}"][0])}
