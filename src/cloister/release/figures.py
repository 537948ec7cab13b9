"""The report's figures beyond the manifest: class sizes, label counts, and signs of identifiers.

What the recipient gets is a function of the released files, and is recomputed by the same function when a release is
verified. Counts of the original are for the custodian only: with the released ones they reveal what was omitted.
"""

import datetime
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import polars as pl

from cloister.io import Tally
from cloister.release.masking import mask_small_count
from cloister.risk.recorded_columns import UniqueRecords
from cloister.risk.safe_harbor import look_for_identifiers

NAMED = 12
"""Labels of a column that are listed by themselves: the most frequent."""

BANDS = (1, 2, 5, 10, 20, 50, 100, 500, 1000)
"""Lower ends of the sizes that are counted together."""

Label = str | None
Counts = Mapping[Label, int]
Figures = dict[str, Any]


@dataclass(frozen=True)
class Counted:
    """The number of records or patients with each label of a column."""

    # file, column: the file and the column with the label
    file: str
    column: str
    of: str  # what is counted: records, patients, pairs or claims
    after: Counts = field(repr=False)  # by label, as released
    least: frozenset[str] = frozenset()  # labels of which more may be there than are counted


@dataclass(frozen=True)
class ReportCounts:
    """The counts from which the report's figures are computed."""

    k: int  # counts of fewer are masked
    sizes: pl.Series = field(repr=False)  # how many share each class, term, cluster or trajectory
    # of, by: what is counted, and by what, in words
    of: str
    by: str
    columns: tuple[Counted, ...]  # those whose labels are counted
    # name and text of each released file, for signs of identifiers; columns that only number records omitted
    files: Mapping[str, Tally] = field(repr=False)
    # patients made up from released labels, by column
    examples: tuple[Mapping[str, str], ...] = ()
    members: bool = True  # whether the members of the classes are counted, or the classes
    recorded: UniqueRecords | None = None  # what the columns released as recorded do, if there are any
    complete: int | None = None  # released records in which every quasi-identifier says something


@dataclass(frozen=True)
class OriginalCounts:
    """The same counts for the original data, for the custodian only.

    ``sizes``: how many share each class of the original as recorded
    ``labels``: of columns that have one level in the whole release, by column and by label at that level
    """

    sizes: pl.Series | None = field(default=None, repr=False)
    labels: Mapping[str, Counts] = field(default_factory=dict, repr=False)


def figures_of(shown: ReportCounts, created: str) -> Figures:
    """Return the figures for the recipient, with small counts masked.

    ``created``: date and time of the release, ISO 8601; years of birth are compared with its year
    """
    examples = {"examples": [dict(one) for one in shown.examples]} if shown.examples else {}
    recorded: Figures = {} if shown.recorded is None else {"recorded": _plain(shown.recorded)}
    recorded |= {} if shown.complete is None else {"complete": shown.complete}
    return (
        examples
        | recorded
        | {
            "class_sizes": {
                "of": shown.of,
                "by": shown.by,
                "bands": band_sizes(shown.sizes, members=shown.members),
                "before": None,
            },
            "marginals": [_marginal(column, shown.k) for column in shown.columns],
            "identifiers": _identifiers(shown, datetime.date.fromisoformat(created[:10])),
        }
    )


def _plain(found: UniqueRecords) -> Figures:
    """Return the unique-record counts in their JSON form."""
    return {**asdict(found), "contributors": [list(one) for one in found.contributors]}


def exact_figures_of(counts: ReportCounts, original: OriginalCounts, published: Figures) -> Figures:
    """Return the figures with exact counts of the original, for the custodian; they name no unreleased label."""
    before = None if original.sizes is None else band_sizes(original.sizes, members=counts.members)
    return published | {
        "class_sizes": published["class_sizes"] | {"before": before},
        "marginals": [_exact_marginal(column, original.labels.get(column.column)) for column in counts.columns],
    }


def label_counts(texts: pl.Series, records: pl.Series | None = None) -> dict[Label, int]:
    """Return the number of occurrences of each text."""
    times = pl.ones(len(texts), dtype=pl.Int64, eager=True) if records is None else records
    counted = pl.DataFrame([texts.alias("label"), times.alias("n")]).group_by("label").agg(pl.col("n").sum())
    return dict(zip(counted["label"].to_list(), counted["n"].to_list(), strict=True))


def band_sizes(sizes: pl.Series, *, members: bool) -> dict[str, int]:
    """Return the number of members, or of classes, in each band of class size."""
    found = {}
    for low, high in pairwise(BANDS):
        inside = sizes.filter((sizes >= low) & (sizes < high))
        found[str(low) if high == low + 1 else f"{low}-{high - 1}"] = int(inside.sum()) if members else len(inside)
    largest = sizes.filter(sizes >= BANDS[-1])
    return found | {f"{BANDS[-1]} and more": int(largest.sum()) if members else len(largest)}


def _identifiers(shown: ReportCounts, today: datetime.date) -> list[Figures]:
    """Return signs of the identifiers that HIPAA Safe Harbor lists, by file."""
    return [
        {
            "file": name,
            "column": finding.column,
            "letter": finding.letter,
            "what": finding.what,
            "records": mask_small_count(finding.records, shown.k),
            "confidence": finding.confidence,
        }
        for name, texts in shown.files.items()
        for finding in look_for_identifiers(texts.frame, texts.frame, records=texts.weights, today=today)
    ]


def _marginal(counted: Counted, k: int) -> Figures:
    """Return the most frequent labels of a column with their counts, and a total for all others."""
    after = counted.after
    ordered = sorted(after, key=lambda label: (-after[label], label is not None, label or ""))
    named, others = ordered[:NAMED], ordered[NAMED:]
    rest = {
        "labels": len(others),
        "after": mask_small_count(sum(after[label] for label in others), k),
        "exact": counted.least.isdisjoint(others),
    }
    return {
        "file": counted.file,
        "column": counted.column,
        "of": counted.of,
        "labels": [
            {"label": label, "after": mask_small_count(after[label], k), "exact": label not in counted.least}
            for label in named
        ],
        "others": rest if others else None,
    }


def _exact_marginal(counted: Counted, before: Counts | None) -> Figures:
    """Return the label counts without masking, and with counts of the original where they are known."""
    marginal = _marginal(counted, k=0)
    if before is None:
        return marginal
    released = sum(count for label, count in before.items() if label in counted.after)
    labels = [cell | {"before": before.get(cell["label"], 0)} for cell in marginal["labels"]]
    rest = released - sum(cell["before"] for cell in labels)
    return marginal | {
        "labels": labels,
        "others": None if marginal["others"] is None else marginal["others"] | {"before": rest},
        "not_released": sum(before.values()) - released,
    }
