"""A release folder of trajectories, checked again from its files alone, or with the original and its crosswalk."""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy, names_hierarchy, parse_hierarchy
from cloister.io import as_text
from cloister.release_folder import CODEBOOK, SIDE, WITH_SIDE, check_files, data_file, read_data, stated
from cloister.report_figures import report_failures
from cloister.results import Manifest, Verdict

from .codebook import codebook
from .data_file import COLUMNS, ID, WrittenTrajectories
from .domain import fitted
from .manifest import columns_of, one_row, records_of, rules_of, sentences_of, side_of
from .request import GivenTrajectories
from .shown import shown_of
from .stated import PROMISER, Stated, input_agreements, read_stated
from .verify import Promise, verify
from .verify_figures import figures_agree, risk_of
from .verify_original import Integers, Secret

CHECKED = (
    "files are as they were released, and no others are there",
    "the files are written in the one way there is",
    "the manifest does not contradict itself or the files; its counts were made anew",
    "the codebook lists what was released, and nothing else",
)
NO_FIGURES = "utility does not follow from the data file"


@dataclass(frozen=True)
class TrajectoriesOriginal:
    """What only the custodian has.

    Attributes
    ----------
    given : the trajectories, and what rides along, as read again
    crosswalk : written with the release; None where it is not given
    code_hierarchy, age_hierarchy : where they are files
    """

    given: GivenTrajectories
    crosswalk: pl.DataFrame | None = None
    code_hierarchy: Hierarchy | None = None
    age_hierarchy: Hierarchy | None = None


def recheck_trajectories(
    folder: Path, manifest: Manifest, k: int | None = None, original: TrajectoriesOriginal | None = None
) -> Verdict:
    """Check hashes, form, promise, codebook and figures of a release folder.

    Parameters
    ----------
    k : what the recipient expects, whatever the manifest says

    Raises
    ------
    InputError
        The folder cannot be read as a release of trajectories, or what is given of the original does not fit it.
    """
    failures = check_files(folder, manifest)
    name = data_file(manifest)
    if failures or name is None or not os.path.isfile(folder / CODEBOOK):
        return Verdict(False, "the files were looked for", (), tuple(failures))
    asked = read_stated(manifest)
    try:
        released = _read(folder, name, manifest)
    except InputError as error:
        return Verdict(False, f"{name} was read", (), (error.message.rstrip("."),))
    secret = None if original is None else _secret(original, asked, released)
    promise = Promise.of(asked.k, asked.diversity, drop_empty=asked.drop_empty)
    verdict = verify(released, promise, secret)
    failures = [*verdict.failures, *_contradictions(folder, manifest, asked, released)]
    failures += [] if failures or _figures_agree(manifest, asked, released, secret) else [NO_FIGURES]
    failures += report_failures(folder, manifest, shown_of(released, asked.k))
    if k is not None and k > asked.k:
        more = verify(released, replace(promise, k=k))
        failures += [f"as asked, with k = {k}: {failure}" for failure in more.failures]
    return Verdict(not failures, verdict.how, (*verdict.checks, *CHECKED), tuple(failures))


def _read(folder: Path, name: str, manifest: Manifest) -> WrittenTrajectories:
    """The data file and the side file, with the columns that there must be."""
    delimiter = manifest["settings"].get("delimiter")
    delimiter = delimiter if isinstance(delimiter, str) else None
    frame = _table(folder / name, delimiter)
    if tuple(frame.columns) != COLUMNS:
        raise InputError(f"{name} does not have the columns id, code and age.")
    side = None
    if WITH_SIDE in manifest:
        side = _table(folder / SIDE, delimiter or ",")
        if side.columns[:1] != [ID]:
            raise InputError(f"{SIDE} does not begin with the column id.")
        side = side.with_columns(_numbers(side[ID], SIDE))
    return WrittenTrajectories(frame.with_columns(_numbers(frame[ID], name)), side)


def _table(path: Path, delimiter: str | None) -> pl.DataFrame:
    return read_data(path, delimiter).cast(pl.String)


def _numbers(column: pl.Series, name: str) -> pl.Series:
    numbers = column.cast(pl.Int64, strict=False)
    if numbers.null_count() or not (numbers.cast(pl.String) == column).all():
        raise InputError(f"The ids of {name} are not numbers as a release writes them.")
    return numbers


