"""The pipeline of a release of any shape: checked, read, protected, attacked if asked for, written."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cloister.checker import Request
from cloister.errors import InternalError, setting
from cloister.jobs.release import earlier_manifests, what_changed
from cloister.manifests import AnyManifest, typed
from cloister.reading import ReadingWords
from cloister.release import Attacked, Release
from cloister.release_folder import read_figures
from cloister.results import Figures, Manifest
from cloister.settings import RunOptions
from cloister.shape import Prepared, Run, shape_of

from .places import check_places

ATTACK = "attack"
"""The stage of an attack, whose time only the custodian learns."""


@dataclass(frozen=True)
class WrittenRelease:
    """A release that was written, and what a user should know of it: sentences without their stops.

    ``exact``: figures for the custodian alone, who runs the command
    """

    manifest: Manifest
    notes: Sequence[str]
    exact: Figures = field(default_factory=dict, repr=False)
    attack_seconds: float | None = None


def write_release(shape: str, options: RunOptions, run: Run) -> WrittenRelease:
    """Take data of a shape through the pipeline, and write the release to the places that the settings name."""
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
        prepared = work.prepare(options, run)
        release = protected(prepared, attack=options.attack, seed=options.seed)
        earlier = earlier_manifests(options.out) if options.overwrite else {}
        manifest = release.write(
            options.out, overwrite=options.overwrite, custodian_dir=options.custodian_dir, crosswalk=options.crosswalk
        )
    changed = what_changed(earlier, {options.out.name: manifest})
    notes = [*prepared.notes(release, typed(manifest)), *formula_notes(options.out), *changed]
    return WrittenRelease(manifest, notes, release.custody.figures, run.watch.seconds.get(ATTACK))


def protected(prepared: Prepared, *, attack: bool, seed: int | None) -> Release:
    """Protect, and see to it that the release is attacked as it is written, if that was asked for.

    A broken guarantee is our bug: nothing appears then.
    """
    release, original, seed = prepared.protect(), prepared.original, seed or 0
    if prepared.how_read:
        how_read = {"read": list(prepared.how_read)}
        release = replace(release, custody=replace(release.custody, figures=release.custody.figures | how_read))
    if not attack:
        return release
    from cloister.attacks.opening import open_folder  # opens any shape: a fifth of the time of a small table
    from cloister.attacks.simulation import simulate

    words = ReadingWords(original.missing)
    known = Request(
        hierarchies=original.hierarchies or {},
        crosswalk=release.custody.crosswalk,
        privacy=original.privacy,
        words=words,
    )

    def attacked(folder: Path, manifest: AnyManifest) -> Attacked:
        with prepared.run.watch.stage(ATTACK):
            found = simulate(open_folder(folder, manifest, original.data, known, seed), seed=seed)
        if not found.holds:
            raise InternalError(
                f"An attack on what was written found {found.broken} of {found.targets} targets with fewer than "
                f"{found.k} matches."
            )
        return found

    return replace(release, attack=attacked)


def formula_notes(folder: Path) -> list[str]:
    """Return a note on each file of a release of which a spreadsheet would run cells."""
    return [
        f"a spreadsheet would run cells of {', '.join(columns)} as formulas (they begin with =, +, - or @): read "
        f"{file} as text, or protect a table with {setting('escape_formulas')}"
        for file, columns in read_figures(folder)["formulas"].items()
    ]
