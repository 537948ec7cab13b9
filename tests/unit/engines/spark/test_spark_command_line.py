"""``protect codes`` and ``protect trajectories`` with ``--engine`` on Spark, from words to a folder."""

import filecmp

import pytest
from tests.made.patients_with_codes import long, wide

from cloister.cli.main import run
from cloister.testing import hospital

REFUSED = {
    "cba": ("--method", "cba"),
    "attack": ("--attack",),
    "workload": ("--workload", "random:10"),
    "sup": ("--policy", "sup:5"),
}


@pytest.fixture
def codes_file(tmp_path):
    """A file of 300 patients."""
    wide().write_csv(tmp_path / "codes.csv")
    return tmp_path / "codes.csv"


@pytest.mark.usefixtures("classic")
def test_codes_are_released_and_verified(codes_file, tmp_path, capfd):
    """The session that is active is used; the folder is that of memory, and `verify` accepts it."""
    words = ["protect", "codes", str(codes_file), "-k", "3", "--policy", "sim:5", "--quiet"]
    there = [*words, "--engine", "spark", "--out", str(tmp_path / "there")]
    code = run([*there, "--custodian-dir", str(tmp_path / "inside"), "--crosswalk", str(tmp_path / "crosswalk.csv")])
    said = capfd.readouterr()
    here = run([*words, "--out", str(tmp_path / "here"), "--crosswalk", str(tmp_path / "other.csv")])
    checked = run(
        [
            *("verify", str(tmp_path / "there"), "--original", str(codes_file)),
            *("--crosswalk", str(tmp_path / "crosswalk.csv")),
        ]
    )

    assert (code, here, checked) == (0, 0, 0)
    assert tuple(said) == ("", "")
    for name in ("clusters.json", "data.csv", "codebook.csv"):
        assert filecmp.cmp(tmp_path / "here" / name, tmp_path / "there" / name, shallow=False)
    assert filecmp.cmp(tmp_path / "crosswalk.csv", tmp_path / "other.csv", shallow=False)


@pytest.mark.parametrize("case", REFUSED)
def test_what_spark_cannot_do_is_refused(codes_file, tmp_path, capsys, case):
    """Other methods and what needs all records are refused before Spark is started, with exit code 2."""
    words = ["protect", "codes", str(codes_file), "-k", "3", "--engine", "local[2]", "--out", str(tmp_path / "out")]

    assert run([*words, *REFUSED[case]]) == 2
    assert "--engine memory" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_not_there(tmp_path, capsys):
    """A file that is not there is named before Spark is started."""
    code = run(["protect", "codes", str(tmp_path / "no.csv"), "-k", "3", "--engine", "spark", "--out", "out"])

    assert code == 2
    assert "no.csv does not exist" in capsys.readouterr().err


@pytest.mark.usefixtures("classic")
def test_trajectories_are_those_of_memory(tmp_path, capfd):
    """Blocks that workers cluster give the bytes of the memory engine with the same blocks."""
    hospital(seed=3, n=120).trajectories.write_csv(tmp_path / "events.csv")
    words = ["protect", "trajectories", str(tmp_path / "events.csv"), "-k", "3", "--block", "20", "--quiet", "--out"]
    code = run([*words, str(tmp_path / "there"), "--engine", "spark"])
    said = capfd.readouterr()

    assert (code, run([*words, str(tmp_path / "here")])) == (0, 0)
    assert tuple(said) == ("", "")
    assert filecmp.cmp(tmp_path / "here" / "data.csv", tmp_path / "there" / "data.csv", shallow=False)
    assert run(["verify", str(tmp_path / "there")]) == 0


@pytest.mark.usefixtures("classic")
def test_a_job_on_spark(tmp_path):
    """A job whose engine is Spark protects its code sets there."""
    long().write_csv(tmp_path / "codes.csv")
    (tmp_path / "job.toml").write_text(
        'name = "codes"\noutput = "out"\nk = 3\nengine = "spark"\n[sources.codes]\nfile = "codes.csv"\n'
        '[[protect]]\nname = "sets"\nshape = "codes"\nsource = "codes"\n'
    )

    assert run(["run", str(tmp_path / "job.toml"), "--quiet"]) == 0
    assert run(["verify", str(tmp_path / "out")]) == 0
