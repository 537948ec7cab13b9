"""One run of ``init``: from files to a plan or a job."""

import os
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path

from cloister.claims.first_plan import first_plan
from cloister.claims.guessing import Guess
from cloister.cli.output import console, grid, note, print_json
from cloister.errors import InputError
from cloister.flow.parts import JobRun, prepare_part
from cloister.io import Query, Source, is_taken, write_private
from cloister.io.columns import check_header
from cloister.jobs.first_job import first_job
from cloister.jobs.job import Job
from cloister.sources import form_of, profiled, read_claim_tables, read_table


def init_claims(
    patients: Path,
    claims: Path,
    out: Path,
    encoding: str | None,
    delimiter: str | None,
    missing: Sequence[str],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Read, guess, try, write, and say what each column was taken for."""
    if is_taken(out):
        raise InputError(f"{out.name} exists already. Give another name, or remove it.", file=out.name)
    sources = read_claim_tables(patients, claims, encoding=encoding, delimiter=delimiter, missing=missing)
    for source in sources:
        _check_names(source)
    made = first_plan(sources[0], sources[1])
    write_private(out, made.text.encode())
    tables = (("patients", made.patients), ("claims", made.claims))
    _tell(out, "plan", tables, [text for source in sources for text in source.notes], as_json=as_json, quiet=quiet)


def init_shape(
    shape: str,
    data: Path | Query,
    out: Path,
    k: int,
    encoding: str | None,
    delimiter: str | None,
    missing: Sequence[str],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Read, guess, try, write, and say what each column was taken for."""
    if is_taken(out):
        raise InputError(f"{out.name} exists already. Give another name, or remove it.", file=out.name)
    if k < 2:
        raise InputError(f"k is {k}, but a patient who is alone is not protected: ask for 2 or more.")
    source = read_table(data, form_of(shape), encoding=encoding, delimiter=delimiter, missing=missing)
    _check_names(source)
    told = {"encoding": encoding, "delimiter": delimiter, "missing": list(missing)}
    folder = out.absolute().parent
    if not folder.is_dir():
        raise InputError(f"The folder around {out.name} does not exist. Make it first.", file=out.name)
    place = _place(data, folder)
    made = first_job(shape, source, place, k, {key: value for key, value in told.items() if value})
    _try(made.job, out)
    write_private(out, made.text.encode())
    _tell(out, "job", [(source.name, made.columns)], source.notes, as_json=as_json, quiet=quiet)


def _check_names(source: Source) -> None:
    if source.format == "csv":
        check_header(source.frame, source.name)


def _place(data: Path | Query, folder: Path) -> dict[str, str]:
    """Return the keys of a source that say where its data are, as seen from the folder of the job."""
    collection = profiled(data)
    if collection is not None:
        return {"file": collection.at(lambda path: Path(os.path.relpath(path, folder)))}
    if isinstance(data, Path):
        return {"file": Path(os.path.relpath(data, folder)).as_posix()}
    in_file = data.scheme in ("duckdb", "sqlite")
    url = f"{data.scheme}:{Path(os.path.relpath(data.place, folder)).as_posix()}" if in_file else data.url
    return {"url": str(url), "query": data.query.strip()}


def _try(job: Job, out: Path) -> None:
    """Make sure that the data go through all that can be checked, as the job is written."""
    asked = JobRun(job, out.absolute(), out.absolute().parent / job.output)
    with chdir(asked.path.parent):
        for name in job.parts:
            prepare_part(asked, name).check()


def _tell(
    out: Path,
    what: str,
    tables: Sequence[tuple[str, Sequence[Guess]]],
    notes: Sequence[str],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    if as_json:
        roles = {
            table: {guess.column: {"role": guess.role, "sureness": guess.sureness, "why": guess.why} for guess in found}
            for table, found in tables
        }
        print_json({what: out.name, "roles": roles})
        return
    for text in notes:
        note(text, quiet=quiet)
    if quiet:
        return
    for table, found in tables:
        rows = [[guess.column, guess.role, guess.sureness] for guess in found]
        console().print(grid(f"Columns of {table}", ["column", "role", "how sure"], rows))
    console().print(f"{out.name} was written. Read it through before it is used.", soft_wrap=True)
