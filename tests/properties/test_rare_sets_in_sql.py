"""Laws of the statement that finds sets of codes that few records have: it is exact, for sets of any size."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles import generalization as oracle

from cloister.verification import script

SMALL = st.lists(st.frozensets(st.integers(0, 7), max_size=8), min_size=1, max_size=20)
ALIKE = st.lists(st.sampled_from([frozenset(range(9)) - {gone} for gone in range(12)]), min_size=1, max_size=25)
STATEMENT = '{% import "verification/promises.sql.j2" as sql with context %}{{ sql.rare_sets(k, m, "codes") }}'


def rare_sets(records, k, m):
    """How many sets the statement finds, of those that need not be parts of others."""
    rows = [(place, code, 1) for place, record in enumerate(records) for code in record]
    alike = "SELECT record, unnest(codes) AS code, n FROM ({}) AS r(record, codes, n)"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE row (record INTEGER, code INTEGER, n INTEGER)")
        connection.executemany("INSERT INTO row VALUES (?, ?, ?)", rows or [(0, None, 0)])
        whole = "SELECT record, list(code ORDER BY code) AS codes FROM row WHERE code IS NOT NULL GROUP BY record"
        equal = f"SELECT row_number() OVER (), codes, count(*) FROM ({whole}) GROUP BY codes"
        part = f"SELECT * FROM ({alike.format(equal)}) AS p(record, code, alike)"
        connection.execute(f"CREATE TEMP TABLE part AS {part}")
        connection.execute(script._environment().from_string(STATEMENT).render(k=k, m=m, folder=""))
        return connection.execute("SELECT count(*) FROM rare").fetchall()[0][0]


@examples(100)
@given(SMALL | ALIKE, st.integers(1, 5), st.integers(1, 9))
def test_rare_sets_are_found(records, k, m):
    """By brute force over all sets of up to m, also where m is as long as records or longer."""
    assert bool(oracle.rare_itemsets(records, k, m)) == bool(rare_sets(records, k, m))


@pytest.mark.parametrize("m", [8, 12, 18])
def test_long_records(m):
    """Of 20 terms, most records with 19: a million sets."""
    records = [frozenset(range(20)) - {gone} for gone in range(20)] * 3

    assert not rare_sets(records, 4, m)


def test_the_set_of_all_codes_is_rare():
    """What only records with all but one code are left with is found where as many codes are known."""
    records = [frozenset(range(20)) - {gone} for gone in range(20)] * 3

    assert rare_sets(records, 4, 19)


def test_too_many_sets_are_refused(monkeypatch):
    """No verdict is given on sets that were not all looked at."""
    monkeypatch.setitem(script._environment().globals, "most_sets", 20)
    records = [frozenset(range(12)) - {gone} for gone in range(12)] * 3

    with pytest.raises(duckdb.Error, match="Ask for sets of fewer codes"):
        rare_sets(records, 4, 6)
