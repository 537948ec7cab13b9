"""Verification of any release folder: one driver, with a `Checker` for each form of release (decision 14).

A checker and what it imports load no search, no kernels and nothing that protects.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.hierarchy import Hierarchy
from cloister.io import as_text, from_native, read_table
from cloister.release.derived import Derived
from cloister.release.figures import figures_of
from cloister.release.folder import (
    check_files,
    figure_failures,
    formulas_in,
    has_other_bytes,
    manifest_failures,
    read_data,
)
from cloister.release.head import CODEBOOK, MANIFEST, SCRIPT, UNBOUND, UNBOUND_REPORT, ManifestHead
from cloister.release.manifest import AnyManifest, parse_manifest, script_of
from cloister.results import Manifest, Verdict
from cloister.settings.reading import ReadingWords
from cloister.verification.script import Finding, Script

CHECKED = (
    "files are as they were released, and no others are there",
    "the files are written in the one way there is",
    "the manifest has the types that it must have, and says of the files what they say",
    "the codebook lists what was released, and nothing else",
    "the figures of the report follow from the files",
)
"""What the driver checks of every release."""


@dataclass(frozen=True)
class Request:
    """The expectations of the recipient, independent of the manifest, and the custodian's data for comparison.

    The fields are those of `verify_folder`; ``engine``: the database or the Spark that checks a table where it is.
    """

    original: object = field(default=None, repr=False)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    populations: Mapping[str, object] = field(default_factory=dict, repr=False)
    k: int | None = None
    quasi_identifiers: tuple[str, ...] = ()
    m: int | None = None
    crosswalk: object = field(default=None, repr=False)
    privacy: object = None
    policy: Any = None
    visit: str | None = None
    attributes: str | Path | None = None
    plan: str | Path | None = None
    engine: str | None = field(default=None, repr=False)
    words: ReadingWords = ReadingWords()  # noqa: RUF009  (frozen)

    @property
    def is_particular(self) -> bool:
        """Whether the request asks for more than every release guarantees."""
        objects = (self.original, self.k, self.m, self.crosswalk, self.privacy, self.policy, self.visit)
        more = self.hierarchies or self.populations or self.quasi_identifiers or self.words != ReadingWords()
        return bool(more) or any(one is not None for one in (*objects, self.attributes, self.plan))

    def secret(self) -> pl.DataFrame | None:
        """Return the crosswalk, read from its file if necessary; None without one."""
        if self.crosswalk is None:
            return None
        if isinstance(self.crosswalk, str | Path):
            return read_table(self.crosswalk).frame
        return from_native(self.crosswalk).frame


def origins(crosswalk: pl.DataFrame | None, ids: pl.Series, n_released: int) -> NDArray[np.int64] | None:
    """Return the position, among the original ids, of each released record; None if it is not known."""
    if crosswalk is None:
        return None
    if crosswalk.columns != ["released", "original"]:
        raise InputError("The crosswalk does not have the columns released and original, as one of such a release has.")
    # Each released number once and each patient at most once: a row lacking or doubled shows in these three counts.
    known = pl.DataFrame({"original": as_text(ids), "place": np.arange(len(ids))})
    row = as_text(crosswalk["released"]).cast(pl.Int64, strict=False).alias("row")
    pairs = pl.DataFrame([as_text(crosswalk["original"]), row])
    rows = pl.DataFrame({"row": np.arange(1, n_released + 1)})
    joined = rows.join(pairs, on="row", how="left", maintain_order="left")
    joined = joined.join(known, on="original", how="left", maintain_order="left")
    if joined.height != n_released or joined["place"].null_count() or crosswalk.height != n_released:
        raise InputError("The crosswalk does not map each record of the release to one patient of the original.")
    return joined["place"].to_numpy().astype(np.int64)


OTHER_BYTES = ("bytes", "whether Parquet files are in canonical form: another version of Polars wrote them")
"""What cannot be checked of a Parquet release years later: its name, and why. Its hash is checked all the same."""

OTHER_SCRIPT = ("script", f"whether {SCRIPT} checks the promises: it is not the one that this version writes")
"""What cannot be checked of a release with another script than its own: its name, and why."""


def has_other_script(path: Path, script: Script | None, listed: Collection[str]) -> bool:
    """Return whether the script in a folder differs from the one that its guarantee requires."""
    return SCRIPT in listed and (script is None or path.read_bytes() != script.text().encode())


M = TypeVar("M", bound=ManifestHead)
F = TypeVar("F")
O = TypeVar("O")  # noqa: E741  (the original)


@dataclass(frozen=True)
class ReleaseUnderCheck(Generic[M, F, O]):
    """A release folder with its parsed manifest and files, the original if given, and the expectations."""

    folder: Path
    manifest: M
    files: F
    original: O | None
    request: Request

    def findings(self) -> tuple[Finding, ...]:
        """Return the findings of the release's script on its files."""
        script = script_of(self.manifest)  # type: ignore[arg-type]
        return () if script is None else script.run(self.folder, [MANIFEST, *self.manifest.files])


