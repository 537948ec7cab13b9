"""The work of ``cloister demo``: the command that a newcomer would type, on made-up patients."""

import os
import shlex
from pathlib import Path

import polars as pl

from cloister.cli.output import note
from cloister.cli.table_job import run_table
from cloister.cli.table_options import TableOptions
from cloister.errors import InputError
from cloister.io import as_text, read_table, write_csv
from cloister.testing import hospital_patients

QUASI_IDENTIFIERS = [
    "age=interval:10,20,40/top=80/bottom=0",
    "sex=suppress",
    "zip=prefix:5",
    "admitted=date:quarter,year",
]
DROPPED = ["name", "ethnicity"]
SENSITIVE = ["diagnosis"]
ID, K = "mrn", 5


def run_demo(folder: Path, patients: int, seed: int, *, quiet: bool) -> str:
    """Make data, protect them; return the command that does the same."""
    data, release = folder / "patients.csv", folder / "release"
    again = _write_patients(data, hospital_patients(seed, patients))
    note(f"{patients:,} made-up patients: {data}", quiet=quiet)
    run_table(
        TableOptions(
            data=data,
            k=K,
            out=release,
            qi=QUASI_IDENTIFIERS,
            id=ID,
            drop=DROPPED,
            sensitive=SENSITIVE,
            overwrite=again,
            quiet=quiet,
        )
    )
    return shlex.join(_command(data, release))


def _command(data: Path, release: Path) -> list[str]:
    """What a person would type."""
    lists = (("--drop", DROPPED), ("--qi", QUASI_IDENTIFIERS), ("--sensitive", SENSITIVE))
    repeated = [word for option, values in lists for value in values for word in (option, value)]
    return ["cloister", "protect", "table", str(data), "--id", ID, *repeated, "-k", str(K), "--out", str(release)]


def _write_patients(data: Path, patients: pl.DataFrame) -> bool:
    """Write the patients, or leave them where an earlier demonstration wrote them; return whether it did."""
    if os.path.lexists(data):
        if not _holds(data, patients):
            raise InputError(f"{data.name} is there already and holds other data. Give another folder.", file=data.name)
        return True
    writable = True
    try:
        data.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        writable = False
    if not writable:
        raise InputError("The folder of the demonstration cannot be written to. Give another one.")
    write_csv(patients, data)
    return False


def _holds(data: Path, patients: pl.DataFrame) -> bool:
    try:
        found = read_table(data).frame
    except InputError:
        return False
    return found.equals(pl.DataFrame([as_text(column) for column in patients]))
