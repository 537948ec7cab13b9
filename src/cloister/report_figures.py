"""What a report shows beside the manifest: class sizes, labels and how many have them, signs of identifiers.

Labels are told that stand in the release, and no others. Counts before protection are told at the released levels, as
far as nobody can work out from them how many records, fewer than k, were left out.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import polars as pl

from cloister.io import records_of, table_columns
from cloister.risk.safe_harbor import look_for_identifiers

SHOWN = 12
"""Labels of a column that are shown by themselves: the most frequent."""

BANDS = (1, 2, 5, 10, 20, 50, 100, 500, 1000)
"""Lower ends of the sizes that are told together."""

Label = str | None
Counts = Mapping[Label, int]
Figures = dict[str, Any]


@dataclass(frozen=True)
class Counted:
    """How many have each label of a column.

    Attributes
    ----------
    file, column : where it stands
    of : what is counted: records, patients, pairs or claims
    after : by label, as released
    before : by label, at the released level, of the original; None where there is no one level, or it is not told
    least : labels of which more may be there than are counted
    """

    file: str
    column: str
    of: str
    after: Counts = field(repr=False)
    before: Counts | None = field(default=None, repr=False)
    least: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Shown:
    """What the figures of a report are made of.

    Attributes
    ----------
    k : counts of fewer are told as such
    sizes : how many share each class, term, cluster or trajectory
    of, by : what is counted, and by what, in words
    columns : those whose labels are counted
    files : name and text of each released file, or the tally of that, for signs of identifiers; columns that only
        number records left out
    members : whether the members of the classes are counted, or the classes
    suppressed : records left out; None where that is not told
    sizes_before : the same of the original as recorded; for the custodian
    """

    k: int
    sizes: pl.Series = field(repr=False)
    of: str
    by: str
    columns: tuple[Counted, ...]
    files: Mapping[str, pl.DataFrame] = field(repr=False)
    members: bool = True
    suppressed: int | None = None
    sizes_before: Callable[[], pl.Series] | None = field(default=None, repr=False)


def figures_of(shown: Shown, created: str) -> Figures:
    """Return the figures for the recipient.

    Parameters
    ----------
    created : date and time of the release, ISO 8601; years of birth are compared with its year
    """
    return {
        "class_sizes": {"of": shown.of, "by": shown.by, "bands": _bands(shown), "before": None},
        "marginals": [_marginal(column, shown) for column in shown.columns],
        "identifiers": _identifiers(shown, datetime.date.fromisoformat(created[:10])),
    }


def exact_figures_of(shown: Shown, told: Figures) -> Figures:
    """Return the same with exact counts of the original, for the custodian; unreleased labels are not named either."""
    before = None if shown.sizes_before is None else banded(shown.sizes_before(), members=shown.members)
    return told | {
        "class_sizes": told["class_sizes"] | {"before": before},
        "marginals": [_marginal(column, shown, exact=True) for column in shown.columns],
    }


def label_counts(texts: pl.Series, records: pl.Series | None = None) -> dict[Label, int]:
    """Return how often each text occurs.

    Parameters
    ----------
    records : how many have each of these texts; one unless given
    """
    times = pl.ones(len(texts), dtype=pl.Int64, eager=True) if records is None else records
    counted = pl.DataFrame([texts.alias("label"), times.alias("n")]).group_by("label").agg(pl.col("n").sum())
    return dict(zip(counted["label"].to_list(), counted["n"].to_list(), strict=True))


def banded(sizes: pl.Series, *, members: bool) -> dict[str, int]:
    """Return how many members, or how many classes, there are by the size of the class."""
    found = {}
    for low, high in pairwise(BANDS):
        inside = sizes.filter((sizes >= low) & (sizes < high))
        found[str(low) if high == low + 1 else f"{low}-{high - 1}"] = int(inside.sum()) if members else len(inside)
    largest = sizes.filter(sizes >= BANDS[-1])
    return found | {f"{BANDS[-1]} and more": int(largest.sum()) if members else len(largest)}


def _bands(shown: Shown) -> dict[str, int]:
    return banded(shown.sizes, members=shown.members)


def _identifiers(shown: Shown, today: datetime.date) -> list[dict[str, Any]]:
    """Signs of what Safe Harbor names, by file."""
    every = {name: (texts.select(table_columns(texts)), records_of(texts)) for name, texts in shown.files.items()}
    return [
        {
            "file": name,
            "column": finding.column,
            "letter": finding.letter,
            "what": finding.what,
            "records": told(finding.records, shown.k),
            "confidence": finding.confidence,
        }
        for name, (texts, records) in every.items()
        for finding in look_for_identifiers(texts, texts, records=records, today=today)
    ]


def told(count: int, k: int) -> int | str:
    """Return a count; of fewer than k only that it is so."""
    return f"<{k}" if 0 < count < k else count


def _marginal(counted: Counted, shown: Shown, *, exact: bool = False) -> dict[str, Any]:
    after = counted.after
    ordered = sorted(after, key=lambda label: (-after[label], label is not None, label or ""))
    named, others = ordered[:SHOWN], ordered[SHOWN:]
    cells = [after[label] for label in named] + [sum(after[label] for label in others)]
    before, unreleased = _before(counted, shown, named, cells, exact=exact)
    shares = cells if exact else [told(count, shown.k) for count in cells]
    return {
        "file": counted.file,
        "column": counted.column,
        "of": counted.of,
        "labels": [
            {"label": label, "before": was, "after": count, "exact": label not in counted.least}
            for label, was, count in zip(named, before, shares, strict=False)
        ],
        "others": _others(counted, others, before[-1], shares[-1]) if others else None,
        "not_released": unreleased,
    }


def _others(counted: Counted, labels: Sequence[Label], before: int | str | None, after: int | str) -> dict[str, Any]:
    return {"labels": len(labels), "before": before, "after": after, "exact": counted.least.isdisjoint(labels)}


def _before(
    counted: Counted, shown: Shown, named: Sequence[Label], cells: Sequence[int], *, exact: bool
) -> tuple[list[int | str | None], int | str | None]:
    """Counts before of the labels shown, of all others together, and of labels that are not released."""
    nothing: list[int | str | None] = [None] * len(cells)
    if counted.before is None or (shown.suppressed is None and not exact):
        return nothing, None
    was = [counted.before.get(label, 0) for label in named]
    every = sum(count for label, count in counted.before.items() if label in counted.after)
    was.append(every - sum(was))
    lost = [*(count - cell for count, cell in zip(was, cells, strict=True)), sum(counted.before.values()) - every]
    if exact:
        return list(was), lost[-1]
    is_told = differences_told(lost, shown.k)
    if is_told is None:
        return nothing, None
    shares = [
        count if is_exact else f"<{cell + shown.k}"
        for count, cell, is_exact in zip(was, cells, is_told[:-1], strict=True)
    ]
    return list(shares), lost[-1] if is_told[-1] else f"<{shown.k}"


def differences_told(lost: Sequence[int], k: int) -> list[bool] | None:
    """Return which of these counts may be told, where their sum is known; None if none may.

    A count of fewer than k is kept back. What is known of those kept back is their number and their sum. They are
    kept back well only if each of them may be any number from 1 to k - 1 by that; else nothing of the column is told.

    Parameters
    ----------
    lost : records left out, by label; their sum is told elsewhere and is 0, or k and more
    """
    few = [count for count in lost if 0 < count < k]
    n, total = len(few), sum(few)
    if few and not (n - 1) + (k - 1) <= total <= (n - 1) * (k - 1) + 1:
        return None
    return [not 0 < count < k for count in lost]
