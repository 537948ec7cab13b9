"""What comes in as claims: what is no code, further columns of codes, other codings, columns of something else."""

import polars as pl
import pytest
from tests.made.claims_data import CLAIMS, PATIENTS, PLAN, claims, plan, source

from cloister.errors import InputError
from cloister.shapes.claims.format.code_systems import none_of, readings
from cloister.shapes.claims.format.data import PATIENT, claims_of, days_in, whole_numbers_in
from cloister.shapes.claims.format.group_tables import shipped_exclusions
from cloister.shapes.claims.format.representativeness import representativeness
from cloister.shapes.claims.method.first_plan import first_plan
from cloister.shapes.claims.method.prepare import add_derived_columns, exclusions, place_code, prepare

SECRET = "John Smith 555-9876"
OF_PATIENTS, OF_CLAIMS = ("pid", "birth_date", "sex"), ("pid", "date", "icd9", "hcpcs")
CODES = ("401.9", "250.00", "466.0", "486", "715.90")


def changed(rows, number, place, value):
    """The rows with one cell changed."""
    return [(*row[:place], value, *row[place + 1 :]) if at == number else row for at, row in enumerate(rows)]


def guessed(more=(), n=60, sexes="FM", people=(), **columns):
    """A first plan for so many patients with a claim each, whose claims have more columns, and the two files."""
    patients = [(f"P{i}", f"19{40 + i % 50}-05-05", sexes[i % len(sexes)]) for i in range(n)]
    events = [
        (
            f"P{i}",
            f"2024-0{1 + i % 9}-11",
            CODES[i % 5],
            "99213",
            *(cells[i % len(cells)] for cells in columns.values()),
        )
        for i in range(n)
    ]
    for number, row in people:
        patients[number] = (*patients[number][:2], row)
    for number, row in more:
        events[number] = (*events[number][:2], *row, *events[number][2 + len(row) :])
    files = (source(patients, OF_PATIENTS, "patients.csv"), source(events, (*OF_CLAIMS, *columns), "claims.csv"))
    return first_plan(*files), files


def roles(made, table="claims"):
    """Role of each column in a first plan."""
    return {guess.column: guess.role for guess in getattr(made, table)}


def test_what_is_no_code_gets_one_label():
    """A name in a column of diagnoses or of procedures is gone; codes and missing values stay, lists are counted."""
    events = changed(changed(CLAIMS, 0, 4, SECRET), 0, 6, "5551234 call")
    done = prepare(claims(events=changed(events, 1, 5, f"250.10 {SECRET}")))
    frame, line = done.claims.claims, done.lines[-2]

    assert {"no code", "250.10", "465.9"} == {*frame["dx"].drop_nulls()}
    assert {"no code", "33010", "99213"} == {*frame["cpt"].drop_nulls()}
    told = {"'dx' not a code": 1, "'cpt' not a code": 1, "'all_dx' not a code": 1}
    assert told == {reason: count for reason, count in line.counts.items() if reason.endswith("not a code")}


def test_codes_of_the_other_coding_are_none_of_the_hierarchy():
    """Under the groups of ICD-9 a code of ICD-10 has no place, and the other way round; prefixes take both."""
    events = changed(CLAIMS, 0, 4, "I10")

    assert prepare(claims(events=events)).claims.claims["dx"][0] == "no code"
    ten = prepare(claims(events=events, text=PLAN.replace('dx = "diagnosis"\ncpt', 'dx = "icd10"\ncpt')))
    assert ten.claims.claims["dx"].to_list()[:2] == ["I10", "no code"]
    both = prepare(claims(events=events, text=PLAN.replace('dx = "diagnosis"\ncpt', 'dx = "prefix:3"\ncpt')))
    assert both.claims.claims["dx"].to_list()[:2] == ["I10", "250.10"]


