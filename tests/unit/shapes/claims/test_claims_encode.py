"""From frames to numbers: values, levels, losses, and an order that is that of the content."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.claims_data import CLAIMS, PATIENTS, PLAN, claims
from tests.made.encoded_claims import text_at
from tests.made.examples import examples

from cloister.errors import InputError
from cloister.shapes.claims.format import data as claims_data
from cloister.shapes.claims.format.data import numbers_by_content
from cloister.shapes.claims.format.plan import AdversaryPlan
from cloister.shapes.claims.format.released_columns import kept_columns
from cloister.shapes.claims.method.adversary_draws import AdversaryPower
from cloister.shapes.claims.method.choice import truncation
from cloister.shapes.claims.method.encode import encode
from cloister.shapes.claims.method.prepare import add_derived_columns, grouping, leave_out_without_claims, prepare

VALUES = st.sampled_from(["410.01", "786.5", "786.2", "V10", None])
EVENTS = st.tuples(
    st.integers(0, 3), VALUES, st.sampled_from(["Office", "Home", None]), st.sampled_from(["D1", "D2"]), st.just("x")
)


def by_plan(events, patients=PATIENTS, text=PLAN):
    """Encoded claims with a diagnosis and a place; all else is the same in each."""
    rows = [
        (f"P{who + 1}", "2008-03-01", "2008-03-02", "2008-03-02", dx, None, "99213", place, "Surgery", doctor, note)
        for who, dx, place, doctor, note in events
    ]
    return encode(
        grouping(add_derived_columns(leave_out_without_claims(claims(patients, rows, text)).claims).claims).claims
    )


def texts(encoding):
    """What the encoded rows hold: for each patient its values and those of its claims."""
    numbers = encoding.claims
    people = list(zip(*(text_at(column, 0) for column in numbers.patients)))
    rows = list(zip(*(text_at(column, 0) for column in numbers.claims)))
    return [(who, rows[a:b]) for who, a, b in zip(people, numbers.offsets, numbers.offsets[1:])]


def test_numbers_stand_for_the_texts():
    """Rows hold what the frames hold, with rows of the frames beside them."""
    data = prepare(claims()).claims
    encoding = encode(data)
    numbers = encoding.claims

    assert [column.name for column in numbers.columns] == [*data.plan.patients.qi, *data.plan.claims.qi]
    assert text_at(numbers.claims[0], 0) == data.claims["dx"].gather(encoding.claim_rows).to_list()
    assert text_at(numbers.patients[0], 0) == data.patients["sex"].gather(encoding.patient_rows).to_list()
    assert [*kept_columns(data.plan, "claims")] == ["doctor", "note"]
    assert kept_columns(data.plan, "patients") == {}
    assert numbers.years is None


@pytest.mark.parametrize(("name", "lost"), [("entropy", 1 / np.log2(3)), ("iyengar", 0.5)])
def test_levels_and_losses_are_those_of_the_hierarchy(name, lost):
    """Level 0 loses nothing and the root all; between, a label by the information or by its values."""
    text = f'{PLAN}[search]\nloss = "{name}"\n'
    column = by_plan(
        text=text, events=[(0, "786.5", None, "D1", "x"), (0, "786.2", None, "D1", "x"), (1, "466", "Home", "D1", "x")]
    )
    diagnosis = column.claims.claims[0]

    assert diagnosis.labels[0] == ("466", "786.2", "786.5")
    assert diagnosis.labels[2] == ("RESPR4", "ROAMI")
    assert diagnosis.levels.tolist() == [[0, 1, 2], [0, 1, 2], [0, 0, 1], [0, 0, 1], [0, 0, 0]]
    assert np.allclose(diagnosis.losses, [[0, 0, 0], [0, 0, 0], [lost, lost, 0], [lost, lost, 0], [1, 1, 1]])


@examples(20)
@given(st.lists(EVENTS, min_size=4, max_size=16), st.randoms(use_true_random=False))
def test_the_order_of_the_input_never_matters(events, chance):
    """Patients and claims in any order of the input give the same numbers."""
    shuffled, people = events[:], [*PATIENTS]
    chance.shuffle(shuffled)
    chance.shuffle(people)
    first, second = by_plan(events), by_plan(shuffled, people)

    assert texts(first) == texts(second)
    for left, right in zip(first.claims.columns, second.claims.columns):
        assert np.array_equal(left.values, right.values)
    assert np.array_equal(truncation(first.claims).ranks, truncation(second.claims).ranks)


@examples(20)
@given(st.lists(EVENTS, min_size=4, max_size=16))
def test_rows_are_sorted_by_content(events):
    """Patients are in the order of their numbers and then of their claims'; claims of a patient likewise."""
    numbers = by_plan(events).claims
    rows = list(zip(*(column.values.tolist() for column in numbers.claims)))
    people = list(zip(*(column.values.tolist() for column in numbers.patients)))
    whole = [(who, rows[a:b]) for who, a, b in zip(people, numbers.offsets, numbers.offsets[1:])]

    assert whole == sorted((who, sorted(own)) for who, own in whole)


