"""No patient's value in any message, manifest or file of a job, nor in a first job: a marker is looked for."""

import pytest
from tests.made.jobs_files import BOTH, JOB, hospital, write_hospital

from cloister.cli.main import run

MARKER = "PATIENT7SECRET"
GIVEN = {"patients.csv", "diagnoses.csv", "visits.csv", "job.toml", "patients.map.csv", "visits.map.csv"}


@pytest.fixture
def look(tmp_path, monkeypatch, capsys, caplog):
    """Run a command on a hospital with a patient whose id, name and ward are the marker; return its exit code."""
    lines = hospital(60)
    own = lines["patients.csv"][0].partition(",")[0]
    lines = {name: [row.replace(f"{own},", f"{MARKER},") for row in rows] for name, rows in lines.items()}
    lines["patients.csv"][0] = f"{MARKER},{MARKER},44,F,{MARKER},401.9\n"
    write_hospital(tmp_path, lines=lines)
    monkeypatch.chdir(tmp_path)

    def command(*words, job=None):
        if job is not None:
            (tmp_path / "job.toml").write_text(job)
        capsys.readouterr()
        code = run([*words])
        said = capsys.readouterr()
        assert MARKER not in said.out + said.err + caplog.text
        for path in tmp_path.rglob("*"):
            if path.is_file() and (path.name not in GIVEN or "release" in path.parts):
                assert MARKER.encode() not in path.read_bytes()
        return code

    return command


def test_a_job_and_what_goes_wrong_with_it_tell_no_values(look):
    """Whatever is done or refused, on the screen and in files."""
    assert look("run", "job.toml", "--dry-run", "--verbose") == 0
    assert look("run", "job.toml", "--custodian-dir", "secret") == 0
    assert look("run", "job.toml", "--json") == 2
    assert look("verify", "release", "--json") == 0
    for old, new in (
        ('sex = "suppress"', 'ward = "interval:5"'),
        ('sex = "suppress"', 'name = "date:month"'),
        ('source = "diagnoses"\nm', 'source = "patients"\nm'),
        ('source = "visits"', 'source = "patients"\ncode = "ward"'),
        ('sensitive = ["diagnosis"]', f'sensitive = ["{MARKER[:7]}"]'),
        (BOTH, BOTH.replace('undecided = ["drop"]', 'undecided = ["keep"]')),
    ):
        assert look("run", "job.toml", "--overwrite", "--verbose", job=JOB.replace(old, new)) == 2
    for shape, file in (("table", "patients"), ("codes", "diagnoses"), ("trajectories", "visits")):
        assert look("init", shape, f"{file}.csv", "--out", f"{file}.toml") == 0
