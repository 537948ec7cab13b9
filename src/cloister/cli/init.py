"""``cloister init``: a first job or plan, guessed from data."""

import os
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path

from cloister.claims.first_plan import first_plan
from cloister.claims.guessing import Guess
from cloister.cli.options import InitClaimsOptions, InitJobOptions, InitOptions
from cloister.cli.output import console, grid, note, print_json
from cloister.errors import InputError
from cloister.io import Query, is_taken, write_private
from cloister.io.columns import check_header
from cloister.jobs.first_job import first_job
from cloister.pipeline.jobs import JobRun, prepare_part
from cloister.reading import how_read, reading_of
from cloister.sources import form_of, profiled, read_claim_tables, read_table


def init_claims(options: InitClaimsOptions) -> None:
    """Read, guess, write a plan, and say what each column was taken for."""
    _check_free(options.out)
    patients, claims = read_claim_tables(options.patients, options.claims, **how_read(options))
    for source in (patients, claims):
        if source.format == "csv":
            check_header(source.frame, source.name)
    made = first_plan(patients, claims)
    write_private(options.out, made.text.encode())
    tables = (("patients", made.patients), ("claims", made.claims))
    _tell(options, options.out, "plan", tables, [*patients.notes, *claims.notes])


def init_shape(shape: str, options: InitJobOptions) -> None:
    """Read, guess, try, write a job, and say what each column was taken for."""
    out = options.out
    _check_free(out)
    if options.k < 2:
        raise InputError(f"k is {options.k}, but a patient who is alone is not protected: ask for 2 or more.")
    how = how_read(options)
    source = read_table(options.data, form_of(shape), **how)
    if source.format == "csv":
        check_header(source.frame, source.name)
    folder = out.absolute().parent
    if not folder.is_dir():
        raise InputError(f"The folder around {out.name} does not exist. Make it first.", file=out.name)
    said = {key: list(value) if isinstance(value, tuple) else value for key, value in reading_of(options).said.items()}
    made = first_job(shape, source, _place(options.data, folder), options.k, said)
    asked = JobRun(made.job, out.absolute(), folder / made.job.output)
    with chdir(folder):  # the data must go through all that can be checked, as the job is written
        for name in made.job.parts:
            prepare_part(asked, name).check()
    write_private(out, made.text.encode())
    _tell(options, out, "job", [(source.name, made.columns)], source.notes)


def _check_free(out: Path) -> None:
    if is_taken(out):
        raise InputError(f"{out.name} exists already. Give another name, or remove it.", file=out.name)


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


def _tell(
    options: InitOptions, out: Path, what: str, tables: Sequence[tuple[str, Sequence[Guess]]], notes: Sequence[str]
) -> None:
    if options.as_json:
        roles = {
            table: {guess.column: {"role": guess.role, "sureness": guess.sureness, "why": guess.why} for guess in found}
            for table, found in tables
        }
        print_json({what: out.name, "roles": roles})
        return
    for text in notes:
        note(text, quiet=options.quiet)
    if options.quiet:
        return
    for table, found in tables:
        rows = [[guess.column, guess.role, guess.sureness] for guess in found]
        console().print(grid(f"Columns of {table}", ["column", "role", "how sure"], rows))
    console().print(f"{out.name} was written. Read it through before it is used.", soft_wrap=True)
