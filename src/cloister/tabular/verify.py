"""The promise of a released table, recomputed from the release by other means than those that made it.

Nothing here imports the search or the kernels: classes are counted by sorting and grouping text with Polars, and the
original, where it is given, is generalized again by looking labels up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from cloister.hierarchy import ROOT, Ladder
from cloister.io import as_text
from cloister.results import Verdict

COUNT = "\0records"
"""Name of the counting column; no column of a table is called so."""


@dataclass(frozen=True)
class Promise:
    """What a released table promises, as its manifest states it.

    Attributes
    ----------
    columns : released columns, in order
    levels : level of each quasi-identifier
    k : records per class
    released, suppressed : records; None where the manifest keeps the number back
    id : the id column, if released, and whether it holds numbers
    stars : whether suppressed records are written as rows of ``*``
    limit : records that may be suppressed at most, if known
    """

    columns: tuple[str, ...]
    levels: Mapping[str, int]
    k: int
    released: int | None
    suppressed: int | None
    id: str | None = None
    numbered: bool = False
    stars: bool = False
    limit: int | None = None


@dataclass(frozen=True)
class Original:
    """The table a release was made from: its quasi-identifiers and the ladders they were generalized by."""

    frame: pl.DataFrame
    ladders: Mapping[str, Ladder]


class _Checks:
    """Collects what was checked and what failed."""

    def __init__(self) -> None:
        self.passed: list[str] = []
        self.failures: list[str] = []

    def expect(self, holds: bool, check: str, failure: str) -> None:
        if holds:
            self.passed.append(check)
        else:
            self.failures.append(failure)


def verify(frame: pl.DataFrame, promise: Promise, original: Original | None = None) -> Verdict:
    """Check a released table against its promise, and against its original if that is given.

    Parameters
    ----------
    frame : the released table as read from its file
    """
    checks = _Checks()
    checks.expect(
        tuple(frame.columns) == promise.columns,
        "the columns are those declared",
        f"the file has {len(frame.columns)} columns that are not, in order, the {len(promise.columns)} declared",
    )
    if checks.failures:
        return _verdict(checks, original)
    texts = pl.DataFrame([as_text(frame[column]) for column in frame.columns])
    shown = _without_stars(texts, promise, checks)
    _check_counts(shown, promise, checks)
    classes = _classes(shown, list(promise.levels))
    _check_classes(classes, promise.k, checks)
    _check_order(texts, promise, checks)
    if original is not None:
        _check_original(shown, classes, promise, original, checks)
    return _verdict(checks, original)


def _verdict(checks: _Checks, original: Original | None) -> Verdict:
    how = "recounted with Polars from the released file, independently of the search"
    if original is not None:
        how += "; compared with the original, generalized again by table look-up"
    return Verdict(not checks.failures, how, tuple(checks.passed), tuple(checks.failures))


def _without_stars(texts: pl.DataFrame, promise: Promise, checks: _Checks) -> pl.DataFrame:
    """Released records only; where suppressed ones are written, as many rows of stars are set aside."""
    if not promise.stars:
        return texts
    star = pl.all_horizontal(pl.all() == ROOT).fill_null(value=False)
    stars = texts.filter(star)
    if promise.suppressed is not None:
        checks.expect(
            stars.height >= promise.suppressed,
            "suppressed records are rows of *",
            f"{promise.suppressed} suppressed records are declared, but only {stars.height} rows of * were found",
        )
        # A released record can be all roots as well; what is beyond the declared number is counted as released.
        return pl.concat([texts.filter(~star), stars.head(stars.height - promise.suppressed)])
    return texts.filter(~star)


def _check_counts(shown: pl.DataFrame, promise: Promise, checks: _Checks) -> None:
    checks.expect(shown.height > 0, "there are records", "the file has no released record")
    if promise.released is not None:
        checks.expect(
            shown.height == promise.released,
            f"{shown.height} records were released",
            f"{promise.released} released records are declared, but {shown.height} were found",
        )


def _classes(texts: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Number of records of each combination of quasi-identifiers; missing is a value of its own."""
    return texts.select(columns).group_by(columns).agg(pl.len().alias(COUNT))