class Checker(ABC, Generic[M, F, O]):
    """The checks that are particular to one form of release."""

    def fetch(self, _manifest: M, _request: Request) -> F | None:
        """Return the records from a database; None if the folder contains them."""
        return None

    @abstractmethod
    def read_files(self, folder: Path, manifest: M) -> F:
        """Read the released files; an `InputError` means that they are not the files of such a release."""

    @abstractmethod
    def read_original(self, request: Request, manifest: M, files: F) -> O | None:
        """Return the original for comparison, read with the settings of the release."""

    @abstractmethod
    def verify(self, release: ReleaseUnderCheck[M, F, O]) -> Verdict:
        """Recompute the guarantee from the files, without code that the protection uses."""

    @abstractmethod
    def derive(self, release: ReleaseUnderCheck[M, F, O]) -> Derived:
        """Return the parts that follow from the files, after the guarantee is verified."""

    def contradictions(self, _release: ReleaseUnderCheck[M, F, O]) -> list[str]:
        """Return statements of the manifest that the files or the original contradict, in sentences."""
        return []

    def unmet_expectations(self, _release: ReleaseUnderCheck[M, F, O]) -> list[str]:
        """Return the recipient's expectations that the verified release does not meet, in sentences."""
        return []


AnyChecker: TypeAlias = Checker[Any, Any, Any]


def check_folder(folder: Path, manifest: Manifest, checker: AnyChecker, request: Request) -> Verdict:
    """Check hashes, types, guarantee, facts, codebook, report and expectations, until a step fails."""
    # Types come first: all that follows reads the manifest, and what fits no type could say anything.
    try:
        stated = parse_manifest(manifest)
    except InputError as error:
        return Verdict("the manifest was read", (), (error.message.without_stop(),))
    failures = [*check_files(folder, stated), *manifest_failures(folder, stated.as_json())]
    if failures:
        return Verdict("the files were looked for", (), tuple(failures))
    files = checker.fetch(stated, request)
    if files is None:
        try:
            files = checker.read_files(folder, stated)
        except InputError as error:
            return Verdict("the files were read", (), (error.message.without_stop(),))
    release = ReleaseUnderCheck(folder, stated, files, checker.read_original(request, stated, files), request)
    verdict = checker.verify(release)
    if verdict.failures:
        return verdict
    derived = checker.derive(release)
    failures = [f"{place} in {MANIFEST} does not follow from the files" for place in derived.differing(manifest)]
    failures += [*checker.contradictions(release), *_codebook_failures(folder, derived.codebook())]
    failures += _figure_failures(folder, stated, derived)
    failures = failures or checker.unmet_expectations(release)
    unchecked = (*verdict.unchecked, *([UNBOUND_REPORT] if stated.schema_ == UNBOUND else []))
    if any(has_other_bytes(folder / name, stated) for name in stated.files):
        unchecked += (OTHER_BYTES,)
    if has_other_script(folder / SCRIPT, script_of(stated), stated.files):
        unchecked += (OTHER_SCRIPT,)
    return Verdict(verdict.how, (*verdict.checks, *CHECKED), tuple(failures), unchecked)


def _codebook_failures(folder: Path, expected: pl.DataFrame) -> list[str]:
    try:
        listed = read_data(folder / CODEBOOK, ",").cast(pl.String)
    except InputError as error:
        return [error.message.without_stop()]
    return [] if listed.equals(expected) else [f"{CODEBOOK} does not say what the files say"]


def _figure_failures(folder: Path, stated: AnyManifest, derived: Derived) -> list[str]:
    figures = figures_of(derived.report_counts(), stated.created)
    figures |= {"formulas": formulas_in(folder, stated, derived.tables())}
    return figure_failures(folder, stated, {"figures": figures})
