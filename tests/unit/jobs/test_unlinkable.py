"""Whether rows of two parts lead to each other by columns that both have."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloister.codesets.data import CodeSets
from cloister.errors import InputError
from cloister.io import Source
from cloister.jobs.joined import with_codes
from cloister.jobs.unlinkable import Shown, _why, leads_to_few

CELLS = st.sampled_from(["a", "b", None])
ROWS = st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12)


@given(ROWS, ROWS, st.integers(2, 3))
def test_a_row_leads_to_none_or_to_at_least_k(one, two, k):
    """By the definition: whoever looks a row of one part up in the other finds none, or k; and the other way round."""
    few = any(0 < here.count(row) < k or 0 < there.count(row) < k
              for here, there in ((one, two), (two, one)) for row in set(one) & set(two))  # fmt: skip
    frames = [pl.DataFrame(rows, schema={"x": pl.String, "y": pl.String}, orient="row") for rows in (one, two)]

    assert few == leads_to_few(Shown(frames[0], k), Shown(frames[1], 2), ["x", "y"])


def part(rows, generalized=(), names=("age", "diagnosis"), **more):
    """What a part shows, with k of 2."""
    return Shown(
        pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row"), 2, frozenset(generalized), **more
    )


@pytest.mark.parametrize(
    ("one", "two", "words"),
    [
        ([("40", "x"), ("40", "x")], [("40", "x"), ("40", "x")], None),
        ([("40", "x"), ("40", "x")], [("30", "y"), ("30", "z")], None),
        ([("40", "x"), ("40", "y")], [("40", "x"), ("40", "x")], "diagnosis lead to fewer than 2"),
        ([("40", "x"), ("40", "x")] * 2, [("40", "x"), ("40", "x"), ("50", "x"), ("50", "y")], None),
        ([("40", "x"), ("50", "y")], [("4", "x"), ("5", "y")], "diagnosis lead to fewer than 2"),
        ([("40", "x"), ("40", "x")], [("4", "x"), ("4", "x")], "at other levels in each"),
        ([("40", "x"), ("50", "x")] * 2, [("40", "x"), ("40", "x"), ("50", "x")], "age, diagnosis lead to fewer"),
    ],
)
def test_rows_are_looked_up_by_each_column_and_by_several(one, two, words):
    """A rare value joins whatever stands beside it; of labels that differ nothing can be said, so that is refused."""
    found = _why(part(one, ["age"]), part(two, ["age"]))

    assert bool(found) == (words is not None)
    assert words is None or words in found[0]
    assert _why(part(one, ["age"]), part(two, ["age"], ("years", "ward"))) == []
    assert _why(part(one, ["age", "diagnosis"]), part(two, ["age", "diagnosis"])) == []


AGED = [("[20-39]", "x"), ("[20-39]", "y")] * 2
EXACT = [("30", "x"), ("31", "x"), ("32", "y"), ("33", "y")] * 2


@pytest.mark.parametrize(
    ("one", "two", "is_refused"),
    [
        (part(AGED, ["age"]), part(EXACT), True),
        (part(AGED, ["age"]), part(EXACT, ["diagnosis"]), True),
        (part(AGED, ["age", "diagnosis"]), part(EXACT), True),
        (part(AGED, ["age"]), part([(age, f"<{one}>") for age, one in EXACT], ["diagnosis"]), True),
        (part(AGED, ["age", "diagnosis"]), part([("[30-39]", one) for _, one in EXACT], ["age", "diagnosis"]), False),
        (part([("*", one) for _, one in AGED], ["age"]), part(EXACT), False),
    ],
)
def test_a_column_that_one_part_alone_generalizes(one, two, is_refused):
    """What is recorded narrows the classes of the other down, and of those some may be left out; not at the root."""
    assert bool(_why(one, two)) == is_refused
    assert bool(_why(two, one)) == is_refused


def table(ids):
    """A table of patients."""
    return Source(pl.DataFrame({"mrn": ids}), "csv", ",", "utf-8", "patients.csv")


def test_codes_of_another_source_become_a_column():
    """Each patient gets the own codes whatever the order, and nobody another's; who has none gets none."""
    codes = CodeSets.from_records([["b", "a"], ["c"]], ids=pl.Series(["2", "1"]))
    joined = with_codes(table(["1", "3", "2"]), "mrn", codes, "codes", "codes.csv")

    assert joined.frame["codes"].to_list() == ["c", None, "a b"]


@pytest.mark.parametrize(
    ("ids", "column", "name", "words"),
    [
        (["1", "2"], "mrn", "mrn", "has a column 'mrn'"),
        (["1", "9"], "mrn", "codes", "1 of 2 patients of codes.csv are not in patients.csv"),
        (["1", "2"], None, "codes", "patients.csv has none"),
        (["1", "2"], "id", "codes", "'id' is not in patients.csv"),
    ],
)
def test_codes_that_cannot_be_joined_are_refused(ids, column, name, words):
    """Without ids, with codes of strangers, or where the name is taken, nothing is protected."""
    codes = CodeSets.from_records([["a"], ["b"]], ids=pl.Series(["1", "2"]))
    with pytest.raises(InputError, match=words.replace("'", ".")):
        with_codes(table(ids), column, codes, name, "codes.csv")
