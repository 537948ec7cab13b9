"""A release of any shape: protected data with their manifest, and the folder that contains them.

The folder appears whole or not at all: written aside, read back, verified from those very bytes, renamed.
"""

import os
import time
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import polars as pl

from cloister.errors import GuaranteeViolation, InputError, InternalError, setting
from cloister.io import Place, appearing, write_csv, write_parquet, write_private
from cloister.release.derived import Derived
from cloister.release.figures import OriginalCounts, ReportCounts, exact_figures_of, figures_of
from cloister.release.folder import (
    formulas_in,
    hashes_of,
    holds_files_alone,
    is_release,
    json_bytes,
    read_data,
    release_around,
)
from cloister.release.head import CODEBOOK, FIGURES, MANIFEST, REPORT, SCRIPT
from cloister.release.manifest import AnyManifest, rule_words, rules_of, script_of, with_parts
from cloister.report import ReportPage, render_report, report_files
from cloister.report.plots import plot_release
from cloister.results import DIGITS, Figures, Manifest, RiskChange, Verdict

if TYPE_CHECKING:
    import altair as alt

LOSSES = {"mean_loss": "mean", "loss": "minimized"} | {
    name: name for name in ("ilm", "alm", "dlm", "ilm_exact", "alm_exact", "dlm_exact", "occurrences_in_item_chunks")
}
"""Losses of the shapes, by their names in manifests."""
INTERNAL = "internal.json"
ANALYSES = "analyses.csv"  # what researchers will find, of a part of a job
"""What only the custodian may see, in a folder outside the release."""


@dataclass(frozen=True)
class CustodianFiles:
    """The files for the custodian only, which are never part of a release folder."""

    figures: Figures = field(repr=False)  # exact figures, paths and the hash of the input
    # original id of each released record, or where each record went; None where there are no ids
    crosswalk: pl.DataFrame | None = field(default=None, repr=False)


class Attacked(Protocol):
    """The result of an attack that a release withstood."""

    def as_manifest(self) -> Figures:
        """Return the figures that follow from the released files, for the recipient."""

    def summary(self) -> Figures:
        """Return all figures, for the custodian only."""


STEPS = {
    *("attack", "commit", "custody", "delimiter", "delimiter_written", "derived", "encoded", "files", "format", "made"),
    *("original_counts", "read_written", "recheck", "recheck_written", "rollback", "tally", "write_data", "write_into"),
}
"""Names that writing a release uses; a notebook or a shell does not offer them to users."""


class AttackOnFiles(Protocol):
    """The simulated adversaries, with their knowledge."""

    def on(self, folder: Path, manifest: AnyManifest) -> Attacked:
        """Attack the files of a release in a folder."""

    def before_and_after(self) -> RiskChange | None:
        """Return the risk in the original and in the release, for the custodian only; None without targets."""


