"""One run of ``init claims``: from two files to a plan."""

from collections.abc import Sequence
from pathlib import Path

from cloister.claims.first_plan import first_plan
from cloister.cli.output import console, grid, note, print_json
from cloister.errors import InputError
from cloister.io import is_taken, read_table, write_private


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
    sources = [read_table(path, encoding=encoding, delimiter=delimiter, missing=missing) for path in (patients, claims)]
    made = first_plan(sources[0], sources[1])
    write_private(out, made.text.encode())
    tables = (("patients", made.patients), ("claims", made.claims))
    if as_json:
        roles = {
            table: {guess.column: {"role": guess.role, "sureness": guess.sureness, "why": guess.why} for guess in found}
            for table, found in tables
        }
        print_json({"plan": out.name, "roles": roles})
        return
    for source in sources:
        for text in source.notes:
            note(text, quiet=quiet)
    if quiet:
        return
    for table, found in tables:
        rows = [[guess.column, guess.role, guess.sureness] for guess in found]
        console().print(grid(f"Columns of {table}", ["column", "role", "how sure"], rows))
    console().print(f"{out.name} was written. Read it through before it is used.", soft_wrap=True)
