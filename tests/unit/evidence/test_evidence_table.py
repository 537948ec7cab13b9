"""What columns are taken for: content decides before names, labels are names, and nothing unknown gets a role."""

import datetime
import random
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.evidence.hierarchies import propose_hierarchy
from cloister.evidence.table import guess_table

N = 240
QUASI, DROP, UNDECIDED, SENSITIVE, PATIENT = "quasi-identifier", "drop", "undecided", "sensitive", "patient"


def draws(*values, seed=1, n=N):
    """A column of some values, in a random order."""
    return random.Random(seed).choices(values, k=n)


def whole(low, high, seed=2, n=N):
    """A column of whole numbers."""
    draw = random.Random(seed)
    return [draw.randint(low, high) for _ in range(n)]


def days(form="%Y-%m-%d", seed=4, n=N, first=datetime.date(2018, 1, 1)):
    """A column of days of three years."""
    draw = random.Random(seed)
    return [(first + datetime.timedelta(draw.randrange(1000))).strftime(form) for _ in range(n)]


def guess(columns, labels=None):
    """The roles and hierarchies of columns of text."""
    frame = pl.DataFrame({name: [None if v is None else str(v) for v in values] for name, values in columns.items()})
    return guess_table(frame, "file.csv", labels)


def role(name, values, **others):
    """The role and the hierarchy of one column next to an age and a sex, or next to others."""
    beside = others or {"age": whole(18, 80), "sex": draws("F", "M", seed=9)}
    found = {one.column: one for one in guess({**beside, name: values}).columns}
    return found[name].role, found[name].hierarchy


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("death", draws(0, 1)),
        ("visits", draws(0, 1, 2, 3, 7)),
        ("died", draws("yes", "no")),
        ("email", draws(0, 1)),
        ("city", draws("yes", "no")),
        ("admission", draws(0, 1, 2)),
    ],
)
def test_flags_and_counts_are_no_dates_and_no_identifiers(name, values):
    """Content that cannot be an identifier clears the name: the column is undecided, not dropped."""
    assert role(name, values) == (UNDECIDED, None)


@pytest.mark.parametrize(
    ("name", "values", "hierarchy"),
    [
        ("età", whole(18, 88), "interval:5,10,20/top=90"),
        ("wiek", whole(18, 88), "interval:5,10,20/top=90"),
        ("年龄", whole(18, 88), "interval:5,10,20/top=90"),
        ("age", [*whole(18, 88, n=N - 20), *["> 89"] * 20], "interval:5,10,20/top=90"),
        ("age", [*whole(18, 79, n=N - 20), *["80+"] * 20], "interval:5,10,20/top=80"),
        ("age", [*whole(18, 88, n=N - 20), *["forty"] * 20], "interval:5,10,20/top=90"),
        ("ageband", draws("0-17", "18-24", "25-34", "80+"), "suppress"),
        ("agegroup_5y", draws("20-24", "25-29", "30-34"), "suppress"),
        ("_AGE_G", draws(1, 2, 3, 4, 5, 6), "suppress"),
        ("band", draws("[20-30)", "[30-40)", "[40-50)", "[50-60)"), "suppress"),
    ],
)
def test_ages_in_any_language_and_form(name, values, hierarchy):
    """Numbers, top groups, words among numbers, bands and codes of ages are quasi-identifiers."""
    assert role(name, values, sex=draws("F", "M")) == (QUASI, hierarchy)


def test_whole_numbers_beside_a_sex_are_ages():
    """Where nothing is called an age, whole numbers up to 110 are ages; not next to an age, and not if measured."""
    sex = {"sex": draws("F", "M")}

    assert role("years_lived", whole(18, 95), **sex) == (QUASI, "interval:5,10,20/top=90")
    assert role("years_lived", whole(18, 95)) == (UNDECIDED, None)
    assert role("heart_rate", whole(45, 110), **sex) == (UNDECIDED, None)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("male", draws(0, 1)),
        ("female", draws(0, 1)),
        ("kön", draws(1, 2)),
        ("sexo", draws("H", "M")),
        ("hispanic", draws(0, 1)),
        ("ethrace2a", draws(1, 2, 3)),
        ("race1", draws("a", "b", "c")),
        ("professione", draws("medico", "operaio", "altro")),
    ],
)
def test_sex_ethnicity_and_occupation_are_quasi_identifiers(name, values):
    """They are known by their names, in several languages."""
    assert role(name, values, age=whole(18, 80)) == (QUASI, "suppress")


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("sadmdte", whole(11_000, 12_500), "number of a day"),
        ("yrdth", draws(1990, 1991, 1992, 1999), "years"),
        ("modth", whole(1, 12), "part of a date"),
        ("dadth", whole(1, 31), "part of a date"),
        ("employer", draws("Acme", "Mills"), "about people"),
        ("next_of_kin", draws("Ann", "Bo"), "about people"),
        ("where", draws("SW1A 1AA", "M1 1AE", "B33 8TH"), "postcodes"),
        ("area", draws("DE212", "FR101", "ITC4C"), "regions"),
        ("gp_practice", draws("A81001", "A81002"), "about people"),
        ("_FINALWT", [f"{n}.25" for n in whole(1, 900)], "survey weight"),
    ],
)
def test_suspicions_say_what_an_undecided_column_looks_like(name, values, words):
    """Dates in numbers, places, people and weights are undecided, with a hint and the records that they single out."""
    found = {one.column: one for one in guess({"age": whole(18, 80), "sex": draws("F", "M"), name: values}).columns}

    assert found[name].role == UNDECIDED
    assert words in found[name].why
    assert re.search(r"; singles out (none|\d+ (more )?of \d+ records)$", found[name].why)


