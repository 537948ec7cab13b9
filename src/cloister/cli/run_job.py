"""One run of a job: every part read and checked, then protected, verified and written, all of them or none."""

import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from cloister.cli.clock import STARTED
from cloister.cli.job_parts import Run, of_part, prepare_part, secrets_of
from cloister.cli.output import after_writing, console, facts, grid, note, print_json
from cloister.cli.places import check_places
from cloister.cli.prepared import Original, Prepared
from cloister.cli.works import formula_notes, late_stops_told
from cloister.errors import GuaranteeViolation, InputError, InternalError, NoSafeRelease
from cloister.io import Place, appearing, is_taken
from cloister.jobs.changes import earlier_parts, what_changed
from cloister.jobs.folder import is_internal_of_job, is_job_release
from cloister.jobs.job import Job
from cloister.jobs.job_checks import database_of, unused
from cloister.jobs.job_file import read_job
from cloister.jobs.manifest import UNLINKABLE
from cloister.jobs.release import finish_job
from cloister.recheck import verify_folder
from cloister.release import Release
from cloister.release_folder import REPORT
from cloister.results import Manifest


def run_job(path: Path, *, dry_run: bool, overwrite: bool, internal: Path | None, as_json: bool, quiet: bool) -> None:
    """Do what a job file asks; names of files in it are taken from its own folder."""
    job, shown = read_job(path), path.parent
    path = path.absolute()
    secret = None if internal is None else internal.absolute()
    run = Run(job, path, path.parent / job.output, secret, quiet, as_json)
    with chdir(path.parent):
        _check_places(run, overwrite or dry_run)
        if is_taken(run.out) and not is_job_release(run.out):
            raise InputError(f"{run.out.name} exists already and is no release of a job. Give another name as output.")
        with run.engines:
            prepared = {name: _prepared(run, name) for name in job.parts}
            if dry_run:
                _dry(run, prepared, [*_unused(run.job), *([] if overwrite else _there(run))])
                return
            notes, manifest = _protected(run, prepared, overwrite)
        notes = [*_unused(run.job), *notes]
    _tell(run, manifest, notes, shown / job.output)


def _check_places(run: Run, overwrite: bool) -> None:
    check_places(run.out, overwrite=overwrite, internal=run.internal, crosswalk=None)
    if run.internal is not None and is_taken(run.internal) and not (overwrite and is_internal_of_job(run.internal)):
        raise InputError(f"{run.internal.name} exists already, or is not of a job. Give another name for --internal.")
    taken = set()
    for name, part in run.job.parts.items():
        crosswalk, values = secrets_of(part)
        with of_part(run.job, name):
            check_places(run.out, overwrite=overwrite, internal=None, crosswalk=crosswalk, values=values)
        for secret in (place.absolute() for place in (crosswalk, values) if place is not None):
            if secret in taken:
                raise InputError(f"{run.job.file}: two parts would write the file {secret.name}. Name another one.")
            taken.add(secret)


def _prepared(run: Run, name: str) -> Prepared:
    with of_part(run.job, name):
        return prepare_part(run, name, run.job.parts[name])


def _dry(run: Run, prepared: dict[str, Prepared], there: list[str]) -> None:
    """Check what can be checked without protecting, and say what would be done."""
    for name, one in prepared.items():
        with of_part(run.job, name):
            one.check()
    shared = [*there, *_in_common(prepared)]
    if run.as_json:
        parts = [
            {"name": name, "shape": run.job.parts[name].shape, "asked": dict(one.asked)}
            for name, one in prepared.items()
        ]
        print_json({"job": run.job.name, "dry_run": True, "parts": parts, "notes": shared})
        return
    for text in shared:
        note(f"Note: {text}.", quiet=run.quiet)
    if run.quiet:
        return
    for name, one in prepared.items():
        console().print(facts(f"{name} ({run.job.parts[name].shape})", one.asked))
    console().print("Nothing was protected or written: this was a dry run.", soft_wrap=True)


def _unused(job: Job) -> list[str]:
    return [f"sources.{name} is used by no part" for name in unused(job.parts, job.sources)]


def _there(run: Run) -> list[str]:
    """A note on what is in the way of a real run."""
    return [f"{run.out.name} exists already: to replace it, run with --overwrite"] if is_taken(run.out) else []


def _in_common(prepared: dict[str, Prepared]) -> list[str]:
    """Notes on columns that two parts release as recorded: whether they join rows is known once both are protected."""
    return [
        f"{own} and {other} both release {', '.join(both)} as recorded; the job is refused if that joins their rows"
        for (own, one), (other, two) in combinations(prepared.items(), 2)
        if (both := [column for column in one.recorded if column in two.recorded])
    ]


