"""Runs of every shape, method, rule, search, engine and format: what they write and how they end is frozen.

`runs.toml` lists them, `expected.json` says what each gave: exit codes, hashes of data files, whether `cloister verify`
accepts each release, and figures where a command prints JSON. Manifests, reports and messages may change openly; these
may not. ``CLOISTER_RENEW=1 python -m pytest`` of this file writes `expected.json` anew; look at what has changed.
"""

import gzip
import hashlib
import json
import os
import re
import shlex
import shutil
import tomllib
from contextlib import chdir
from pathlib import Path

import duckdb
import polars as pl
import pytest
from tests.made import claims_files, jobs_files
from tests.soak.command import cloister

from cloister.testing import hospital

HERE = Path(__file__).parent
LISTED = tomllib.loads((HERE / "runs.toml").read_text(encoding="utf-8"))
RUNS = {f"{group}: {name}": lines for group, runs in LISTED["runs"].items() for name, lines in runs.items()}
FREQUENT = ("244.9", "250.00", "272.0", "272.4", "401.1", "401.9", "414.01", "530.81")
EXPECTED = HERE / "expected.json"
NOT_FROZEN = {"release.json", "report.json", "exploration.json", "README.txt"}
"""What says how a release was made, in words and with times."""


@pytest.fixture(scope="session")
def inputs(tmp_path_factory):
    """A folder with all that runs read: a hospital in several formats, claims, a job, and the files of the list."""
    folder = tmp_path_factory.mktemp("inputs")
    made = hospital(seed=0, n=240)
    made.write(folder)
    made.patients.write_parquet(folder / "patients.parquet")
    (folder / "patients.csv.gz").write_bytes(gzip.compress((folder / "patients.csv").read_bytes(), mtime=0))
    (folder / "patients.utf16").write_bytes((folder / "patients.csv").read_text().replace(",", ";").encode("utf-16"))
    made.codes.write_parquet(folder / "codes.parquet")
    made.trajectories.write_parquet(folder / "trajectories.parquet")
    pl.concat([made.patients, made.patients]).write_csv(folder / "census.csv")
    both = made.patients.drop("name").join(made.codes, left_on="mrn", right_on="patient_id", maintain_order="left")
    both.write_csv(folder / "both.csv")
    few = pl.col("codes").str.split(" ").list.eval(pl.element().filter(pl.element().is_in(FREQUENT))).list.join(" ")
    made.codes.with_columns(few).write_csv(folder / "few.csv")
    with duckdb.connect(folder / "hospital.duckdb") as connection:
        connection.register("made", made.patients.to_arrow())
        connection.execute("CREATE TABLE patients AS FROM made")
    (folder / "claims").mkdir()
    claims_files.write_files(folder / "claims", n_patients=120)
    (folder / "job").mkdir()
    jobs_files.write_hospital(folder / "job")
    for name, text in LISTED["files"].items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(_filled(text))
        (folder / name).chmod(0o600)
    ages = (f"{age};{age // 10}0s;{'young' if age < 50 else 'old'};*\n" for age in range(110))
    (folder / "ladders" / "age.csv").write_text("".join(ages))
    return folder


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", RUNS)
def test_a_run_gives_what_it_gave(name, inputs, tmp_path):
    """Exit codes, data files, verdicts and figures of a run are those that were frozen."""
    found = outcome(RUNS[name], inputs, tmp_path / "here")
    if os.environ.get("CLOISTER_RENEW"):
        renewed = {each: was for each, was in _expected().items() if each in RUNS} | {name: found}
        EXPECTED.write_text(json.dumps(dict(sorted(renewed.items())), indent=1) + "\n")

    assert found == _expected().get(name)


def test_nothing_else_is_expected():
    """Every outcome that is frozen is that of a run of the list."""
    assert list(_expected()) == sorted(RUNS)


def outcome(lines, inputs, folder):
    """Run the lines of a run in a folder of its own, and collect what is frozen of it."""
    shutil.copytree(inputs, folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with chdir(folder):
        said = [(words, cloister(*words)) for words in map(shlex.split, _filled(lines).strip().splitlines())]
        there = sorted(path for path in folder.rglob("*") if path.is_file())
        new = [path.relative_to(folder) for path in there if path.read_bytes() != before.get(path)]
        releases = [path.parent for path in new if path.name == "release.json"]
        whole = [release for release in releases if not {*release.parents} & {*releases}]
        return {
            "exit": [one.code for _, one in said],
            "files": {str(path): content_hash(path) for path in new if _is_frozen(path)},
            "verified": {str(release): cloister("verify", release, "-q").code for release in whole},
            "figures": [figures(one.out) for words, one in said if "--json" in words and one.out],
        }


def content_hash(path):
    """The hash of a file; of Parquet files and databases that of their rows, of the custodian's JSON its figures."""
    if path.suffix == ".parquet":
        data = pl.read_parquet(path).write_csv().encode()
    elif path.suffix == ".duckdb":
        with duckdb.connect(path, read_only=True) as connection:
            names = sorted(name for (name,) in connection.execute("SHOW TABLES").fetchall())
            tables = [connection.execute(f'FROM "{name}" ORDER BY ALL').fetchall() for name in names]
        data = repr([*zip(names, tables)]).encode()
    elif path.name == "internal.json":
        return figures(path.read_text())
    else:
        data = path.read_bytes()
    return hashlib.sha256(data).hexdigest()


def figures(printed):
    """The hash of all numbers in JSON but times, in six digits; what they are called may change."""
    numbers = sorted(f"{number:.6g}" for number in _numbers(json.loads(printed)))
    return hashlib.sha256(" ".join(numbers).encode()).hexdigest()


def _numbers(tree):
    if isinstance(tree, dict):
        for key, part in tree.items():
            yield from () if re.search("seconds|machine|created", key) else _numbers(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from _numbers(part)
    elif isinstance(tree, int | float) and not isinstance(tree, bool):
        yield float(tree)


def _is_frozen(path):
    return path.suffix in (".csv", ".parquet", ".json", ".duckdb") and path.name not in NOT_FROZEN


def _filled(text):
    """The text with `$WORDS` of the list filled in, as often as there are any."""
    while (other := re.sub(r"\$([A-Z_]+)", lambda found: LISTED["words"][found[1]], text)) != text:
        text = other
    return text


def _expected():
    return json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