@pytest.mark.parametrize("name", ["community", "community_id", "municipality", "commune", "Gemeinde", "lsoa"])
def test_places_by_name_are_dropped(name):
    """Places smaller than a state are never released without a decision."""
    assert role(name, draws(*range(101, 140))) == (DROP, None)


def test_dates_cut_short_are_dates():
    """Full dates, months and years in one column are dates, with a hierarchy that takes them all."""
    values = [day[: (10, 7, 4)[n % 3]] for n, day in enumerate(days())]
    assert role("onset", values) == (QUASI, "date:month,quarter,year")


def test_days_in_one_number_are_dates():
    """20200105 is read by a format that the job states."""
    found = guess({"age": whole(18, 80), "sex": draws("F", "M"), "seen": days("%Y%m%d")})

    assert {one.column: one.role for one in found.columns}["seen"] == QUASI
    assert found.date_format == ("seen=yyyymmdd",)


def test_births_of_people_over_89_are_one_group():
    """A year or a date of birth gets a bound where somebody is older than 89."""
    first = datetime.date.today().year - 89
    years = {"birth_year": [first - 5, *whole(1950, 2000, n=N - 1)]}
    assert role("sex", draws("F", "M"), **years)[0] == QUASI
    assert role("birth_year", years["birth_year"]) == (QUASI, f"interval:5,10,20/bottom={first}")
    assert role("dob", ["1901-02-03", *days(n=N - 1)]) == (QUASI, f"date:year,decade/bottom={first}")


