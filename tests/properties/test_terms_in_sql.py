"""Laws of the promises of generalized code sets in SQL: they are broken just where they are by their definitions."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles.verified_terms import broken

from cloister.shapes.generalization.verify.statements import find_broken

PLAIN = ["a", "b", "(c,d)", "é", "(b,c)", "(d,c)", "(a)"]
NUMBERED = ["x#1", "x#2", "(x#3,y#1)", "y#2", "(x#1,x#2)", "y"]


def cells(terms, n_sound):
    """Cells, most of them of terms that a release may have."""
    some = st.sets(st.sampled_from(terms[:n_sound]), min_size=1, max_size=3).map(sorted)
    any_kind = st.lists(st.sampled_from(terms), min_size=1, max_size=3)
    return st.lists(st.none() | some.map(" ".join) | some.map(" ".join) | any_kind.map(" ".join), max_size=6)


@given(st.booleans(), st.data())
@examples(400)
def test_both_find_the_same(repeats, data):
    """Random cells, many of them sorted and several times there: SQL breaks where they break."""
    kinds = data.draw(cells(NUMBERED, 4) if repeats else cells(PLAIN, 4))
    found = [text for text in kinds for _ in range(data.draw(st.integers(1, 3)))]
    if data.draw(st.booleans()):
        found.sort(key=lambda text: (text or "").encode())
    k, m = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    frame = pl.DataFrame({"codes": found}, schema={"codes": pl.String})
    in_sql = [one.promise for one in find_broken(frame, k, m, repeats=repeats) if one.violations]

    assert bool(in_sql) == bool(broken(found, k, m, repeats)), in_sql
