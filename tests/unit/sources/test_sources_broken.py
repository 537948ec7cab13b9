"""Collections that cannot be used: what is wrong is said, with file, record or line and counts, and never a value."""

import json
import re
import zipfile

import polars as pl
import pytest
from tests.made import hospital_sources as made

from cloister import InputError
from cloister.sources import NAMES, PROFILES, parse_profile, read_table
from cloister.testing import hospital

VALUE = "Zz9Secret"


@pytest.fixture(scope="module")
def tables():
    """The tables of a tiny hospital, by profile and name."""
    tiny = hospital(seed=5, n=12)
    return {
        "omop": made.omop(tiny),
        "synthea": made.synthea(tiny),
        "synpuf": made.synpuf(tiny),
        "fhir": made.fhir(tiny),
    }


@pytest.fixture
def refused(tmp_path):
    """Write tables or resources, read them, and return what is said; no value is in it."""

    def command(profile, tables, form, name="data"):
        write = made.write_resources if profile == "fhir" else made.write_tables
        with pytest.raises(InputError) as refusal:
            read_table(f"{profile}:{write(tables, tmp_path / name)}", form)
        message = refusal.value.message
        assert VALUE not in message
        assert re.search(r"M0[0-9]{6}", message) is None
        assert refusal.value.__cause__ is None
        return message

    return command


def _changed(frame, column, value, rows):
    """The frame with a value in some rows of a column."""
    place = pl.int_range(frame.height)
    text = pl.col(column).cast(pl.String)
    return frame.with_columns(pl.when(place.is_in(rows)).then(pl.lit(value)).otherwise(text).alias(column))


@pytest.mark.parametrize(
    ("profile", "name", "form"),
    [
        ("omop", "PERSON", "table"),
        ("omop", "CONDITION_OCCURRENCE", "codes"),
        ("omop", "CONCEPT", "trajectories"),
        ("omop", "VISIT_OCCURRENCE", "claims"),
        ("synthea", "patients", "patients"),
        ("synthea", "conditions", "codes"),
        ("synthea", "encounters", "claims"),
    ],
)
def test_a_table_that_is_not_there(refused, tables, profile, name, form):
    """A collection without a table that is needed says which."""
    rest = {key: frame for key, frame in tables[profile].items() if key != name}

    assert refused(profile, rest, form) == (
        f"data has no table {name.lower()}. It must be there as {name.lower()}.csv, .csv.gz or .parquet."
    )


def test_files_of_cms_that_are_not_there(refused, tables):
    """DE-SynPUF without beneficiaries or claims lacks what stands in for them."""
    beneficiaries = {name: frame for name, frame in tables["synpuf"].items() if "Beneficiary" in name}
    claims = {name: frame for name, frame in tables["synpuf"].items() if "Claims" in name}

    assert "data has no table patients" in refused("synpuf", claims, "table")
    assert "others has no table claims" in refused("synpuf", beneficiaries, "codes", "others")


@pytest.mark.parametrize(
    ("profile", "name", "column", "form"),
    [
        ("omop", "PERSON", "year_of_birth", "table"),
        ("omop", "CONDITION_OCCURRENCE", "condition_concept_id", "codes"),
        ("omop", "CONCEPT", "concept_code", "codes"),
        ("omop", "VISIT_OCCURRENCE", "visit_start_date", "claims"),
        ("synthea", "claims", "SERVICEDATE", "claims"),
        ("synpuf", "DE1_0_2008_to_2010_Inpatient_Claims_Sample_1", "CLM_FROM_DT", "codes"),
    ],
)
def test_a_column_that_is_not_there(refused, tables, profile, name, column, form):
    """A table without a column that is needed says which, and what is needed."""
    rest = tables[profile] | {name: tables[profile][name].drop(column)}

    assert f"{name}.csv has no column {column.lower()!r}. Needed are" in refused(profile, rest, form)


