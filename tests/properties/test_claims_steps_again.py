"""Steps 1 to 6 of claims: what the verifier does by SQL is what the method does, on any claims and under any plan."""

import datetime
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.claims_data import CLAIMS, PLAN, source
from tests.made.claims_data import OF_CLAIMS as OF_CLAIMS_BY_HAND
from tests.made.claims_data import claims as claims_of_plan
from tests.made.examples import examples

from cloister.errors import InputError
from cloister.io import as_text
from cloister.shapes.claims.format.data import PATIENT, claims_of
from cloister.shapes.claims.format.group_tables import exclusion_rules
from cloister.shapes.claims.format.plan import plan_of
from cloister.shapes.claims.format.released_columns import TABLES
from cloister.shapes.claims.method.prepare import prepare
from cloister.shapes.claims.verify.steps import repeat_steps

FIRST = datetime.date(2007, 12, 20)
# some are the 28th and the 29th day after a birth
DAYS = st.sampled_from([49, 50, 99, 100, 21]) | st.integers(0, 400)
DAYS = DAYS.map(lambda days: FIRST + datetime.timedelta(days))
WRITTEN = st.sampled_from(["%Y-%m-%d", "%Y%m%d", " %Y-%m-%dT10:00", "\u00a0%Y-%m-%d\u2003", "%Y-%m-%d 09:30"])
DATES = st.none() | st.builds(lambda day, form: day.strftime(form), DAYS, st.just("%Y-%m-%d") | WRITTEN)
BIRTHS = st.none() | st.sampled_from(
    ["1950-06-15", "2008-02-29", "2008-01-10", "1980-01-01", "0000-02-29", "2009-12-31"]
)
YEARS = st.none() | st.sampled_from(["1950", "2008", " 1980 ", "2012", "1950.0"])
ODD = st.text(max_size=4) | st.sampled_from(
    ["ß", "İ", "ſ1", "٤٢", "no code", "\x1f042", "042\u2028V08", "?", "a\x0042", "4 2"]
)
DIAGNOSES = st.none() | ODD | st.sampled_from(
    ["042", "42", "42.0", "V08", "410.01", "250.10", "B20", "T36.0X2A", "E950.1", "E11.9", "Z51.11", "V91.07", "O03.9",
     "042 401.9", "f10.20;I10", "A1", "A2B", "318", "995.81", "303"]
)  # fmt: skip
PROCEDURES = st.none() | ODD | st.sampled_from(
    ["99213", "33010", "G0008", " g0008", "450", " 450 ", "59840", "5597X", "89.7", "0042T", "12", "59850"]
)  # fmt: skip
PLACES = (
    st.none() | ODD | st.sampled_from(["Office", "21", "7", "055 - Residential", "55 residential", "12", "0", "HOME"])
)
SPECIALTIES = st.none() | ODD | st.sampled_from(["Cardiology", "pediatrics", "Unheard of", "Pain  Management"])
NUMBERS = st.none() | st.integers(0, 12).map(str) | st.sampled_from(["007", "3.0", " 4 ", "100000", "3.9", "14", "15"])
IDS = st.none() | st.sampled_from(["D1", "D2", "D3"])
OF_CLAIMS = {
    "date": DATES, "until": DATES, "paid": DATES, "dx": DIAGNOSES, "all_dx": DIAGNOSES, "more_dx": DIAGNOSES,
    "cpt": PROCEDURES, "all_cpt": PROCEDURES, "pos": PLACES, "spec": SPECIALTIES, "los": NUMBERS, "doctor": IDS,
    "seller": IDS, "note": NUMBERS,
}  # fmt: skip
ROLES = {
    "date": "date", "until": "end-date", "paid": "paid-date", "dx": "diagnosis", "all_dx": "diagnoses",
    "more_dx": "diagnoses", "cpt": "procedure", "all_cpt": "procedures", "pos": "place", "spec": "specialty",
    "los": "length-of-stay", "doctor": "provider", "seller": "vendor", "note": "keep",
}  # fmt: skip
OPTIONAL = ["all_dx", "more_dx", "all_cpt", "los", "seller", "dx", "cpt", "pos", "spec", "until", "paid"]
OF_CODES = {"dx": "diagnosis", "cpt": "procedure", "pos": "place", "spec": "specialty"}
DERIVED = ["days_since_first_claim", "days_since_first_claim_of_year", "length_of_stay", "pay_delay", "year"]
OWN = {
    "diagnosis": "group,first,last\nA,A,\nB,A2?,A4?\nC,042,044\nWIDE,2,9\nS,SS,\n",
    "procedure": "group,first,last\nLETTERS,A,Z\nONE,33010,33020\n",
    "place": "group,name\nHERE,office\nHERE,7\n",
    "specialty": "group,name\nHEART,cardiology\nNONE,unheard of\n",
    "exclusions": "rule,kind,coding,first,last\nmine,diagnosis,,A?B,A?C\nmine,place,,7,7\nheart,procedure,,330,331\n",
}


