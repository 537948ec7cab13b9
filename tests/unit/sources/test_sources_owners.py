"""Codes stay with the patient whose they are: what is another's is refused, with where it stands and counts."""

import json
from pathlib import Path

import polars as pl
import pytest
from tests.made import hospital_sources as made

from cloister import InputError
from cloister.sources import read_table
from cloister.testing import hospital

CODE = {"coding": [{"system": made.ICD9, "code": "401.9"}]}
OTHER = {"coding": [{"system": made.ICD9, "code": "250.00"}]}


@pytest.fixture(scope="module")
def tiny():
    """A hospital of few patients."""
    return hospital(seed=5, n=12)


@pytest.fixture
def read(tmp_path):
    """Write resources as lines, and read what a shape is made of."""

    def command(resources, form):
        (tmp_path / "all.ndjson").write_text("".join(json.dumps(one) + "\n" for one in resources))
        return read_table(f"fhir:{tmp_path}/all.ndjson", form)

    return command


def _people(*names):
    return [{"resourceType": "Patient", "id": name, "birthDate": "1980-01-01"} for name in names]


def _of(kind, who, **more):
    element = "patient" if kind == "Claim" else "subject"
    code = {} if kind in ("Claim", "Encounter") else {"code": CODE}
    return {"resourceType": kind, element: {"reference": who}} | code | more


def _to(kind, name):
    return {"reference": f"{kind}/{name}"}


def _moved(frame, column, rows):
    """The frame with the patients of some rows changed to another one of the column."""
    names = frame[column].to_list()
    others = [next(name for name in names if name != own) for own in names]
    return frame.with_columns(
        pl.Series(column, [others[n] if n in rows else names[n] for n in range(len(names))], dtype=pl.String)
    )


def _refusal(place):
    with pytest.raises(InputError) as refusal:
        read_table(place, "claims")
    return refusal.value.message


@pytest.mark.parametrize(
    ("profile", "name", "column", "said"),
    [
        ("omop", "CONDITION_OCCURRENCE", "person_id", "1 record has a visit of another patient"),
        ("omop", "PROCEDURE_OCCURRENCE", "person_id", "1 record has a visit of another patient"),
        ("synthea", "claims", "PATIENTID", "1 record has an encounter of another patient"),
        ("synthea", "procedures", "PATIENT", "1 record has an encounter of another patient"),
    ],
)
def test_records_of_visits_of_another_patient_are_refused(tiny, tmp_path, profile, name, column, said):
    """A condition, procedure or claim whose visit is another patient's gives no codes to either."""
    tables = getattr(made, profile)(tiny)
    frame = tables[name]
    row = frame.height - 1  # conditions with visits stand last
    place = made.write_tables(tables | {name: _moved(frame, column, [row])}, tmp_path / "data")

    message = _refusal(f"{profile}:{place}")
    assert message.startswith(f"{said} ({name}.csv, record {row + 1}).")
    assert not any(patient in message for patient in frame[column])


@pytest.mark.parametrize("kind", ["diagnosis", "procedure", "encounter"])
def test_a_claim_that_refers_to_what_is_anothers_is_refused(read, kind):
    """Claims of FHIR take no diagnosis, procedure or place of another patient."""
    meant = {"diagnosis": "Condition", "procedure": "Procedure", "encounter": "Encounter"}[kind]
    entry = {
        "encounter": {"item": [{"encounter": [_to("Encounter", "x")]}]},
        "diagnosis": {"diagnosis": [{"diagnosisReference": _to("Condition", "x")}]},
        "procedure": {"procedure": [{"procedureReference": _to("Procedure", "x")}]},
    }[kind]
    claim = _of("Claim", "Patient/a", created="2020-01-01", **entry)
    own, others = (_of(meant, f"Patient/{who}", id="x") for who in "ab")

    assert read([*_people("a", "b"), own, claim], "claims").frame.height == 1
    with pytest.raises(InputError, match=r"1 line has a diagnosis, procedure or encounter of another patient \(all"):
        read([*_people("a", "b"), others, claim], "claims")


@pytest.mark.parametrize(("kind", "form"), [("Condition", "claims"), ("Condition", "codes"), ("Procedure", "claims")])
def test_a_record_in_an_encounter_of_another_is_refused(read, kind, form):
    """Where encounters stand for claims, or tell a date, they are of the same patient."""
    visit = _of("Encounter", "Patient/b", id="v", period={"start": "2020-01-01"})
    record = _of(kind, "Patient/a", encounter=_to("Encounter", "v"))

    with pytest.raises(InputError, match=r"1 line has an encounter of another patient \(all.ndjson, line 4\)"):
        read([*_people("a", "b"), visit, record], form)


@pytest.mark.parametrize(
    "reference",
    ["Patient/a", "https://example.org/r4/Patient/a", "https://example.org/Patient/a/_history/3", "urn:uuid:a", "a"],
)
def test_references_to_a_patient(read, reference):
    """A patient is referred to by kind and id, with an address and a version or not, or by the id."""
    assert read([*_people("a"), _of("Condition", reference)], "codes").frame["patient_id"].to_list() == ["a"]


