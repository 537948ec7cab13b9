"""A standalone cluster of two workers: the bytes of memory, also when a worker is lost; an end when all are.

The tests share a cluster where one process runs both; the workers of it end in the last one.
"""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.made.claims_files import write_files
from tests.made.patients_with_codes import wide
from tests.made.spark_cluster import serving

from cloister.cli.main import run
from cloister.testing import hospital

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "millions-of-patients.md"

# Runs in a process of its own, as there is one session in each; what is lost is lost by the worker that works.
DRIVER = """
import json, os, pathlib, signal, sys
from cloister.cli.main import run
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.disassociation.format.data import DisassociationRequest
from cloister.engines.spark import session
from cloister.errors import InputError
from cloister.pipeline.protecting import protect
from cloister.pipeline.disassociation_on_spark import CodesOnSpark, DisassociationOnSpark

url, groups, commands, folder = sys.argv[1], *map(json.loads, sys.argv[2:])
marker, session.PATIENCE_S = pathlib.Path(folder, "lost"), 3.0

def lose_one(_):
    if not marker.exists():
        marker.touch()
        os.killpg(os.getsid(0), signal.SIGKILL)
        os._exit(9)

def lose_all(_):
    for group in set(groups) - {os.getsid(0)}:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os.killpg(os.getsid(0), signal.SIGKILL)
    os._exit(9)

def release(before):
    codes = CodeSets.read(pathlib.Path(folder, "codes.csv"))
    ask = lambda _: DisassociationRequest(3, 2)
    return protect(DisassociationOnSpark(CodesOnSpark(codes), ask, url, before=before))

with session.spark_session(url):
    told = [run([*command, "--engine", url]) for command in commands]
    release(lose_one).write(pathlib.Path(folder, "one-lost"))
    try:
        release(lose_all)
    except InputError as error:
        told.append(error.message)
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A cluster; skips where none can run."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        pytest.skip("Java is not here")
    with serving(tmp_path_factory.mktemp("cluster")) as made:
        yield made


def run_there(cluster, program, *words):
    """Run a program in a process that uses the cluster."""
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, env=cluster.environment, capture_output=True, text=True, timeout=240, check=False)


def test_pieces_are_those_of_one_machine(cluster, tmp_path, capfd):
    """Workers release each piece at the levels of the first: verified, with the bytes that this process gives it."""
    for piece in range(3):
        (tmp_path / "pieces" / str(piece)).mkdir(parents=True)
        write_files(tmp_path / "pieces" / str(piece), seed=piece)
    shutil.copy(tmp_path / "pieces" / "0" / "plan.toml", tmp_path)

    def words(piece):
        files = [f"{tmp_path}/pieces/{piece}/{name}.csv" for name in ("patients", "claims")]
        return [*files, "--plan", f"{tmp_path}/plan.toml"]

    assert run(["protect", "claims", *words(0), "-q", "--out", f"{tmp_path}/released-0"]) == 0
    (text,) = re.findall(r"^```text\n(import subprocess.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    program = text.replace('"/shared/study", 10', f'"{tmp_path}", 3').replace(
        "builder.", f'builder.master("{cluster.url}").config("spark.ui.enabled", "false").'
    )
    ran = run_there(cluster, program)

    assert ran.stdout.splitlines() == ["1 verified", "2 verified"], ran.stderr
    like = ["--levels-from", f"{tmp_path}/released-0", "-q", "--out", f"{tmp_path}/here"]
    assert run(["protect", "claims", *words(1), *like]) == 0
    for name in ("patients.csv", "claims.csv", "codebook.csv"):
        assert filecmp.cmp(tmp_path / "released-1" / name, tmp_path / "here" / name, shallow=False)
    chosen = [json.loads((tmp_path / f"released-{one}" / "release.json").read_text())["choice"] for one in range(3)]
    assert chosen[0]["levels"] == chosen[1]["levels"] == chosen[2]["levels"]
    original = ["--original", *words(2)[:2], *words(2)[2:]]
    assert run(["verify", f"{tmp_path}/released-2", *original]) == 0
    capfd.readouterr()


def test_a_cluster_and_the_loss_of_its_workers(cluster, tmp_path, capfd):
    """Tables and codes are those of memory; with one worker lost, too; with all, a sentence ends it."""
    wide().write_csv(tmp_path / "codes.csv")
    hospital(seed=3, n=300).patients.write_csv(tmp_path / "patients.csv")
    codes = ["protect", "codes", f"{tmp_path}/codes.csv", "-k", "3", "-m", "2", "-q", "--out"]
    table = ["protect", "table", f"{tmp_path}/patients.csv", "--qi", "age=interval:10,20", "--qi", "sex"]
    table += ["--undecided", "drop", "-k", "3", "--purpose", "one-coding", "--suppression", "0.2", "-q", "--out"]
    commands = [[*codes, f"{tmp_path}/codes-there"], [*table, f"{tmp_path}/table-there"]]
    words = [cluster.url, json.dumps(cluster.groups), json.dumps(commands), json.dumps(str(tmp_path))]

    ran = run_there(cluster, DRIVER, *words)

    assert (ran.returncode, ran.stderr) == (0, "")
    *exits, message = json.loads(ran.stdout)
    assert exits == [0, 0]
    assert message.startswith("Spark lost its workers while they worked, and got no others in time.")
    assert [run([*codes, f"{tmp_path}/codes-here"]), run([*table, f"{tmp_path}/table-here"])] == [0, 0]
    same = [("codes-there", "clusters.json"), ("codes-there", "data.csv"), ("table-there", "data.csv")]
    same += [("one-lost", "clusters.json"), ("one-lost", "data.csv")]
    for folder, name in same:
        here = tmp_path / ("table-here" if folder.startswith("table") else "codes-here") / name
        assert filecmp.cmp(here, tmp_path / folder / name, shallow=False)
    assert tuple(capfd.readouterr()) == ("", "")