@pytest.mark.parametrize(
    ("profile", "name", "column", "form", "said"),
    [
        (
            "omop",
            "PERSON",
            "person_id",
            "table",
            "2 records have no id of a patient (PERSON.csv, record 3, is the first)",
        ),
        ("synthea", "patients", "Id", "patients", "2 records have no id of a patient (patients.csv, record 3, is the"),
        (
            "omop",
            "CONDITION_OCCURRENCE",
            "person_id",
            "codes",
            "2 records have no patient (CONDITION_OCCURRENCE.csv, re",
        ),
    ],
)
def test_records_without_a_patient(refused, tables, profile, name, column, form, said):
    """Where an id is missing, it is said in how many records, and which is the first."""
    rest = tables[profile] | {name: _changed(tables[profile][name], column, None, [2, 5])}

    assert said in refused(profile, rest, form)


@pytest.mark.parametrize(
    ("profile", "name", "column", "form"),
    [
        ("omop", "CONDITION_OCCURRENCE", "person_id", "codes"),
        ("omop", "CONDITION_OCCURRENCE", "person_id", "trajectories"),
        ("omop", "VISIT_OCCURRENCE", "person_id", "claims"),
        ("synthea", "conditions", "PATIENT", "trajectories"),
        ("synthea", "claims", "PATIENTID", "claims"),
        ("synpuf", "DE1_0_2008_to_2010_Outpatient_Claims_Sample_1", "DESYNPUF_ID", "claims"),
    ],
)
def test_records_of_patients_who_are_not_there(refused, tables, profile, name, column, form):
    """What belongs to nobody is refused, with how many records and the first."""
    rest = tables[profile] | {name: _changed(tables[profile][name], column, VALUE, [1, 3])}
    lone = {"VISIT_OCCURRENCE": ("visit_occurrence_id", ["v", "w"]), "claims": ("APPOINTMENTID", None)}
    if name in lone:  # of which nothing else says whose it is
        other, value = lone[name]
        for row, each in zip((1, 3), value or (None, None), strict=True):
            rest[name] = _changed(rest[name], other, each, [row])

    assert refused(profile, rest, form) == (
        "2 records have a patient who is not among the patients of the collection "
        f"({name}.csv, record 2, is the first). Add the patients, or leave the rest out."
    )


@pytest.mark.parametrize(("profile", "name"), [("omop", "PERSON"), ("synthea", "patients")])
@pytest.mark.parametrize("form", ["table", "codes", "trajectories", "patients", "claims"])
def test_patients_who_are_there_twice(refused, tables, profile, name, form):
    """Whatever the shape, one row a patient."""
    frame = tables[profile][name]
    twice = tables[profile] | {name: pl.concat([frame, frame.head(3)])}

    assert f"3 records have the id of a patient who is there already ({name}.csv, record 13, is the first)" in refused(
        profile, twice, form
    )


def test_a_beneficiary_twice_in_a_year(refused, tables):
    """Of CMS a beneficiary stands in each yearly file, but once."""
    name = "DE1_0_2009_Beneficiary_Summary_File_Sample_1"
    frame = tables["synpuf"][name]

    assert "1 record has the id of a patient who is there already" in refused(
        "synpuf", tables["synpuf"] | {name: pl.concat([frame, frame.head(1)])}, "table"
    )


@pytest.mark.parametrize(
    ("profile", "name", "column", "form"),
    [
        ("omop", "PERSON", "year_of_birth", "table"),
        ("omop", "CONDITION_OCCURRENCE", "condition_start_date", "trajectories"),
        ("omop", "VISIT_OCCURRENCE", "visit_end_date", "claims"),
        ("synthea", "patients", "BIRTHDATE", "patients"),
        ("synthea", "conditions", "START", "trajectories"),
        ("synpuf", "DE1_0_2009_Beneficiary_Summary_File_Sample_1", "BENE_BIRTH_DT", "table"),
    ],
)
@pytest.mark.parametrize("value", [VALUE, "2023-02-30"])
def test_dates_that_are_none(refused, tables, profile, name, column, form, value):
    """What is no date is refused, with how many records and the first."""
    rest = tables[profile] | {name: _changed(tables[profile][name], column, value, [4])}

    said = refused(profile, rest, form)
    assert said.startswith("1 record has a ")
    assert f"that is no date ({name}.csv, record 5)" in said


