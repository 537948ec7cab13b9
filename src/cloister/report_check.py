"""The figures of a report, counted anew from what the files of a release say.

Shares no code with what wrote them: counts are plain Python's. Signs of identifiers are looked for again.
"""

import datetime
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from cloister.io import records_of, table_columns
from cloister.release_folder import FIGURES, read_figures, same
from cloister.results import Manifest
from cloister.risk.safe_harbor import look_for_identifiers

MOST_SHOWN = 12
ENDS = (1, 2, 5, 10, 20, 50, 100, 500, 1000)

KEYS = {"class_sizes", "marginals", "identifiers"}
NOT_SO = f"{FIGURES} does not say what the files say of"
NOT_BEFORE = f"{FIGURES} tells counts before protection that cannot be, or must be kept back"


@dataclass(frozen=True)
class Recounted:
    """A column as it is read back.

    Attributes
    ----------
    file, column, of : as the report names them
    labels : label of each record, or how many have each label
    before : label of each record of the original at the released level, or how many had each; None where it is not at
        hand
    least : labels of which more may be there than are counted
    is_comparable : whether the report may tell counts before protection
    """

    file: str
    column: str
    of: str
    labels: Iterable[str | None] | Mapping[str | None, int] = field(repr=False)
    before: Iterable[str | None] | Mapping[str | None, int] | None = field(default=None, repr=False)
    least: frozenset[str] = frozenset()
    is_comparable: bool = False


@dataclass(frozen=True)
class Recount:
    """What the figures of a report must follow from.

    Attributes
    ----------
    k : counts of fewer are told as such
    sizes : how many share each class, term, cluster or trajectory
    of, by, members : what is counted, and by what; whether the members of the classes are counted, or the classes
    columns : those whose labels are counted
    files : name and text of each file, or the tally of that; columns that only number records left out
    suppressed : records left out, if told
    """

    k: int
    sizes: Sequence[int] = field(repr=False)
    of: str
    by: str
    columns: Sequence[Recounted]
    files: Mapping[str, pl.DataFrame] = field(repr=False)
    members: bool = True
    suppressed: int | None = None


def report_failures(folder: Path, manifest: Manifest, found: Recount) -> list[str]:
    """Return what the figures beside the report say that does not follow from the files, in sentences."""
    if not os.path.isfile(folder / FIGURES):
        return []  # said where the files are looked for
    try:
        figures = read_figures(folder)
        return _failures(figures, manifest, found)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return [f"{FIGURES} does not hold the figures of a report"]


def _failures(figures: Mapping[str, Any], manifest: Manifest, found: Recount) -> list[str]:
    if figures.keys() != KEYS:
        raise ValueError("other figures")
    told = figures["marginals"]
    after = [_without_before(marginal) for marginal in told]
    expected = [_recounted(column, found.k) for column in found.columns]
    agreements = {
        f"{NOT_SO} class sizes": same(figures["class_sizes"], _class_sizes(found)),
        f"{NOT_SO} how many have each label": same(after, expected),
        f"{NOT_SO} signs of identifiers": any(
            same(figures["identifiers"], _identifiers(found, year)) for year in _years(manifest)
        ),
    }
    failures = [failure for failure, holds in agreements.items() if not holds]
    if not failures and not all(map(_before_holds, told, found.columns, [found] * len(told))):
        failures.append(NOT_BEFORE)
    return failures


def _class_sizes(found: Recount) -> dict[str, Any]:
    bands = {}
    for low, high in pairwise((*ENDS, 0)):
        inside = [size for size in found.sizes if size >= low and (not high or size < high)]
        name = f"{low}-{high - 1}" if high > low + 1 else f"{low}" if high else f"{low} and more"
        bands[name] = sum(inside) if found.members else len(inside)
    return {"of": found.of, "by": found.by, "bands": bands, "before": None}


def _told(count: int, k: int) -> int | str:
    return count if count >= k or not count else f"<{k}"


def _shown(column: Recounted) -> tuple[list[tuple[str | None, int]], list[tuple[str | None, int]]]:
    """The labels that are shown with their counts, and the others."""
    counts = column.labels if isinstance(column.labels, Mapping) else Counter(column.labels)
    pairs = sorted(counts.items(), key=lambda pair: (-pair[1], "" if pair[0] is None else "a" + pair[0]))
    return pairs[:MOST_SHOWN], pairs[MOST_SHOWN:]


