"""A release folder of trajectories, checked again from its files alone, or with the original and its crosswalk."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from cloister.errors import InputError, setting
from cloister.hierarchy import Hierarchy, parse_hierarchy
from cloister.io import as_text
from cloister.release_folder import ATTRIBUTES, CODEBOOK, check_files, data_file, read_data
from cloister.report_figures import report_failures
from cloister.results import Manifest, Verdict

from .data import COLUMNS, ID, WrittenTrajectories
from .domain import FittedTrajectories, fitted
from .facts import codebook, facts_of, shown_of
from .manifest import TrajectoriesManifest
from .request import GivenTrajectories
from .verify import ExpectedGuarantee, verify
from .verify_original import Integers, Secret, losses_agree

CHECKED = (
    "files are as they were released, and no others are there",
    "the files are written in the one way there is",
    "the manifest has the types that it must have, and says of the files what they say",
    "the codebook lists what was released, and nothing else",
)
NO_CODEBOOK = f"{CODEBOOK} does not say what the data file says"
NO_LOSSES = "the losses in release.json are not those of the files"


@dataclass(frozen=True)
class TrajectoriesOriginal:
    """What only the custodian has."""

    given: GivenTrajectories
    crosswalk: pl.DataFrame | None = None
    code_hierarchy: Hierarchy | None = None
    age_hierarchy: Hierarchy | None = None

    def fitted_as(self, stated: TrajectoriesManifest) -> FittedTrajectories:
        """Return trajectories and hierarchies as they were protected."""
        asked, columns = stated.settings, stated.columns
        codes = _hierarchy(asked.code_hierarchy, columns.code.hierarchy, self.code_hierarchy, "code_hierarchy")
        ages = _hierarchy(asked.age_hierarchy, columns.age.hierarchy, self.age_hierarchy, "age_hierarchy")
        return fitted(self.given.trajectories, codes, ages, asked.on_unknown_code)


def recheck_trajectories(
    folder: Path, manifest: Manifest, k: int | None = None, original: TrajectoriesOriginal | None = None
) -> Verdict:
    """Check hashes, form, promise, codebook and figures of a release folder."""
    failures = check_files(folder, manifest)
    name = data_file(manifest)
    if failures or name is None or not os.path.isfile(folder / CODEBOOK):
        return Verdict(False, "the files were looked for", (), tuple(failures))
    try:
        stated = TrajectoriesManifest.of(manifest)
        released = read_files(folder, name, stated)
    except InputError as error:
        return Verdict(False, "the files were read", (), (error.text.rstrip("."),))
    settings = stated.settings
    secret = None if original is None else _secret(original, stated, released)
    promise = ExpectedGuarantee(settings.k, settings.drop_empty_pairs, settings.diversity_asked())
    verdict = verify(released, promise, secret)
    failures = list(verdict.failures)
    if verdict.holds:
        differing = facts_of(released, settings).differing(stated)
        failures += [f"{part} in release.json does not follow from the files" for part in differing]
        failures += [] if losses_agree(stated.utility, released, secret, settings.k) else [NO_LOSSES]
        book = codebook(released, stated.columns.code.hierarchy, stated.columns.age.hierarchy)
        failures += [] if _is_codebook(folder / CODEBOOK, book) else [NO_CODEBOOK]
        failures += report_failures(folder, manifest, shown_of(released, settings.k))
    if k is not None and k > settings.k:
        more = verify(released, replace(promise, k=k))
        failures += [f"as asked, with k = {k}: {failure}" for failure in more.failures]
    return Verdict(not failures, verdict.how, (*verdict.checks, *CHECKED), tuple(failures))


def read_files(folder: Path, name: str, stated: TrajectoriesManifest) -> WrittenTrajectories:
    """Return the data file and the attributes file, with the columns that there must be."""
    delimiter = stated.settings.delimiter
    frame = read_data(folder / name, delimiter).cast(pl.String)
    if tuple(frame.columns) != COLUMNS:
        raise InputError(f"{name} does not have the columns id, code and age.")
    attributes = None
    if stated.attributes is not None:
        attributes = read_data(folder / ATTRIBUTES, delimiter).cast(pl.String)
        if attributes.columns[:1] != [ID]:
            raise InputError(f"{ATTRIBUTES} does not begin with the column id.")
        attributes = attributes.with_columns(_numbers(attributes[ID], ATTRIBUTES))
    return WrittenTrajectories(frame.with_columns(_numbers(frame[ID], name)), attributes)


def _numbers(column: pl.Series, name: str) -> pl.Series:
    numbers = column.cast(pl.Int64, strict=False)
    if numbers.null_count() or not (numbers.cast(pl.String) == column).all():
        raise InputError(f"The ids of {name} are not numbers as a release writes them.")
    return numbers


def _is_codebook(path: Path, expected: pl.DataFrame) -> bool:
    try:
        return read_data(path, ",").equals(expected)
    except InputError:
        return False


def _secret(original: TrajectoriesOriginal, stated: TrajectoriesManifest, released: WrittenTrajectories) -> Secret:
    domain = original.fitted_as(stated)
    attributes = None if original.given.attributes is None else original.given.attributes.frame
    if attributes is None and released.attributes is not None:
        raise InputError(
            "The release has auxiliary columns, and the file that they come from is needed to compare them. Give "
            f"{setting('attributes')}."
        )
    return Secret(domain.trajectories, domain.codes, domain.ages, attributes, _origin(original, released))


def _hierarchy(spec: str, kind: str, given: Hierarchy | None, name: str) -> Hierarchy:
    if kind != "file":
        return parse_hierarchy(spec)
    if given is None:
        raise InputError(
            f"The release names a hierarchy file, {Path(spec).name}, that is not in it. Give {setting(name)}."
        )
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