def test_lines_that_are_no_resources(tables, tmp_path):
    """Lines that are no JSON, or no object with a resourceType, are counted, and the first is named."""
    text = made.lines(tables["fhir"]["Patient"])
    for number, wrong in enumerate([b"{" + VALUE.encode(), b"[1]", b'{"id": "1"}', b'{"resourceType": 3}', b'"x"']):
        file = tmp_path / f"{number}.ndjson"
        file.write_bytes(text + b"\n" + wrong + b"\n" + wrong + b"\n")
        with pytest.raises(InputError) as refusal:
            read_table(f"fhir:{file}")
        assert refusal.value.message.startswith(
            f"{file.name}: 2 lines are no JSON object with a resourceType (line 14 is the first)."
        )
        assert refusal.value.line == 14


def test_a_line_that_is_cut_off(refused, tables, tmp_path):
    """A resource that is not whole is refused, with its line."""
    whole = made.lines(tables["fhir"]["Condition"])
    place = made.write_resources(tables["fhir"], tmp_path / "cut")
    (place / "Condition.ndjson").write_bytes(whole[:-30])

    with pytest.raises(InputError, match=r"Condition.ndjson: 1 line is no JSON object"):
        read_table(f"fhir:{place}", "codes")


@pytest.mark.parametrize(
    ("kind", "change", "form", "said"),
    [
        ("Patient", {"id": None}, "table", "1 line has no id of a patient (Patient.ndjson, line 1)"),
        ("Patient", {"birthDate": VALUE}, "table", "1 line has a birth_date that is no date (Patient.ndjson, line 1)"),
        ("Condition", {"subject": {}}, "codes", "1 line has no patient (Condition.ndjson, line 1)"),
        ("Condition", {"subject": 5}, "codes", "1 line has no patient (Condition.ndjson, line 1)"),
        ("Condition", {"subject": {"reference": VALUE}}, "codes", "1 line has a patient who is not among"),
        ("Condition", {"onsetDateTime": VALUE}, "trajectories", "1 line has a date that is no date"),
        ("Claim", {"patient": [VALUE]}, "claims", "1 line has no patient (Claim.ndjson, line 1)"),
    ],
)
def test_resources_that_lack_what_is_needed(refused, tables, kind, change, form, said):
    """A resource without what is needed is refused, with its line."""
    first, *rest = tables["fhir"][kind]

    assert said in refused("fhir", tables["fhir"] | {kind: [first | change, *rest]}, form)


@pytest.mark.parametrize(
    "value", [None, 3, VALUE, "\ud800", [], [[]], {}, [{"coding": {}}], [3], {"coding": [VALUE, {"code": 3}]}]
)
@pytest.mark.parametrize("form", ["table", "codes", "trajectories", "patients", "claims"])
def test_resources_of_any_content_are_read_or_refused(tables, tmp_path, form, value):
    """Whatever stands where something else is expected, nothing fails but what says so."""
    odd = {
        kind: [{key: value if key != "resourceType" else kind for key in one} | _known(kind, one) for one in each]
        for kind, each in tables["fhir"].items()
    }
    place = made.write_resources(odd, tmp_path / "odd")

    try:
        found = read_table(f"fhir:{place}", form).frame.columns
    except InputError as refusal:
        found = refusal.message
    assert VALUE not in found


def _known(kind, one):
    """What leads to the patient, so that all else is looked at."""
    whose = {"Patient": {}, "Claim": {"patient": one.get("patient")}}.get(kind, {"subject": one.get("subject")})
    return {"id": one["id"]} | whose


