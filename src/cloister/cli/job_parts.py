"""A part of a job -> the options of ``protect`` that say the same, and what is about to be done by them."""

from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from cloister.claims.data import claims_of
from cloister.claims.plan import ClaimsPlan, plan_of
from cloister.cli.claims_job import prepare_claims
from cloister.cli.claims_options import ClaimsOptions
from cloister.cli.codes_job import check_codes_words, prepare_codes
from cloister.cli.codes_options import CodesOptions
from cloister.cli.prepared import Prepared
from cloister.cli.table_job import check_table_words, prepare_table, read_table_source, table_prepared
from cloister.cli.table_options import TableOptions
from cloister.cli.trajectories_job import check_trajectories_words, prepare_trajectories
from cloister.cli.trajectories_options import TrajectoriesOptions
from cloister.codesets.request import read_given
from cloister.errors import InputError
from cloister.io import CodeColumns, Source
from cloister.jobs.job import ClaimsPart, CodesPart, FileSource, Job, Part, TablePart, TrajectoriesPart
from cloister.jobs.job_checks import HMAC, hmac_sentence
from cloister.jobs.joined import with_codes
from cloister.sources import Form, read_table
from cloister.stopwatch import Stopwatch

NO_OPTIONS = {"shape", "source", "name", "patients", "claims", "plan"}
PATHS = {"hierarchies", "like", "crosswalk", "values_to", "side"}
CALLED_ELSE = {"rules": "rule"}
"""Keys that stand for a repeated option of another name."""


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
    """Read the sources of a part, and return what is about to be done with them.

    Raises
    ------
    InputError
        The data or the settings cannot be used.
    """
    watch = Stopwatch()
    if isinstance(part, ClaimsPart):
        return _claims(run, name, part, watch)
    if isinstance(part, TablePart):
        return _table(run, name, part, watch)
    if isinstance(part, CodesPart):
        codes = CodesOptions(**_told(run, name, part))
        check_codes_words(codes)
        return prepare_codes(codes, watch)
    trajectories = TrajectoriesOptions(**_told(run, name, part))
    check_trajectories_words(trajectories)
    return prepare_trajectories(trajectories, watch)


def _table(run: Run, name: str, part: TablePart, watch: Stopwatch) -> Prepared:
    options = TableOptions(**_told(run, name, part))
    check_table_words(options)
    if part.codes not in run.job.sources or part.codes is None:
        return table_prepared(options, watch, run.engines)
    if options.engine not in ("auto", "memory"):
        raise InputError('A table with a source of codes needs its rows. Give engine = "memory", or leave it out.')
    with watch.stage("read"):
        source = _with_codes(read_table_source(options), options.id, part.codes, run.job.sources[part.codes])
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


def _claims(run: Run, name: str, part: ClaimsPart, watch: Stopwatch) -> Prepared:
    plan, path = _plan(run, name, part)
    if plan.ids.patients.startswith(HMAC):
        raise InputError(f"{path.name}: {hmac_sentence('ids.patients')}", file=path.name)
    of_patients, of_claims = run.job.sources[part.patients], run.job.sources[part.claims]
    with watch.stage("read"):
        claims = claims_of(_read(of_patients, part.patients, "patients"), _read(of_claims, part.claims, "claims"), plan)
    head = _head(run, name)
    options = ClaimsOptions(
        patients=of_patients.data(part.patients),
        claims=of_claims.data(part.claims),
        plan=path,
        crosswalk=_path(part.crosswalk),
        seed=run.job.seed or None,  # else that of the plan
        **{key: head[key] for key in ("out", "internal", "threads", "attack", "quiet", "as_json")},
    )
    return prepare_claims(options, watch, claims)


def _plan(run: Run, name: str, part: ClaimsPart) -> tuple[ClaimsPlan, Path]:
    """The plan of claims, and the file that it stands in."""
    if isinstance(part.plan, str):
        return ClaimsPlan.read(part.plan), Path(part.plan)
    number = list(run.job.parts).index(name) + 1
    return plan_of(part.plan, run.job.file, run.path.parent, (f"protect[{number}]", "plan")), run.path


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


def _told(run: Run, name: str, part: TablePart | CodesPart | TrajectoriesPart) -> dict[str, Any]:
    """The options of a part by the names that they have on the command line; what was not said is left out."""
    source = run.job.sources[part.source]
    of_source: dict[str, Any] = {"data": source.data(part.source), "id": source.id, "encoding": source.encoding}
    of_source |= {"delimiter": source.delimiter, "missing": list(source.missing) or None}
    given = {one.name: getattr(part, one.name) for one in fields(part) if one.name not in NO_OPTIONS}
    said = {key: value for key, value in given.items() if value is not None and value not in ((), {})}
    return (
        _head(run, name) | of_source | {CALLED_ELSE.get(key, key): as_option(key, value) for key, value in said.items()}
    )


def as_option(key: str, value: Any) -> Any:
    """Return a value of a part as the command line would have it."""
    if key in PATHS:
        return Path(value)
    if key == "suppression":
        return str(Decimal(repr(value)).normalize())
    if key == "weights":
        return ",".join(map(repr, value))
    if key == "block":
        return str(value)
    if isinstance(value, dict):
        return [f"{column}={word}" if word != "" else column for column, word in value.items()]
    if key in ("sensitive", "sensitive_codes") and isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, tuple) else value


def _path(name: str | None) -> Path | None:
    return None if name is None else Path(name)


def secrets_of(part: Part) -> tuple[Path | None, Path | None]:
    """Return where the crosswalk of a part goes, and where values of it are listed."""
    return _path(part.crosswalk), _path(part.values_to) if isinstance(part, TablePart) else None