@st.composite
def plans(draw, folder):
    """A plan for all such claims, with its files in a folder."""
    dropped = draw(st.sets(st.sampled_from(OPTIONAL)))
    roles = {"mrn": "id"} | {name: "drop" if name in dropped else role for name, role in ROLES.items()}
    possible = [
        name for name in DERIVED
        if not (name == "length_of_stay" and "until" in dropped) and not (name == "pay_delay" and "paid" in dropped)
    ]  # fmt: skip
    derived = [name for name in possible if draw(st.booleans())]
    grouped = [role for role in OF_CODES.values() if draw(st.booleans())]
    qi = dict.fromkeys(derived, "suppress")
    for name, role in OF_CODES.items():
        if name not in dropped:
            fine = ["suppress", *(("icd9", "icd10", role) if role == "diagnosis" and role not in grouped else ())]
            qi[name] = draw(st.sampled_from(fine))
    if "los" not in dropped:
        qi["los"] = "suppress"
    if not qi:
        derived, qi = ["year"], {"year": "suppress"}
    birth = draw(st.sampled_from(["birth-date", "birth-year", "drop"]))
    has_stay = "los" not in dropped or "length_of_stay" in derived
    own = [
        name for name, can in (("age", birth != "drop"), ("days_in_hospital", has_stay)) if can and draw(st.booleans())
    ]
    tables = {role: f"{role}.csv" for role in OF_CODES.values() if draw(st.booleans())}
    numbers = ["note", *derived, *(["los"] if "los" not in dropped else []), *(["age"] if "age" in own else [])]
    top = st.fixed_dictionaries(
        {"column": st.sampled_from(numbers), "quantile": st.floats(0.01, 0.99), "exclude_zero": st.booleans()}
    )
    exclusions = (
        {"rules": draw(st.lists(st.sampled_from(exclusion_rules()), unique=True))} if draw(st.booleans()) else {}
    )
    if draw(st.booleans()):
        exclusions["file"] = "exclusions.csv"
    switches = ("newborns", "letter_procedures", "revenue_codes", "whole_patient")
    content = {
        "patients": {
            "roles": {"mrn": "id", "born": birth, "sex": "sex"},
            "qi": {"sex": "suppress"} | dict.fromkeys(own, "suppress"),
            "derived": own,
            "without_claims": draw(st.sampled_from(["keep", "drop"])),
        },
        "claims": {"roles": roles, "qi": qi, "derived": derived},
        "exclusions": exclusions,
        "removals": {name: draw(st.booleans()) for name in switches},
        "grouping": {"columns": grouped, "tables": tables},
        "top_coding": draw(st.lists(top, max_size=3)),
        "ids": {
            "patients": draw(st.sampled_from(["number", "hmac:key"])),
            "provider": draw(st.sampled_from(["number", "drop", "per-table"])),
            "vendor": draw(st.sampled_from(["number", "drop"])),
        },
    }
    return plan_of(content, "plan.toml", folder), birth


@st.composite
def claims(draw, folder):
    """Patients and claims, as read, under a plan for them."""
    plan, birth = draw(plans(folder))
    births = YEARS if birth == "birth-year" else BIRTHS
    people = [(f"P{number}", draw(births), draw(st.sampled_from("FM"))) for number in range(draw(st.integers(1, 6)))]
    event = st.tuples(st.sampled_from([who for who, *_ in people]), *OF_CLAIMS.values())
    events = draw(st.lists(event, max_size=14))
    cells = [tuple(cell or None for cell in row) for row in events]
    sources = (source(people, ["mrn", "born", "sex"], "p.csv"), source(cells, ["mrn", *OF_CLAIMS], "c.csv"))
    return claims_of(*sources, plan)


def with_files(folder):
    """Write the tables of one's own, and a key."""
    for name, text in OWN.items():
        (folder / f"{name}.csv").write_text(text)
    (folder / "key").write_bytes(b"k" * 70)
    (folder / "key").chmod(0o600)
    return folder


FOLDER = tempfile.TemporaryDirectory()
FILES = with_files(Path(FOLDER.name))