def test_pseudonyms_take_no_part_in_the_order():
    """Ids of providers do not order the rows: numbered by it they would carry their order."""
    events = [(0, "410.01", "Home", doctor, "x") for doctor in ("D1", "D2")]
    renamed = [(0, "410.01", "Home", doctor, "x") for doctor in ("D2", "D1")]

    assert by_plan(events).claim_rows.tolist() == by_plan(renamed).claim_rows.tolist()


@pytest.mark.parametrize("most", [1, 50, 1 << 62])
@given(
    st.lists(
        st.tuples(st.sampled_from([None, " x", "a", "é", "z", "Z", "10", "9"]), st.integers(-1, 3), st.none()),
        max_size=12,
    )
)
def test_rows_are_numbered_by_their_content(most, rows):
    """From 1, missing first and texts by their bytes, as plain sorting has it, however large numbers may be."""
    frame = pl.DataFrame(rows, {"text": pl.String, "number": pl.Int64, "empty": pl.String}, orient="row")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(claims_data, "MOST_CONTENTS", most)
        found = numbers_by_content(frame)
    keys = [(text is not None, (text or "").encode(), number) for text, number, _ in rows]

    assert found.tolist() == [sorted(set(keys)).index(key) + 1 for key in keys]


def test_bounds_of_levels_are_handed_on():
    """A node may have the levels that the plan allows; more than there are is refused."""
    bounded = PLAN.replace('dx = "diagnosis"\ncpt', 'dx = "diagnosis@2-3"\ncpt')
    found = by_plan([(0, "410.01", "Home", "D1", "x")], text=bounded)

    assert [low for low, _ in found.bounds] == [0, 0, 0, 2, 0, 0, 0, 0, 0, 0]
    assert [high for _, high in found.bounds] == [1, 4, 3, 3, 3, 2, 2, 3, 4, 3]
    with pytest.raises(InputError, match="to have levels up to 9, but the highest of its hierarchy is 4"):
        by_plan([(0, "410.01", "Home", "D1", "x")], text=bounded.replace("@2-3", "@9"))


def test_years_are_there_where_truncation_needs_them():
    """Truncation per patient and year gets the year of each claim."""
    text = f'{PLAN}\n[truncation]\nper = "patient-year"\n'

    assert by_plan([(0, "410.01", "Home", "D1", "x")], text=text).claims.years.tolist() == [2008]


def test_values_outside_a_hierarchy_are_refused():
    """A hierarchy that does not hold a value says how many, not which."""
    text = PLAN.replace('pos = "place"\nspec = "specialty"\nlength', 'pos = "interval:5"\nspec = "specialty"\nlength')
    with pytest.raises(InputError, match="column 'pos' are not whole or decimal numbers") as refusal:
        encode(grouping(prepare(claims(text=text)).claims).claims)
    assert "OFFICE" not in refusal.value.message


def test_nobody_left_is_said():
    """Where every patient was left out, that is said."""
    with pytest.raises(InputError, match="No patients remain"):
        encode(prepare(claims(events=[CLAIMS[2]], patients=PATIENTS[:2])).claims)


def test_patients_without_claims_have_none():
    """Where they are kept, their run of claims is empty."""
    kept = PLAN.replace("[patients]\n", '[patients]\nwithout_claims = "keep"\n')
    numbers = by_plan([(0, "410.01", "Home", "D1", "x")], text=kept).claims

    assert sorted(np.diff(numbers.offsets).tolist()) == [0, 0, 0, 1]


def test_no_claims_at_all():
    """Where all claims were removed and patients are kept, there are numbers of no claims, and no power."""
    kept = PLAN.replace("[patients]\n", '[patients]\nwithout_claims = "keep"\n')
    gone = [(*row[:6], "450", *row[7:]) for row in CLAIMS]
    numbers = encode(prepare(claims(events=gone, text=kept)).claims).claims

    assert (numbers.n_patients, numbers.n_claims) == (3, 0)
    assert truncation(numbers).mark_kept(95).size == 0
    assert AdversaryPower(numbers, AdversaryPlan()).at().tolist() == [[0] * 7] * 3
