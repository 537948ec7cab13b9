"""Released records beside their own: SQL finds what a comparison value by value finds, on random ones."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles.record_by_record import broken

from cloister.hierarchy import intervals, suppress
from cloister.io import Tally
from cloister.shapes.table.format.guarantee import Guarantee, OriginalTable, bound_hierarchies
from cloister.shapes.table.verify.record_by_record import find_differing

AGES = ["1", "3", "7", "12", None]
SEXES = ["F", "M", None]
ROW = st.fixed_dictionaries(
    {"age": st.sampled_from(AGES), "sex": st.sampled_from(SEXES), "dx": st.sampled_from(["a", "b", None]),
     "who": st.sampled_from(["p", "q", "r"])}
)  # fmt: skip
HIERARCHIES = {"age": intervals(5, 10), "sex": suppress()}
KINDS = {"labels": "every label", "recorded": "columns that were not", "patients": "records of one number"}


@examples(400)
@given(st.lists(ROW, min_size=1, max_size=6), st.booleans(), st.data())
def test_both_find_the_same(rows, has_numbers, data):
    """Labels at the stated levels or not, values as recorded or not, numbers of patients or others."""
    own = pl.DataFrame(rows, schema=dict.fromkeys(rows[0], pl.String))
    every = pl.DataFrame({"age": AGES, "sex": [*SEXES, None, None]}, schema={"age": pl.String, "sex": pl.String})
    original = OriginalTable(Tally(own), bound_hierarchies(every, HIERARCHIES))
    recoded = {"age": (0, 1), "sex": (0, 1)} if data.draw(st.booleans()) else {}
    guarantee = Guarantee(
        ("age", "sex", "dx", "who"), {"age": 1, "sex": 1}, 1, None, 0, recoded=recoded,
        id="who" if has_numbers else None, patient="who" if has_numbers else None,
    )  # fmt: skip
    released = []
    for row in rows:
        shown = dict(row)
        for column in ("age", "sex"):
            bound = original.hierarchies[column]
            level = data.draw(st.sampled_from(recoded.get(column, (1,)))) if data.draw(st.integers(0, 9)) else 2
            shown[column] = bound.labels[min(level, bound.n_levels - 1)][bound.values.index(row[column])]
        if not data.draw(st.integers(0, 9)):
            shown["dx"] = data.draw(st.sampled_from(["a", "b", None]))
        if has_numbers:
            swapped = data.draw(st.integers(0, 9)) == 0
            shown["who"] = data.draw(st.sampled_from("123")) if swapped else {"p": "1", "q": "2", "r": "3"}[row["who"]]
        released.append(shown)
    frame = pl.DataFrame(released, schema=own.schema)
    expected = broken(frame, own, guarantee, original)
    found = {one.promise for one in find_differing(frame, own, guarantee, original) if one.violations}

    assert len(found) == len(expected)
    assert all(any(promise.startswith(KINDS[kind]) for promise in found) for kind in expected)