def test_codes_of_tables_of_ones_own_are_codes(tmp_path):
    """A table of one's own says what else is a code; free text is none, whatever rows it has."""
    rows = "group,first,last\nOWN,A10,A19\nREST,,\n"
    (tmp_path / "own.csv").write_text(rows)
    text = f'{PLAN}\n[removals]\nletter_procedures = false\n[grouping.tables]\nprocedure = "own.csv"\n'
    done = prepare(claims(events=changed(changed(CLAIMS, 0, 6, "A12"), 1, 6, "A12 Smith"), text=text, folder=tmp_path))

    assert done.claims.claims["cpt"].to_list()[:2] == ["A12", "no code"]


def test_first_plans_say_what_is_no_code():
    """The diagnosis stays one with a few that are none, and the plan counts them without a word of theirs."""
    made, files = guessed([(7, (SECRET,))])
    (guess,) = (guess for guess in made.claims if guess.column == "icd9")
    # one of six is too many for a diagnosis; what there is of codes is looked through all the same
    assert (guess.role, guess.sureness) == ("diagnoses", "likely")

    made, files = guessed([(i, (f"250.{i:02}",)) for i in range(50)] + [(55, (SECRET,))])
    (guess,) = (guess for guess in made.claims if guess.column == "icd9")
    assert (guess.role, guess.sureness) == ("diagnosis", "sure")
    assert "not codes and become" in guess.why
    assert "Smith" not in made.text
    assert "no code" in prepare(claims_of(*files, made.plan)).claims.claims["icd9"].to_list()


def test_further_columns_of_codes_are_looked_through():
    """Second diagnoses and procedures are never released, and a code on the list there takes the patient out."""
    made, files = guessed(
        dx2=("401.9", "250.00"), dx3=("042, 401.9", "250.00;401.9"), dx4=("486|466.0",), hcpcs2=("99214",)
    )
    done = exclusions(claims_of(*files, made.plan))

    assert roles(made) == {
        "pid": "id", "date": "date", "icd9": "diagnosis", "hcpcs": "procedure", "dx2": "diagnoses", "dx3": "diagnoses",
        "dx4": "diagnoses", "hcpcs2": "procedures",
    }  # fmt: skip
    assert (done.line.counts, done.claims.n_patients) == ({"hiv": 30}, 30)


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("B20", "hiv"), ("Z21", "hiv"), ("B97.35", "hiv"), ("O98.713", "hiv"), ("B24", "hiv"), ("V08", "hiv"),
        ("795.71", "hiv"), ("079.53", "hiv"), ("42", "hiv"), ("42.0", "hiv"), ("O03.9", "abortive-outcome"),
        ("O04.5", "abortive-outcome"), ("Z33.2", "abortive-outcome"), ("O00.10", "ectopic-pregnancy"),
        ("T74.12XA", "abuse"), ("T76.02XA", "abuse"), ("Y07.01", "abuse"), ("X78.8XXA", "abuse"), ("X95.9XXA", "abuse"),
        ("Y04.0XXA", "abuse"), ("T14.91XA", "abuse"), ("T39.1X2A", "abuse"), ("T50.993D", "abuse"),
        ("T51.92XA", "abuse"), ("T58.03XA", "abuse"), ("T71.162A", "abuse"), ("F10.20", "substance-abuse"),
        ("F17.210", "substance-abuse"), ("O99.320", "substance-abuse"), ("F64.0", "psychosexual"),
        ("F52.4", "psychosexual"), ("F71", "intellectual-disability"), ("Z41.1", "plastic-surgery"),
        ("Z42.1", "plastic-surgery"), ("V15.4XXA", None), ("V51.0XXA", None), ("I10", None), ("T39.1X1A", None),
        ("T51.91XA", None), ("T58.04XA", None), ("F20.9", None), ("O09.00", None), ("Z42", "plastic-surgery"),
        ("F09", None), ("T36.0X5A", None), ("X58.XXXA", None),
    ],
)  # fmt: skip
def test_the_exclusion_list_is_for_icd10_as_well(code, rule):
    """Codes of ICD-10-CM for the same subjects take a patient out; those that ICD-9 has for others do not."""
    done = exclusions(
        claims(events=changed(CLAIMS, 0, 4, code), text=PLAN.replace('all_dx = "diagnoses"', 'all_dx = "drop"'))
    )

    assert ({rule: 1} if rule else {}) == done.line.counts


