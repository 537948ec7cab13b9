"""The four shapes made of OMOP, FHIR, Synthea and DE-SynPUF are those of the hospital that was written so."""

import gzip

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.made import hospital_sources as made

from cloister.io import CodeColumns, EventColumns
from cloister.sources import read_code_events, read_code_lists, read_table

WITHIN = {"check_row_order": False, "check_column_order": False}


@pytest.fixture
def example(written):
    """The hospital."""
    return written.hospital


@pytest.fixture
def places(written):
    """What names its files, by profile."""
    return {profile: written.place(profile) for profile in written.paths}


@pytest.mark.parametrize("profile", ["omop", "fhir", "synthea", "synpuf"])
def test_the_table_is_that_of_the_hospital(example, places, profile):
    """One row a patient, with sex, the day and year of birth, and what else the system records."""
    frame = read_table(places[profile]).frame
    told = made.people(example).with_columns(
        pl.col("birth_date").cast(pl.String), pl.col("birth_date").dt.year().cast(pl.String).alias("birth_year")
    )
    common = [name for name in told.columns if name in frame.columns]

    assert {"patient_id", "birth_date", "birth_year", "sex"} <= set(common)
    assert (profile == "synpuf") is ("zip" not in common)
    assert_frame_equal(told.select(common), frame.select(common), **WITHIN)


@pytest.mark.parametrize("profile", ["omop", "fhir", "synthea", "synpuf"])
def test_the_patients_of_claims_are_those_of_the_hospital(example, places, profile):
    """Of claims one row a patient: id, day of birth and sex."""
    told = example.claim_patients.with_columns(pl.col("birth_date").cast(pl.String))

    assert_frame_equal(told, read_table(places[profile], "patients").frame, **WITHIN)


@pytest.mark.parametrize(
    ("profile", "column", "start"),
    [
        ("omop", None, "S"),
        ("omop", "source_code", ""),
        ("fhir", None, "S"),
        ("fhir", "icd_code", ""),
        ("synthea", None, ""),
    ],
)
def test_codes_and_ages_are_those_of_the_hospital(example, places, profile, column, start):
    """Each code of a patient, and each pair of a code and an age; of two codings the one asked for."""
    told = example.trajectories.with_columns((start + pl.col("code")).alias("code"))
    sets = told.select("patient_id", "code").unique()
    codes = read_code_lists(places[profile], columns=_asked(column))
    events = read_code_events(places[profile], columns=_asked(column, age="age"))
    found = pl.DataFrame({"patient_id": codes.ids, "code": codes.cells}).unique()
    pairs = pl.DataFrame({"patient_id": events.ids, "code": events.codes, "age": events.ages})

    assert_frame_equal(sets, found, **WITHIN)
    assert_frame_equal(told.with_columns(pl.col("age").cast(pl.String)), pairs, **WITHIN)


def test_codes_of_synpuf_are_those_of_claims_with_points(example, places):
    """DE-SynPUF has no diagnoses but those of claims, written without points."""
    codes = read_code_lists(places["synpuf"])
    told = example.claims.select("patient_id", pl.col("icd9").alias("code"))

    assert_frame_equal(told, pl.DataFrame({"patient_id": codes.ids, "code": codes.cells}), **WITHIN)


@pytest.mark.parametrize("profile", ["omop", "fhir", "synthea", "synpuf"])
def test_claims_are_those_of_the_hospital(example, places, profile):
    """A row a claim, with dates, diagnosis, procedure and provider; in OMOP what was had outside visits besides."""
    frame = read_table(places[profile], "claims").frame
    names = {"icd9": "diagnosis", "cpt": "procedure"}
    told = example.claims.rename(names).with_columns(pl.col("date", "end_date").cast(pl.String))
    columns = ["patient_id", "date", "end_date", "diagnosis", "procedure", "provider"]
    columns += ["place_of_service"] if profile in ("omop", "synthea") else []

    assert_frame_equal(told.select(columns), frame.filter(pl.col("provider").is_not_null()).select(columns), **WITHIN)
    assert frame.height == told.height + (made.history(example).height if profile == "omop" else 0)


def test_parquet_and_gzip_are_read_as_csv(example, places, tmp_path):
    """Tables of OMOP in capitals or not, as Parquet with numbers or gzip'd, give the same."""
    for name, frame in made.omop(example).items():
        if name == "CONCEPT":
            frame.with_columns(pl.col("concept_id").cast(pl.Int64)).write_parquet(tmp_path / "Concept.parquet")
        else:
            text = frame.rename(str.upper).write_csv()
            (tmp_path / f"{name.lower()}.csv.gz").write_bytes(gzip.compress(text.encode()))

    for form in ("table", "codes", "trajectories", "patients", "claims"):
        assert_frame_equal(read_table(places["omop"], form).frame, read_table(f"omop:{tmp_path}", form).frame)


def test_one_file_of_all_resources_is_read_as_a_folder(example, places, tmp_path):
    """FHIR in one gzip'd file gives the same as in a file for each kind."""
    file = made.write_resources(made.fhir(example), tmp_path / "all.ndjson.gz")

    for form in ("table", "codes", "trajectories", "patients", "claims"):
        assert_frame_equal(read_table(places["fhir"], form).frame, read_table(f"fhir:{file}", form).frame)


def _asked(code, age=None):
    return CodeColumns(code=code) if age is None else EventColumns(code=code, age=age)
