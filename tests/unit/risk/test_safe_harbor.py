"""Signs of identifiers: each of the 18 classes is seen, what is allowed is left alone, and values are never told."""

import datetime

import polars as pl
import pytest

from cloister.errors import InputError
from cloister.io import as_text
from cloister.risk.identifiers import CLASSES, what_a_name_says
from cloister.risk.safe_harbor import CENSUS_2000, CENSUS_2010, look_for_identifiers, small_areas

TODAY = datetime.date(2026, 11, 21)
N = 60


def found_in(name, values, **options):
    """What is found in one column: (letter, how sure, records)."""
    series = pl.Series(name, values)
    findings = look_for_identifiers(
        series.to_frame(), as_text(series).to_frame(), today=options.pop("today", TODAY), **options
    )
    assert {finding.column for finding in findings} <= {name}
    for finding in findings:
        assert not any(str(value) in finding.what for value in values if isinstance(value, str))
    return [(finding.letter, finding.confidence, finding.records) for finding in findings]


NAMES = {
    "A": ["name", "last_name", "PatientLastName", "surname", "maiden name"],
    "B": ["zip", "ZIP_code", "postcode", "street_address", "city", "county", "latitude"],
    "C": ["date_of_birth", "dob", "admission_date", "DischargeDate", "died", "visit_timestamp"],
    "D": ["phone", "home_phone_number", "mobile", "telephone"],
    "E": ["fax", "fax_no"],
    "F": ["email", "e-mail", "contact_email_address"],
    "G": ["ssn", "SSN", "social_security_number"],
    "H": ["mrn", "medical_record_number", "patient_id", "patient_nbr"],
    "I": ["member_id", "beneficiary", "policy_number", "medicare_id"],
    "J": ["account_number", "acct_no", "iban"],
    "K": ["drivers_license", "passport_number", "license_no", "npi"],
    "L": ["vin", "license_plate", "vehicle_make"],
    "M": ["device_id", "serial_number", "imei", "pacemaker_serial"],
    "N": ["url", "website", "profile_url"],
    "O": ["ip", "ip_address", "ip_v4"],
    "P": ["fingerprint", "voiceprint", "iris_scan"],
    "Q": ["photo", "patient_photo"],
    "R": ["encounter_id", "uuid", "id"],
}


def test_every_class_has_names():
    """The 18 classes of the rule, by their letters."""
    assert sorted(NAMES) == sorted(CLASSES) == list("ABCDEFGHIJKLMNOPQR")


@pytest.mark.parametrize(("letter", "name"), [(letter, name) for letter, names in NAMES.items() for name in names])
def test_names_of_columns_speak(letter, name):
    """A column called like an identifier is told, whatever is in it."""
    assert what_a_name_says(name).letter == letter


@pytest.mark.parametrize(
    "name",
    ["sex", "age", "race", "diagnosis", "drug_name", "hospital_name", "time_in_hospital", "num_procedures", "state"],
)
def test_names_of_other_things_do_not(name):
    """Clinical columns, and names of drugs and places of care, are left alone."""
    assert what_a_name_says(name) is None


FORMS = {
    "F": [f"p{i % 7}@mail.example.org" for i in range(N)],
    "N": [f"https://example.org/{i % 7}" for i in range(N)],
    "G": [f"{100 + i % 7}-45-6789" for i in range(N)],
    "D": [f"(617) 555-{1000 + i % 7}" for i in range(N)],
    "O": [f"192.168.{i % 7}.25" for i in range(N)],
    "M": [f"00:1A:2B:3C:4D:{10 + i % 7}" for i in range(N)],
    "L": [f"1HGCM82633A00435{i % 7}" for i in range(N)],
    "Q": [f"face{i % 7}.jpg" for i in range(N)],
    "R": [f"123e4567-e89b-12d3-a456-42661417400{i % 7}" for i in range(N)],
}


@pytest.mark.parametrize(("letter", "values"), FORMS.items(), ids=FORMS)
def test_forms_of_values_are_seen(letter, values):
    """Values in the form of an identifier are told as certain, in a column that is called anything."""
    assert found_in("x", values) == [(letter, "certain", N)]


def test_one_value_in_a_note_is_seen():
    """Also a single address or number inside longer text counts, as possible."""
    notes = ["seen", "seen again"] * 30
    assert found_in("x", [*notes, "write to p@example.org soon"]) == [("F", "possible", 1)]
    assert found_in("x", [*notes, "call 617-555-1000 soon"]) == [("D", "possible", 1)]