def test_what_two_codings_share_is_read_as_the_rest_of_the_column():
    """V15.4 is a history of abuse in ICD-9 and a cyclist in ICD-10; without other codes it is taken for both."""
    nine, ten = frozenset({"icd9"}), frozenset({"icd10"})

    assert readings(["V15.4", "401.9"]) == {"V15.4": nine, "401.9": nine}
    assert readings(["V15.4", "I10"]) == {"V15.4": ten, "I10": ten}
    assert readings(["V15.4", "401.9", "I10"])["V15.4"] == readings(["V15.4"])["V15.4"] == nine | ten
    assert readings(["no such code"]) == {"no such code": nine | ten}
    assert none_of("diagnosis", ["042", "B20", "V15.4", "8", "XYZ"]) == {"8", "XYZ"}


def test_every_rule_of_the_list_says_its_coding_and_source():
    """Diagnoses are of ICD-9 or of ICD-10, each subject is there in both, and ranges have ends of one length."""
    rules = shipped_exclusions()
    names = {coding: {rule.range.name for rule in rules if rule.coding == coding} for coding in ("icd9", "icd10", None)}

    assert names["icd9"] == names["icd10"]
    assert {"diagnosis"} == {rule.kind for rule in rules if rule.coding is not None}
    assert all(len(rule.range.first) == len(rule.range.last) > 0 for rule in rules)


def test_rules_of_ones_own_may_name_a_coding(tmp_path):
    """With a coding only its codes are meant; without one, all; a coding that is none is refused."""
    (tmp_path / "own.csv").write_text(
        "rule,kind,first,last,coding\nold,diagnosis,V20,,icd9\nnew,diagnosis,V20,,icd10\n"
    )
    text = f'{PLAN}\n[exclusions]\nrules = []\nfile = "own.csv"\n'

    assert exclusions(claims(text=text, folder=tmp_path)).line.counts == {"old": 1}
    (tmp_path / "own.csv").write_text("rule,kind,first,last,coding\nold,diagnosis,V20,,ICD 9\n")
    with pytest.raises(InputError, match="record 1 is no rule"):
        exclusions(claims(text=text, folder=tmp_path))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Intermediate Care - Mentally Retarded", "54"),
        ("Intermediate Care Facility/Individuals with Intellectual Disabilities", "54"), ("056", "56"), ("57 ", "57"),
        ("55 - Residential Substance Abuse Treatment Facility", "55"), ("55.0", "55"),
        ("Non-residential Opioid Treatment Facility", "58"), ("Office", "11"),
    ],
)  # fmt: skip
def test_places_are_known_however_they_are_written(text, code):
    """By code, by one of their names, or by both."""
    assert code == place_code(text)


def test_digits_of_other_scripts_are_no_digits():
    """They are counted as what they are not, and nothing breaks."""
    arabic = "\u0662\u0660\u0662\u0664"

    assert whole_numbers_in(pl.Series([arabic, "7"])).to_list() == [None, 7]
    assert days_in(pl.Series([f"{arabic}-01-01", f"{arabic}0101"])).to_list() == [None, None]


def test_columns_that_hold_something_else_are_refused():
    """Dates in a column of days and remarks in one of sexes are counted, with file and column, and not told."""
    text = PLAN.replace('note = "keep"', 'note = "pay-delay"').replace(', "pay_delay"]', "]")
    text = text.replace("pay_delay = ", "note = ")
    days = [(*row[:10], "3") for row in CLAIMS]

    assert prepare(claims(events=days, text=text)).claims.claims["note"][0] == "3"
    for written in ("20240302", "2024-03-02"):
        with pytest.raises(InputError, match=r"'note' of claims\.csv: 1 values are dates") as refusal:
            prepare(claims(events=changed(days, 3, 10, written), text=text))
        assert written not in refusal.value.message
    with pytest.raises(InputError, match=r"'sex' of patients\.csv: 1 values are no sex") as refusal:
        prepare(claims(changed(PATIENTS, 1, 2, SECRET)))
    assert "Smith" not in refusal.value.message


