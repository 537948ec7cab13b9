"""Sound releases of odd columns hold when they are read again."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

N = 12
BERLIN = [datetime(2023, 10, 29, 0, 10, tzinfo=UTC) + timedelta(minutes=7 * place) for place in range(N)]
ODD = {
    "fractions": [0.25 + place * 9.5 for place in range(N)],
    "durations": [timedelta(hours=7 * place) for place in range(N)],
    "time zone": pl.Series(BERLIN).dt.convert_time_zone("Europe/Berlin"),
}
ASKED = ("--sensitive", "odd", "-k", "2", "--suppression", "1", "--out", "release", "-q")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("several", [False, True], ids=["one row a patient", "several rows a patient"])
@pytest.mark.parametrize("values", ODD.values(), ids=ODD)
def test_columns_that_sql_writes_in_another_way(cloister, tmp_path, values, several):
    """Values of Parquet whose text DuckDB writes otherwise are in the order of the text that a release has."""
    patients = [place // 2 if several else place for place in range(N)]
    frame = pl.DataFrame({"pid": patients, "sex": ["F", "M"] * (N // 2), "odd": values})
    frame.write_parquet(tmp_path / "data.parquet")
    ids = ("--patient" if several else "--id", "pid")

    assert cloister("protect", "table", "data.parquet", "--qi", "sex=suppress", *ids, *ASKED).code == 0
    assert cloister("verify", "release").code == 0


def test_attributes_that_differ_in_capitals_alone(cloister, tmp_path):
    """SQL does not tell such names apart; cloister does."""
    rows = range(N)
    (tmp_path / "visits.csv").write_text("patient,code,age\n" + "".join(f"P{n},250.0,4{n % 2}\n" for n in rows))
    (tmp_path / "more.csv").write_text("patient,Sex,sex\n" + "".join(f"P{n},F,1\n" for n in rows))
    columns = ("--id", "patient", "--code", "code", "--age", "age", "--attributes", "more.csv")

    assert cloister("protect", "trajectories", "visits.csv", *columns, "-k", "2", "--out", "release", "-q").code == 0
    assert cloister("verify", "release").code == 0


def test_a_row_index_that_is_kept_is_read_back(cloister, tmp_path):
    """A released column that numbers the rows is a column of the release, whatever pandas calls it."""
    rows = "".join(f"{n},{30 + n % 2},F,a\n" for n in range(N))
    (tmp_path / "data.csv").write_text("Unnamed: 0,age,sex,dx\n" + rows)
    asked = ("--qi", "age=interval:5,20", "--qi", "sex", "--sensitive", "dx", "--id", "Unnamed: 0", "-k", "2")

    kept = cloister("protect", "table", "data.csv", *asked, "--row-index", "keep", "--out", "release", "-q")
    assert kept.code == 0, kept
    assert cloister("verify", "release").code == 0
