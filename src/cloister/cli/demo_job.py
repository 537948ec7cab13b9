"""The work of ``cloister demo``: the command that a newcomer would type, on made-up patients."""

import shlex
from pathlib import Path

import polars as pl

from cloister.cli.output import note
from cloister.errors import InputError
from cloister.io import as_text, read_table, write_csv
from cloister.testing import hospital_patients

OPTIONS = (
    ("--id", "mrn"),
    ("--drop", "name"),
    ("--drop", "ethnicity"),
    ("--qi", "age=interval:10,20,40/top=80/bottom=0"),
    ("--qi", "sex=suppress"),
    ("--qi", "zip=prefix:5"),
    ("--qi", "admitted=date:quarter,year"),
    ("--sensitive", "diagnosis"),
    ("-k", "5"),
    ("--suppression", "0.05"),
)


def run_demo(folder: Path, patients: int, seed: int, *, quiet: bool) -> str:
    """Make data, protect them; return the command that does the same."""
    from cloister.cli.main import app

    data = folder / "patients.csv"
    release = folder / "release"
    again = _write_patients(data, hospital_patients(seed, patients))
    note(f"{patients:,} made-up patients: {data}", quiet=quiet)
    options = [word for option in OPTIONS for word in option]
    arguments = ["protect", "table", str(data), *options, "--out", str(release)]
    more = [*(["--overwrite"] if again else []), *(["--quiet"] if quiet else [])]
    if app([*arguments, *more], prog_name="cloister", standalone_mode=False):
        raise KeyboardInterrupt
    return shlex.join(["cloister", *arguments])


def _write_patients(data: Path, patients: pl.DataFrame) -> bool:
    """Write the patients, or leave them where an earlier demonstration wrote them; return whether it did."""
    if data.exists():
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
