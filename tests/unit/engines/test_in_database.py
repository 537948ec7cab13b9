"""Laws of what makes a protected table in its database."""

from unittest import mock

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from cloister.engines import in_database
from cloister.engines.in_database import Making, Recoded

LABELS = st.sets(st.text(min_size=1, max_size=3), min_size=1, max_size=4)


@given(st.lists(LABELS, min_size=1, max_size=5), st.sampled_from([1, 5, 20, 2**62]), st.data())
def test_codes_are_in_the_order_of_labels(labels, largest, data):
    """Records sorted by the sums of the codes of their runs are sorted by the bytes of their labels."""
    names = [f"q{number}" for number in range(len(labels))]
    columns = [*names]
    columns.insert(data.draw(st.integers(0, len(names))), "other")
    recoded = [Recoded(name, {one: one for one in some}) for name, some in zip(names, labels, strict=True)]
    making = Making("t", tuple(columns), tuple(recoded), pl.DataFrame())
    rows = data.draw(st.lists(st.tuples(*(st.sampled_from(sorted(some)) for some in labels)), max_size=9))

    with mock.patch.object(in_database, "LARGEST", largest):
        runs, codes = in_database._runs(making), in_database._codes(making)

    sums = {row: [sum(codes[c][row[names.index(c)]] for c in run) for run in runs if run != ["other"]] for row in rows}
    assert columns == [column for run in runs for column in run]
    assert sorted({*rows}, key=lambda row: [label.encode() for label in row]) == sorted({*rows}, key=sums.__getitem__)
