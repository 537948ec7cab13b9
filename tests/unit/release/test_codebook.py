"""Types, order and bounds in the codebook."""

import polars as pl
import pytest

from cloister.hierarchy import parse_hierarchy
from cloister.release.codebook import bounds_of, codebook_of, type_of


@pytest.mark.parametrize(
    ("label", "ends"),
    {
        "34": ("34", "34"),
        "34.5": ("34.5", "34.5"),
        "-3": ("-3", "-3"),
        "[40-44]": ("40", "44"),
        "[-10 to -6]": ("-10", "-6"),
        "[-5 to 4]": ("-5", "4"),
        "[9.5, 10)": ("9.5", "10"),
        "<0": (None, "0"),
        ">=90": ("90", None),
        "*": None,
        "F": None,
        "40-44": None,
    }.items(),
)
def test_bounds_of_numbers(label, ends):
    """A label of numbers says between which ends a value lies, other labels do not."""
    assert bounds_of(label) == ends


@pytest.mark.parametrize(
    ("label", "ends"),
    {
        "2024-02-29": ("2024-02-29", "2024-02-29"),
        "2024-02-29T23:59:00+02:00": ("2024-02-29", "2024-02-29"),
        "2024-W01": ("2024-01-01", "2024-01-07"),
        "2024-02": ("2024-02-01", "2024-02-29"),
        "2024-Q4": ("2024-10-01", "2024-12-31"),
        "2024": ("2024-01-01", "2024-12-31"),
        "2020s": ("2020-01-01", "2029-12-31"),
        "9990s": ("9990-01-01", "9999-12-31"),
        "2024-13": None,
        "2023-W53": None,
        "soon": None,
    }.items(),
)
def test_bounds_of_dates(label, ends):
    """A period says its first and last day; what is no period of the calendar has none."""
    assert bounds_of(label, is_date=True) == ends


@pytest.mark.parametrize("spec", ["interval:5,10,20/top=90/bottom=0", "interval:0.5,1.0", "interval:cuts=0,2,18,65/18"])
def test_a_value_lies_between_the_bounds_of_its_labels(spec):
    """At every level, the label of a number has bounds around it; the upper one of a half-open label is above it."""
    values = ["-3", "0", "1.25", "17", "17.5", "64", "89", "90", "120"]
    bound = parse_hierarchy(spec).bind("age", values)
    for labels in bound.labels[:-1]:
        for value, label in zip(bound.values, labels, strict=True):
            low, high = bounds_of(label)
            assert low is None or float(low) <= float(value)
            is_open = label.startswith(("<", "[")) and not label.endswith("]")
            assert high is None or (float(value) < float(high) if is_open else float(value) < float(high) + 1)


def test_order_is_by_number():
    """Labels of numbers are counted by their bounds and not by their letters; ``*`` and missing have no place."""
    labels = ["[100-109]", "[20-29]", "20", "<20", ">=110", "*", None]
    book = codebook_of([("age", "quasi-identifier", "interval", "0 1", label, "") for label in labels])

    assert book["order"].to_list() == ["4", "3", "2", "1", "5", None, None]
    assert book["type"].unique().to_list() == ["number"]


def test_codes_are_text():
    """Codes that look like numbers are text under hierarchies of codes; categories that are numbers are numbers."""
    rows = [(kind, "quasi-identifier", kind, "0", "401", "") for kind in ("icd9", "prefix", "suppress")]
    book = codebook_of(rows)
    assert dict(book.select("column", "type").rows()) == {"icd9": "text", "prefix": "text", "suppress": "number"}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2.5", None, "1e5"], "number"),
        ([1, 2], "number"),
        (["2024-01-31", "2024-01-31T12:00"], "date"),
        ([True, None], "boolean"),
        (["a", "1"], "text"),
        ([None, None], "text"),
    ],
)
def test_types_of_columns(values, kind):
    """A column is what all of its values are; missing ones say nothing."""
    assert type_of(pl.Series("x", values, strict=False)) == kind


def test_labels_of_a_hierarchy_have_a_type_together():
    """One label that says no bounds makes a column of a file text."""
    rows = [("x", "quasi-identifier", "file", "1", label, "") for label in ("[1-2]", "other")]
    assert codebook_of(rows).select("type", "lower").rows() == [("text", None)] * 2


def test_labels_of_one_bound_stand_by_their_text():
    """Labels that begin and end alike have one order whatever the run, or a codebook would not be made again."""
    labels = ["7.0", "+7", "7", "07"]
    book = codebook_of([("x", "quasi-identifier", "interval", "0", label, "") for label in labels])

    assert dict(book.select("order", "label").rows()) == {str(n): one for n, one in enumerate(sorted(labels), 1)}


def test_a_group_called_by_a_number_has_no_bounds():
    """A file may call twenty to thirty `2`; its values as recorded are numbers, and its intervals say their ends."""
    rows = [(name, "quasi-identifier", "file", level, "2", "") for name, level in (("group", "1"), ("value", "0"))]
    assert codebook_of(rows).select("type", "lower").rows() == [("text", None), ("number", "2")]
