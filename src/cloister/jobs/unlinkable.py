"""Whether rows of two parts can be joined by what both release of a patient.

Ids are numbered in the order of what each part itself releases, so that neither they nor the order of rows tell
anything of another part. What is left are columns that stand in two parts under one name: whoever looks for the row of
one part in another by them must find none, or at least k.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from cloister.hierarchy.ladder import ROOT
from cloister.io import as_text
from cloister.release_folder import PATIENTS_AND_CLAIMS, SIDE, data_file, read_data
from cloister.results import Manifest

RELEASED_OF_TABLE = ("quasi-identifier", "sensitive", "kept")
AS_RECORDED_OF_CLAIMS = "keep"


@dataclass(frozen=True)
class Shown:
    """What a part releases of each patient, one row a patient.

    Attributes
    ----------
    frame : the columns, as text; rows of suppressed records left out
    k : patients that share what is known of one
    """

    frame: pl.DataFrame = field(repr=False)
    k: int


def joinable(folder: Path, manifests: Mapping[str, Manifest]) -> list[str]:
    """Return which parts can be joined, in sentences; none if no row of one leads to fewer than k of another.

    Parameters
    ----------
    folder : of the job; its parts are folders in it
    manifests : of the parts, by name
    """
    shown = {name: shown_of(folder / name, manifest) for name, manifest in manifests.items()}
    there = [(name, one) for name, one in shown.items() if one is not None]
    found = []
    for (own, one), (other, two) in combinations(there, 2):
        columns = [column for column in one.frame.columns if column in two.frame.columns]
        if columns and leads_to_few(one, two, columns):
            found.append(
                f"rows of {own} and {other} can be joined by what both release ({', '.join(columns)}): some lead to "
                f"fewer than {max(one.k, two.k)}"
            )
    return found


def leads_to_few(one: Shown, two: Shown, columns: list[str]) -> bool:
    """Whether values of these columns that occur in both are those of fewer than k patients in one of them."""
    counts = [part.frame.group_by(columns).agg(pl.len().alias(" n")) for part in (one, two)]
    both = counts[0].join(counts[1], on=columns, how="inner", nulls_equal=True, suffix=" of the other")
    k = max(one.k, two.k)
    return bool(both.select((pl.min_horizontal(" n", " n of the other") < k).any()).item())


def shown_of(folder: Path, manifest: Manifest) -> Shown | None:
    """Return what a part releases of each patient; None where it has no row a patient, or nothing besides an id.

    Of claims and of files beside trajectories, only what is released as recorded; of code sets nothing, as their
    records need not be patients.
    """
    found = _columns(folder, manifest)
    if found is None or not found[1]:
        return None
    path, columns = found
    frame = read_data(path, _delimiter(manifest)).select(columns)
    texts = pl.DataFrame([as_text(column) for column in frame])
    suppressed = pl.all_horizontal(pl.all().eq_missing(pl.lit(ROOT)))
    return Shown(texts.filter(~suppressed), k_of(manifest))


def k_of(manifest: Manifest) -> int:
    """Return the largest k that a part promises; 2 where it promises none."""
    guarantee = manifest.get("guarantee")
    rules: Any = guarantee.get("rules") if isinstance(guarantee, dict) else None
    found: list[Any] = [rule.get("k") for rule in rules or [] if isinstance(rule, dict)]
    return max([2, *(k for k in found if type(k) is int)])


def _columns(folder: Path, manifest: Manifest) -> tuple[Path, list[str]] | None:
    """The file that has one row a patient, and those of its columns that could lead from one part to another."""
    columns, shape = manifest["columns"], manifest["shape"]
    if shape == "table":
        codes = manifest["codes"]["column"] if "codes" in manifest else None
        named = [name for name, told in columns.items() if told["role"] in RELEASED_OF_TABLE and name != codes]
        return folder / str(data_file(manifest)), named
    if shape == "trajectories" and "side" in manifest:
        return folder / SIDE, list(manifest["side"]["columns"])
    if shape == "claims":
        file = next(pair[0] for pair in PATIENTS_AND_CLAIMS if pair[0] in manifest["files"])
        of_patients = columns["patients"].items()
        return folder / file, [name for name, told in of_patients if told["role"] == AS_RECORDED_OF_CLAIMS]
    return None


def _delimiter(manifest: Manifest) -> str | None:
    delimiter = manifest["settings"].get("delimiter")
    return delimiter if isinstance(delimiter, str) else None