def _contradictions(folder: Path, manifest: Manifest, asked: Stated, released: WrittenTrajectories) -> list[str]:
    """What the manifest or the codebook says that the files do not."""

    def found() -> list[str]:
        guarantee, settings = manifest["guarantee"], manifest["settings"]
        blocks = manifest["clustering"]
        n_patients = int(released.frame[ID][-1])
        beside = None if released.side is None else released.side.columns[1:]
        told = settings | {"delimiter": settings.get("delimiter", ",")}
        agreements = {
            **input_agreements(told, has_side=beside is not None),
            "settings.delimiter does not fit the data file": ("delimiter" in settings)
            is (data_file(manifest) == "data.csv"),
            "columns are not those of a release of trajectories": manifest["columns"] == columns_of(*asked.kinds),
            "the hierarchies are not of the kinds that columns states": all(
                names_hierarchy(spec, kind)
                for spec, kind in zip((asked.code_hierarchy, asked.age_hierarchy), asked.kinds, strict=True)
            ),
            f"{WITH_SIDE} does not name the columns of {SIDE}": json.dumps(manifest.get(WITH_SIDE))
            == json.dumps(None if beside is None else side_of(beside)),
            "guarantee.rules are not those of the settings": guarantee["rules"] == rules_of(asked.k, asked.diversity),
            "guarantee.sentences do not say what the rules promise": guarantee["sentences"]
            == sentences_of(asked.k, asked.diversity),
            "guarantee.verified is not true": guarantee["verified"] is True,
            "guarantee.one_row_per_patient does not fit settings.input_columns": guarantee["one_row_per_patient"]
            in {one_row(asked.id_column, has_ids) for has_ids in (False, True)},
            "records are not those of the data file": _same_numbers(manifest["records"], records_of(n_patients)),
            "risk is not that of the data file": _same_numbers(manifest["risk"], risk_of(released)),
            "clustering.blocks is no number of blocks": blocks.keys() == {"blocks"}
            and type(blocks["blocks"]) is int
            and 1 <= blocks["blocks"] <= _most_blocks(settings["block"], n_patients, asked.k),
            f"{CODEBOOK} does not say what the data file says": _codebook_agrees(folder, asked, released),
        }
        return [failure for failure, holds in agreements.items() if not holds]

    return stated(found, PROMISER)


def _most_blocks(block: Any, n_patients: int, k: int) -> int:
    """How many blocks there can be: one if all fit into it; else each has three times k patients or more."""
    if block == "off" or (type(block) is int and block >= n_patients):
        return 1
    return max(1, n_patients // (3 * k))


def _figures_agree(manifest: Manifest, asked: Stated, released: WrittenTrajectories, secret: Secret | None) -> bool:
    return figures_agree(manifest["utility"], released, secret, asked.policy, asked.k)


def _same_numbers(told: Any, expected: Any) -> bool:
    """Whether numbers are the same, of the same kinds, but for the last digits of fractions."""
    return bool(
        isinstance(told, dict)
        and told.keys() == expected.keys()
        and all(
            type(told[name]) is type(number) and (told[name] == number or abs(told[name] - number) < 1e-12)
            for name, number in expected.items()
        )
    )


def _codebook_agrees(folder: Path, asked: Stated, released: WrittenTrajectories) -> bool:
    try:
        listed = read_data(folder / CODEBOOK, ",")
    except InputError:
        return False
    return listed.equals(codebook(released, *asked.kinds))


def _secret(original: TrajectoriesOriginal, asked: Stated, released: WrittenTrajectories) -> Secret:
    """The original, as it was protected, and who is who if the crosswalk is given."""
    given = original.given
    codes = _hierarchy(asked.code_hierarchy, asked.kinds[0], original.code_hierarchy, "--code-hierarchy")
    ages = _hierarchy(asked.age_hierarchy, asked.kinds[1], original.age_hierarchy, "--age-hierarchy")
    domain = fitted(given.trajectories, codes, ages, asked.unknown)
    side = None if given.side is None else given.side.frame
    if side is None and released.side is not None:
        raise InputError("The release has side columns. Give the file that they come from with --side, to compare.")
    return Secret(domain.trajectories, domain.codes, domain.ages, side, _origin(original, released))


def _hierarchy(spec: str, kind: str, given: Hierarchy | None, option: str) -> Hierarchy:
    if kind != "file":
        return parse_hierarchy(spec)
    if given is None:
        raise InputError(f"The release names a hierarchy file, {Path(spec).name}, that is not in it. Give {option}.")
    return given


def _origin(original: TrajectoriesOriginal, released: WrittenTrajectories) -> Integers | None:
    """The patient of the original behind each released one; None without a crosswalk."""
    frame, trajectories = original.crosswalk, original.given.trajectories
    if frame is None:
        return None
    if frame.columns != ["released", "original"]:
        raise InputError("The crosswalk does not have the columns released and original, as one of such a release has.")
    n_patients = int(released.frame[ID][-1])
    numbers = pl.Series(np.arange(1, trajectories.n_patients + 1))
    ids = as_text(numbers if trajectories.ids is None else trajectories.ids)
    known = pl.DataFrame({"original": ids, "patient": np.arange(trajectories.n_patients)})
    row = as_text(frame["released"]).cast(pl.Int64, strict=False).alias("row")
    told = pl.DataFrame([as_text(frame["original"]), row])
    rows = pl.DataFrame({"row": np.arange(1, n_patients + 1)})
    joined = rows.join(told, on="row", how="left", maintain_order="left")
    joined = joined.join(known, on="original", how="left", maintain_order="left")
    if joined.height != n_patients or joined["patient"].null_count() or frame.height != n_patients:
        raise InputError("The crosswalk does not map each patient of the release to one patient of the original.")
    return joined["patient"].to_numpy().astype(np.int64)
