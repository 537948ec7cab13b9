"""Verification of a release folder of trajectories, from its files only or with the original and its crosswalk."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from cloister.errors import InputError, setting
from cloister.hierarchy import Hierarchy, parse_hierarchy
from cloister.io import EventColumns
from cloister.io.attributes import lacking
from cloister.release.folder import read_tables
from cloister.release.head import ATTRIBUTES
from cloister.results import Verdict
from cloister.settings.reading import how_read
from cloister.shapes.trajectories.format.data import AGE, CODE, DETAIL, ID, Trajectories, WrittenTrajectories
from cloister.shapes.trajectories.format.domain import FittedTrajectories, fit_hierarchies
from cloister.shapes.trajectories.format.facts import DerivedTrajectories
from cloister.shapes.trajectories.format.manifest import TrajectoriesManifest
from cloister.shapes.trajectories.format.request import GivenTrajectories, read_given
from cloister.verification.driver import Checker, ReleaseUnderCheck, Request, origins

from .statements import guarantee_from
from .verify import Secret, losses_agree, verify


@dataclass(frozen=True)
class TrajectoriesOriginal:
    """The custodian's data."""

    given: GivenTrajectories
    crosswalk: pl.DataFrame | None = None
    code_hierarchy: Hierarchy | None = None
    age_hierarchy: Hierarchy | None = None
    detail_hierarchy: Hierarchy | None = None

    def fitted_as(self, manifest: TrajectoriesManifest) -> FittedTrajectories:
        """Return trajectories and hierarchies as they were for protection."""
        asked, columns = manifest.settings, manifest.columns
        codes = _hierarchy(asked.code_hierarchy, columns.code.hierarchy, self.code_hierarchy, "code_hierarchy")
        ages = _hierarchy(asked.age_hierarchy, columns.age.hierarchy, self.age_hierarchy, "age_hierarchy")
        details = None
        if columns.detail is not None and asked.detail_hierarchy is not None:
            given = asked.detail_hierarchy, columns.detail.hierarchy, self.detail_hierarchy
            details = _hierarchy(*given, "detail_hierarchy")
        return fit_hierarchies(self.given.trajectories, codes, ages, asked.on_unknown_code, details)


ReleaseFolder = ReleaseUnderCheck[TrajectoriesManifest, WrittenTrajectories, Secret]


class TrajectoriesChecker(Checker[TrajectoriesManifest, WrittenTrajectories, Secret]):
    """The checker of trajectories."""

    def read_files(self, folder: Path, manifest: TrajectoriesManifest) -> WrittenTrajectories:
        """Read the data file and the attributes file."""
        tables = {
            name: _require_numbers(frame.cast(pl.String), name) for name, frame in read_tables(folder, manifest).items()
        }
        return WrittenTrajectories(tables[manifest.data_file], tables.get(ATTRIBUTES))

    def read_original(
        self, request: Request, manifest: TrajectoriesManifest, files: WrittenTrajectories
    ) -> Secret | None:
        """Read the custodian's data."""
        original = read_original(request, manifest)
        return None if original is None else _secret(original, manifest, files)

    def verify(self, release: ReleaseFolder) -> Verdict:
        """Run the checks on the files, and compare them with the original."""
        return verify(release.files, guarantee_from(release.manifest), release.original, release.findings())

    def derive(self, release: ReleaseFolder) -> DerivedTrajectories:
        """Return the parts that follow from the files."""
        stated, original = release.manifest, release.original
        n_suppressed = stated.records.suppressed if original is None else original.n_suppressed
        return DerivedTrajectories(release.files, stated.settings, stated.columns, n_suppressed)

    def contradictions(self, release: ReleaseFolder) -> list[str]:
        """Check the stated losses against the files."""
        manifest = release.manifest
        agree = losses_agree(manifest.utility, release.files, release.original, manifest.settings.k)
        return [] if agree else ["the losses in release.json are not those of the files"]

    def unmet_expectations(self, release: ReleaseFolder) -> list[str]:
        """Check the expectations of the recipient."""
        k = release.request.k
        if k is None or k <= release.manifest.settings.k:
            return []
        more = verify(release.files, replace(guarantee_from(release.manifest), k=k))
        return [f"as asked, with k = {k}: {failure}" for failure in more.failures]


def read_original(request: Request, manifest: TrajectoriesManifest) -> TrajectoriesOriginal | None:
    """Return the original and its crosswalk; the original may already be in memory."""
    given, words, settings = request.original, request.words, manifest.settings
    if given is None:
        return None
    if isinstance(given, Trajectories):
        given = GivenTrajectories(given)
    if not isinstance(given, GivenTrajectories):
        if not isinstance(given, str | Path):
            raise InputError("The original of trajectories is given as the file that they were read from.")
        if manifest.columns.detail is not None and settings.input_columns.detail is None:
            raise InputError(
                "The release was made from Python and does not state which column of the file has the details. Give "
                'the original from Python as well: Trajectories.read(FILE, detail="...").'
            )
        given = read_given(
            given,
            EventColumns(**settings.input_columns.model_dump(), unit=settings.age_unit or "years"),
            request.attributes,
            **how_read(words),
            usual_delimiter=settings.delimiter,
        )
    hierarchies = request.hierarchies
    found = (hierarchies.get(name) for name in (CODE, AGE, DETAIL))
    return TrajectoriesOriginal(given, request.secret(), *found)


def _require_numbers(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """A table whose ids are numbers, as a release writes them."""
    numbers = frame[ID].cast(pl.Int64, strict=False)
    if numbers.null_count() or not (numbers.cast(pl.String) == frame[ID]).all():
        raise InputError(f"The ids of {name} are not numbers as a release writes them.")
    return frame.with_columns(numbers)


def _secret(original: TrajectoriesOriginal, manifest: TrajectoriesManifest, released: WrittenTrajectories) -> Secret:
    domain = original.fitted_as(manifest)
    attributes = None if original.given.attributes is None else original.given.attributes.frame
    if attributes is None and released.attributes is not None:
        raise lacking()
    given = original.given.trajectories
    ids = pl.Series(np.arange(1, given.n_patients + 1)) if given.ids is None else given.ids
    origin = origins(original.crosswalk, ids, int(released.frame[ID][-1]))
    theirs, n_suppressed = domain.trajectories, 0
    if manifest.records.suppressed:
        if origin is None:
            raise InputError(
                "Patients are suppressed in this release, and only the crosswalk names them. Give ",
                setting("crosswalk"),
                " with the original.",
            )
        kept = np.unique(origin)
        n_suppressed, origin = theirs.n_patients - kept.size, np.searchsorted(kept, origin)
        theirs, attributes = theirs.only(kept), None if attributes is None else attributes[kept]
    return Secret(theirs, domain.codes, domain.ages, attributes, origin, None, n_suppressed, domain.details)


def _hierarchy(spec: str, kind: str, given: Hierarchy | None, name: str) -> Hierarchy:
    if kind != "file":
        return parse_hierarchy(spec)
    if given is None:
        raise InputError(
            f"The release names a hierarchy file, {Path(spec).name}, that is not in it. Give ", setting(name)
        )
    return given