@pytest.mark.parametrize("reference", ["Group/a", "Device/a", "https://example.org/Group/a", "#a", "Patient?name=a"])
def test_what_is_of_no_patient_is_left_out_and_counted(read, reference):
    """A condition of a group or device of the same id is not the patient's."""
    found = read([*_people("a"), _of("Condition", "Patient/a"), _of("Condition", reference)], "codes")

    assert found.frame.height == 1
    assert found.notes == ("1 line was left out: of a group, a device or another that is no patient",)


def test_a_kind_told_beside_a_reference_counts(read):
    """An id alone, said to be of a group, is no patient's."""
    group = _of("Condition", "a") | {"subject": {"reference": "urn:uuid:a", "type": "Group"}}

    assert read([*_people("a"), _of("Condition", "a"), group], "codes").frame.height == 1


@pytest.mark.parametrize("status", ["not-done", "entered-in-error", "preparation"])
def test_procedures_that_were_not_done_give_no_codes(read, status):
    """What was planned, refused or an error is not on a claim; a note counts it."""
    visit = _of("Encounter", "Patient/a", id="v", period={"start": "2020-01-01"})
    done = _of("Procedure", "Patient/a", encounter=_to("Encounter", "v"), status="unknown")
    claim = _of("Claim", "Patient/a", created="2020-01-01", procedure=[{"procedureReference": _to("Procedure", "n")}])
    resources = [*_people("a"), visit, done, done | {"id": "n", "status": status, "code": OTHER}]

    by_visit, by_claim = read(resources, "claims"), read([*resources, claim], "claims")
    assert by_visit.frame.select("procedure", "procedures").rows() == [("401.9", None)]
    assert by_claim.frame["procedure"].to_list() == [None]
    assert by_visit.notes == ("1 line was left out: procedures that are not done, in preparation or in error",)


@pytest.mark.parametrize("status", ["planned", "cancelled", "entered-in-error"])
def test_encounters_that_did_not_take_place_are_no_claims(read, status):
    """They are left out, and counted."""
    visits = [_of("Encounter", "Patient/a", id=each, status=each) for each in ("finished", status)]
    found = read([*_people("a"), *visits], "claims")

    assert found.frame.height == 1
    assert found.notes == ("1 line was left out: encounters that are planned, cancelled or in error",)


@pytest.mark.parametrize("units", [{"code": "a"}, {"unit": "yr"}, {"unit": "Years", "code": "a"}])
def test_an_age_of_onset_is_the_age(read, units):
    """An age in years is taken as it is told, also where no birth is known."""
    people = [*_people("a"), {"resourceType": "Patient", "id": "b"}]
    had = [_of("Condition", who, onsetAge={"value": 41.9} | units, recordedDate="2020-05-05") for who in "ab"]

    assert read(people + had, "trajectories").frame.select("patient_id", "age").rows() == [("a", "41"), ("b", "41")]


@pytest.mark.parametrize(
    "onset",
    [
        {"onsetString": "as a child"},
        {"onsetRange": {"low": {"value": 3, "code": "a"}}},
        {"onsetAge": {"value": 30, "code": "mo"}},
        {"onsetAge": {"value": 30, "code": "a", "comparator": "<"}},
        {"onsetAge": {"value": -1, "code": "a"}},
        {"onsetPeriod": {"end": "2001-01-01"}},
    ],
)
def test_an_onset_told_otherwise_is_not_replaced_by_another_date(read, onset):
    """When it was recorded, or the encounter, is not taken for an onset that is told; its code counts."""
    visit = _of("Encounter", "a", id="v", period={"start": "2020-01-01"})
    dated = _of("Condition", "a", recordedDate="2020-05-05")
    had = _of("Condition", "a", recordedDate="2020-05-05", encounter=_to("Encounter", "v"), **onset)
    resources = [*_people("a"), visit, dated, had]

    assert read(resources, "trajectories").frame["age"].to_list() == ["40"]
    assert read(resources, "trajectories").notes == ("1 line was left out: no date",)
    assert read(resources, "codes").frame.height == 2


def test_codes_of_conditions_without_ids_stay_with_their_own(read):
    """Each encounter has the codes of its own conditions, be they without ids."""
    visits = [_of("Encounter", who, id=f"v{who}") for who in "ab"]
    had = [_of("Condition", "a", encounter=_to("Encounter", "va"))]
    had += [_of("Condition", "b", encounter=_to("Encounter", "vb"), code=OTHER)]

    assert read([*_people("a", "b"), *visits, *had], "claims").frame["diagnosis"].to_list() == ["401.9", "250.00"]


@pytest.mark.parametrize("kind", ["Condition", "Encounter", "Procedure", "Claim"])
def test_ids_that_are_there_twice_are_refused(read, kind):
    """Which of two resources is meant is not guessed."""
    twice = [_of(kind, "a", id="x"), _of(kind, "b", id="x")]

    with pytest.raises(InputError, match=r"1 line has the id of a resource of that kind .*\(all.ndjson, line 4\)"):
        read([*_people("a", "b"), *twice], "claims")


