"""The work of ``cloister demo``: the command that a newcomer would type, on made-up patients."""

import shlex
from pathlib import Path

from cloister.cli.output import note
from cloister.errors import InputError
from cloister.io import write_csv
from cloister.testing import hospital_patients

OPTIONS = (
    ("--id", "mrn"),
    ("--drop", "name"),
    ("--qi", "age=interval:5,10,20/top=90/bottom=0"),
    ("--qi", "sex"),
    ("--qi", "zip=prefix:5"),
    ("--qi", "ethnicity"),
    ("--qi", "admitted=date:month,quarter,year"),
    ("--sensitive", "diagnosis"),
    ("-k", "5"),
    ("--suppression", "0.05"),
)


def run_demo(folder: Path, patients: int, seed: int, *, quiet: bool) -> str:
    """Make data, protect them; return the command that does the same."""
    from cloister.cli.main import run

    data = folder / "patients.csv"
    release = folder / "release"
    _write_patients(data, patients, seed)
    note(f"{patients:,} made-up patients: {data}", quiet=quiet)
    options = [word for option in OPTIONS for word in option]
    arguments = ["protect", "table", str(data), *options, "--out", str(release)]
    code = run([*arguments, "--overwrite", *(["--quiet"] if quiet else [])])
    if code:
        raise InputError("The demonstration did not finish.")
    return shlex.join(["cloister", *arguments])


def _write_patients(data: Path, patients: int, seed: int) -> None:
    try:
        data.parent.mkdir(parents=True, exist_ok=True)
        data.unlink(missing_ok=True)
    except OSError:
        data = Path()
    if not data.name:
        raise InputError("The folder of the demonstration cannot be written to. Give another one.")
    write_csv(hospital_patients(seed, patients), data)
