"""The pipeline of a release of any shape: check, read, protect, attack on request, and write."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cloister.errors import InternalError, Message, setting
from cloister.release.folder import read_figures
from cloister.release.manifest import AnyManifest, parse_manifest
from cloister.release.release import Attacked, Release
from cloister.report.release_warnings import warnings_of
from cloister.results import Figures, Manifest, RiskChange, Stopwatch
from cloister.settings.reading import ReadingWords
from cloister.settings.run_options import RunOptions
from cloister.shapes.protocol import Protection, Run, shape_of
from cloister.verification.driver import Request

from .output_paths import check_places
from .protecting import protect_somewhere

if TYPE_CHECKING:
    from cloister.attacks.adversary import Attack  # loaded where a release is attacked

ATTACK = "attack"
"""The stage of an attack, whose time only the custodian learns."""


@dataclass(frozen=True)
class WrittenRelease:
    """A written release, with notes for the user: sentences without full stops.

    ``warnings``: facts of the release, which its report states as well
    ``notes``: how data were read, what was assumed, and what the user can do
    ``exact``: figures for the custodian only, who runs the command
    ``risks``: of parts that were attacked the risk in the original and in the release, for the same
    """

    manifest: Manifest
    warnings: Sequence[str]
    notes: Sequence[str]
    exact: Figures = field(default_factory=dict, repr=False)
    attack_seconds: float | None = None
    risks: Mapping[str, RiskChange] = field(default_factory=dict, repr=False)


def write_release(shape: str, options: RunOptions, run: Run) -> WrittenRelease:
    """Protect the data of a shape, and write the release to the paths that the settings name."""
    work = shape_of(shape)
    work.check(options)
    values = getattr(options, "unmatched_values", None)
    check_places(
        run.voice,
        options.out,
        overwrite=options.overwrite,
        custodian_dir=options.custodian_dir,
        crosswalk=options.crosswalk,
        values=values,
    )
    with run.engines:
        protection = work.prepare(options, run)
        release, protection = protect_and_attack(protection, run, attack=options.attack, seed=options.seed)
        changes = _changes_from(options)
        with run.watch.stage("write"):
            manifest = release.write(
                options.out,
                overwrite=options.overwrite,
                custodian_dir=options.custodian_dir,
                crosswalk=options.crosswalk,
            )
    written = parse_manifest(manifest), read_figures(options.out)
    warnings, notes = warnings_and_notes(protection, release, *written)
    return WrittenRelease(
        manifest,
        warnings,
        [*notes, *changes(manifest)],
        release.custody.figures,
        run.watch.seconds.get(ATTACK),
        {options.out.name: risk} if (risk := find_risk(release)) else {},
    )


def find_risk(release: Release) -> RiskChange | None:
    """Return the risk before and after of a release that was attacked, for the custodian only; else None."""
    return None if release.attack is None else release.attack.before_and_after()


def _changes_from(options: RunOptions) -> Callable[[Manifest], list[str]]:
    """Return what notes how a release differs from the one that it replaces, which is read now."""
    if not options.overwrite:
        return lambda _: []
    from cloister.jobs.release import earlier_manifests, what_changed  # loads all that jobs need

    earlier = earlier_manifests(options.out)
    return lambda manifest: what_changed(earlier, {options.out.name: manifest})


def protect_and_attack(
    protection: Protection, run: Run, *, attack: bool, seed: int | None
) -> tuple[Release, Protection]:
    """Protect the data, and add an attack on the written files if it was requested; see `protect_somewhere`.

    A broken guarantee is our bug: nothing appears then.
    """
    release, protection = protect_somewhere(protection, run)
    original, seed = protection.original, seed or 0
    if protection.how_read:
        how_read = {"read": list(protection.how_read)}
        release = replace(release, custody=replace(release.custody, figures=release.custody.figures | how_read))
    if not attack:
        return release, protection
    known = Request(
        hierarchies=original.hierarchies or {},
        crosswalk=release.custody.crosswalk,
        privacy=original.privacy,
        words=ReadingWords(missing=original.missing),
    )
    return replace(release, attack=SimulatedAttack(original.data, known, seed, run.watch)), protection


@dataclass(frozen=True, repr=False)
class SimulatedAttack:
    """The simulated adversaries of a shape, with the original and their other knowledge."""

    original: object
    known: Request
    seed: int
    watch: Stopwatch
    found: "list[Attack]" = field(default_factory=list, repr=False)  # of the files that were written, at most one

    def on(self, folder: Path, manifest: AnyManifest) -> Attacked:
        """Attack the files of a release, and raise an error if the attack succeeds."""
        from cloister.attacks.attack_parts import open_folder  # opens any shape: a fifth of the time of a small table
        from cloister.attacks.simulation import simulate

        with self.watch.stage(ATTACK):
            found = simulate(open_folder(folder, manifest, self.original, self.known, self.seed), seed=self.seed)
        if not found.holds:
            raise InternalError(
                f"An attack on what was written found {found.broken} of {found.targets} targets with fewer than "
                f"{found.k} matches."
            )
        self.found.append(found)
        return found

    def before_and_after(self) -> RiskChange | None:
        """Return the risk in the original and in the release, for the custodian only; None without targets."""
        return self.found[-1].before_and_after() if self.found else None


def warnings_and_notes(
    protection: Protection, release: Release, manifest: AnyManifest, figures: Figures
) -> tuple[list[str], list[str]]:
    """Return the warnings of a release, and all other notes for the user."""
    warnings = warnings_of(manifest, figures)
    notes = [text for text in protection.notes(release, manifest) if text not in warnings]
    if figures["formulas"] and manifest.shape == "table":
        notes.append(Message(setting("escape_formulas"), " writes such cells so that no spreadsheet runs them"))
    risk = find_risk(release)
    return warnings, notes if risk is None else [*notes, risk.sentence]