@pytest.mark.parametrize("profile", ["omop", "fhir", "synthea", "synpuf"])
def test_places_where_nothing_is(tmp_path, profile):
    """A place that is not there, an empty folder and half an archive are refused."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "half.zip").write_bytes(b"PK\x03\x04 and nothing")

    for name, said in (
        ("nothing.zip", "There is no file or folder nothing.zip."),
        ("empty", "empty has no "),
        ("half.zip", "whole zip"),
    ):
        with pytest.raises(InputError, match=said):
            read_table(f"{profile}:{tmp_path / name}")


def test_a_table_that_is_there_twice(tables, tmp_path):
    """Which of two is meant is not guessed."""
    place = made.write_tables(tables["omop"], tmp_path / "cdm")
    (place / "person.csv").write_bytes((place / "PERSON.csv").read_bytes())

    with pytest.raises(InputError, match="has the table person 2 times"):
        read_table(f"omop:{place}")


def test_an_archive_with_a_broken_member(tables, tmp_path):
    """An archive whose content was changed is refused."""
    place = made.write_tables(tables["omop"], tmp_path / "cdm.zip")
    with zipfile.ZipFile(place) as archive:
        start = archive.getinfo("cdm/PERSON.csv").header_offset + 200
    content = bytearray(place.read_bytes())
    content[start : start + 5] = b"#####"
    place.write_bytes(content)

    with pytest.raises(InputError, match=r"cdm\.zip is not a whole zip archive"):
        read_table(f"omop:{place}")


def test_a_profile_that_there_is_not(tables, tmp_path):
    """A word before the colon that is no profile is told, where there is something behind it."""
    place = made.write_tables(tables["omop"], tmp_path / "cdm.zip")

    with pytest.raises(
        InputError, match=r"no profile 'omopp'. Did you mean omop\? Profiles: omop, fhir, synthea, synpuf"
    ):
        read_table(f"omopp:{place}")
    assert parse_profile("postgresql:nothing") is None


def test_every_name_has_a_profile():
    """The names that are looked for are those of the profiles there are."""
    assert tuple(PROFILES) == NAMES


def test_a_file_of_that_name_wins(tmp_path, monkeypatch):
    """A file that is really called as a profile and a path is read as a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "omop:cdm.csv").write_text("a,b\n1,2\n")

    assert read_table("omop:cdm.csv").frame.rows() == [("1", "2")]


def test_what_is_missing_is_left_out_and_counted(tables, tmp_path):
    """Conditions without a code, or of trajectories without a date, births that are not known: left out, with notes."""
    changed = dict(tables["omop"])
    had = _changed(changed["CONDITION_OCCURRENCE"], "condition_concept_id", "0", [0, 1])
    had = _changed(had, "condition_source_concept_id", "0", [0, 1])
    had = _changed(had, "condition_source_value", "in words", [0])
    had = _changed(had, "condition_source_value", None, [1])
    had = _changed(had, "condition_start_date", None, [2])
    had = _changed(had, "condition_start_date", "1900-01-01", [3])
    place = f"omop:{made.write_tables(changed | {'CONDITION_OCCURRENCE': had}, tmp_path / 'cdm')}"

    assert read_table(place, "codes").notes == ("2 records were left out: neither a concept nor a code",)
    assert read_table(place, "trajectories").notes == (
        "2 records were left out: neither a concept nor a code",
        "1 record was left out: no date",
        "1 record was left out: dated before the birth of the patient",
    )


def test_what_is_not_true_is_left_out_and_counted(tables, tmp_path):
    """Conditions entered in error and claims that were cancelled are left out, with notes."""
    first, *rest = tables["fhir"]["Condition"]
    error = {"verificationStatus": {"coding": [{"code": "entered-in-error"}]}}
    one, two, *others = tables["fhir"]["Claim"]
    claims = [one | {"status": "cancelled"}, two | {"use": "predetermination"}, *others]
    place = made.write_resources(
        tables["fhir"] | {"Condition": [first | error, *rest], "Claim": claims}, tmp_path / "b"
    )

    assert read_table(f"fhir:{place}", "codes").frame.height == len(rest)
    assert read_table(f"fhir:{place}", "claims").frame.height == len(others)
    assert "1 line was left out" in read_table(f"fhir:{place}", "codes").notes[0]
    assert "2 lines were left out" in read_table(f"fhir:{place}", "claims").notes[0]