def _recounted(column: Recounted, k: int) -> dict[str, Any]:
    shown, others = _shown(column)
    rest = {
        "labels": len(others),
        "after": _told(sum(count for _, count in others), k),
        "exact": not any(label in column.least for label, _ in others),
    }
    return {
        "file": column.file,
        "column": column.column,
        "of": column.of,
        "labels": [
            {"label": label, "after": _told(count, k), "exact": label not in column.least} for label, count in shown
        ],
        "others": rest if others else None,
    }


def _without_before(marginal: Mapping[str, Any]) -> dict[str, Any]:
    """The same without counts before protection; each of which must be there."""
    rest = {name: part for name, part in marginal.items() if name != "not_released"}
    if len(rest) == len(marginal):
        raise KeyError("not_released")
    rest["labels"] = [_unprotected(cell) for cell in marginal["labels"]]
    rest["others"] = None if marginal["others"] is None else _unprotected(marginal["others"])
    return rest


def _unprotected(cell: Mapping[str, Any]) -> dict[str, Any]:
    if "before" not in cell:
        raise KeyError("before")
    return {name: part for name, part in cell.items() if name != "before"}


def _before_holds(marginal: Mapping[str, Any], column: Recounted, found: Recount) -> bool:
    """Whether counts before protection are those of the original; without it, whether they can be."""
    shown, hidden = _shown(column)
    others = [count for _, count in hidden]
    after = [count for _, count in shown] + ([sum(others)] if others else [])
    cells = [*marginal["labels"], *([marginal["others"]] if others else [])]
    told = [cell["before"] for cell in cells]
    untold = told == [None] * len(told) and marginal["not_released"] is None
    if not column.is_comparable or found.suppressed is None or 0 < found.suppressed < found.k:
        return untold
    lost = [_lost(before, count, found.k) for before, count in zip(told, after, strict=True)] if not untold else []
    lost += [] if untold else [_lost(marginal["not_released"], 0, found.k)]
    if column.before is not None:
        actual = _actually_lost(Counter(column.before), shown, others, column)
        few = sum(0 < count < found.k for count in actual)
        kept_back = any(0 < count < found.k for count in actual) and not _may_be_any(
            few, sum(count for count in actual if 0 < count < found.k), found.k
        )
        expected = [None if 0 < count < found.k else count for count in actual]
        return untold if kept_back else not untold and lost == expected
    return untold or _adds_up(lost, found)


def _lost(before: Any, after: int, k: int) -> int | None:
    """How many of those before were left out; None where that is kept back."""
    if before == f"<{after + k}":
        return None
    if type(before) is not int:
        raise TypeError("not a count")
    return before - after


def _actually_lost(
    before: Mapping[str | None, int],
    shown: Sequence[tuple[str | None, int]],
    others: Sequence[int],
    column: Recounted,
) -> list[int]:
    """How many were left out, by label shown, of the other labels together, and of labels that are not released."""
    named = {label for label, _ in shown}
    released = set(column.labels)
    lost = [before.get(label, 0) - count for label, count in shown]
    rest = sum(count for label, count in before.items() if label in released - named) - sum(others)
    beyond = sum(count for label, count in before.items() if label not in released)
    return [*lost, *([rest] if others else []), beyond]


def _may_be_any(few: int, total: int, k: int) -> bool:
    """Whether each of some counts from 1 to k - 1, of which the sum is known, may still be any of these."""
    lowest = total - (few - 1) * (k - 1)
    highest = total - (few - 1)
    return lowest <= 1 and highest >= k - 1


def _adds_up(lost: Sequence[int | None], found: Recount) -> bool:
    """Whether no count is negative or one to be kept back, and those kept back can make up what is left."""
    suppressed = found.suppressed or 0
    counts = [count for count in lost if count is not None]
    few, rest = len(lost) - len(counts), suppressed - sum(counts)
    fine = all(count == 0 or count >= found.k for count in counts)
    return fine and (_may_be_any(few, rest, found.k) if few else rest == 0)


def _years(manifest: Manifest) -> list[int]:
    """The year of the release."""
    return [datetime.datetime.fromisoformat(manifest["created"]).year]


def _identifiers(found: Recount, year: int) -> list[dict[str, Any]]:
    every = {name: (texts.select(table_columns(texts)), records_of(texts)) for name, texts in found.files.items()}
    return [
        {
            "file": name,
            "column": sign.column,
            "letter": sign.letter,
            "what": sign.what,
            "records": _told(sign.records, found.k),
            "confidence": sign.confidence,
        }
        for name, (texts, records) in every.items()
        for sign in look_for_identifiers(texts, texts, records=records, today=datetime.date(year, 1, 1))
    ]
