"""The pipeline of a job: read every part and check its roles, then protect, verify and write all parts or none."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from cloister.errors import GuaranteeViolation, InputError, InternalError, Message, NoSafeRelease, name_few, setting
from cloister.io import Place, appearing, is_taken, write_private
from cloister.jobs.job import Job, Part
from cloister.jobs.job_file import database_of, list_unused_sources
from cloister.jobs.linked_columns import find_linked_columns
from cloister.jobs.manifest import warnings_of_folder
from cloister.jobs.release import (
    earlier_manifests,
    finish_job,
    is_internal_of_job,
    is_job_release,
    refuse_joinable,
    refuse_joined,
    what_changed,
)
from cloister.jobs.wording import in_keys
from cloister.pipeline.output_paths import check_places
from cloister.pipeline.releasing import WrittenRelease, find_risk, protect_and_attack, warnings_and_notes
from cloister.release.folder import read_figures
from cloister.release.release import ANALYSES, Release
from cloister.results import Figures, Manifest, RiskChange, Stopwatch
from cloister.settings.analyses import Analysis
from cloister.settings.run_options import RunOptions
from cloister.shapes.protocol import Original, Protection, Rows, Run, shape_of
from cloister.verification.folder import verify_folder

if TYPE_CHECKING:  # loaded where a job is attacked
    from cloister.attacks.attack_parts import OpenedPart


Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class JobRun:
    """The inputs of a job's run; paths are absolute."""

    job: Job
    path: Path
    out: Path
    custodian_dir: Path | None = None
    run: Run = field(default_factory=Run)


def options_of(job_run: JobRun, name: str) -> RunOptions:
    """Return the settings of a part: those of the job, of its source, and its own."""
    job, part = job_run.job, job_run.job.parts[name]
    keywords = {
        "out": job_run.out / name,
        "custodian_dir": None if job_run.custodian_dir is None else job_run.custodian_dir / name,
        "seed": job.seed,
        "threads": job.threads,
        "engine": job.engine,
        "attack": job.attack,
    }
    options: RunOptions = shape_of(part.shape).of_part(keywords | part.options(), part, job, job_run.path)
    return options


def without_keys(part: Part, keys: Iterable[str]) -> Part:
    """Return a part without values for these keys, such as ``weight.age``; a removed `k` becomes None."""
    keywords = dict(part.keywords)
    for key in keys:
        head, _, column = key.partition(".")
        if column and isinstance(keywords.get(head), Mapping):
            keywords[head] = {name: value for name, value in keywords[head].items() if name != column}
        elif not column:
            keywords.pop(head, None)
    return Part(part.shape, {"k": None, **keywords} if "k" in part.keywords else keywords)


@dataclass(frozen=True)
class PreparedPart:
    """The data of a part with its request, and the run in which they are protected."""

    protection: Protection
    run: Run


def prepare_part(job_run: JobRun, name: str) -> PreparedPart:
    """Read the sources of a part, and return the data with the request."""
    shape, options, run = shape_of(job_run.job.parts[name].shape), options_of(job_run, name), job_run.run
    shape.check(options)
    own = Run(Stopwatch(hears=run.watch.hears), run.voice, run.engines)
    return PreparedPart(shape.prepare(options, own), own)


def secrets_of(part: Part) -> tuple[Path | None, Path | None]:
    """Return the paths of a part's crosswalk and of its list of unmatched values."""
    options = part.options()
    return options.get("crosswalk"), options.get("unmatched_values")


@contextmanager
def of_part(job: Job, name: str) -> Iterator[None]:
    """Add the part of the job to errors, and word settings as keys of the job."""
    try:
        yield
    except (InputError, NoSafeRelease) as error:
        if error.file != job.file:
            error.sentence, error.place = Message(in_keys(error.message)), f"{job.file}, part {name}"
        raise


@dataclass(frozen=True)
class DryRun:
    """The planned work of a job, by part, with notes for the user."""

    job: Job
    parts: Mapping[str, Rows]
    notes: list[str]

    def summary(self, word: Callable[[str], str]) -> Figures:
        """Return the planned work as a JSON object, with notes in the words of a front end."""
        parts = [
            {"name": name, "shape": self.job.parts[name].shape, "asked": dict(rows)}
            for name, rows in self.parts.items()
        ]
        return {"job": self.job.name, "dry_run": True, "parts": parts, "notes": [word(text) for text in self.notes]}


def try_job(job_run: JobRun, *, overwrite: bool = False) -> DryRun:
    """Read and check everything, and write nothing."""
    with _ready(job_run, overwrite=True) as prepared:
        there = [] if overwrite or not is_taken(job_run.out) else [
            Message(f"{job_run.out.name} exists already: to replace it, run with ", setting("overwrite"))
        ]  # fmt: skip
        for name, one in prepared.items():
            with of_part(job_run.job, name):
                one.protection.check()
        _refuse_linked(job_run.job, prepared)
        parts = {name: [*one.protection.summary] for name, one in prepared.items()}
        return DryRun(job_run.job, parts, [*list_unused_sources(job_run.job), *there, *_in_common(prepared)])


