"""Releases on which ``verify.sql`` once failed, or which it once accepted."""

import json
import os
from datetime import timedelta

import duckdb
import polars as pl
import pytest
from tests.made.tampering import restated

import cloister as cl
from cloister.cli.main import run
from cloister.io import read_table
from cloister.release.folder import read_manifest
from cloister.release.manifest import parse_manifest, script_of
from cloister.verification import script

N = 60


def released(folder, frame, qi, *, rules=("k-anonymity=3",), **asked):
    """Write a release of a table, whose columns are kept or sensitive; return its folder."""
    given = {"undecided": "sensitive", "accept_empty": True, "suppression": 0.4} | asked
    cl.protect_table(frame, qi=qi, rule=list(rules), **given).write(folder / "release")
    return folder / "release"


def broken(folder):
    """The promises that the script finds broken."""
    manifest = parse_manifest(read_manifest(folder))
    return [one.promise for one in script_of(manifest).run(folder, ["release.json", *manifest.files]) if one.violations]


def test_released_records_that_are_all_stars_are_no_suppressed_ones(tmp_path):
    """Rows of * beyond the number of suppressed records are released ones."""
    frame = pl.DataFrame({"a": ["x"] * 100 + [f"v{place}" for place in range(20)]})
    folder = released(tmp_path, frame, {"a": cl.suppress()}, keep_suppressed=True, rules=["k-anonymity=5"])

    assert cl.verify_folder(folder).holds


@pytest.mark.parametrize(
    "values",
    [[1e-5, 1.2e-4, 3e-7, 0.5], [timedelta(days=place, hours=place) for place in (1, 2, 10, 30)]],
    ids=["fractions", "durations"],
)
def test_fractions_and_durations_of_parquet(tmp_path, values):
    """Where SQL writes values in another way than a release sorts them, their order is not checked in SQL."""
    frame = pl.DataFrame({"g": ["a", "b"] * (N // 2), "x": values * (N // 4)})
    frame.write_parquet(tmp_path / "in.parquet")
    words = ["-k", "3", "--qi", "g=suppress", "--keep", "x", "--accept-empty", "-q", "--out", str(tmp_path / "release")]
    assert run(["protect", "table", str(tmp_path / "in.parquet"), *words]) == 0

    assert cl.verify_folder(tmp_path / "release").holds


def test_names_that_are_words_of_the_script(tmp_path):
    """A quasi-identifier may be called as a column of a view; in SQL it has another name."""
    frame = pl.DataFrame({"rank": ["a", "b"] * (N // 2), "value": [str(place % 4) for place in range(N)]})
    rules = ["k-anonymity=3", "t-closeness:value=0.9,ordered"]

    assert cl.verify_folder(released(tmp_path, frame, {"rank": cl.suppress()}, rules=rules)).holds


@pytest.mark.parametrize("name", ["$cost", "/age", "$", 'a"b'])
def test_names_that_are_paths_of_json(tmp_path, name):
    """The classes of a table with codes are found by the names of its quasi-identifiers, whatever these are."""
    frame = pl.DataFrame({name: ["a", "b"] * (N // 2), "codes": ["I10 E11", "I10", "E11"] * (N // 3)})
    folder = released(tmp_path, frame, {name: cl.suppress()}, codes="codes")

    assert broken(folder) == []


def test_integers_of_128_bits_stay_numbers(tmp_path):
    """Parquet has no such numbers: they are bytes, which the reader of Polars alone knows."""
    pl.DataFrame({"n": pl.Series([5, 7, 100], dtype=pl.Int128)}).write_parquet(tmp_path / "wide.parquet")

    assert read_table(tmp_path / "wide.parquet").frame["n"].cast(pl.String).to_list() == ["5", "7", "100"]


@pytest.mark.parametrize(
    "change",
    [
        lambda stated: stated.update(risk={}),
        lambda stated: stated["risk"].pop("classes"),
        lambda stated: stated["records"].update(released=stated["records"]["released"] + 0.4),
        lambda stated: stated["records"].pop("released"),
    ],
    ids=["no risks", "one risk less", "a part of a record", "no number of records"],
)
def test_what_release_json_does_not_state_is_broken(tmp_path, change):
    """A number that is not stated, or is no whole one, is a violation where the script compares with it."""
    frame = pl.DataFrame({"g": ["a", "b"] * (N // 2), "x": ["1", "2", "3"] * (N // 3)})
    folder = released(tmp_path, frame, {"g": cl.suppress()})
    script = (folder / "verify.sql").read_text()
    stated = json.loads((folder / "release.json").read_text())
    change(stated)
    (folder / "release.json").write_text(json.dumps(stated))
    with duckdb.connect() as connection:
        connection.execute(f"SET file_search_path = '{folder}'")
        found = connection.execute(script).fetchall()

    assert sum(violations or 0 for _, violations in found) > 0


def test_numbers_of_patients_in_several_spellings_are_one(tmp_path):
    """One patient written as 1, 01 and 001 is one, and no number of a patient."""
    frame = pl.DataFrame({"p": [f"P{place // 2}" for place in range(N)], "g": ["a"] * N, "x": ["1", "2"] * (N // 2)})
    folder = released(tmp_path, frame, {"g": cl.suppress()}, rules=["k-patients:p=3"], id="p")
    assert broken(folder) == []
    head, *rows = (folder / "data.csv").read_text().splitlines()
    forged = [f"{'0' * place}1,{row.partition(',')[2]}" for place, row in enumerate(rows)]
    (folder / "data.csv").write_text("\n".join([head, *forged]) + "\n")

    assert any("patients" in promise for promise in broken(folder))


def test_a_script_sees_nothing_of_an_earlier_one():
    """Scripts on dataframes share a database, but no view, table or dataframe; after a failure it is made anew."""
    with script._connection([]) as first:
        first.register("frame_1", script._Held(pl.DataFrame({"a": ["x"]})))
        first.execute("CREATE TEMP TABLE made AS SELECT * FROM frame_1").fetchall()
        with script._connection([]) as beside:
            assert beside.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
    kept = script._KEPT[os.getpid()]

    with script._connection([]) as later:
        assert script._KEPT == {}
        assert later.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
        with pytest.raises(duckdb.CatalogException):
            later.execute("SELECT * FROM frame_1")
        with pytest.raises(duckdb.PermissionException):
            later.execute("SELECT * FROM read_csv('/etc/passwd')")
        assert later.execute("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]
    assert script._KEPT[os.getpid()] is kept

    with pytest.raises(ZeroDivisionError), script._connection([]):
        raise ZeroDivisionError
    assert script._KEPT == {}
    assert not os.path.exists(kept.aside.name)


def test_a_release_from_before_the_script_holds(tmp_path):
    """Where the manifest lists no script, there need be none; the promises are checked in SQL all the same."""
    frame = pl.DataFrame({"g": ["a", "b"] * (N // 2), "x": ["1", "2", "3"] * (N // 3)})
    folder = released(tmp_path, frame, {"g": cl.suppress()})
    (folder / "verify.sql").unlink()
    restated(folder, lambda stated: stated["files"].pop("verify.sql"), script=False)

    assert cl.verify_folder(folder).holds