def _check_classes(classes: pl.DataFrame, k: int, checks: _Checks) -> None:
    small = classes.filter(pl.col(COUNT) < k)
    smallest = 0 if classes.height == 0 else int(classes[COUNT].sort()[0])
    checks.expect(
        small.height == 0 and classes.height > 0,
        f"all {classes.height} classes have at least {k} records (the smallest {smallest})",
        f"{small.height} of {classes.height} classes have fewer than {k} records (the smallest {smallest})",
    )


def _check_order(texts: pl.DataFrame, promise: Promise, checks: _Checks) -> None:
    """Order and ids must carry no information: both follow from the released values."""
    values = texts.drop(promise.id) if promise.id is not None else texts
    values = values.with_columns(pl.all().fill_null(""))
    checks.expect(
        values.equals(values.sort(values.columns)),
        "records are sorted by their released values",
        "records are not sorted by their released values: their order may carry information",
    )
    if promise.id is not None and promise.numbered:
        ids = texts[promise.id]
        numbers = ids.filter(ids != ROOT) if promise.stars else ids
        expected = pl.Series(map(str, range(1, len(numbers) + 1)), dtype=pl.String)
        checks.expect(
            numbers.null_count() == 0 and numbers.equals(expected, check_names=False),
            "ids are numbers in released order",
            "ids are not the numbers 1, 2, 3 ... in released order",
        )


def _check_original(
    shown: pl.DataFrame, classes: pl.DataFrame, promise: Promise, original: Original, checks: _Checks
) -> None:
    """Released are exactly the classes of the generalized original that reach k, with all their records."""
    columns = list(promise.levels)
    expected = _generalized(promise, original)
    large = _classes(expected, columns).filter(pl.col(COUNT) >= promise.k)
    differing = _differing(large, classes, columns)
    checks.expect(
        differing == 0,
        "released classes are the classes of the original at the stated levels, complete",
        f"{differing} classes differ from the original generalized to the stated levels",
    )
    others = [column for column in promise.columns if column not in promise.levels and column != promise.id]
    if others and not differing:
        every = [*columns, *others]
        recorded = expected.hstack([as_text(original.frame[column]) for column in others])
        kept = recorded.filter(pl.len().over(columns) >= promise.k)
        moved = _differing(_classes(kept, every), _classes(shown, every), every)
        checks.expect(
            moved == 0,
            "columns that were not generalized are as in the original",
            f"{moved} combinations of values differ from the original in columns that were not generalized",
        )
    suppressed = original.frame.height - int(large[COUNT].sum())
    if promise.limit is not None:
        checks.expect(
            suppressed <= promise.limit,
            "no more records than allowed were suppressed",
            f"more records were suppressed than the {promise.limit} allowed",
        )
    if promise.suppressed is not None:
        checks.expect(
            suppressed == promise.suppressed,
            "the number of suppressed records is right",
            f"{promise.suppressed} suppressed records are declared, but it should be another number",
        )


def _differing(expected: pl.DataFrame, found: pl.DataFrame, columns: Sequence[str]) -> int:
    """Number of combinations of values that do not occur equally often."""
    both = expected.join(found, on=columns, how="full", nulls_equal=True, coalesce=True, suffix="_released")
    return both.filter(pl.col(COUNT).ne_missing(pl.col(COUNT + "_released"))).height


def _generalized(promise: Promise, original: Original) -> pl.DataFrame:
    return pl.DataFrame([_looked_up(original, column, level) for column, level in promise.levels.items()])


def _looked_up(original: Original, column: str, level: int) -> pl.Series:
    """Ancestor of each original value at a level, by a join with the ladder's rows."""
    ladder = original.ladders[column]
    rungs = pl.DataFrame(
        {"value": ladder.values, "label": ladder.labels[level]}, schema=dict.fromkeys(["value", "label"], pl.String)
    )
    text = as_text(original.frame[column]).to_frame("value")
    joined = text.join(rungs, on="value", how="left", nulls_equal=True, maintain_order="left")
    return joined["label"].alias(column)