def test_the_person_is_the_column_that_stays_determine():
    """A stay has one person, a person several stays: persons are counted."""
    draw = random.Random(3)
    sexes = {person: draw.choice("FM") for person in range(80)}
    persons = sorted(draw.randrange(80) for _ in range(N))
    stays = [5000 + place // 2 * 2 if place % 4 else 5000 + place for place in range(N)]
    of_stay = dict(zip(stays, persons, strict=True))
    persons = [of_stay[stay] for stay in stays]
    columns = {
        "patient_id": [f"S{stay}" for stay in stays],
        "uniquepid": [f"{person:03}-77" for person in persons],
        "sex": [sexes[person] for person in persons],
        "age": [20 + person % 60 for person in persons],
    }
    found = {one.column: one.role for one in guess(columns).columns}

    assert found == {"patient_id": DROP, "uniquepid": PATIENT, "sex": QUASI, "age": QUASI}


@pytest.mark.parametrize("name", ["subject_id", "Subject", "ID", "patno"])
def test_a_few_patients_with_many_records_each_are_counted(name):
    """Twelve patients seen twenty times are patients, not kinds of people: k would count their records."""
    people = list(zip(whole(18, 80, n=12), draws("F", "M", n=12), strict=True))
    columns = {name: [one for one in range(1, 13) for _ in range(20)]}
    columns |= {
        "age": [age for age, _ in people for _ in range(20)],
        "sex": [sex for _, sex in people for _ in range(20)],
    }

    assert guess(columns).columns[0].role == PATIENT


@pytest.mark.parametrize("name", ["seqno", "uid", "case_number", "pupilNR", "child"])
def test_a_number_of_each_record_is_dropped(name):
    """A whole number that each record has for itself is dropped if its name says that it numbers; no amount is."""
    values = random.Random(3).sample(range(10_000, 90_000), N)

    assert role(name, values)[0] == DROP
    assert role("amount_paid", values)[0] == UNDECIDED


@pytest.mark.parametrize(("name", "values"), [("birth_mo", whole(1, 12)), ("birth_d", whole(1, 31))])
def test_days_and_months_of_birth_are_dropped(name, values):
    """With a year of birth they make a date."""
    assert role(name, values)[0] == DROP


def test_degrees_called_long_are_longitudes():
    """They are dropped as `lat` is; a length in whole numbers is undecided."""
    assert role("long", [f"{170 + place / 7:.2f}" for place in range(N)])[0] == DROP
    assert role("long", whole(1, 400))[0] == UNDECIDED


def test_a_number_within_a_household_is_no_patient():
    """Persons numbered from 1 in each household are not taken for ids that repeat."""
    sizes = [1 + place % 4 for place in range(100)]
    households = [house for house, size in enumerate(sizes) for _ in range(size)]
    persons = [number for size in sizes for number in range(1, size + 1)]
    n = len(persons)
    found = guess({"household": households, "person": persons, "age": whole(0, 90, n=n), "sex": draws("F", "M", n=n)})

    assert {one.column: one.role for one in found.columns}["person"] == UNDECIDED


def test_numbers_that_stand_for_missing_are_proposed():
    """-99 and 999 far from all other ages are missing; the same number in the range of a column is not."""
    ages = [*whole(18, 88, n=N - 6), -99, -99, -99, 999, 999, 999]
    assert guess({"age": ages, "sex": draws("F", "M")}).missing == ("-99", "999")
    assert guess({"age": ages, "sex": draws("F", "M"), "cost": whole(0, 2000)}).missing[0] == "-99"
    assert "999" not in guess({"age": ages, "sex": draws("F", "M"), "cost": [999, *whole(0, 2000, n=N - 1)]}).missing


def test_labels_are_names():
    """The label of SPSS says what v012 is; a weight of the sample is no weight of a body."""
    columns = {"v012": whole(15, 49), "b4": draws("male", "female"), "v005": [f"{n}.5" for n in whole(1, 400)]}
    labels = {"v012": "current age", "b4": "sex of child", "v005": "sample weight"}
    found = {one.column: one.role for one in guess(columns, labels).columns}

    assert found == {"v012": QUASI, "b4": QUASI, "v005": UNDECIDED}


@pytest.mark.parametrize(
    ("name", "values", "hierarchy"),
    [
        ("bmi", [f"{17 + n % 25}.{n % 10}" for n in range(N - 1)] + ["900"], "interval:1.0,5.0,10.0"),
        ("height", [f"1.{50 + n % 45}" for n in range(N)], "interval:0.02,0.10,0.20"),
        ("income", [10_000 + 1_000 * (n % 40) for n in range(N)], "interval:1000,5000,10000"),
    ],
)
def test_widths_follow_from_the_middle_of_the_column(name, values, hierarchy):
    """One outlier does not make the intervals wide, and small numbers get small widths."""
    assert role(name, values) == (QUASI, hierarchy)


def test_measurements_are_undecided_however_many():
    """Numbers that nearly each record has alone are measurements, undecided, and cost no quadratic time."""
    draw = random.Random(5)
    genes = {f"ENSG{place:08}": [round(draw.gauss(5, 2), 3) for _ in range(N)] for place in range(60)}
    found = guess({"age": whole(18, 80), "sex": draws("F", "M"), **genes})

    assert {one.role for one in found.columns if one.column.startswith("ENSG")} == {UNDECIDED}
    assert {one.why.partition(";")[0] for one in found.columns if one.column.startswith("ENSG")} == {"measurements"}


def test_nothing_known_leaves_all_undecided():
    """A table without any evidence is guessed all the same."""
    found = guess({"pain": draws(0, 1, 2, 3), "acuity": draws(1, 2, 3), "a": draws("x", "y")})
    assert {one.role for one in found.columns} == {UNDECIDED}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (days(), "date:month,quarter,year"),
        ([day[:7] for day in days()], "date:month,quarter,year"),
        (whole(100, 140), "interval:1,5,10"),
        ([f"A{n:03}" for n in whole(0, 300)], "prefix:4"),
        (draws("a", "b"), "suppress"),
        ([*whole(100, 140, n=N - 1), "?"], "suppress"),
        ([None] * N, "suppress"),
    ],
)
def test_hierarchies_by_content_cover_every_value(values, words):
    """A quasi-identifier that was decided in bulk gets a hierarchy that takes all of its values."""
    assert propose_hierarchy(pl.Series("c", [None if value is None else str(value) for value in values])) == words


cells = (
    st.none()
    | st.text(max_size=8)
    | st.integers(-(10**20), 10**20).map(str)
    | st.dates().map(str)
    | st.floats().map(str)
)


@examples(150)
@given(
    st.lists(
        st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12), cells),
        unique_by=lambda one: one[0],
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 6),
    st.randoms(),
)
def test_any_names_and_values_are_guessed(columns, n, draw):
    """No name and no value crashes the guess, every column gets a role, and no text holds a value that is unusual."""
    frame = pl.DataFrame(
        {
            name: pl.Series([value if draw.random() < 0.8 else None for _ in range(n)], dtype=pl.String)
            for name, value in columns
        }
    )
    found = guess_table(frame, "file.csv")

    assert [one.column for one in found.columns] == frame.columns
    assert {one.role for one in found.columns} <= {QUASI, DROP, UNDECIDED, SENSITIVE, PATIENT, "id"}


def test_sets_of_codes_come_with_the_settings_that_protect_them():
    """A column of sets of codes, each nearly unique, is dropped with the settings that release it protected."""
    draw = random.Random(5)
    sets = [" ".join(draw.sample(["250.00", "401.1", "401.9", "272.4", "414.01", "428.0"], 3)) for _ in range(N)]
    (found,) = [one for one in guess({"age": whole(18, 80), "codes": sets}).columns if one.column == "codes"]
    assert (found.role, found.sureness) == ("drop", "likely")
    assert 'codes = "codes"' in found.why
    assert "codes_method" in found.why