@dataclass(frozen=True, repr=False)
class Release(ABC):
    """Protected data, with what is written of them; `cloister.pipeline.protecting.protect` returns no unverified ones.

    Attributes
    ----------
    manifest : what ``release.json`` will say
    derived : what of it follows from the files, with the codebook and the counts of the report
    custody : what only the custodian may see
    attack : attacks the written files before the folder appears; None where nobody asked for it
    """

    manifest: AnyManifest
    derived: Derived = field(repr=False)
    custody: CustodianFiles = field(repr=False)
    attack: AttackOnFiles | None = field(default=None, repr=False, kw_only=True)

    @property
    def codebook(self) -> pl.DataFrame:
        """The meaning of columns and labels."""
        return self.derived.codebook()

    def original_counts(self) -> OriginalCounts:
        """Return counts of the original that correspond to the report's counts; for the custodian."""
        return OriginalCounts()

    def __repr__(self) -> str:
        """Return a summary in four lines."""
        held = [name for name in ("data", "frame", "claims") if hasattr(self, name)][:1]
        rows = [
            *in_rows(self.manifest),
            ("next", f"{', '.join([*held, 'codebook'])}, report(), plot(), summary(), verify(), write(folder)"),
        ]
        return "\n".join(f"{name:<10} {text}" for name, text in rows)

    def _repr_html_(self) -> str:
        """Return the report, for a notebook."""
        return self.report().in_frame()

    def __dir__(self) -> list[str]:
        """List what users call; the steps of writing a release are none of it."""
        return sorted({*super().__dir__()} - STEPS)

    def report(self) -> ReportPage:
        """Return the report of the release folder, without the parts that need its files: hashes, an attack."""
        figures = figures_of(self.derived.report_counts(), self.manifest.created)
        return ReportPage(render_report(self.manifest, figures))

    def plot(self) -> "alt.VConcatChart":
        """Return class sizes and the information loss of each column as a chart; needs ``cloister[plot]``."""
        return plot_release(self.manifest, figures_of(self.derived.report_counts(), self.manifest.created))

    @abstractmethod
    def recheck(self) -> Verdict:
        """Return the verdict on the protected records."""

    @abstractmethod
    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write the protected records into a folder; return the names of the files."""

    @abstractmethod
    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on the protected records, after reading them back from a folder."""

    def summary(self) -> Manifest:
        """Return the manifest: settings, guarantee, utility, risk, search."""
        return self.manifest.as_json()

    def verify(self) -> Verdict:
        """Check the protected records again.

        Raises
        ------
        GuaranteeViolation
            They do not keep the promise.
        """
        verdict = self.recheck()
        if not verdict.holds:
            raise GuaranteeViolation(f"The release does not hold: {verdict.problem()}.")
        return verdict

    def write(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        custodian_dir: str | Path | None = None,
        crosswalk: str | Path | None = None,
    ) -> Manifest:
        """Write the release folder and return its manifest; if anything fails, nothing is written.

        Parameters
        ----------
        folder : must not exist, or be an earlier release if ``overwrite``; mode 0700, its files 0600
        custodian_dir : another folder, outside, for exact figures that only the custodian may see
        crosswalk : file, outside, for the secret map from released to original ids

        Raises
        ------
        InputError
            A place cannot be written to, or exists, or is inside the release, or secrets inside another release.
        InternalError
            What was read back did not pass verification.
        """
        target, inside, secret = Path(folder), _optional(custodian_dir), _optional(crosswalk)
        check_apart(target, inside, secret)
        if secret is not None and self.custody.crosswalk is None:
            raise InputError("A crosswalk was asked for, but no id column was named, so there is nothing to map.")
        places = [Place(target, overwrite, is_release)]
        if secret is not None:
            places.append(Place(secret, is_file=True))
        if inside is not None:
            places.append(Place(inside, overwrite, is_internal))
        with appearing(*places, otherwise=self.rollback) as (partial, *others):
            manifest = self.write_into(
                partial, others[0] if secret is not None else None, others[-1] if inside is not None else None
            )
            self.commit(partial)
        return manifest.as_json()

    def commit(self, partial: Path) -> None:  # noqa: B027  (most releases are their folder alone)
        """Commit changes outside the folder, such as a table in a database; the last step before the folder appears.

        ``partial``: the folder, of a job that of all parts, as it is before it appears
        """

    def rollback(self) -> None:  # noqa: B027
        """Undo changes outside the folder, as the folder did not appear."""

    def write_into(self, partial: Path, secret: Path | None = None, inside: Path | None = None) -> AnyManifest:
        """Write the release into a temporary folder, verify the written files, and return the manifest.

        ``partial``: empty, and appears later; see `write`
        ``secret, inside``: partial places of the crosswalk, and of what only the custodian may see
        """
        manifest, counts, figures, found = self._fill(partial)
        if secret is not None and self.custody.crosswalk is not None:
            write_csv(self.custody.crosswalk, secret)
        if inside is not None:
            figures = exact_figures_of(counts, self.original_counts(), figures)
            risk = None if self.attack is None else self.attack.before_and_after()
            figures |= {} if risk is None or figures["class_sizes"]["before"] else {"risk": asdict(risk)}
            exact = self.custody.figures | found
            write_private(inside / INTERNAL, json_bytes(exact | {"manifest": manifest.as_json()}))
            for name, content in report_files(manifest, figures, exact).items():
                write_private(inside / name, content)
        return manifest

    def _fill(self, partial: Path) -> tuple[AnyManifest, ReportCounts, Figures, Figures]:
        """Write all files into the temporary folder, and verify them; the last result is for the custodian."""
        started = time.perf_counter()
        names = self.write_data(partial)
        write_csv(self.codebook, partial / CODEBOOK)
        verdict = self.recheck_written(partial)
        if not verdict.holds:
            raise InternalError(f"What was written did not pass verification: {verdict.problem()}.")
        manifest = with_parts(self.manifest, files=hashes_of(partial, (*names, CODEBOOK)))
        script = script_of(manifest)
        if script is not None:
            write_private(partial / SCRIPT, script.text().encode())
            manifest = with_parts(manifest, files=manifest.files | hashes_of(partial, [SCRIPT]))
        found: Figures = {}
        more: Figures = {}
        if self.attack is not None:
            begun = time.perf_counter()
            attacked = self.attack.on(partial, manifest)
            more["attack"] = attacked.as_manifest()
            seconds = time.perf_counter() - begun
            started += seconds  # an attack is no writing, and its time is the custodian's
            found = {"attack": attacked.summary(), "seconds": {"attack": round(seconds, DIGITS)}}
        counts = self.derived.report_counts()
        figures = figures_of(counts, manifest.created) | {
            "formulas": formulas_in(partial, manifest, self.derived.tables())
        }
        seconds = round(time.perf_counter() - started, DIGITS)
        spent = {"write": seconds, "total": round(manifest.seconds.total + seconds, DIGITS)}
        manifest = with_parts(manifest, seconds=manifest.seconds.as_json() | spent, **more)
        reports = report_files(manifest, figures)
        for name, content in reports.items():
            write_private(partial / name, content)
        manifest = with_parts(manifest, files=manifest.files | hashes_of(partial, reports))
        write_private(partial / MANIFEST, json_bytes(manifest.as_json()))
        return manifest, counts, figures, found


