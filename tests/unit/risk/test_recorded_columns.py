"""How many records the columns released as recorded make unique."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.unique_records import grown_columns, unique_rows

from cloister.risk.recorded_columns import count_unique_records

LABELS, RECORDED = ["age", "^sex$"], ["value", "len", "*", "d"]
CELLS = st.one_of(st.none(), st.sampled_from(["", "a", "b", "*"]))
ROWS = st.lists(st.fixed_dictionaries(dict.fromkeys(LABELS + RECORDED, CELLS)), max_size=12)


@given(ROWS, st.sets(st.sampled_from(RECORDED)), st.sets(st.sampled_from(LABELS)))
def test_counts_equal_those_of_rows_as_tuples(rows, some, labels):
    """Any released records: unique records and contributors are those that the slow twin counts."""
    recorded, labels = [name for name in RECORDED if name in some], sorted(labels)
    frame = pl.DataFrame(rows, schema=dict.fromkeys(LABELS + RECORDED, pl.String))
    found = count_unique_records(frame, labels, recorded)
    assert (found.records, found.unique) == (len(rows), unique_rows(rows, labels + recorded))
    assert (found.columns, found.contributors) == (len(recorded), grown_columns(rows, labels, recorded))
