"""Forgeries of files of Parquet and of jobs, none accepted; `test_every_form.py` has those of releases."""

import json
import random
import shutil
from contextlib import suppress

import polars as pl
import pytest
from tests.made.jobs_files import write_hospital
from tests.made.tampering import job_sealed, sealed
from tests.soak.command import cloister
from tests.soak.evidence import is_evidence, may_be_recorded
from tests.soak.forgeries import Target, contents

PARQUET = {
    "other groups of rows": {"row_group_size": 7},
    "statistics of its columns": {"statistics": True},
    "another compression": {"compression": "snappy"},
}


@pytest.fixture(scope="module")
def in_parquet(tmp_path_factory):
    """A release in Parquet with a column of numbers, some of them missing."""
    folder = tmp_path_factory.mktemp("parquet")
    ages, weights = [30 + n % 2 for n in range(40)], [None if n % 4 == 0 else n / 2 for n in range(40)]
    pl.DataFrame({"age": ages, "weight": weights}).write_parquet(folder / "patients.parquet")
    words = ("--qi", "age", "--keep", "weight", "-k", 5, "--out", folder / "release")
    assert cloister("protect", "table", folder / "patients.parquet", *words, "-q").code == 0
    return folder / "release"


@pytest.mark.parametrize("form", [*PARQUET, "a number that is none", "the original inside", "the original behind"])
def test_no_other_form_of_parquet_is_accepted(in_parquet, form, tmp_path):
    """The same table in other bytes could carry a message; what is no number is not what is missing."""
    release = shutil.copytree(in_parquet, tmp_path / "release")
    path, original = release / "data.parquet", (in_parquet.parent / "patients.parquet").read_bytes()
    table, whole = pl.read_parquet(path), path.read_bytes()
    if form in PARQUET:
        table.write_parquet(path, **PARQUET[form])
    elif form == "a number that is none":
        table.with_columns(pl.col("weight").fill_null(float("nan"))).write_parquet(path, statistics=False)
    else:
        path.write_bytes(whole[:4] + original + whole[4:] if form == "the original inside" else whole + original)
    sealed(release, "data.parquet")

    assert cloister("verify", in_parquet).code == 0
    assert cloister("verify", release).code == 1


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """The release of a job of four parts."""
    folder = write_hospital(tmp_path_factory.mktemp("job"))
    assert cloister("run", folder / "job.toml", "-q").code == 0
    return folder / "release"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", ["", "patients", "diagnoses", "visits", "both"])
def test_no_forged_job_is_accepted(job, place, tmp_path):
    """Changes of a job and of its parts are refused, with hashes and reports of both made to fit.

    Hashes in the manifest of a job are made anew, so that changes of them are undone; its name is its releaser's.
    """
    draw, refused = random.Random(1), 0
    for number in range(10):
        release = shutil.copytree(job, tmp_path / str(number))
        leaf, *others = Target(None, release / place, contents(release / place)).changes(1, 1)
        what = (draw.choice([leaf, *others]) if place else leaf)(draw, release / place)
        with suppress(Exception):  # where no report can be made of it, the one that is there stays
            job_sealed(release)
        undone = (not place and str(what).startswith("release.json files")) or what == "release.json name"
        if not (what is None or undone or is_evidence(what) or may_be_recorded(what)):
            assert cloister("verify", release, "-q").code != 0, what
            refused += 1

    assert refused >= 3


@pytest.mark.parametrize("parts", [[], [{"name": ".."}], [{"name": "../x"}], "x"], ids=str)
def test_a_job_that_lists_no_parts_does_not_hold(job, parts, tmp_path):
    """A manifest that does not fit its types is a release that does not hold: exit code 1."""
    release = shutil.copytree(job, tmp_path / "release")
    manifest = json.loads((release / "release.json").read_text())
    (release / "release.json").write_text(json.dumps(manifest | {"parts": parts}))

    assert cloister("verify", release).code == 1