def write_job(job_run: JobRun, *, overwrite: bool = False, started: float | None = None) -> WrittenRelease:
    """Protect, verify and write all parts."""
    started = time.perf_counter() if started is None else started
    with _ready(job_run, overwrite) as prepared:
        for name, one in prepared.items():  # before the first part takes its time
            with of_part(job_run.job, name):
                one.protection.check_roles()
        written = _protect_parts(job_run, prepared, overwrite, started)
    return replace(written, notes=[*list_unused_sources(job_run.job), *written.notes])


@contextmanager
def _ready(job_run: JobRun, overwrite: bool) -> Iterator[dict[str, PreparedPart]]:
    """Yield the prepared parts, in the folder of the job, after checking the output paths."""
    with chdir(job_run.path.parent):
        _check_places(job_run, overwrite)
        if is_taken(job_run.out) and not is_job_release(job_run.out):
            raise InputError(f"{job_run.out.name} exists already and is no release of a job. Give another name.")
        with job_run.run.engines:
            yield {name: _prepare_part(job_run, name) for name in job_run.job.parts}


def _prepare_part(job_run: JobRun, name: str) -> PreparedPart:
    with of_part(job_run.job, name):
        prepared = prepare_part(job_run, name)
        analyses, frame = job_run.job.analyses.get(name, ()), prepared.protection.original.data
        for one in analyses:
            if not isinstance(frame, pl.DataFrame):
                raise InputError("Analyses need the original in memory, and this table is protected in its database.")
            one.check(frame.columns)
        return prepared


def _check_places(job_run: JobRun, overwrite: bool) -> None:
    voice, custodian_dir = job_run.run.voice, job_run.custodian_dir
    check_places(voice, job_run.out, overwrite=overwrite, custodian_dir=custodian_dir)
    if custodian_dir is not None and is_taken(custodian_dir) and not (overwrite and is_internal_of_job(custodian_dir)):
        raise InputError(
            f"{custodian_dir.name} exists already, or is not of a job. Give another name for ", setting("custodian_dir")
        )
    used = set()
    for name, part in job_run.job.parts.items():
        crosswalk, values = secrets_of(part)
        with of_part(job_run.job, name):
            check_places(voice, job_run.out, overwrite=overwrite, crosswalk=crosswalk, values=values)
        for secret in (place.absolute() for place in (crosswalk, values) if place is not None):
            if secret in used:
                raise InputError(f"{job_run.job.file}: two parts would write the file {secret.name}. Name another one.")
            used.add(secret)


def _in_common(prepared: Mapping[str, PreparedPart]) -> list[str]:
    """Return notes on shared columns that two parts release as recorded; linkage is known only after protection."""
    return [
        f"{own} and {other} both release {name_few(both)} as recorded; the job is refused if that joins their rows"
        for (own, one), (other, two) in combinations(prepared.items(), 2)
        if (both := [column for column in one.protection.recorded if column in two.protection.recorded])
    ]


def _refuse_linked(job: Job, prepared: Mapping[str, PreparedPart]) -> None:
    """Reject parts with columns, of any names, that describe the same fact of a patient."""
    if len(prepared) > 1:
        found = {
            name: values for name, one in prepared.items() if (values := one.protection.recorded_values()) is not None
        }
        refuse_joined(job, find_linked_columns(found))


def _protect_parts(
    job_run: JobRun, prepared: dict[str, PreparedPart], overwrite: bool, started: float
) -> WrittenRelease:
    """Protect, write and verify all parts; if anything fails, nothing is written."""
    job, earlier = job_run.job, earlier_manifests(job_run.out) if overwrite else {}
    maps = {name: path for name, part in job.parts.items() if (path := secrets_of(part)[0]) is not None}
    places = [Place(job_run.out, overwrite, is_job_release), *(Place(path, is_file=True) for path in maps.values())]
    if job_run.custodian_dir is not None:
        places.append(Place(job_run.custodian_dir, overwrite, is_internal_of_job))
    _refuse_linked(job, prepared)
    notes, manifests, risks = list[str](), dict[str, Manifest](), dict[str, RiskChange]()
    releases: list[Release] = []
    with appearing(*places, otherwise=lambda: _roll_back(releases)) as (partial, *others):
        inside = others[-1] if job_run.custodian_dir is not None else None
        originals = {name: one.protection.original for name, one in prepared.items()} if job.attack else {}
        for name in list(prepared):
            secret = others[list(maps).index(name)] if name in maps else None
            with of_part(job, name):
                release, written = _write_part(job, prepared.pop(name), partial / name, secret, inside)
            releases.append(release)
            job_run.run.voice.note(f"{name}: protected and verified after {time.perf_counter() - started:.1f} s.")
            manifests[name] = written.manifest
            risks |= {name: risk} if (risk := find_risk(release)) else {}
            notes += [Message(f"{name}: ", text) if len(job.parts) > 1 else text for text in written.notes]
        for release in releases:
            release.commit(partial)
        refuse_joinable(job, partial, manifests)
        tested = None
        if job.attack and len(manifests) > 1:
            tested = _attack_together(job, partial, originals, dict(zip(maps, others, strict=False)))
        manifest, warnings = _finish(job_run, partial, manifests, started, tested), warnings_of_folder(partial)
    return WrittenRelease(manifest, warnings, [*notes, *what_changed(earlier, manifests)], risks=risks)


