"""Columns that undo a protection: what they say of a quasi-identifier, by the definition; texts; ids that repeat."""

import random
from itertools import combinations
from math import comb

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.risk import association
from cloister.risk.association import group_records, order_values, prepare_values, share_explained
from cloister.risk.identifiers import free_texts, repeated_patients


def by_definition(records):
    """Goodman and Kruskal's tau, with the mean difference for numbers: (value, group) records."""

    def apart(one, two):
        return abs(one - two) if isinstance(one, float) else float(one != two)

    def mean(values):
        return sum(apart(*two) for two in combinations(values, 2)) / comb(len(values), 2)

    records = [(value, group) for value, group in records if value is not None and group is not None]
    values = [value for value, _ in records]
    doubt = left = 0.0
    for place, (value, group) in enumerate(records):
        alike = [other for other, of in records if of == group]
        if len(alike) == 1:
            continue
        # Whether names differ is counted record by record, which adds up to the same for a whole group.
        others, is_number = [*values[:place], *values[place + 1 :]], isinstance(value, float)
        doubt += mean(values) if is_number else sum(apart(value, other) for other in others) / len(others)
        left += mean(alike) if is_number else sum(apart(value, other) for other in alike) / (len(alike) - 1)
    return 1 - left / doubt if doubt else 0.0


NUMBER = st.one_of(st.none(), st.integers(0, 6))


@pytest.mark.parametrize("are_numbers", [True, False], ids=["numbers", "names"])
@given(found=st.lists(st.tuples(NUMBER, NUMBER), min_size=4, max_size=25))
@examples(60)
def test_what_is_explained_is_as_defined(are_numbers, found):
    """The share of the doubt that a column takes away is that of the definition, record by record."""
    kind = float if are_numbers else str
    records = [(None if one is None else kind(one), None if group is None else str(group)) for one, group in found]
    values, groups = (
        pl.Series([record[place] for record in records], dtype=dtype)
        for place, dtype in enumerate((pl.Float64 if are_numbers else pl.String, pl.String))
    )
    before, association.LEAST_RECORDS = association.LEAST_RECORDS, 1
    try:
        share = share_explained(prepare_values(values), group_records(groups))
    finally:
        association.LEAST_RECORDS = before

    assert share == pytest.approx(by_definition(records))


@pytest.mark.parametrize("value", ["0.1", "36.6", "1e308", "-1e308", "inf"])
def test_equal_values_leave_no_doubt(value, recwarn):
    """Whatever a column with a single value is compared with, nothing is said of it, by rounding least of all."""
    groups = pl.Series([str(place * place % 83) for place in range(333)])

    assert share_explained(prepare_values(order_values(pl.Series([value] * 333))), group_records(groups)) == 0.0
    assert not recwarn.list


def test_the_largest_numbers_are_compared(recwarn):
    """Sums of the largest numbers do not overflow; infinite ones differ from each other."""
    numbers = order_values(pl.Series(["1e308", "-1e308", "9e307", "inf", "-inf"] * 100))
    same, other = (
        pl.Series([str(place % 5) for place in range(500)]),
        pl.Series([str(place // 5) for place in range(500)]),
    )

    assert numbers.n_unique() == 5
    assert share_explained(prepare_values(numbers), group_records(same)) == pytest.approx(1.0)
    assert share_explained(prepare_values(numbers), group_records(other)) < 0.1
    assert not recwarn.list


def test_notes_are_found_and_diagnoses_are_not():
    """Texts of several words that nobody else has are free text; names of diseases and numbers are not."""
    notes = [f"seen on day {day}, complains of pain" for day in range(200)]
    diseases = [f"acute disease {day % 20}" for day in range(200)]
    numbers = [f"{day}.5" for day in range(200)]
    columns = {"note": pl.Series(notes), "disease": pl.Series(diseases), "size": pl.Series(numbers)}

    assert [one.column for one in free_texts(columns)] == ["note"]


def test_ids_that_repeat_are_found_by_name_and_values():
    """A column called after patients with many values, some of them twice; no groups, no ids that are unique."""
    ids = pl.Series([f"p{one // 2}" for one in range(200)])
    unique = pl.Series([f"p{one}" for one in range(200)])
    columns = {"PatientId": ids, "subject_id": unique, "doctor": ids, "patient": pl.Series(["yes", "no"] * 100)}

    assert [one.column for one in repeated_patients(columns | {"ID": ids}, [])] == ["PatientId", "ID"]


@pytest.mark.parametrize(
    ("name", "number", "is_found"),
    [
        ("subject", "{}", True),
        ("Subj", "S{:02}", True),
        ("id", "{}", True),
        ("seqno", "{}", True),
        ("respondent", "R{}", True),
        ("participant_key", "{}", True),
        ("patient", "{letter}", True),
        ("member", "{}", True),
        ("hospital_id", "{}", False),
        ("stratum_code", "{}", False),
        ("ward", "{}", False),
    ],
)
def test_a_few_patients_with_many_records_each_are_found(name, number, is_found):
    """Twelve patients seen forty times: by a name of patients, or one of numbers whose records agree in age and sex."""
    rng = random.Random(5)
    people = [(rng.randint(20, 80), rng.choice("FM")) for _ in range(12)]
    shown = [number.format(one, letter="ABCDEFGHIJKL"[one]) for one in range(12)]
    numbers = pl.Series([one for one in shown for _ in range(40)])
    quasi = [
        pl.Series(called, [str(people[one][place]) for one in range(12) for _ in range(40)])
        for place, called in enumerate(("age", "sex"))
    ]
    sites = pl.Series([str(one) for one in (0, 1, 2) * 160])

    assert [one.column for one in repeated_patients({name: numbers}, quasi)] == [name] * is_found
    assert repeated_patients({"site_no": sites}, quasi) == []
    nothing = [pl.Series("age", [None] * 480, dtype=pl.String), pl.Series("sex", ["F"] * 480)]
    assert repeated_patients({"rater_no": sites}, nothing) == []


def test_ids_that_repeat_are_found_by_what_their_records_share():
    """Whatever a column is called, records of one person agree in age and sex; those of a ZIP code do not."""
    rng, ids = random.Random(5), [one // 2 for one in range(600)]
    ages = [rng.randint(20, 80) for _ in range(300)]
    sexes, counties = [rng.choice("FM") for _ in range(300)], [rng.randint(0, 60) for _ in range(300)]
    zips = [10 * counties[one] + rng.randint(0, 9) for one in ids]
    quasi = [pl.Series([str(values[one]) for one in ids]) for values in (ages, sexes, counties)]
    columns = {
        "Fallnr": pl.Series([f"x{one}" for one in ids]),
        "zip": pl.Series(map(str, zips)),
        "doctor": pl.Series([str(rng.randint(0, 200)) for _ in ids]),
        "born": pl.Series([f"{2020 - ages[one]}-0{1 + one % 9}-01" for one in ids]),
    }
    quasi.append(quasi[0].str.head(1))

    assert [one.column for one in repeated_patients(columns, quasi)] == ["Fallnr"]
    assert [one.column for one in repeated_patients({"n": pl.Series(ids)}, quasi)] == ["n"]
    assert repeated_patients({"n": pl.Series(ids)}, [quasi[0], quasi[3]]) == []
