"""Whether rows of two parts lead to each other by columns that both have."""

from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import joined_parts as oracle

from cloister.errors import InputError
from cloister.io import Source
from cloister.jobs import recheck, release
from cloister.jobs.unlinkable import ReleasedPart, _why
from cloister.pipeline.tables_with_codes import with_codes
from cloister.shapes.codes.data import CodeSets

NAMES = ("u", "v", "w", "x", "y")
CELLS = st.sampled_from(["a", "b", None])
ROWS = st.lists(st.tuples(*[CELLS] * len(NAMES)), min_size=1, max_size=12)
LOOKUPS = (release.LOOKUP, recheck.LOOKUP)
SEARCHES = tuple(lookup.linkage_failure for lookup in LOOKUPS)


@given(ROWS, ROWS, st.integers(2, 3), st.sets(st.sampled_from(NAMES)), st.integers(1, 3))
def test_a_row_leads_to_none_or_to_at_least_k(one, two, k, exempt, times):
    """By the definition: whoever looks a row up by any set of columns finds none, or k; and the other way round."""
    exempt = frozenset(exempt)
    one, two = one * times, two * times
    frames = [pl.DataFrame(rows, schema=dict.fromkeys(NAMES, pl.String), orient="row") for rows in (one, two)]
    few = oracle.leads_to_few(one, two, NAMES, k, exempt)

    for search in SEARCHES:
        found = search(frames[0], frames[1], k, exempt)
        assert few == (found is not None)
        assert found is None or "lead to fewer" in found


@pytest.mark.parametrize("search", SEARCHES)
def test_a_column_that_never_agrees_hides_no_others(search):
    """Four columns join rows one to one, three do not, and a fifth is written in two ways."""
    rows = list(product("01", repeat=4))
    one = pl.DataFrame([(*row, "north") for row in rows], schema=NAMES, orient="row")
    two = pl.DataFrame([(*row, "NORTH") for row in rows], schema=NAMES, orient="row")

    assert search(one, two, 2, frozenset()) is not None
    assert search(pl.concat([one, one]), pl.concat([two, two]), 2, frozenset()) is None


@pytest.mark.parametrize("search", SEARCHES)
def test_more_sets_of_columns_than_can_be_compared_are_refused(search):
    """Twenty columns that agree in every row have a million sets: that is said, not passed over."""
    frame = pl.DataFrame({f"c{place}": ["a"] * 4 for place in range(20)})

    assert "more than" in search(frame, frame, 2, frozenset())


def part(rows, generalized=(), names=("age", "diagnosis"), **more):
    """What a part shows, with k of 2."""
    return ReleasedPart(
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
    found = _why(part(one, ["age"]), part(two, ["age"]), LOOKUPS[0])

    assert bool(found) == (words is not None)
    assert words is None or words in found[0]
    assert _why(part(one, ["age"]), part(two, ["age"], ("years", "ward")), LOOKUPS[0]) == []
    assert _why(part(one, ["age", "diagnosis"]), part(two, ["age", "diagnosis"]), LOOKUPS[0]) == []


@pytest.mark.parametrize("other", ["7.0", " 7", "07", "7e0"])
def test_values_that_are_written_differently_are_one(other):
    """A number is the same in any form, and white space around a text is nothing: each row still leads to one."""
    one = [(str(number), "x") for number in (7, 8, 9)]
    two = [(other.replace("7", str(number)), "x") for number in (7, 8, 9)]

    assert _why(part(one), part(two), LOOKUPS[0]) != []
    assert _why(part(one * 2), part(two * 2), LOOKUPS[0]) == []


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
    assert bool(_why(one, two, LOOKUPS[0])) == is_refused
    assert bool(_why(two, one, LOOKUPS[0])) == is_refused


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
