"""Which labels stand for what is asked for."""

import polars as pl
import pytest

import cloister as cl
from cloister.recipients.labels import LabelledColumn
from cloister.release.codebook import codebook_of


def column(labels, hierarchy=None, level="0 1", kind="interval", recorded=()):
    """A column with these labels, as its codebook has them."""
    rows = codebook_of([("x", "quasi-identifier", kind, level, label, "") for label in labels if label is not None])
    return LabelledColumn.of(pl.Series("x", labels, dtype=pl.String), rows, hierarchy, recorded)


def shares(found, wanted):
    """The share of each label, by label; None where it is not known."""
    known = (None if share != share else share for share in found.meeting(wanted).share.tolist())
    return dict(zip(found.labels, known, strict=True))


def possible(found, wanted):
    """The labels that may meet a condition."""
    return {label for label, may in zip(found.labels, found.meeting(wanted).possibly, strict=True) if may}


def test_ranges_take_whole_intervals_and_shares_of_others():
    """An interval inside a range counts, one outside does not, of one that laps over a share by its width counts."""
    ages = column(["33", "[30-39]", "[40-44]", ">=90", "*", None])

    assert shares(ages, (33, 41)) == {
        None: 0.0, "33": 1.0, "[30-39]": 0.7, "[40-44]": 0.4, ">=90": 0.0, "*": 0.15,
    }  # fmt: skip
    assert shares(ages, (90, None))[">=90"] == 1.0
    assert shares(ages, (95, None))[">=90"] == 0.5
    assert shares(ages, 33)["33"] == 1.0
    assert shares(ages, 33)["[30-39]"] == pytest.approx(0.1)
    assert possible(ages, (95, 96)) == {">=90", "*"}
    assert possible(ages, None) == {None, "*"}


def test_numbers_asked_for_as_text_are_numbers():
    """What a command line hands on as text is read as the number, or the interval, that it is."""
    ages = column(["33", "[30-39]", "<18", "[9.5, 10)"])

    assert shares(ages, "33") == shares(ages, 33)
    assert shares(ages, "[30-39]") == shares(ages, (30, 39))
    assert shares(ages, "<18")["<18"] == 1.0
    with pytest.raises(cl.InputError, match="holds numbers, but what was asked for is no number"):
        ages.meeting("old")


def test_a_value_in_a_half_open_interval_is_possible():
    """One number has no width among decimals, and may still be the one that was recorded."""
    sizes = column(["[40, 50)", "[50, 60)", "45.5"])

    assert possible(sizes, 43) == {"[40, 50)"}
    assert possible(sizes, 50) == {"[50, 60)"}
    assert possible(sizes, (44, 46)) == {"[40, 50)", "45.5"}


def test_half_open_intervals_and_days():
    """The upper end of a half-open interval is not in it; periods are counted in days."""
    assert shares(column(["[9.5, 10)"]), (10, 11)) == {"[9.5, 10)": 0.0}
    assert shares(column(["[9.5, 10.5)"]), (10, 11)) == {"[9.5, 10.5)": 0.5}
    dates = column(["2024-01", "2024-02"], kind="date")
    assert shares(dates, ("2024-02-01", "2024-02-29")) == {"2024-01": 0.0, "2024-02": 1.0}
    assert shares(dates, ("2024-02-16", None))["2024-02"] == pytest.approx(14 / 29)


def test_codes_are_spread_over_those_of_the_release():
    """A group is spread over the codes that are released below it, or over those of the classification."""
    codes = column(["401.9", "401.1", "250.00", "401-405 Hypertensive disease", "*"], cl.icd9(), kind="icd9")
    exact, coarse = shares(codes, "401.9"), shares(codes, "401")

    assert exact == {
        "401.9": 1,
        "401.1": 0,
        "250.00": 0,
        "401-405 Hypertensive disease": 0.5,
        "*": pytest.approx(1 / 3),
    }
    assert coarse == {"401.9": 1, "401.1": 1, "250.00": 0, "401-405 Hypertensive disease": 1, "*": pytest.approx(2 / 3)}
    alone = column(["401-405 Hypertensive disease"], cl.icd9(), kind="icd9")
    assert 0 < shares(alone, "401.9")["401-405 Hypertensive disease"] < 0.1
    assert not alone.meeting("401.9").surely.any()