def _protected(run: Run, prepared: dict[str, Prepared], overwrite: bool) -> tuple[list[str], Manifest]:
    """Protect, write and verify all parts; they appear together, or nothing does."""
    earlier = earlier_parts(run.out) if overwrite else {}
    maps = {name: path for name, part in run.job.parts.items() if (path := secrets_of(part)[0]) is not None}
    places = [Place(run.out, overwrite, is_job_release), *(Place(path, is_file=True) for path in maps.values())]
    if run.internal is not None:
        places.append(Place(run.internal, overwrite, is_internal_of_job))
    notes, manifests = [], {}
    releases: list[Release] = []
    with late_stops_told(run.out), _settling(releases), appearing(*places) as (partial, *others):
        inside = others[-1] if run.internal is not None else None
        originals = {name: one.original for name, one in prepared.items()} if run.job.attack else {}
        for name in list(prepared):
            secret = others[list(maps).index(name)] if name in maps else None
            with of_part(run.job, name):
                written = _write_part(prepared.pop(name), partial / name, secret, inside)
            releases.append(written.release)
            manifests[name] = written.manifest
            notes += [f"{name}: {text}" for text in written.notes]
        for release in releases:
            release.settle()
        manifest = _finish(run, partial, manifests)
        if run.job.attack and len(manifests) > 1:
            _attack_together(run, partial, originals, dict(zip(maps, others, strict=False)))
    return [*notes, *_told_by_others(manifests), *what_changed(earlier, manifests)], manifest


def _told_by_others(manifests: dict[str, Manifest]) -> list[str]:
    """Notes on parts that leave out few patients, which parts with more of them show."""
    notes = []
    for name, manifest in manifests.items():
        records = manifest["records"]
        more = [other for other, one in manifests.items() if one["records"]["released"] > records["released"]]
        if isinstance(records["suppressed"], str) and more:
            notes.append(
                f"{name} leaves out few patients and does not say how many, but {more[0]} has more records: whoever "
                "has both parts can tell (see known limits)"
            )
    return notes


@contextmanager
def _settling(releases: list[Release]) -> Iterator[None]:
    """Take back what was made to stay outside the folder, if the folder does not appear after all."""
    try:
        yield
    except BaseException:
        for release in releases:
            release.unsettle()
        raise


@dataclass(frozen=True)
class _Written:
    """A part of the job that was written."""

    release: Release
    manifest: Manifest
    notes: list[str]


def _write_part(prepared: Prepared, folder: Path, secret: Path | None, inside: Path | None) -> _Written:
    """Protect a part, write its release and what only the custodian may see."""
    release = prepared.protect()
    if secret is not None and release.custody.crosswalk is None:
        raise InputError("A crosswalk was asked for, but no id column was named, so there is nothing to map.")
    own = None if inside is None else inside / folder.name
    for place in (folder, own):
        if place is not None:
            place.mkdir(mode=0o700)
    manifest = release.write_into(folder, secret, own)
    return _Written(release, manifest, [*prepared.notes(release, manifest), *formula_notes(folder)])


def _attack_together(run: Run, folder: Path, originals: dict[str, Original], maps: dict[str, Path]) -> None:
    """Refuse parts that lead from one to another for somebody who knows the same patient in all of them."""
    from cloister.cli.attack_job import part_of  # both loaded where they are asked for
    from cloister.verbs.attack import links_of_parts

    parts = [part_of(name, folder / name, original, maps.get(name)) for name, original in originals.items()]
    links = links_of_parts(parts, seed=run.job.seed)
    linkable = [f"{link.first} and {link.second}" for link in links if not link.holds]
    if linkable:
        raise NoSafeRelease(
            f"{run.job.file}: the attack finds that records of {', '.join(linkable)} lead to each other: columns of "
            "other names may hold the same values. Drop them from one part, or release one part."
        )


def _finish(run: Run, partial: Path, manifests: dict[str, Manifest]) -> Manifest:
    """Write manifest and report, and verify all from the files, and from the database of tables that stay in it."""
    manifest = finish_job(run.job, partial, manifests, time.perf_counter() - STARTED)
    failure = ""
    try:
        verify_folder(partial, database=_database(run.job))
    except (GuaranteeViolation, InputError) as error:
        failure = error.message
    if failure:
        raise InternalError(f"What was written did not pass verification: {failure}")
    return manifest


def _database(job: Job) -> str | None:
    """The address of the database in which parts of the job are protected, if there are any."""
    return next((found for part in job.parts.values() if (found := database_of(part, job.engine)) is not None), None)


def _tell(run: Run, manifest: Manifest, notes: list[str], out: Path) -> None:
    with after_writing(run.out.name):
        if run.as_json:
            print_json(manifest | {"out": str(out), "notes": notes})
            return
        for line in notes:
            note(f"Note: {line}.", quiet=run.quiet)
        if run.quiet:
            return
        rows = [
            [part["name"], part["shape"], part["method"], part["promise"], _share(part["risk"]), _loss(part)]
            for part in manifest["parts"]
        ]
        console().print(grid(f"Job {run.job.name}", ["part", "shape", "method", "promise", "risk", "loss"], rows))
        apart = f" {UNLINKABLE}." if len(rows) > 1 else ""
        console().print(f"Every part was verified.{apart}", soft_wrap=True)
        console().print(f"Report: {out / REPORT}", soft_wrap=True)


def _loss(part: Manifest) -> str:
    """The loss; of chunks no more is told than what it is at most."""
    bound = "<=" if part["method"] == "disassociation" and part["loss"] is not None else ""
    return bound + _share(part["loss"])


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