def test_names_in_other_languages_are_signs_too():
    """As for tables: German names of columns get the roles that English ones get, if their values fit."""
    people = source(
        [(f"P{i}", f"19{40 + i % 50}-05-05", "mw"[i % 2], "Bayern") for i in range(60)],
        ("Patient_ID", "Geburtsdatum", "Geschlecht", "Bundesland"),
        "patienten.csv",
    )
    events = source(
        [(f"P{i}", f"2024-0{1 + i % 9}-11", f"2024-0{1 + i % 9}-12", CODES[i % 5], f"A{i % 7}") for i in range(60)],
        ("Patient_ID", "Aufnahmedatum", "Entlassungsdatum", "Diagnose", "Arzt"),
        "faelle.csv",
    )
    made = first_plan(people, events)

    assert [*roles(made, "patients").values()] == ["id", "birth-date", "sex", "quasi-identifier"]
    assert [*roles(made).values()] == ["id", "date", "end-date", "diagnosis", "provider"]


def test_first_plans_take_no_remarks_for_names():
    """Sexes, places and specialties with remarks among them, and delays that are dates, are not sure: dropped."""
    odd = ("ask Mrs Miller 555-1234", "see letter", "phoned twice")
    made, _ = guessed(people=[(3, odd[0])], pos=odd, specialty=odd, pay_delay=("20240302",))
    known, _ = guessed(pos=("Office", "21"), specialty=("Cardiology", "Unheard of"), pay_delay=("3", "30"))
    doubtful = {guess.column: guess.sureness for guess in (*made.patients, *made.claims) if guess.role == "drop"}

    assert dict.fromkeys(("sex", "pos", "specialty", "pay_delay"), "not sure") == doubtful
    assert [roles(known)[name] for name in ("pos", "specialty", "pay_delay")] == ["place", "specialty", "pay-delay"]
    assert known.plan.claims.qi["pay_delay"] == "pay-delay"


def test_delays_are_capped():
    """A payment decades later is one after ten years."""
    done = prepare(claims(events=changed(CLAIMS, 0, 3, "9999-12-31")))

    assert done.claims.claims["pay_delay"].max() == 3650


@pytest.mark.parametrize("column", ["dx", "cpt", "pos", "spec", "doctor", "sex"])
def test_codes_are_not_top_coded(column):
    """A quantile of codes would cut their decimals off and give a range of them one label."""
    with pytest.raises(InputError, match=f"column '{column}' has the role .* codes are not numbers"):
        plan(f'{PLAN}\n[[top_coding]]\ncolumn = "{column}"\n')


def test_ages_may_come_in_bands():
    """Bands of ten years, as others release them, are compared by their first year and released or suppressed."""
    text = PLAN.replace('"birth-date"', '"age"').replace('["age", ', "[").replace('age = "age"', 'born = "suppress"')
    bands = [(who, ("70-79", "80+", "[70-79]", None)[at], sex) for at, (who, _, sex) in enumerate(PATIENTS)]
    data = add_derived_columns(claims(bands, text=text)).claims
    done = representativeness(*(data.of_patients(pl.Series([1]), others=other) for other in (False, True)))
    counts = done.variables["age"]["excluded and remaining"].values()

    assert [*zip(*counts, strict=True)] == [(*[0] * 8, 1), (*[0] * 7, 2, 0)]
    assert prepare(claims(bands, text=text)).claims.patients.height + 1 == 3
    frame = source([("P1", "70-79"), ("P2", "80+")], ("pid", "age"), "p.csv")
    events = source([("P1", "486"), ("P2", "401.9")], ("pid", "dx"), "c.csv")
    made = first_plan(frame, events)
    assert (roles(made, "patients")["age"], made.plan.patients.qi["age"]) == ("age", "suppress")
    assert PATIENT not in made.plan.patients.roles
