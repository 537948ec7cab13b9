"""Laws of all builders, over values and settings that Hypothesis invents."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.hierarchy import (
    CutHierarchy,
    Hierarchy,
    PrefixHierarchy,
    dates,
    hierarchy_rows,
    icd9,
    icd10,
    intervals,
    suppress,
)
from cloister.hierarchy.icd import load_classification
from cloister.testing.hierarchy_laws import assert_lawful, assert_missing_apart, assert_order_free

relaxed = examples(60)


def columns(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[str | None]]:
    """Distinct values of a column, missing among them or not."""
    return st.lists(st.none() | texts, unique=True, max_size=12)


numbers = st.integers(-130, 130).map(str) | st.decimals(-130, 130, places=1).map(str) | st.sampled_from(["007", "7.0"])
stamps = st.dates(date(1890, 1, 1), date(2060, 1, 1)).map(str) | st.datetimes().map(
    lambda stamp: stamp.replace(microsecond=0).isoformat(" ")
)
units = st.sampled_from(
    [
        ("day",),
        ("week",),
        ("day", "week"),
        ("month", "quarter", "year"),
        ("day", "year", "decade"),
        ("quarter", "decade"),
    ]
)


@st.composite
def icd_codes(draw: st.DrawFn, kind: str) -> str:
    """A code of a known category, in one of its spellings, not always one that is in the list of codes."""
    category = draw(st.sampled_from(sorted(load_classification(kind).chapters)))
    rest = draw(st.text("0123456789", max_size=2))
    code = category + draw(st.sampled_from(["", "."])) + rest
    return draw(st.sampled_from([code, code.lower(), f" {code}"]))


@st.composite
def interval_settings(draw: st.DrawFn) -> Hierarchy:
    """Widths that divide one another, with or without bounds, whole or not; or cut points."""
    factors = draw(st.lists(st.integers(2, 4), max_size=3))
    widths = [draw(st.integers(1, 7))]
    for factor in factors:
        widths.append(widths[-1] * factor)
    bottom = draw(st.none() | st.integers(-50, 0))
    top = draw(st.none() | st.integers(1, 100))
    if draw(st.booleans()):
        return intervals(*widths, top=top, bottom=bottom)
    if draw(st.booleans()):
        return intervals(*(width / 4 for width in widths), top=top, bottom=bottom)
    cuts = sorted(draw(st.sets(st.integers(-100, 100), min_size=2, max_size=6)))
    return CutHierarchy((tuple(cuts), tuple(cuts[: draw(st.integers(1, len(cuts) - 1))])))


@st.composite
def listed(draw: st.DrawFn) -> tuple[Hierarchy, list[str | None]]:
    """A legal hierarchy in rows, grown from the root down, and some of its values."""
    depth = draw(st.integers(1, 4))
    paths: list[tuple[str, ...]] = [("*",)]
    for level in range(depth):
        branches = draw(st.lists(st.integers(1, 3), min_size=len(paths), max_size=len(paths)))
        grown = [(number, path) for path, count in zip(paths, branches, strict=True) for number in range(count)]
        paths = [(f"{level}/{position}", *path) for position, (_, path) in enumerate(grown)]
    missing_as = paths[0][0]
    chosen = draw(st.lists(st.none() | st.sampled_from([path[0] for path in paths]), unique=True))
    return hierarchy_rows(paths, missing_as=missing_as), chosen


@relaxed
@given(interval_settings(), columns(numbers))
def test_intervals_are_lawful(hierarchy: Hierarchy, values: list[str | None]) -> None:
    """Interval hierarchies nest, add up, keep missing apart and do not depend on order."""
    bound = hierarchy.bind("c", values)

    assert_lawful(bound)
    assert_missing_apart(bound)
    assert_order_free(hierarchy, values)


OF_PREFIXES = st.builds(
    PrefixHierarchy,
    st.integers(4, 7),
    keep=st.none() | st.sets(st.integers(1, 3), min_size=1).map(lambda kept: tuple(sorted(kept, reverse=True))),
    side=st.sampled_from(["left", "right"]),
)
"""Prefixes of either side, with all levels or some."""


@relaxed
@given(OF_PREFIXES, columns(st.text("0123AB*é", max_size=4)))
def test_prefixes_are_lawful(hierarchy: Hierarchy, values: list[str | None]) -> None:
    """Prefix hierarchies nest for codes of mixed lengths, stars among their characters included."""
    bound = hierarchy.bind("c", values)

    assert_lawful(bound)
    assert_missing_apart(bound)
    assert_order_free(hierarchy, values)


@relaxed
@given(units, columns(stamps))
def test_dates_are_lawful(chain: tuple[str, ...], values: list[str | None]) -> None:
    """Date hierarchies nest for every chain of units, weeks at the turn of the year included."""
    hierarchy = dates(*chain).bind("c", values)

    assert_lawful(hierarchy)
    assert_missing_apart(hierarchy)
    assert_order_free(dates(*chain), values)


@relaxed
@given(columns(st.text(st.characters(codec="utf-8"), max_size=6)))
def test_suppress_is_lawful(values: list[str | None]) -> None:
    """The two-level hierarchy takes any text."""
    hierarchy = suppress().bind("c", values)

    assert_lawful(hierarchy)
    assert_missing_apart(hierarchy)
    assert_order_free(suppress(), values)


@relaxed
@given(st.lists(icd_codes("icd9"), max_size=30), st.booleans())
def test_icd9_is_lawful(codes: list[str], missing: bool) -> None:
    """ICD-9 hierarchies nest and add up, whatever the spellings and digits."""
    values = [*dict.fromkeys(codes), *([None] if missing else [])]
    hierarchy = icd9().bind("c", values)

    assert_lawful(hierarchy)
    assert_missing_apart(hierarchy)
    assert_order_free(icd9(), values)


@relaxed
@given(st.lists(icd_codes("icd10"), max_size=30), st.booleans())
def test_icd10_is_lawful(codes: list[str], missing: bool) -> None:
    """ICD-10 hierarchies nest and add up, whatever the spellings and characters."""
    values = [*dict.fromkeys(codes), *([None] if missing else [])]
    hierarchy = icd10().bind("c", values)

    assert_lawful(hierarchy)
    assert_missing_apart(hierarchy)
    assert_order_free(icd10(), values)


@relaxed
@given(listed())
def test_files_are_lawful(case: tuple[Hierarchy, list[str | None]]) -> None:
    """LevelMaps of written hierarchies nest and add up, also where the text for missing is a value as well."""
    hierarchy, values = case
    bound = hierarchy.bind("c", values)

    assert_lawful(bound)
    assert_order_free(hierarchy, values)


@relaxed
@given(
    st.lists(st.integers(-60, 60), unique=True, min_size=1),
    st.none() | st.integers(-50, 0),
    st.none() | st.integers(1, 50),
)
def test_interval_leaves_are_whole_numbers_counted(found: list[int], bottom: int | None, top: int | None) -> None:
    """Whole numbers: a label covers as many numbers of the grid as share it, or the values beyond a bound."""
    hierarchy = intervals(3, 6, top=top, bottom=bottom)
    bound = hierarchy.bind("c", [str(number) for number in found])
    everything = hierarchy.bind("c", [str(number) for number in range(-200, 200)])
    by_text = dict(zip(everything.values, everything.labels[2], strict=True))

    for label, covered in zip(bound.labels[2], bound.leaves[2], strict=True):
        beyond = label.startswith(("<", ">"))
        expected = [text for text, name in by_text.items() if name == label and (not beyond or int(text) in found)]
        assert covered == len(expected)
