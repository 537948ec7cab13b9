"""Predicates read off a release: as many match exactly one patient as an enumeration counts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister.attacks.label_matching import Labelled, RecordPredicates, group_rows

VALUES, LABELS, RECORDED = 4, 3, 3


@st.composite
def releases(draw):
    """Labels that may stand for each value by column, the labels and recorded values of records, and of an original.

    Last comes the patient of each record of the original.
    """
    n_columns = draw(st.integers(1, 3))
    label, value, recorded = (st.integers(0, most - 1) for most in (LABELS, VALUES, RECORDED))
    fits = [draw(st.lists(st.sets(label), min_size=VALUES, max_size=VALUES)) for _ in range(n_columns)]
    records = draw(st.lists(st.tuples(st.tuples(*[label] * n_columns), recorded), max_size=12))
    originals = draw(st.lists(st.tuples(st.tuples(*[value] * n_columns), recorded), min_size=1, max_size=12))
    patients = draw(st.lists(st.integers(0, 3), min_size=len(originals), max_size=len(originals)))
    return fits, records, originals, draw(st.sampled_from([patients, [*range(len(originals))]]))


def columns_of(rows, n_columns):
    """The columns of rows as arrays."""
    return tuple(np.array([row[place] for row in rows], dtype=np.int64) for place in range(n_columns))


@examples(150)
@given(made=releases())
def test_as_many_predicates_match_one_patient_as_by_enumeration(made):
    """Every distinct pair of labels and recorded value is tried on every record of every patient."""
    fits, records, patients, whose = made
    labels, sizes, groups = group_rows(columns_of([row for row, _ in records], len(fits)), len(records))
    values = columns_of([row for row, _ in patients], len(fits))
    own = np.full(len(patients), -1)
    released = Labelled(labels, sizes, values, tuple([tuple(sorted(one)) for one in some] for some in fits), own)
    (recorded,), (originals,) = (columns_of([[number] for _, number in rows], 1) for rows in (records, patients))

    found = RecordPredicates(released, groups, recorded, originals, np.array(whose)).single_out(1_000, seed=0)

    def matches(predicate, patient):
        named = zip(predicate[0], patient[0], fits, strict=True)
        return predicate[1] == patient[1] and all(label in some[value] for label, value, some in named)

    distinct = set(records)
    assert found.predicates == found.tested == len(distinct)
    matched = [{who for who, row in zip(whose, patients, strict=True) if matches(one, row)} for one in distinct]
    assert found.isolating == sum(len(one) == 1 for one in matched)
