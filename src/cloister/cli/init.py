"""``cloister init``: suggest a first job or plan from data."""

from collections.abc import Sequence
from pathlib import Path

from cloister.cli.options import (
    InitClaimsOptions,
    InitCodesOptions,
    InitJobOptions,
    InitOptions,
    InitTrajectoriesOptions,
)
from cloister.cli.output import console, grid, note, print_json
from cloister.errors import name_few, setting
from cloister.evidence.column import Guess
from cloister.evidence.roles import DROP, SENSITIVE, UNDECIDED
from cloister.io import write_private
from cloister.io.columns import check_header
from cloister.jobs.first_jobs import FirstJobRequest, write_first_job
from cloister.jobs.guessing_codes import NONE_NAMED, NamedColumns
from cloister.jobs.wording import in_keys
from cloister.release.folder import check_new
from cloister.settings.reading import how_read, reading_of
from cloister.shapes.claims.method.first_plan import first_plan
from cloister.sources import read_claim_tables

MOST_COLUMNS = 40
"""A table of more columns is printed in short, unless all of them are asked for."""


def init_claims(options: InitClaimsOptions) -> None:
    """Read data, suggest and write a plan, and print the suggested role of each column."""
    check_new(options.out, setting("out"))
    patients, claims = read_claim_tables(options.patients, options.claims, **how_read(options))
    for source in (patients, claims):
        if source.format == "csv":
            check_header(source.frame, source.name)
    made = first_plan(patients, claims)
    write_private(options.out, made.text.encode())
    tables = (("patients", made.patients), ("claims", made.claims))
    _print_suggestion(options, options.out, "plan", tables, [*patients.notes, *claims.notes])


def init_shape(shape: str, options: InitJobOptions) -> None:
    """Read data, suggest, try and write a job, and print the suggested role of each column."""
    named, separator = NONE_NAMED, None
    if isinstance(options, InitCodesOptions):
        named, separator = NamedColumns(id=options.id, codes=options.codes, code=options.code), options.separator
    elif isinstance(options, InitTrajectoriesOptions):
        named = NamedColumns(id=options.id, code=options.code, age=options.age, date=options.date)
    asked = FirstJobRequest(shape, options.data, options.out, options.k, reading_of(options), named, separator)
    made, source = write_first_job(asked)
    notes = list(source.notes)
    if n := sum(one.role == UNDECIDED for one in made.columns):
        notes.append(
            f"{n:,} column{' is' if n == 1 else 's are'} undecided. The job releases nothing until each has a role: "
            f"edit {options.out.name}, or decide all of them at once, as in: cloister run {options.out.name} "
            "--undecided drop"
        )
    if made.problem is not None:
        notes.append(f"As it is the job gives no release: {in_keys(made.problem)}")
    _print_suggestion(options, options.out, "job", [(source.name, made.columns)], notes)


def _print_suggestion(
    options: InitOptions, out: Path, what: str, tables: Sequence[tuple[str, Sequence[Guess]]], notes: Sequence[str]
) -> None:
    if options.as_json:
        roles = {
            table: {guess.column: {"role": guess.role, "sureness": guess.sureness, "why": guess.why} for guess in found}
            for table, found in tables
        }
        print_json({what: out.name, "roles": roles, "notes": list(notes)})
        return
    for text in notes:
        note(text, quiet=options.quiet)
    if options.quiet:
        return
    for table, found in tables:
        listed = found
        if len(found) > MOST_COLUMNS and not options.verbose:
            listed = [guess for guess in found if guess.role not in (DROP, SENSITIVE, UNDECIDED)]
            head = f"{len(found):,} columns of {table} by role; --verbose lists each of them"
            console().print(grid(head, ["role", "columns", "names"], _count_by_role(found), is_prose=True))
        rows = [[guess.column, guess.role, guess.sureness, guess.why] for guess in listed]
        console().print(grid(f"Columns of {table}", ["column", "role", "how sure", "why"], rows, is_prose=True))
    console().print(f"{out.name} was written. Read it through before it is used.", soft_wrap=True)


def _count_by_role(found: Sequence[Guess]) -> list[list[str]]:
    """Return each role with the number of its columns and the names of a few, the most frequent role first."""
    by_role: dict[str, list[str]] = {}
    for guess in found:
        by_role.setdefault(guess.role, []).append(guess.column)
    ordered = sorted(by_role.items(), key=lambda one: -len(one[1]))
    return [[role, f"{len(names):,}", name_few(names)] for role, names in ordered]