@pytest.mark.parametrize(
    "value",
    ["2024-03-01", "2024-03", "3/1/2024", "01.03.24", "20240301", "2024-03-01T12:00:00", "1 Mar 2024", "March 1, 2024"],
)
def test_dates_finer_than_a_year_are_seen(value):
    """Days and months are, however written."""
    assert found_in("x", [value] * N) == [("C", "certain", N)]


def test_dates_by_type_are_seen():
    """Columns of dates and times are told by their type."""
    assert found_in("x", [TODAY] * N) == [("C", "certain", N)]
    assert found_in("x", [datetime.datetime(2024, 3, 1, 12)] * N) == [("C", "certain", N)]


@pytest.mark.parametrize(
    "values", [["2024"] * N, [2024] * N, ["250.01", "V58.6"] * 30, ["1.5", "2.25"] * 30, [0.5] * N]
)
def test_years_codes_and_measures_are_not_dates(values):
    """A year, a diagnosis code or a measure is no finding."""
    assert found_in("x", values) == []


def test_zip_codes_of_more_than_three_digits():
    """Five or nine digits are too many; three of a large area are allowed; 000 is."""
    assert found_in("zip", ["02139", "10001"] * 30) == [("B", "certain", N)]
    assert found_in("zip", ["02139-4307"] * N) == [("B", "certain", N)]
    assert found_in("zip", ["021**", "100**"] * 30) == []
    assert found_in("zip", ["021", "100", "000"] * 20) == []
    assert found_in("x", ["02139-4307"] * N) == [("B", "likely", N)]
    assert found_in("x", ["02139", "10001"] * 30) == [("B", "possible", N)]


@pytest.mark.parametrize(("census", "n"), [("2000", 20), ("2010", 20), ("both", 40)])
def test_three_digits_of_small_areas(census, n):
    """790 was too small by the census of 2000, 369 by that of 2010; by default both count."""
    findings = found_in("zip3", ["790", "369", "100"] * 20, census=census)
    assert findings == [("B", "certain", n)]


def test_the_lists_of_small_areas():
    """17 areas of 2000 and 18 of 2010, with their sources; 22 in either, of three digits each."""
    assert (len(CENSUS_2000.prefixes), len(CENSUS_2010.prefixes)) == (17, 18)
    assert small_areas() == CENSUS_2000.prefixes | CENSUS_2010.prefixes
    assert all(len(prefix) == 3 and prefix.isdigit() for prefix in small_areas())
    assert "67 FR 53182" in CENSUS_2000.source
    with pytest.raises(InputError, match="2000, 2010, both"):
        small_areas("1990")


def test_ages_over_89():
    """Ages from 90 on are certain if there are several, and may be the group of 90 and more if there is one."""
    assert found_in("age", [*range(40, 92), *[50] * 8]) == [("C", "certain", 2)]
    assert found_in("age", [40, 90] * 30) == [("C", "possible", 30)]
    assert found_in("age", [40, 89] * 30) == []
    assert found_in("age", ["[80-89]", "[85-99]", "90+"] * 20) == [("C", "possible", 20)]
    assert found_in("stage", [90, 91] * 30) == []


def test_years_of_birth_of_the_old():
    """A year of birth tells of an age over 89."""
    assert found_in("birth_year", [1936, 1937] * 30) == [("C", "likely", 30)]
    assert found_in("yob", [1937] * N) == []


def test_text_and_values_that_are_all_different():
    """Free text may hold anything; a column without repetition finds every record; floats are only possible."""
    text = [f"the patient number {i} came to us with a cough" for i in range(N)]
    assert found_in("x", text) == [("R", "likely", N), ("R", "likely", N)]
    assert found_in("x", list(range(N))) == [("R", "likely", N)]
    assert found_in("x", [i / 7 for i in range(N)]) == [("R", "possible", N)]
    assert found_in("x", [None] * N) == []
    assert found_in("x", list(range(10))) == []


def test_the_surest_signs_come_first():
    """Signs of a column are ordered by how sure they are, columns as in the table."""
    frame = pl.DataFrame({"mrn": [f"M{i}" for i in range(N)], "zip": ["02139"] * N})
    findings = look_for_identifiers(frame, frame, today=TODAY)

    assert [(finding.column, finding.letter) for finding in findings] == [("mrn", "H"), ("mrn", "R"), ("zip", "B")]