def shown(data):
    """Both files as text, with the types of what is derived."""
    frames = [data.of(table) for table in TABLES]
    kinds = [{name: kind for name, kind in frame.schema.items() if kind.is_integer()} for frame in frames]
    return [pl.DataFrame([as_text(column) for column in frame]).to_dict(as_series=False) for frame in frames], kinds


@examples(120)
@given(claims(FILES))
def test_the_verifier_does_the_steps_as_the_method(data):
    """What is left, what is excluded and each line are the same, in the same order and with the same numbers."""
    try:
        done = prepare(data)
    except InputError:
        return
    again = repeat_steps(data)

    assert again.lines == done.lines
    assert shown(again.claims) == shown(done.claims)
    assert shown(again.excluded) == shown(done.excluded)


def test_four_patients_by_hand():
    """What the paper says of four patients: the 28th day after birth, an excluded diagnosis, stays, groups, no code."""
    text = PLAN + '[[top_coding]]\ncolumn = "pay_delay"\nquantile = 0.5\nexclude_zero = true\n'
    again = repeat_steps(claims_of_plan(text=text))
    lines = {line.step: line for line in again.lines}
    (left, events), excluded = (again.claims.of(table) for table in TABLES), again.excluded

    assert (lines["2 high-risk patients"].total, lines["2 high-risk patients"].counts) == (1, {"hiv": 1})
    assert lines["3 claims removed"].counts == {
        "newborns": 1, "procedure codes with a letter": 1, "revenue codes of three digits": 1
    }  # fmt: skip
    assert lines["3 patients without claims"].total == 1
    assert left.select(PATIENT, "age", "days_in_hospital").rows() == [(0, 57, "3"), (2, 0, "15+")]
    assert events["days_since_first_claim"].to_list() == [29, 0, 0]
    assert events["pos"].to_list() == ["OFFICE", "INPATIENT HOSPITAL", "HOME"]
    assert events["spec"].to_list() == ["INTERNAL", "OTHER", "PEDIATRIC"]
    assert events["pay_delay"].to_list() == ["10+", "0", "0"]
    assert excluded.patients.select(PATIENT, "age", "days_in_hospital").rows() == [(1, 28, "1")]


@pytest.mark.parametrize(("stay", "days"), [("14", "14"), ("15", "15+")])
def test_fifteen_days_are_one_value(stay, days):
    """Days in hospital from 15 on are one value, and 14 are not."""
    text = PLAN.replace('note = "keep"', 'note = "length-of-stay"').replace(
        "[claims.qi]", '[claims.qi]\nnote = "suppress"'
    )
    again = repeat_steps(claims_of_plan(events=[(*CLAIMS[0][:-1], stay)], text=text))

    assert again.claims.patients["days_in_hospital"].to_list() == [days]


@pytest.mark.parametrize(
    ("column", "cell", "rules"),
    [
        ("dx", "042", {"hiv"}),
        ("dx", "42", {"hiv"}),  # without the zero that a spreadsheet took away
        ("dx", "429", set()),
        ("dx", "B20", {"hiv"}),
        ("dx", "T36.0X2A", {"abuse"}),  # the sixth character says so
        ("dx", "T36.0X1A", set()),
        ("dx", "E95", {"abuse"}),  # no code of either coding
        ("all_dx", "401.9;f10.20", {"substance-abuse"}),
        ("cpt", "59840", {"abortion"}),
        ("pos", "055 - Residential", {"place-of-service"}),
        ("pos", "Residential Substance Abuse Treatment Facility", {"place-of-service"}),
        ("pos", "Office", set()),
    ],
)
def test_one_code_excludes(column, cell, rules):
    """A code excludes its patient by the rules that name it, however it is written."""
    row = dict(zip(OF_CLAIMS_BY_HAND, CLAIMS[0], strict=True)) | {column: cell}
    data = claims_of_plan(events=[tuple(row.values()), CLAIMS[3]])

    assert dict(repeat_steps(data).lines[1].counts) == dict.fromkeys(rules, 1) == dict(prepare(data).lines[1].counts)


def test_what_is_no_date_is_refused_again():
    """An original whose dates cannot be read is refused without being shown, though a release says that it was made."""
    data = claims_of_plan(events=[("P1", "SECRET", *CLAIMS[0][2:]), *CLAIMS[1:]])

    with pytest.raises(InputError, match="Column 'date' of claims: 1 values are not dates") as refusal:
        repeat_steps(data)
    assert "SECRET" not in refusal.value.message