def _roll_back(releases: Sequence[Release]) -> None:
    """Undo changes of all releases outside the folder, as the folder did not appear; then raise the first error."""
    failed: list[InputError] = []
    for release in releases:
        try:
            release.rollback()
        except InputError as error:
            failed.append(error)
    if failed:
        raise failed[0]


def _write_part(
    job: Job, prepared: PreparedPart, folder: Path, secret: Path | None, inside: Path | None
) -> tuple[Release, WrittenRelease]:
    """Protect a part, and write its release and the custodian's files."""
    release, protection = protect_and_attack(prepared.protection, prepared.run, attack=job.attack, seed=job.seed)
    if secret is not None and release.custody.crosswalk is None:
        raise InputError("A crosswalk was asked for, but no id column was named, so there is nothing to map.")
    own = None if inside is None else inside / folder.name
    for place in (folder, own):
        if place is not None:
            place.mkdir(mode=0o700)
    with prepared.run.watch.stage("write"):
        manifest = release.write_into(folder, secret, own)
    written = manifest, read_figures(folder)
    warnings, notes = warnings_and_notes(protection, release, *written)
    if analyses := job.analyses.get(folder.name):
        with prepared.run.watch.stage("measure"):
            notes = [*notes, *_replicate(job, prepared.protection.original, folder, own, analyses)]
    return release, WrittenRelease(manifest.as_json(), warnings, notes)


def _replicate(
    job: Job, original: Original, folder: Path, own: Path | None, analyses: Sequence[Analysis]
) -> Iterator[str]:
    """Fit analyses to the original and to the release, for the custodian; yield what was found."""
    from cloister.recipients.replication import replicate_folder

    found = replicate_folder(folder, original.data, original.hierarchies, analyses, job.seed)
    if own is not None:
        write_private(own / ANALYSES, found.terms.write_csv().encode())
    for sentence in found.sentences():
        yield Message(sentence)


def _attack_together(job: Job, folder: Path, originals: dict[str, Original], maps: dict[str, Path]) -> Pairs:
    """Reject parts that an attacker who knows the same patient in all of them can link.

    Returns the pairs of parts between which links were looked for: those with ids and records.
    """
    from cloister.attacks.attack_parts import links_of_parts, part_of

    parts = [part_of(name, folder / name, original, maps.get(name)) for name, original in originals.items()]
    links = links_of_parts(parts, seed=job.seed)
    linkable = [f"{link.first} and {link.second}" for link in links if not link.holds]
    if linkable:
        raise NoSafeRelease(
            f"{job.file}: the attack finds that records of {', '.join(linkable)} lead to each other: columns of "
            "other names may hold the same values. Drop them from one part, or release one part."
        )
    return [(link.first, link.second) for link in links]


def _finish(
    job_run: JobRun, partial: Path, manifests: dict[str, Manifest], started: float, tested: Pairs | None
) -> Manifest:
    """Write manifest and report, and verify everything from the files, or from the database with the tables."""
    job = job_run.job
    manifest = finish_job(job, partial, manifests, time.perf_counter() - started, tested)
    made_in = (database_of(part, job.engine) for part in job.parts.values())
    failure: str = ""
    try:
        with job_run.run.watch.stage("verify"):
            verify_folder(partial, engine=next((place for place in made_in if place is not None), None))
    except (GuaranteeViolation, InputError) as error:
        failure = error.message
    if failure:
        raise InternalError("What was written did not pass verification: ", failure)
    return manifest


def parts_as_read(job_run: JobRun, folders: Mapping[str, Path], crosswalks: Mapping[str, str]) -> list["OpenedPart"]:
    """Return parts of a release with their originals, as the job reads them, and with their crosswalks if present."""
    from cloister.attacks.attack_parts import part_of

    for name in folders:
        if name not in job_run.job.parts:
            raise InputError(
                f"{job_run.job.file} has no part {name}, which the release has. Give the job that it is of."
            )
    found: list[OpenedPart] = []
    places = {name: folder.absolute() for name, folder in folders.items()}
    given = {name: Path(file).absolute() for name, file in crosswalks.items()}
    with chdir(job_run.path.parent), job_run.run.engines:
        for name, place in places.items():
            original = _prepare_part(job_run, name).protection.original
            written, _ = secrets_of(job_run.job.parts[name])
            usual = written.absolute() if written is not None and written.exists() else None
            found.append(part_of(name, place, original, given.get(name, usual)))
    return found
