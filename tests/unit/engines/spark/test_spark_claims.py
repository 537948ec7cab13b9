"""Claims piece by piece on a standalone cluster, as the how-to page has it."""

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
from tests.made.spark_cluster import serving

from cloister.cli.main import run

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "millions-of-patients.md"


def test_pieces_are_those_of_one_machine(tmp_path, capfd):
    """Workers release each piece at the levels of the first: verified, with the bytes that this process gives it."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        pytest.skip("Java is not here")
    for piece in range(3):
        (tmp_path / "pieces" / str(piece)).mkdir(parents=True)
        write_files(tmp_path / "pieces" / str(piece), seed=piece)
    shutil.copy(tmp_path / "pieces" / "0" / "plan.toml", tmp_path)

    def words(piece):
        files = [f"{tmp_path}/pieces/{piece}/{name}.csv" for name in ("patients", "claims")]
        return [*files, "--plan", f"{tmp_path}/plan.toml"]

    assert run(["protect", "claims", *words(0), "-q", "--out", f"{tmp_path}/released-0"]) == 0
    (text,) = re.findall(r"^```text\n(import subprocess.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "cluster").mkdir()
    with serving(tmp_path / "cluster") as cluster:
        program = text.replace('"/shared/study", 10', f'"{tmp_path}", 3').replace(
            "builder.", f'builder.master("{cluster.url}").config("spark.ui.enabled", "false").'
        )
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env=cluster.environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

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
