"""Which labels stand for what is asked for."""

import polars as pl
import pytest

import cloister as cl
from cloister.codebook import codebook_of
from cloister.recipients.labels import LabelledColumn, by_row


def column(labels, hierarchy=None, level="0 1", kind="interval"):
    """A column with these labels, as its codebook has them."""
    rows = codebook_of([("x", "quasi-identifier", kind, level, label, "") for label in labels if label is not None])
    return LabelledColumn.of(pl.Series("x", labels, dtype=pl.String), rows, hierarchy)


def shares(found, wanted):
    """The share of each label, by label."""
    return dict(zip(found.labels, found.shares(wanted).tolist(), strict=True))


def test_ranges_take_whole_intervals_and_shares_of_others():
    """An interval inside a range counts, one outside does not, of one that laps over a share by its width counts."""
    ages = column(["33", "[30-39]", "[40-44]", ">=90", "*", None])

    assert shares(ages, (33, 41)) == {
        None: 0.0, "33": 1.0, "[30-39]": 0.7, "[40-44]": 0.4, ">=90": 0.0, "*": 0.5,
    }  # fmt: skip
    assert shares(ages, (90, None))[">=90"] == 1.0
    assert shares(ages, (95, None))[">=90"] == 0.5
    assert shares(ages, 33)["33"] == 1.0
    assert shares(ages, 33)["[30-39]"] == pytest.approx(0.1)


def test_half_open_intervals_and_days():
    """The upper end of a half-open interval is not in it; periods are counted in days."""
    assert shares(column(["[9.5, 10)"]), (10, 11)) == {"[9.5, 10)": 0.0}
    assert shares(column(["[9.5, 10.5)"]), (10, 11)) == {"[9.5, 10.5)": 0.5}
    dates = column(["2024-01", "2024-02"], kind="date")
    assert shares(dates, ("2024-02-01", "2024-02-29")) == {"2024-01": 0.0, "2024-02": 1.0}
    assert shares(dates, ("2024-02-16", None))["2024-02"] == pytest.approx(14 / 29)


def test_values_stand_below_their_labels():
    """A code counts under itself and what is below it, never under another code, and by a share under what is above."""
    codes = column(["401.9", "401", "250.00", "401-405 Hypertensive disease", "*"], cl.icd9(), kind="icd9")
    exact, coarse = shares(codes, "401.9"), shares(codes, "401")

    assert (exact["401.9"], exact["250.00"]) == (1.0, 0.0)
    assert 0 < exact["401-405 Hypertensive disease"] < exact["401"] <= 0.5
    assert (coarse["401"], coarse["401.9"], coarse["250.00"]) == (1.0, 1.0, 0.0)


def test_groups_of_a_file_may_hold_any_value():
    """Where the hierarchy is not in the release, a group may hold a value, but a value as recorded is no other."""
    assert shares(column(["a", "b"], level="0", kind="file"), "a") == {"a": 1.0, "b": 0.0}
    assert shares(column(["a", "north"], kind="file"), "a") == {"a": 1.0, "north": 0.5}
    rows = cl.hierarchy_rows([["a", "north", "*"], ["b", "south", "*"]])
    assert shares(column(["north", "south"], rows, kind="file"), "a") == {"north": 0.5, "south": 0.0}


def test_several_values_and_missing_ones():
    """Values of a list add up; a missing value is asked for by None."""
    found = column(["F", "M", None, "*"], kind="suppress")

    assert shares(found, ["F", "M"]) == {"F": 1.0, "M": 1.0, None: 0.0, "*": 1.0}
    assert shares(found, None)[None] == 1.0
    assert by_row(pl.Series(["M", None]), found.labels, found.shares("M")).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("wanted", [(1, 2), (1, 2, 3), []])
def test_what_a_column_cannot_be_asked(wanted):
    """Ends of a text, three ends and no value at all are refused."""
    with pytest.raises(cl.InputError):
        column(["F"], kind="suppress").shares(wanted)
    with pytest.raises(cl.InputError, match="an end that is asked for is not"):
        column(["[30-39]"]).shares(("x", 4))
