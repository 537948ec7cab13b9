"""Figures that the paper states, with ours: what the page says at the top.

Loukides, Liagouris, Gkoulalas-Divanis and Terrovitis (2014), section 6. Its figures are pictures; the numbers are those
of the text.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from textwrap import fill
from typing import Any

from benchmarks.pages import share, table

Run = Mapping[str, Any]
Runs = Sequence[Run]


SWEEPS = (
    ("21", "level:1", ("95.3%", "53%", "75.7%")),
    ("22", "sim:10", ("100%", "33%", "72.3%")),
    ("23", "sup:0.625", ("95%", "59%", "85.9%")),
)
"""Figures 21 to 23: the policy, and the paper's share within 5% at k = 2 and 25, and its mean over k."""


def findings_table(found: Mapping[str, Any]) -> str:
    """Return the paper's figures and ours for the findings that do not hold on both data sets."""
    rows: list[list[str]] = [
        ["12: sets of two codes in one record", "17%", *_each(found["figure_12"], _in_one)],
        ["17: ARE, k from 5 to 25", "at most 0.05", *_each(found["runs"], _errors)],
    ]
    spans = (("18", "level:1", "-24 to 5%"), ("19", "sim:5", "-21% and above"), ("20", "sup:0.625", "-10 to 5%"))
    for figure, policy, paper in spans:
        rows.append([f"{figure}: MRE, `{policy}`", paper, *_each(found["runs"], _span(policy))])
    for figure, policy, (first, last, mean) in SWEEPS:
        paper = f"{first} to {last}, mean {mean}"
        rows.append([f"{figure}: within 5%, `{policy}`, k from 2 to 25", paper, *_each(found["runs"], _sweep(policy))])
    for policy, paper in (("level:1", "89%"), ("sim:10", "93%"), ("sup:2.5", "100%")):
        rows.append([f"24: within 5%, `{policy}`, m = 5", paper, *_each(found["runs"], _strongest(policy))])
    rows.append(["18: within 5%, joined as in the paper", "90%", *_each(found["by_paper"], _joined)])
    return table(["figure", "paper", "diabetes130", "synpuf"], rows)


def swept(found: Mapping[str, Any]) -> list[Run]:
    """Return the runs of Figs 21 to 23, by data, policy and k."""
    policies = [policy for _, policy, _ in SWEEPS]
    rows = [row for row in found["runs"] if row["m"] == 2 and row["policy"] in policies]
    return sorted(rows, key=lambda row: (row["data"], policies.index(row["policy"]), row["k"]))


def reconstructions_table(found: Mapping[str, Any]) -> str:
    """Return the shares within 5% of Figs 21 to 23: the mean of ten reconstructions, and one of them."""
    rows = swept(found)
    ks = sorted({row["k"] for row in rows})
    lines = []
    for figure, policy, _ in SWEEPS:
        for data in ("diabetes130", "synpuf"):
            own = [row for row in rows if (row["data"], row["policy"]) == (data, policy)]
            lines.append([f"{figure}, `{policy}`, {data}", *map(_one_and_all, own)])
    return table(["figure", *(f"k = {k}" for k in ks)], lines)


def _one_and_all(row: Run) -> str:
    each = row["within_each"]
    if _width(row) == 0 and each[0] == row["within"]:
        return share(row["within"])
    return f"{share(row['within'])}; {share(fmean(each))}"


def spread(found: Mapping[str, Any]) -> str:
    """State how much one reconstruction differs from others, and from the mean of ten."""
    rows = swept(found)
    widest = max(rows, key=_width)
    more = [100 * (fmean(row["within_each"]) - row["within"]) for row in rows]
    text = (
        f"The ten reconstructions of a release differ by at most {100 * _width(widest):.1f} percentage points "
        f"({widest['data']}, `{widest['policy']}`, k = {widest['k']}), which does not explain the differences from the "
        f"paper. The average share of one reconstruction differs from that of the mean of ten by {min(more):+.1f} to "
        f"{max(more):+.1f} points."
    )
    return fill(text, 119)


def _width(row: Run) -> float:
    return float(max(row["within_each"]) - min(row["within_each"]))


def _each(rows: Runs, told: Callable[[Runs], str]) -> list[str]:
    return [told([row for row in rows if row["data"] == data]) for data in ("diabetes130", "synpuf")]


def _in_one(rows: Runs) -> str:
    return share(next(row["share"] for row in rows if (row["m"], row["records"]) == (2, "1")))


def _errors(rows: Runs) -> str:
    policies = ("level:1", "sim:10", "sup:2.5")
    errors = [
        row["frequent:0.625"]["are"] for row in rows if row["policy"] in policies and row["m"] == 2 and row["k"] >= 5
    ]
    return f"{min(errors):.2f} to {max(errors):.2f}"


def _usual(rows: Runs, policy: str, k: int = 5, m: int = 2) -> Run:
    return next(row for row in rows if (row["policy"], row["k"], row["m"]) == (policy, k, m))


def _span(policy: str) -> Callable[[Runs], str]:
    def told(rows: Runs) -> str:
        row = _usual(rows, policy)
        return f"{100 * row['lowest']:.0f} to {100 * row['highest']:.0f}%"

    return told


def _sweep(policy: str) -> Callable[[Runs], str]:
    def told(rows: Runs) -> str:
        within = {row["k"]: row["within"] for row in rows if (row["policy"], row["m"]) == (policy, 2)}
        return f"{share(within[2])} to {share(within[25])}, mean {share(fmean(within.values()))}"

    return told


def _strongest(policy: str) -> Callable[[Runs], str]:
    return lambda rows: share(_usual(rows, policy, m=5)["within"])


def _joined(rows: Runs) -> str:
    return share(_usual(rows, "level:1")["within"])
