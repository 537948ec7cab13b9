"""Sections ``[[analysis]]`` of a job: researchers' analyses, for the custodian alone."""

import stat

import polars as pl
import pytest
from tests.made.jobs_files import HEAD, OF_CODES, TABLE, write_hospital

from cloister.cli.main import run
from cloister.errors import InputError
from cloister.jobs.job_file import parse_job

LOGISTIC = '\n[[analysis]]\nmodel = "logistic"\nformula = "sex ~ age"\nname = "sexes"\n'


def test_results_go_to_the_custodian_and_not_into_the_release(tmp_path, monkeypatch, capsys):
    """The notes say how much is replicated; all terms are in a file of the custodian's folder."""
    pytest.importorskip("lifelines")
    monkeypatch.chdir(tmp_path)
    write_hospital(tmp_path, HEAD + TABLE.replace('crosswalk = "patients.map.csv"', "") + LOGISTIC)
    assert run(["run", "job.toml", "--custodian-dir", "own"]) == 0
    assert run(["run", "job.toml", "--custodian-dir", "own", "--overwrite"]) == 0
    file = tmp_path / "own" / "patients" / "analyses.csv"
    terms = pl.read_csv(file)

    assert "sexes, imputed: mean overlap" in capsys.readouterr().err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert set(terms["data"]) == {"original", "labels", "imputed"}
    assert set(terms["term"]) == {"Intercept", "age"}
    assert not [path for path in (tmp_path / "release").rglob("*") if path.is_file() and b"sexes" in path.read_bytes()]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TABLE + LOGISTIC.replace("logistic", "forest"), "analysis[1].model"),
        (TABLE + LOGISTIC.replace("~", "-"), "The formula of a logistic"),
        (TABLE + LOGISTIC + 'part = "diagnoses"', "analysis[1].part must name a part that is a table: patients"),
        (OF_CODES + LOGISTIC, "the job has none"),
        (TABLE + LOGISTIC + "tables = 3", "tables"),
    ],
)
def test_what_is_no_analysis_is_refused_by_its_key(text, words):
    """The message names the section."""
    with pytest.raises(InputError) as refused:
        parse_job(HEAD + text, "job.toml")
    assert words in refused.value.message
    assert refused.value.file == "job.toml"


def test_a_column_that_is_nowhere_is_refused_before_anything_is_done(tmp_path, monkeypatch, capsys):
    """A dry run says so already."""
    monkeypatch.chdir(tmp_path)
    write_hospital(tmp_path, HEAD + TABLE + LOGISTIC.replace("~ age", "~ agge"))

    assert run(["run", "job.toml", "--dry-run"]) == 2
    assert "'agge', which is not in the original or is not released. Did you mean age?" in capsys.readouterr().err
