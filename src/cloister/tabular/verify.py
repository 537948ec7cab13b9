"""The promise of a released table, recomputed from the release by other means than those that made it.

Nothing here imports the search or the kernels: classes are counted by sorting and grouping text with Polars, and the
original, where it is given, is generalized again by looking labels up. Columns are named by their place, c0, c1 and so
on: Polars takes some names for patterns, and any name may be that of another column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from cloister.hierarchy import ROOT, Ladder
from cloister.io import as_text
from cloister.results import Verdict

COUNT = "records"
"""Name of the counting column; the columns of the table are called c0, c1 and so on."""

KEYED = "^[0-9a-f]{64}$"
"""A keyed hash of an id: HMAC-SHA256 in hexadecimal."""


@dataclass(frozen=True)
class Promise:
    """What a released table promises, as its manifest states it.

    Attributes
    ----------
    columns : released columns, in order
    levels : level of each quasi-identifier
    k : records per class
    released, suppressed : records; None where the manifest keeps the number back
    id : the id column, if released
    numbered : whether it holds numbers; else it holds keyed hashes
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
    places = _places(promise)
    texts, promise = _placed(frame, places), _promise_by_place(promise, places)
    shown = _without_stars(texts, promise, checks)
    _check_counts(shown, promise, checks)
    classes = _classes(shown, list(promise.levels))
    _check_classes(classes, promise.k, checks)
    _check_order(texts, promise, checks)
    if promise.id is not None:
        _check_ids(shown[promise.id], promise.numbered, checks)
    if original is not None:
        source = _original_by_place(original, places)
        _check_original(shown, classes, promise, source, checks)
        _check_original_ids(shown, promise, source, checks)
    return _verdict(checks, original)


def released_records(frame: pl.DataFrame, promise: Promise, columns: Sequence[str]) -> list[pl.Series]:
    """Return these columns of the released records as text; rows of suppressed ones are set aside.

    Parameters
    ----------
    frame : the released table, with the columns that were promised
    """
    places = _places(promise)
    shown = _without_stars(_placed(frame, places), _promise_by_place(promise, places), _Checks())
    return [shown[places[column]] for column in columns]


def class_sizes(frame: pl.DataFrame, promise: Promise, columns: Sequence[str]) -> pl.Series:
    """Return the number of released records of each combination of values in these columns, smallest first."""
    texts = [text.alias(f"c{place}") for place, text in enumerate(released_records(frame, promise, columns))]
    shown = pl.DataFrame(texts)
    return _classes(shown, shown.columns)[COUNT].sort()


def _places(promise: Promise) -> dict[str, str]:
    """Name of each released column by its place."""
    return {column: f"c{place}" for place, column in enumerate(promise.columns)}


def _placed(frame: pl.DataFrame, places: Mapping[str, str]) -> pl.DataFrame:
    """The columns that have a place, as text; those that are not there left out."""
    there = [column for column in places if column in frame.columns]
    return pl.DataFrame([as_text(frame.get_column(column)).alias(places[column]) for column in there])


def _promise_by_place(promise: Promise, places: Mapping[str, str]) -> Promise:
    return replace(
        promise,
        columns=tuple(places.values()),
        levels={places[column]: level for column, level in promise.levels.items()},
        id=None if promise.id is None else places[promise.id],
    )


def _original_by_place(original: Original, places: Mapping[str, str]) -> Original:
    ladders = {places[column]: ladder for column, ladder in original.ladders.items() if column in places}
    return Original(_placed(original.frame, places), ladders)


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
    """Order must carry no information: it follows from the released values; where they are equal, from a keyed id."""
    keys = [column for column in texts.columns if column != promise.id]
    if promise.id is not None and not promise.numbered:
        keys.append(promise.id)
    values = texts.select(keys).with_columns(pl.all().fill_null(""))
    checks.expect(
        values.equals(values.sort(keys)),
        "records are sorted by their released values",
        "records are not sorted by their released values: their order may carry information",
    )


def _check_ids(ids: pl.Series, numbered: bool, checks: _Checks) -> None:
    """Ids must carry no information: they are the numbers of the records, or look like keyed hashes."""
    if numbered:
        expected = pl.Series(map(str, range(1, len(ids) + 1)), dtype=pl.String)
        checks.expect(
            ids.null_count() == 0 and ids.equals(expected, check_names=False),
            "ids are numbers in released order",
            "ids are not the numbers 1, 2, 3 ... in released order",
        )
        return
    checks.expect(
        ids.str.contains(KEYED).fill_null(value=False).all() and ids.n_unique() == len(ids),
        "ids have the form of keyed hashes and are unique",
        "ids are not keyed hashes of 64 hexadecimal digits, each of them once",
    )


def _check_original_ids(shown: pl.DataFrame, promise: Promise, original: Original, checks: _Checks) -> None:
    """No keyed id is an original one. Numbers may be: released in order, they say nothing."""
    if promise.id is None or promise.numbered or promise.id not in original.frame.columns:
        return
    same = shown.select(promise.id).join(original.frame.select(promise.id), on=promise.id, how="semi").height
    checks.expect(same == 0, "no id of the original is released", f"{same} ids of the original were released")


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
        recorded = expected.hstack([original.frame[column] for column in others])
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
    else:
        checks.expect(
            0 < suppressed < promise.k,
            f"from 1 to {promise.k - 1} records were suppressed, as the number kept back says",
            f"fewer than {promise.k} suppressed records are declared, but it should be none or more",
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
    text = original.frame[column].to_frame("value")
    joined = text.join(rungs, on="value", how="left", nulls_equal=True, maintain_order="left")
    return joined["label"].alias(column)
