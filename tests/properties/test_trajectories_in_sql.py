"""Laws of the promises of trajectories in SQL: they are broken just where they are by their definitions."""

from dataclasses import replace

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles.verified_trajectories import broken

from cloister.shapes.trajectories.format.data import Diversity, WrittenTrajectories
from cloister.shapes.trajectories.verify.statements import ExpectedGuarantee
from cloister.shapes.trajectories.verify.verify import verify

CELLS = st.sampled_from(["*", "401", "401.1", "é", None])
PAIRS = st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=3)
PATIENTS = st.lists(st.tuples(PAIRS, st.integers(1, 3), st.sampled_from(["a", "b", None])), min_size=1, max_size=4)
GUARANTEES = st.builds(
    ExpectedGuarantee,
    st.integers(1, 3),
    st.booleans(),
    st.none() | st.builds(lambda least, column: Diversity(least, column=column), st.integers(2, 3), st.just("dna")),
)


@given(PATIENTS, GUARANTEES, st.booleans(), st.data())
@examples(400)
def test_both_find_the_same(patients, guarantee, has_attributes, data):
    """Random trajectories, some of them sorted, complete and numbered as a release is: SQL breaks where they break."""
    width = 3 if data.draw(st.booleans()) else 2
    guarantee = replace(guarantee, has_details=width == 3)
    copies = [([pair[:width] for pair in pairs], value) for pairs, times, value in patients for _ in range(times)]
    if data.draw(st.booleans()):
        copies = [(pairs, value) for pairs, value in copies if all(None not in pair for pair in pairs)]
        copies.sort(key=lambda one: ("\0".join("\0".join(pair) for pair in one[0]), one[1] is not None, one[1] or ""))
    numbers = list(range(1, len(copies) + 1))
    if data.draw(st.booleans()) and numbers:
        numbers[data.draw(st.integers(0, len(numbers) - 1))] += 1
    rows = [(number, *pair) for number, (pairs, _) in zip(numbers, copies) for pair in pairs]
    names = ["code", "age", "detail"][:width]
    frame = pl.DataFrame(rows, schema={"id": pl.Int64, **dict.fromkeys(names, pl.String)}, orient="row")
    values = pl.DataFrame(
        {"id": numbers, "dna": [value for _, value in copies]}, schema={"id": pl.Int64, "dna": pl.String}
    )
    released = WrittenTrajectories(frame, values if has_attributes else None)

    assert bool(verify(released, guarantee).failures) == bool(broken(released, guarantee))