def test_encounters_stand_in_for_claims(tables, tmp_path):
    """Where there is no claim, each encounter is one, with its conditions."""
    conditions = [
        one
        | {"encounter": {"reference": "Encounter/1/_history/2"}, "subject": tables["fhir"]["Encounter"][0]["subject"]}
        for one in tables["fhir"]["Condition"][:2]
    ]
    resources = tables["fhir"] | {"Claim": [], "Condition": conditions}
    frame = read_table(f"fhir:{made.write_resources(resources, tmp_path / 'b')}", "claims").frame
    codes = [one["code"]["coding"][0]["code"] for one in conditions]

    assert frame.height == len(tables["fhir"]["Encounter"])
    assert frame.select("diagnosis", "diagnoses").row(0) == (codes[0], codes[1] if codes[1] != codes[0] else None)


def test_births_to_the_month_or_year(tmp_path):
    """Where the day is not known the year is told, and ages are counted from the first of the month or year."""
    people = [{"resourceType": "Patient", "id": "a", "birthDate": "1980-05"}]
    people += [{"resourceType": "Patient", "id": "b", "birthDate": "1980"}, {"resourceType": "Patient", "id": "c"}]
    dates = {"a": ["2000-05-01", "2000-04-30", "1980"], "b": ["1980-02"], "c": ["2000-01-01"]}
    had = [
        {
            "resourceType": "Condition",
            "subject": {"reference": who},
            "onsetDateTime": date,
            "code": {"coding": [{"code": "x"}]},
        }
        for who, each in dates.items()
        for date in each
    ]
    place = tmp_path / "all.ndjson"
    place.write_text("\n".join(json.dumps(one) for one in people + had))
    ages = read_table(f"fhir:{place}", "trajectories")

    assert read_table(f"fhir:{place}").frame.select("birth_date", "birth_year").rows() == [
        (None, "1980"),
        (None, "1980"),
        (None, None),
    ]
    assert read_table(f"fhir:{place}", "patients").frame["birth_date"].to_list() == ["1980-05-01", "1980-01-01", None]
    assert ages.frame.select("patient_id", "age").rows() == [("a", "20"), ("a", "19"), ("a", "0"), ("b", "0")]
    assert ages.notes == ("1 line was left out: the birth of the patient is not known",)


def test_vocabularies_are_read_whatever_quotes_they_hold(tables, tmp_path):
    """CONCEPT as OHDSI hands it out, parted by tabs, with quotes inside its names."""
    place = made.write_tables(tables["omop"], tmp_path / "cdm")
    concepts = tables["omop"]["CONCEPT"].with_columns(pl.lit('so-called "name').alias("concept_name"))
    text = "\n".join("\t".join(row) for row in [concepts.columns, *concepts.rows()]) + "\n"
    before = read_table(f"omop:{place}", "codes").frame
    (place / "CONCEPT.csv").write_text(text)

    assert read_table(f"omop:{place}", "codes").frame.equals(before)
    (place / "CONCEPT.csv").write_text(text + "one cell\n")
    with pytest.raises(InputError, match=r"CONCEPT\.csv is no table parted by tabs"):
        read_table(f"omop:{place}", "codes")


def test_words_for_missing_count_in_tables(tables, tmp_path):
    """A text that stands for a missing value does so in every table of a collection."""
    place = made.write_tables(
        tables["omop"] | {"PERSON": _changed(tables["omop"]["PERSON"], "ethnicity_source_value", "NULL", [0])},
        tmp_path / "cdm",
    )

    assert "NULL" in read_table(f"omop:{place}").frame["ethnicity"].to_list()
    assert "NULL" not in read_table(f"omop:{place}", missing=["NULL"]).frame["ethnicity"].to_list()