@dataclass(frozen=True, repr=False)
class DataFileRelease(Release):
    """Protected data with all records in one file."""

    frame: pl.DataFrame = field(repr=False)  # the records as the data file has them
    # format, delimiter: how it is written: csv or parquet
    format: str
    delimiter: str

    def delimiter_written(self) -> str | None:
        """Return the delimiter of the data file; None for Parquet."""
        return self.delimiter if self.format == "csv" else None

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write the data file."""
        data = folder / f"data.{self.format}"
        if self.format == "parquet":
            write_parquet(self.frame, data)
        else:
            write_csv(self.frame, data, self.delimiter)
        return (data.name,)

    def read_written(self, folder: Path) -> pl.DataFrame:
        """Return the records, read back from a folder."""
        return read_data(folder / f"data.{self.format}", self.delimiter)


def in_rows(manifest: AnyManifest) -> list[tuple[str, str]]:
    """Return a summary of a release, its guarantee and its information loss, as rows."""
    n, lost = manifest.records, {"mean_loss": getattr(manifest, "mean_loss", None)} | manifest.utility.as_json()
    losses = ", ".join(f"{word} {lost[name]:.3f}" for name, word in LOSSES.items() if isinstance(lost.get(name), float))
    return [
        ("release", f"{manifest.shape} by {manifest.method}: {n.released} released, {n.suppressed} suppressed"),
        ("guarantee", f"{'; '.join(map(rule_words, rules_of(manifest)))}; verified"),
        ("loss", f"{losses or 'see summary()'} (0 nothing, 1 everything)"),
    ]


def _optional(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def check_apart(target: Path, custodian_dir: Path | None, crosswalk: Path | None, values: Path | None = None) -> None:
    """Reject confidential output paths that are inside a release folder, or that would overwrite a file."""
    whole = Path(os.path.realpath(target))
    secrets = {"custodian_dir": custodian_dir, "crosswalk": crosswalk, "unmatched_values": values}
    for name, path in secrets.items():
        if path is None:
            continue
        place = Path(os.path.realpath(path))
        if place == whole or whole in place.parents or place in whole.parents:
            raise InputError(setting(name), f" contains secrets and must be outside the release folder {target.name}.")
        around = release_around(place)
        if around is not None:
            raise InputError(
                setting(name), f" contains secrets, but {around.name} around it is a release. Choose a place outside."
            )
    if crosswalk is not None and os.path.lexists(crosswalk):
        raise InputError(f"The crosswalk file {crosswalk.name} exists already. Give another name.", file=crosswalk.name)


def is_internal(folder: Path) -> bool:
    """Return whether a folder contains only the custodian's files of a release."""
    names = {entry.name for entry in folder.iterdir()}
    return {INTERNAL} <= names <= {INTERNAL, ANALYSES, REPORT, FIGURES} and holds_files_alone(folder)