def test_groups_of_a_file_are_spread_over_its_values():
    """Without the hierarchy a group may hold any value, and how likely is not known; with it all are equally likely."""
    assert shares(column(["a", "b"], level="0", kind="file"), "a") == {"a": 1.0, "b": 0.0}
    assert shares(column(["a", "north"], kind="file"), "a") == {"a": 1.0, "north": None}
    rows = cl.hierarchy_rows([["a", "north", "*"], ["b", "south", "*"], ["c", "south", "*"], ["", "south", "*"]])
    found = column(["north", "south"], rows, kind="file")
    assert shares(found, "a") == {"north": 1.0, "south": 0.0}
    assert shares(found, "b") == shares(found, None) == {"north": 0.0, "south": pytest.approx(1 / 3)}
    assert found.meeting(["b", "c", None]).surely.tolist() == [False, True]


def test_ranges_of_ages_in_groups_of_a_file():
    """A hierarchy file lists the numbers of its groups; without it a range cannot be asked for."""
    rows = cl.hierarchy_rows([[str(age), "young" if age < 20 else "old", "*"] for age in range(15, 25)])
    assert shares(column(["young", "old"], rows, kind="file"), (18, 21)) == {"young": 0.4, "old": 0.4}
    with pytest.raises(cl.InputError, match=r'hierarchies=."x": "FILE"'):
        column(["young", "old"], kind="file").meeting((18, 21))


def test_several_values_and_missing_ones():
    """Values of a list add up; a missing value is asked for by None, and a group may hide one."""
    found = column(["F", "M", None, "*"], kind="suppress", level="0")

    assert shares(found, ["F", "M"]) == {"F": 1.0, "M": 1.0, None: 0.0, "*": 1.0}
    assert not found.meeting(["F", "M"]).surely[found.labels.index("*")]
    assert shares(found, None)[None] == 1.0
    assert possible(found, None) == {None, "*"}
    assert found.rows("M").share.tolist() == [0.0, 1.0, 0.0, 0.5]


def test_values_that_overlap_count_once():
    """A code and what is above it, two ranges that overlap, and days that follow one another are one condition each."""
    codes = column(["401.9", "250.00"], cl.icd9(), kind="icd9")
    assert shares(codes, ["401", "401.9"]) == shares(codes, "401")
    ages = column(["[30-39]", "[40-49]"])
    assert ages.meeting([*range(30, 40)]).surely.tolist() == [True, False]


@pytest.mark.parametrize("recorded", [(), ("02139", "02140", "99999")])
def test_what_nobody_knows_is_not_guessed(recorded):
    """Of a prefix the number of codes is not known, but to its custodian."""
    found = column(["021**", "*"], cl.prefix(5), kind="prefix", recorded=recorded)
    known = {"021**": 0.5, "*": pytest.approx(1 / 3)} if recorded else {"021**": None, "*": None}

    assert shares(found, "02139") == known
    assert possible(found, "02139") == {"021**", "*"}


@pytest.mark.parametrize("wanted", [(1, 2), (1, 2, 3), []])
def test_what_a_column_cannot_be_asked(wanted):
    """Ends of a text, three ends and no value at all are refused."""
    with pytest.raises(cl.InputError):
        column(["F"], kind="suppress").meeting(wanted)
    for ends in (("x", 4), (float("nan"), 4), (1, "inf")):
        with pytest.raises(cl.InputError, match=r"is no number.*as where=\{"):
            column(["[30-39]"]).meeting(ends)
    with pytest.raises(cl.InputError, match="ends before it begins"):
        column(["[30-39]"]).meeting((50, 40))