def _segments(tiny, tmp_path, **changes):
    """A claim of CMS in two segments, the second one first."""
    tables = made.synpuf(tiny)
    name = next(name for name in tables if "Outpatient" in name)
    first = tables[name].head(1).with_columns(SEGMENT=pl.lit("1"), ICD9_DGNS_CD_1=pl.lit("4019"))
    second = first.with_columns(SEGMENT=pl.lit("2"), ICD9_DGNS_CD_1=pl.lit("25000"))
    again = second.with_columns(**{column: pl.lit(value) for column, value in changes.items()})
    rest = tables[name].tail(-1).with_columns(SEGMENT=pl.lit("1"))
    frame = pl.concat([again, rest, first.select(again.columns)])
    return tables[name], made.write_tables(tables | {name: frame}, tmp_path / "cms")


def test_segments_of_a_claim_are_one_claim(tiny, tmp_path):
    """The codes of both are together, each once, in the order of segments."""
    before, place = _segments(tiny, tmp_path)
    frame = read_table(f"synpuf:{place}", "claims").frame
    found = frame.filter(pl.col("place_of_service") == "Outpatient Hospital")
    whole = found.filter((pl.col("diagnosis") == "401.9") & (pl.col("diagnoses") == "250.00"))

    assert found.height == before.height
    assert (whole["patient_id"].to_list(), whole["procedure"].to_list()) == (
        [before["DESYNPUF_ID"][0]],
        [before["HCPCS_CD_1"][0]],
    )
    assert whole["procedures"].to_list() == [None]


def test_segments_of_two_patients_are_refused(tiny, tmp_path):
    """A claim is of one patient."""
    tables = made.synpuf(tiny)
    other = next(frame for name, frame in tables.items() if "Beneficiary" in name)["DESYNPUF_ID"]
    own = next(frame for name, frame in tables.items() if "Outpatient" in name)["DESYNPUF_ID"][0]
    _, place = _segments(tiny, tmp_path, DESYNPUF_ID=next(name for name in other if name != own))

    assert _refusal(f"synpuf:{place}").startswith("1 record has the id of a claim of another patient")


def test_an_encrypted_archive_is_said_to_be_one(tiny, tmp_path):
    """A password is asked for nowhere: the archive is refused, with what to do."""
    place = made.write_tables(made.omop(tiny), tmp_path / "cdm.zip")
    content = bytearray(place.read_bytes())
    start = content.find(b"PK\x01\x02")
    content[start + 8] |= 1
    place.write_bytes(content)

    with pytest.raises(InputError, match=r"cdm\.zip is an encrypted zip archive\. Unpack it"):
        read_table(f"omop:{place}")


def test_bundles_are_read_as_lines_are(read, tmp_path):
    """Resources in Bundles, one a line or one in a whole document, are those of as many lines."""
    bundles = [{"resourceType": "Bundle", "entry": [{"resource": one}]} for one in _people("b", "c")]
    of_lines = read(_people("a", "b", "c"), "table").frame

    assert read([*_people("a"), *bundles], "table").frame.equals(of_lines)
    whole = {"resourceType": "Bundle", "entry": [{"resource": one} for one in _people("a", "b", "c")]}
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "patients.json").write_text(json.dumps(whole, indent=2))
    assert read_table(Path(f"fhir:{tmp_path / 'whole'}")).frame.equals(of_lines)
    (tmp_path / "whole" / "patients.json").write_text(json.dumps(whole, indent=2)[:-3])
    with pytest.raises(InputError, match="no JSON object with a resourceType"):
        read_table(Path(f"fhir:{tmp_path / 'whole'}"))


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_is_parsed_once(tmp_path, monkeypatch, indent):
    """A Bundle that is a whole file, on one line or many, is parsed once, beside its first line."""
    loads, parsed = json.loads, []
    whole = {"resourceType": "Bundle", "entry": [{"resource": one} for one in _people("a", "b", "c")]}
    (tmp_path / "patients.json").write_text(json.dumps(whole, indent=indent))
    monkeypatch.setattr(json, "loads", lambda text: parsed.append(text) or loads(text))
    found = read_table(f"fhir:{tmp_path / 'patients.json'}").frame

    assert found.height == 3
    assert len([text for text in parsed if len(text) > 2]) == 1


def test_a_first_job_takes_one_of_two_columns_that_tell_a_birth(read):
    """``init table`` drops the year where all days are known, and the day where more years are."""
    from cloister.evidence.table import guess_table

    told = read(_people(*"abcdef"), "table").frame
    less = told.with_columns(birth_date=pl.when(pl.col("patient_id") != "a").then("birth_date"))
    other = told.with_columns(birth_year=pl.lit("1931"))

    for frame, roles in (
        (told, ("quasi-identifier", "drop")),
        (less, ("drop", "quasi-identifier")),
        (other, ("quasi-identifier", "quasi-identifier")),
    ):
        guesses = {guess.column: guess.role for guess in guess_table(frame, "people.csv").columns}
        assert (guesses["birth_date"], guesses["birth_year"]) == roles
