"""``run_job`` and ``explore`` of a job from Python: what the command line gives, by the same code."""

import tomllib

import pytest
from tests.made.jobs_files import JOB, write_hospital

import cloister as cl
from cloister.cli.main import run

FIRST = "patients"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the files of a hospital and its job."""
    monkeypatch.chdir(tmp_path)
    return write_hospital(tmp_path)


def data_in(folder):
    """The data files of all parts."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("data.csv"))}


def figures_of(exploration):
    """What was found, without the time it took."""
    return [(dict(one.setting), one.figures, one.reason) for one in exploration.outcomes]


def test_a_job_from_python_gives_the_bytes_of_the_command_line(place):
    """From a file or a dictionary; the manifest, the folder and the notes come back, and a dry run writes nothing."""
    assert run(["run", "job.toml", "-q"]) == 0
    expected = data_in(place / "release")
    for secret in place.glob("*.map.csv"):
        secret.unlink()
    job = tomllib.loads(JOB)
    tried = cl.run_job(job | {"output": "nothing"}, dry_run=True)
    done = cl.run_job(job | {"output": "again"}, custodian_dir="secret")

    assert [part["name"] for part in tried["parts"]] == [part["name"] for part in done["parts"]]
    assert not (place / "nothing").exists()
    assert data_in(place / "again") == expected != {}
    assert done["out"] == str(place / "again")
    assert (place / "secret" / FIRST / "internal.json").exists()
    assert cl.verify_folder(place / "again").holds


def test_what_a_job_lacks_is_said_with_its_name(place):
    """Refusals name the part and the keys of the job; a release that is there is not replaced unasked."""
    job = tomllib.loads(JOB)
    job["protect"][0]["qi"]["age"] = "no-such:thing"
    with pytest.raises(cl.InputError, match=f"the job, part {FIRST}: "):
        cl.run_job(job)
    with pytest.raises(cl.InputError, match=r"no\.toml"):
        cl.run_job("no.toml")
    assert not (place / "release").exists()


def test_a_part_of_a_job_is_explored_as_on_the_command_line(place):
    """The same figures under the same settings; with a folder the same call goes on there, and so does the other."""
    words = (
        *(
            *("explore", "table", "patients.csv", "--purpose", "one-coding", "--id", "mrn", "--drop", "name"),
            *("--drop", "ward", "--sensitive"),
        ),
        *("diagnosis", "--qi", "age=interval:10,20/top=90/bottom=0", "--qi", "sex=suppress", "--grid", "k=2,9,60"),
        *("--grid", "suppression=0,0.1", "--out", "typed", "-q"),
    )
    assert run([*words]) == 0
    grid = {"k": [2, 9, 60], "suppression": [0, 0.1]}
    found = cl.explore("job.toml", grid=grid, part=FIRST)
    kept = cl.explore("job.toml", grid=grid, part=FIRST, out="kept")
    lines = (place / "kept" / "settings.jsonl").read_bytes()
    again = cl.explore("job.toml", grid=grid, part=FIRST, out="kept")
    typed = [line.split(b'"seconds"')[0] for line in (place / "typed" / "settings.jsonl").read_bytes().splitlines()[1:]]

    assert figures_of(found) == figures_of(kept) == figures_of(again)
    assert (place / "kept" / "settings.jsonl").read_bytes() == lines
    assert typed == [line.split(b'"seconds"')[0] for line in lines.splitlines()[1:]]
    assert not (place / "release").exists()


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"grid": {"k": [2]}}, "Name the part"),
        ({"grid": {"k": [2]}, "part": "nobody"}, "Name the part"),
        ({"grid": {"height": [2]}, "part": FIRST}, "height"),
        ({"grid": {"k": ["many"]}, "part": FIRST}, "k"),
        ({"grid": {"k": [2]}, "part": FIRST, "undecided": ["drop"]}, "A job names its data"),
    ],
)
def test_what_cannot_be_explored_is_refused(place, told, said):
    """Which part, a key it has not, a value it cannot be, and settings that belong into the job."""
    with pytest.raises(cl.InputError, match=said):
        cl.explore(str(place / "job.toml"), **told)
