"""The groups of the appendix of El Emam et al. (2012), JMIR 14(1):e33, sections 2 and 7 to 10."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import claims_steps as oracle

import cloister
from cloister.shapes.claims.format.group_tables import (
    coarser_groups,
    place_codes,
    shipped_exclusions,
    shipped_groups,
    words,
)

GROUPS = Path(cloister.__file__).parent / "shapes/claims/format/groups"


def rows(name):
    """Rows of a shipped table."""
    with (GROUPS / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("code", "group"),
    [
        ("410.01", "AMI"), ("786.5", "ROAMI"), ("786.50", "ROAMI"), ("786.2", "RESPR4"), ("780.6", "INFEC4"),
        ("780.3", "SEIZURE"), ("780.01", "METAB1"), ("780.79", "MISCL5"), ("291", "ODaBNCA"), ("303.9", "ODaBNCA"),
        ("290", "NEUMENT"), ("003.1", "SEPSIS"), ("003.9", "INFEC4"), ("995.92", "SEPSIS"), ("995.2", "ODaBNCA"),
        ("402.91", "CHF"), ("401.9", "MISCHRT"), ("405.11", "RENAL3"), ("038.9", "SEPSIS"), ("595.0", "UTI"),
        ("600", "RENAL3"), ("745.4", "MISCHRT"), ("741", "MISCL5"), ("728.9", "INFEC4"), ("728.86", "SEPSIS"),
        ("727", "ARTHSPIN"), ("256.4", "GYNEC1"), ("255", "METAB3"), ("250.00", "METAB3"), ("250.13", "METAB1"),
        ("275.1", "METAB3"), ("275.2", "FLAELEC"), ("276", "FLAELEC"), ("429.2", "HEART4"), ("429.1", "CHF"),
        ("422.92", "SEPSIS"), ("430", "CATAST"), ("433.1", "HEART4"), ("436", "STROKE"), ("733.14", "HIPFX"),
        ("733.1", "FXDISLC"), ("733.0", "ARTHSPIN"), ("070.1", "LIVERDZ"), ("011.9", "PNEUM"), ("174.9", "GYNECA"),
        ("V58.1", "CANCRB"), ("V27.0", "PRGNCY"), ("V71.7", "ROAMI"), ("V10", "MSC2a3"), ("E950.1", "MSC2a3"),
        ("998.9", "MISCL1"), ("998.0", "CATAST"), ("680", "MISCL1"), ("790.2", "METAB3"), ("795", "MSC2a3"),
        ("v58.1", "CANCRB"), ("78650", "ROAMI"), ("no code", "MISCL1"),
    ],
)  # fmt: skip
def test_diagnoses_are_in_their_condition_group(code, group):
    """The most specific listed range wins; what is not listed is MSC2a3 (V, E) or MISCL1."""
    assert group == shipped_groups("diagnosis").group(code)


@pytest.mark.parametrize(
    ("code", "group"),
    [
        ("00100", "ANES"), ("01999", "ANES"), ("99201", "EM"), ("99199", "MED"), ("99500", "MED"), ("80048", "PL"),
        ("79999", "RAD"), ("69979", "SAS"), ("69990", "SO"), ("38100", "SO"), ("38999", "SO"), ("39000", "SO"),
        ("60699", "SO"), ("37799", "SCS"), ("40490", "SDS"), ("65091", "SEOA"), ("56405", "SGS"), ("55899", "SGS"),
        ("59400", "SMCD"), ("10040", "SIS"), ("29999", "SMS"), ("61000", "SNS"), ("32999", "SRS"), ("50010", "SUS"),
        ("80047", "OTHER"), ("G0008", "OTHER"),
    ],
)  # fmt: skip
def test_procedures_are_in_their_group(code, group):
    """Procedures fall into the ranges of the appendix, 38100-38999 into SO; what is not listed is OTHER."""
    assert group == shipped_groups("procedure").group(code)


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("11", "OFFICE"), ("Office", "OFFICE"), ("inpatient  HOSPITAL", "INPATIENT HOSPITAL"),
        ("22", "OUTPATIENT HOSPITAL"), ("Outpatient Hospital", "OUTPATIENT HOSPITAL"), ("24", "AMBULANCE"),
        ("23", "URGENT CARE"), ("Emergency Room - Hospital", "URGENT CARE"), ("81", "INDEPENDENT LAB"),
        ("12", "HOME"), ("31", "OTHER"), ("8", "OTHER"), ("somewhere", "OTHER"),
    ],
)  # fmt: skip
def test_places_are_in_their_group(text, group):
    """Places are told by code or name, without case; what is not listed is OTHER."""
    assert group == shipped_groups("place").group(text)


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("Cardiology", "INTERNAL"), ("pediatric cardiology", "PEDIATRIC"), ("FAMILY PRACTICE", "GENERAL PRACTICE"),
        ("Neurosurgery", "SURGERY"), ("Radiation Oncology", "OTHER"), ("reference laboratory", "LABORATORY"),
        ("Allergy and Immunology", "INTERNAL"), ("Urology/Nephrology", "OTHER"), ("astrology", "OTHER"),
    ],
)  # fmt: skip
def test_specialties_are_in_their_group(text, group):
    """Names of specialties are compared without case; what is not listed is OTHER."""
    assert group == shipped_groups("specialty").group(text)


def test_there_are_as_many_groups_as_the_appendix_has():
    """45 condition groups, 17 of procedures and OTHER, 8 places, 12 specialties, each with a level above."""
    found = {
        kind: {row["group"] for row in rows(f"{kind}.csv")} for kind in ("diagnosis", "procedure", "place", "specialty")
    }

    assert {k: len(v) for k, v in found.items()} == {"diagnosis": 45, "procedure": 18, "place": 8, "specialty": 12}
    assert {(kind, group) for kind, groups in found.items() for group in groups} == coarser_groups().keys()


@pytest.mark.parametrize("kind", ["diagnosis", "procedure"])
def test_precedence_says_which_row_wins(kind):
    """The column `precedence` numbers the rows as the rule orders them; every row says where it comes from."""
    table = rows(f"{kind}.csv")
    order = sorted(range(len(table)), key=lambda place: int(table[place]["precedence"]))

    def rule(place):
        first, last = table[place]["first"], table[place]["last"]
        width = int("".join(filter(str.isdigit, last)) or 0) - int("".join(filter(str.isdigit, first)) or 0)
        return -len(first), width, place

    assert sorted(range(len(table)), key=rule) == order
    assert {row["source"] for row in table} <= {"listed", "description", "chapter", "rule"}


@given(st.from_regex(r"[0-9]{3}[0-9]{0,2}|V[0-9]{2}[0-9]{0,2}|E[0-9]{3}[0-9]?", fullmatch=True))
def test_groups_are_what_the_rule_says(code):
    """Any code is in the group that the rule gives it, worked out row by row."""
    table = [(row["group"], row["first"], row["last"]) for row in rows("diagnosis.csv")]

    assert oracle.group_of(table, code) == shipped_groups("diagnosis").group(code)


@pytest.mark.parametrize(
    ("kind", "code", "rule"),
    [
        ("diagnosis", "042", "hiv"), ("diagnosis", "04289", "hiv"), ("diagnosis", "634", "abortive-outcome"),
        ("diagnosis", "99582", "abuse"), ("diagnosis", "E968", "abuse"), ("diagnosis", "V154", "abuse"),
        ("diagnosis", "3051", "substance-abuse"), ("diagnosis", "3029", "psychosexual"),
        ("diagnosis", "318", "intellectual-disability"), ("diagnosis", "V501", "plastic-surgery"),
        ("diagnosis", "V51", "plastic-surgery"), ("procedure", "55970", "intersex-surgery"),
        ("procedure", "59851", "abortion"), ("procedure", "897", "substance-abuse"),
        ("place", "55", "place-of-service"),
        ("diagnosis", "9958", None), ("diagnosis", "V502", None), ("diagnosis", "045", None),
        ("procedure", "59899", None), ("procedure", "59853", None), ("place", "53", None),
    ],
)  # fmt: skip
def test_the_exclusion_list_names_what_the_appendix_names(kind, code, rule):
    """Each code of section 2 is named by its rule, and its neighbours by none."""
    assert ([rule] if rule else []) == [
        found.range.name for found in shipped_exclusions() if found.kind == kind and found.range.holds(code)
    ]


def test_excluded_places_are_known_by_name():
    """Residential and non-residential substance abuse facilities have codes 55 and 57, however they are written."""
    assert place_codes()[words("Residential Substance Abuse Treatment Facility")] == "55"
    assert place_codes()[words("Non-Residential Substance Abuse Treatment Facility")] == "57"
