"""A part of a job -> the options of ``protect`` that say the same, and what is about to be done by them."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from cloister.claims.data import claims_of
from cloister.claims.options import ClaimsOptions
from cloister.claims.plan import ClaimsPlan, plan_of
from cloister.cli.claims_job import prepare_claims
from cloister.cli.prepared import Prepared
from cloister.cli.table_job import prepare_table, read_table_source
from cloister.cli.works import work_of
from cloister.codesets.request import read_given
from cloister.errors import CloisterError, InputError, NoSafeRelease
from cloister.io import CodeColumns, Source
from cloister.jobs.job import FileSource, Job
from cloister.jobs.job_checks import HMAC, hmac_sentence
from cloister.jobs.joined import with_codes
from cloister.jobs.sections import OPTIONS, Part
from cloister.settings import settings_of
from cloister.sources import Form, read_table
from cloister.stopwatch import Stopwatch
from cloister.tabular.options import TableOptions

OPTION = re.compile(r"(?<![\w-])--?([a-z][a-z-]*)\b")

OF_READING = ("encoding", "delimiter", "missing")
"""What a source says of how it is read, as options have it."""


@dataclass(frozen=True)
class Run:
    """How a job is run: what is told on the command line, paths in full."""

    job: Job
    path: Path
    out: Path
    internal: Path | None = None
    quiet: bool = False
    as_json: bool = False
    engines: ExitStack = field(default_factory=ExitStack, repr=False)
    """Engines that count tables where they are, until everything was written."""


def prepare_part(run: Run, name: str, part: Part) -> Prepared:
    """Read the sources of a part, and return what is about to be done with them."""
    watch = Stopwatch()
    if part.shape == "claims":
        return _claims(run, name, part, watch)
    work, options = work_of(part.shape), OPTIONS[part.shape](**_told(run, name, part))
    work.check(options)
    if isinstance(options, TableOptions) and options.codes in run.job.sources:
        return _table_with_codes(run, options, watch)
    return work.prepare(options, watch, run.engines, None)


def _table_with_codes(run: Run, options: TableOptions, watch: Stopwatch) -> Prepared:
    """A table together with the codes of another source."""
    if options.engine not in ("auto", "memory"):
        raise InputError('A table with a source of codes needs its rows. Give engine = "memory", or leave it out.')
    assert options.codes is not None
    with watch.stage("read"):
        source = _with_codes(read_table_source(options), options.id, options.codes, run.job.sources[options.codes])
    return prepare_table(options, source, watch, codes_missing=())


def _with_codes(table: Source, identifier: str | None, name: str, source: FileSource) -> Source:
    given = read_given(
        source.data(name),
        CodeColumns(source.id),
        repeats=False,
        drop_empty=True,
        encoding=source.encoding,
        delimiter=source.delimiter,
        missing=source.missing,
    )
    return with_codes(table, identifier, given.codes, name, given.name)


def _claims(run: Run, name: str, part: Part, watch: Stopwatch) -> Prepared:
    plan, path = _plan(run, name, part)
    if plan.ids.patients.startswith(HMAC):
        raise InputError(f"{path.name}: {hmac_sentence('ids.patients')}", file=path.name)
    patients, events = part.sources["patients"], part.sources["claims"]
    of_patients, of_claims = run.job.sources[patients], run.job.sources[events]
    with watch.stage("read"):
        claims = claims_of(_read(of_patients, patients, "patients"), _read(of_claims, events, "claims"), plan)
    head = _head(run, name)
    options = ClaimsOptions(
        patients=of_patients.data(patients),
        claims=of_claims.data(events),
        plan=path,
        **part.options(),
        seed=run.job.seed or None,  # else that of the plan
        **{key: head[key] for key in ("out", "internal", "threads", "attack", "quiet", "as_json")},
    )
    return prepare_claims(options, watch, None, claims)


def _plan(run: Run, name: str, part: Part) -> tuple[ClaimsPlan, Path]:
    """The plan of claims, and the file that it stands in."""
    plan = part.told["plan"]
    if isinstance(plan, str):
        return ClaimsPlan.read(plan), Path(plan)
    number = list(run.job.parts).index(name) + 1
    return plan_of(plan, run.job.file, run.path.parent, (f"protect[{number}]", "plan")), run.path


def _read(source: FileSource, name: str, form: Form) -> Source:
    return read_table(
        source.data(name), form, encoding=source.encoding, delimiter=source.delimiter, missing=source.missing
    )


def _head(run: Run, name: str) -> dict[str, Any]:
    """Options that all parts share."""
    return {
        "out": run.out / name,
        "internal": None if run.internal is None else run.internal / name,
        "seed": run.job.seed,
        "threads": run.job.threads,
        "engine": run.job.engine,
        "attack": run.job.attack,
        "quiet": run.quiet,
        "as_json": run.as_json,
    }


def _told(run: Run, name: str, part: Part) -> dict[str, Any]:
    """The settings of a part by their names; what was not said is left out."""
    called = part.sources["source"]
    source = run.job.sources[called]
    of_source = {"data": source.data(called), **{key: getattr(source, key) for key in ("id", *OF_READING)}}
    return _head(run, name) | of_source | part.options()


def secrets_of(part: Part) -> tuple[Path | None, Path | None]:
    """Return where the crosswalk of a part goes, and where values of it are listed."""
    options = part.options()
    return options.get("crosswalk"), options.get("values_to")


@contextmanager
def of_part(job: Job, name: str) -> Iterator[None]:
    """Say of a refusal which part of the job it is about, and call options by their keys."""
    known = {one.name: one.name for one in fields(FileSource)}
    known |= {one.option.lstrip("-"): one.word for one in settings_of(OPTIONS[job.parts[name].shape]) if one.key}
    problem: CloisterError
    try:
        yield
        return
    except (InputError, NoSafeRelease) as error:
        problem = error
    words = OPTION.sub(lambda found: known.get(found[1], found[0]), problem.message)
    raise type(problem)(
        words if words.startswith(job.file) else f"{job.file}, part {name}: {words}",
        file=problem.file,
        row=problem.row,
        line=problem.line,
        column=problem.column,
    )
