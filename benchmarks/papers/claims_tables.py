"""The page of results: tables of what `claims` measured."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import pages
from benchmarks.pages import table
from benchmarks.papers.claims_page import PAGE
from benchmarks.papers.claims_paper import CLAIMS, VARIABLES, diversity_of

Found = Mapping[str, Any]
Cells = Sequence[object]

GROUPS = ("excluded", "remaining")
LARGEST = 3
"""The last rows: the most generated patients, and both pairs of DE-SynPUF."""

SMALL = ("2,000 generated", "10,000 generated", "30,000 generated")
"""Data that tables omit; the numbers are in the JSON file."""


def write_page(found: Found, out: Path) -> None:
    """Write the page of results from its words and the tables."""
    rows = [row for row in found["rows"] if row["manifest"] is not None]
    main = [row for row in rows if not row["data"].startswith(SMALL)]
    parts = {
        **pages.measured_on(found),
        "times": times(main),
        "risks": risks(main),
        "suppression": suppression(rows),
        "levels": by_column(main, level_told),
        "patients": patients(rows),
        "excluded": excluded(rows),
        "most_alike": f"{most_alike(rows):.2f}",
        "diversity": diversity(rows),
        "attacks": attacks(main),
    }
    pages.write(out / "claims.md", PAGE, parts)
    if find_spec("altair") is not None and find_spec("vl_convert") is not None:
        from benchmarks.papers.claims_figures import draw_excluded

        compared = {row["data"]: row["own"]["representativeness"] for row in rows[-LARGEST:]}
        draw_excluded(compared, out / "claims-excluded-figure.svg")


def times(rows: Sequence[Found]) -> str:
    """Seconds, processor seconds and memory of the commands."""
    lines = []
    for row in rows:
        protect, verify = row["protect"], row.get("verify")
        records = None if row["manifest"] is None else row["own"]["records"]
        counts = [f"{records[name]:,}" for name in ("in", "claims_in")] if records else ["", ""]
        last = f"{verify['seconds']:.1f}" if verify else "no release"
        costs = [f"{row['init']['seconds']:.1f}", f"{protect['seconds']:.1f}", f"{protect['processor']:.1f}"]
        lines.append([row["data"], *counts, *costs, f"{protect['gib']:.2f}", last])
    heads = ["data", "patients", "claims", "init (s)", "protect (s)", "processors (s)", "GiB", "verify (s)"]
    return table(heads, lines)


def risks(rows: Sequence[Found]) -> str:
    """What each release says of its risk, and what was suppressed."""
    heads = [
        "data",
        "mean risk (95% interval)",
        "flagged (95% interval)",
        "flags believed",
        "loss",
        "verified",
        "cells",
    ]
    lines = []
    for row in rows:
        counts = next(line["counts"] for line in row["own"]["steps"] if line["step"] == "11 suppression")
        risk = row["manifest"]["risk"]
        verified = "yes" if row["verify"]["code"] == 0 else "NO"
        highest, loss = risk["flag_aware"]["highest"], row["manifest"]["utility"]["loss"]
        pairs = ((risk["mean"], risk["interval"]), (risk["flag_rate"], risk["flag_interval"]))
        shares = [f"{share(mean)} ({share(interval)})" for mean, interval in pairs]
        cells = f"{counts['cells suppressed']:,}"
        lines.append([row["data"], *shares, share(highest), f"{loss:.2f}", verified, cells])
    return table(heads, lines)


def share(number: float | Sequence[float]) -> str:
    """A share or an interval of shares."""
    return f"{number:.4f}" if isinstance(number, float | int) else " to ".join(f"{end:.4f}" for end in number)


def suppression(rows: Sequence[Found]) -> str:
    """State that nothing followed the suppression of labels, or by release what did."""
    heads = ["data", "flagged before", "flagged after", "rounds", "max_flag_rate", "patients"]
    lines, is_needed = [], False
    for row in rows:
        own, manifest = row["own"], row["manifest"]
        counts = next(line["counts"] for line in own["steps"] if line["step"] == "11 suppression")
        rates = (own["before_suppression"]["flag_rate"], manifest["risk"]["flag_rate"])
        omitted, limit = counts["patients left out"], manifest["choice"]["max_flag_rate"]
        lines.append([row["data"], *map(share, rates), own["rounds"], limit, f"{omitted:,}"])
        is_needed = is_needed or own["rounds"] > 0 or rates[0] != rates[1] or omitted > 0
    same = "No round followed that suppresses values of patients at risk, and no patient is suppressed."
    return table(heads, lines) if is_needed else same


def by_column(rows: Sequence[Found], told: Callable[[Found, str], str]) -> str:
    """A line for each column of any data set."""
    names = dict.fromkeys(name for row in rows for name in row["labels"])
    return table(
        ["column", *(row["data"] for row in rows)],
        [[name, *(told(row, name) if name in row["labels"] else "" for row in rows)] for name in names],
    )


def level_told(row: Found, name: str) -> str:
    """Level, highest level and number of labels."""
    columns = row["manifest"]["columns"]["patients"] | row["manifest"]["columns"]["claims"]
    return f"{columns[name]['level']}/{columns[name]['top']} ({row['labels'][name]:,})"


def excluded(rows: Sequence[Found]) -> str:
    """Sexes and claims of excluded and remaining patients: exact, since all these patients are made up."""
    compared = {row["data"]: row["own"]["representativeness"] for row in rows[-LARGEST:]}
    every = [one["variables"] for one in compared.values()]
    heads = ["variable", "", *(f"{data}: {group}" for data in (*compared, "paper") for group in GROUPS)]
    lines = []
    for band in VARIABLES["sex"]:
        printed = [f"{one:.2f}" for one in VARIABLES["sex"][band]]
        lines.append(["sex", band, *(cell for own in every for cell in _pair(_counts(own, "sex"), band)), *printed])
    medians = [f"{one[f'median_claims_{group}']:g}" for one in compared.values() for group in GROUPS]
    return table(heads, [*lines, ["claims of a patient", "median", *medians, *CLAIMS]])


def patients(rows: Sequence[Found]) -> str:
    """How many patients are excluded, of those with claims."""
    lines = []
    for row in rows[-LARGEST:]:
        sexes = row["own"]["representativeness"]["variables"]["sex"]["excluded and remaining"]
        n_excluded, n_remaining = (sum(one) for one in zip(*sexes.values(), strict=True))
        part = pages.share(n_excluded / (n_excluded + n_remaining))
        lines.append([row["data"], f"{n_excluded:,}", f"{n_remaining:,}", part])
    return table(["patients with claims", "excluded", "remaining", "share excluded"], lines)


def _counts(variables: Found, name: str) -> Mapping[str, Sequence[int]]:
    counts: Mapping[str, Sequence[int]] = variables.get(name, {}).get("excluded and remaining", {})
    return {band: pair for band, pair in counts.items() if any(pair)}


def _pair(counts: Mapping[str, Sequence[int]], band: str) -> list[str]:
    """The shares of a band in percent, of the excluded and of the remaining."""
    if band not in counts:
        return ["", ""]
    totals = [sum(one) for one in zip(*counts.values(), strict=True)]
    return [f"{100 * n / total:.2f}" if total else "" for n, total in zip(counts[band], totals, strict=True)]


def diversity(rows: Sequence[Found]) -> str:
    """Correlations between the diversities of columns of the largest generated data."""
    return _correlations(rows[-LARGEST]["own"]["diversity"])


def most_alike(rows: Sequence[Found]) -> float:
    """The highest correlation of two different columns in any of the data."""
    every = [row["own"]["diversity"] for row in rows[-LARGEST:]]
    return max(
        value
        for found in every
        for name, own in found.items()
        for other, value in own.items()
        if name != other and value is not None
    )


def _correlations(found: Mapping[str, Mapping[str, float | None]]) -> str:
    lines = [
        [
            name,
            *(
                "" if i > j or value is None else _beside(value, diversity_of(name, other))
                for j, (other, value) in enumerate(own.items())
            ),
        ]
        for i, (name, own) in enumerate(found.items())
    ]
    return table(["", *(name.replace("_", " ") for name in found)], lines)  # words break where a table is wide


def _beside(value: float, printed: float | None) -> str:
    return f"{value:.2f}" if printed is None else f"{value:.2f} *({printed:g})*"


def attacks(rows: Sequence[Found]) -> str:
    """Mean risk of each adversary."""
    tables = [{one["adversary"]: one for one in row["manifest"]["sensitivity"]["attacks"]} for row in rows]
    names = dict.fromkeys(name for found in tables for name in found)
    lines = [
        [name, *(f"{100 * found[name]['mean']:.2f}" if name in found else "" for found in tables)] for name in names
    ]
    return table(["adversary", *(row["data"] for row in rows)], lines)
