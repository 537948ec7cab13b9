"""Laws of the risk of histories: what is found by some events of a patient is what the definitions say."""

from fractions import Fraction

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles import risk as oracle

import cloister as cl
from cloister.api.assess import assess_trajectories
from cloister.risk.assessment import PATIENT, Attackers, cells_of, known_of

VALUES = st.sampled_from(["a", "b", "c", None])
EVENTS = st.lists(st.tuples(VALUES, VALUES), max_size=5)
PEOPLE = st.lists(st.tuples(st.sampled_from(["F", "M", None]), EVENTS), min_size=1, max_size=9).filter(
    lambda people: any(value is not None for _, events in people for event in events for value in event)
)


def frames_of(people):
    """Patients, and events in any order."""
    rows = [(number, *event) for number, (_, events) in enumerate(people) for event in events]
    events = pl.DataFrame(rows[::-1], schema={PATIENT: pl.Int64, "x": pl.String, "y": pl.String}, orient="row")
    return pl.DataFrame({"sex": [sex for sex, _ in people]}, schema={"sex": pl.String}), events


def items_of(people, columns, *, with_patient, repeats):
    """What can be known of each patient who has any such event, as texts."""
    records = []
    for sex, events in people:
        seen, record = {}, set()
        for event in events:
            value = tuple(event["xy".index(column)] for column in columns)
            if any(one is not None for one in value):
                seen[value] = seen.get(value, 0) + 1
                record.add(repr((value, seen[value] if repeats else 0, sex if with_patient else 0)))
        if record:
            records.append(record)
    return records


@examples(150)
@given(
    PEOPLE,
    st.sampled_from([("x",), ("y",), ("x", "y")]),
    st.integers(1, 3),
    st.integers(2, 4),
    st.booleans(),
    st.booleans(),
)
def test_what_is_found_is_what_the_definition_says(people, columns, m, k, with_patient, repeats):
    """Known alone or together, with the patient's own values or without, once or counted: every share is exact."""
    patients, events = frames_of(people)
    records = items_of(people, columns, with_patient=with_patient, repeats=repeats)
    cells = cells_of(patients) if with_patient else None
    found = known_of(events, "x", columns, Attackers([m], k, repeats=repeats), cells)

    if not records:
        assert found is None
        return
    (risk,) = found.knowledge.risks
    shares = (risk.records_unique, risk.records_below_k, risk.chance_unique, risk.chance_below_k)
    expected = [float(Fraction(share)) for share in oracle.knowledge(records, m, k)[:4]]
    assert len(records) == found.knowledge.n_records
    np.testing.assert_allclose([share.value for share in shares], expected, rtol=1e-12)


@examples(60)
@given(st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.integers(30, 32)), min_size=1, max_size=4), min_size=1))
def test_trajectories_are_known_by_pairs_codes_or_ages(records):
    """A pair is known with its age, a code whenever it was, an age whatever it was for."""
    found = assess_trajectories(cl.Trajectories.from_records(records), Attackers([1, 2], 2))

    kinds = {"pairs": lambda pair: pair, "codes": lambda pair: pair[0], "ages": lambda pair: pair[1]}
    assert list(kinds) == [one.what for one in found.known]
    for one in found.known:
        sets = [{repr(kinds[one.what](pair)) for pair in record} for record in records]
        for risk in one.knowledge.risks:
            expected = [float(share) for share in oracle.knowledge(sets, risk.m, 2)[:2]]
            np.testing.assert_allclose([risk.records_unique.value, risk.records_below_k.value], expected, rtol=1e-12)
