"""A disk that fills up at any moment, for every shape and jobs: exit 2, one sentence, and nothing is left."""

import errno
import os
import subprocess
from contextlib import chdir

import pytest
from tests.made import claims_files
from tests.made.jobs_files import write_hospital

from cloister.cli.main import run
from cloister.testing import hospital

COMMANDS = {
    "table": "protect table patients.csv -k 5 --qi age=interval:10 --qi sex --undecided drop --custodian-dir secret",
    "table with codes": "protect table both.csv -k 4 --qi age=interval:10 --qi sex --codes codes --undecided drop",
    "codes": "protect codes codes.csv -k 3 -m 2 --custodian-dir secret",
    "generalized codes": "protect codes codes.csv -k 3 -m 1 --method cba",
    "trajectories": "protect trajectories trajectories.csv -k 3 --crosswalk map.csv",
    "claims": "protect claims patients.csv claims.csv --plan plan.toml",
    "job": "run job.toml --custodian-dir secret",
}


@pytest.fixture(params=COMMANDS)
def words(request, tmp_path, monkeypatch):
    """A command that releases something into the folder of the test, where its data are."""
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    if request.param == "job":
        write_hospital(place)
        return COMMANDS["job"].split()
    made = hospital(n=60)
    made.write(place)
    made.patients.with_columns(codes=made.codes["codes"]).write_csv("both.csv")
    if request.param == "claims":
        claims_files.write_files(place)
    return [*COMMANDS[request.param].split(), "--out", "release"]


def moments(monkeypatch, capsys, words, fails_at):
    """Run with a disk that takes so many files and is full then; what was said, and what is there."""
    taken = []

    def fsync(_descriptor):
        taken.append(1)
        if len(taken) > fails_at:
            raise OSError(errno.ENOSPC, "No space left on device")

    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        code = run([*words, "-q"])
    return code, capsys.readouterr().err, len(taken)


@pytest.mark.full
def test_full_after_any_file(words, tmp_path, monkeypatch, capsys):
    """Whichever file, folder or name does not fit any more, nothing appears; with room for all, all does."""
    before = sorted(os.listdir())
    _, _, total = moments(monkeypatch, capsys, words, 10**6)
    assert "release" in os.listdir()
    for name in set(os.listdir()) - set(before):
        subprocess.run(["rm", "-r", name], check=True)

    for fails_at in (total // 2, total - 1):
        code, err, _ = moments(monkeypatch, capsys, words, fails_at)

        assert (code, err.count("\n")) == (2, 1), err
        assert "the disk is full" in err
        assert sorted(os.listdir()) == before


@pytest.mark.parametrize("size", ["16k", "32k", "64k", "128k"])
def test_a_small_disk(tmp_path, capsys, size):
    """On a disk that is really too small the same is so, of whatever does not fit first."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(disk)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("only who may mount a file system can try a small one")
    hospital(n=60).write(tmp_path)
    try:
        with chdir(tmp_path):
            code = run([*COMMANDS["table"].replace("secret", "disk/secret").split(), "--out", "disk/release", "-q"])
        err = capsys.readouterr().err
        assert (code == 0) == ((disk / "release").exists()), err
        assert code == 0 or (code, "the disk is full" in err, list(disk.iterdir())) == (2, True, [])
    finally:
        subprocess.run(["umount", str(disk)], check=True)
