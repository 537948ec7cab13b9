"""From values to arrays: limits, lattices, costs."""

from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from cloister.errors import InputError
from cloister.hierarchy import hierarchy_rows, intervals, prefix, suppress
from cloister.io import distinct_values
from cloister.privacy import KAnonymity
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.shapes.table.method.encode import encode, suppression_limit
from cloister.shapes.table.method.settings import suppression_share


def request(frame, **hierarchies):
    """A request that generalizes these columns and drops the rest."""
    wanted = {column: QuasiIdentifier(hierarchy) for column, hierarchy in hierarchies.items()}
    return TableRequest(wanted, (KAnonymity(2),), undecided=("drop",))


LIMITS = [
    ("0.07", 100, 7),
    ("0.29", 100, 29),
    ("0.57", 100, 57),
    ("0.58", 100, 58),
    ("0.1", 30, 3),
    ("0.05", 30162, 1508),
    ("0.05", 39, 1),
    ("0.3333333333", 3, 0),
    ("0", 10, 0),
    ("1", 10, 10),
    ("1e-3", 1000, 1),
    ("0.999999999999999999999", 1000, 999),
]


@pytest.mark.parametrize(("share", "n", "limit"), LIMITS)
def test_the_limit_is_rounded_down_in_decimals(share, n, limit):
    """The share times the records is taken in decimal arithmetic: 0.07 of 100 is 7, though 0.07 * 100 is more."""
    assert suppression_limit(suppression_share(share), n) == limit


@pytest.mark.parametrize("share", [0.07, 0.29, 0.57, 0.58])
def test_a_float_means_what_it_prints(share):
    """A share given as a number in Python is the decimal that it prints as."""
    assert suppression_limit(suppression_share(share), 100) == round(share * 100)


@pytest.mark.parametrize("share", ["-0.1", "1.1", "nan", "inf", "a", "", None, True, [], "0,5"])
def test_what_is_no_share(share):
    """Anything but a number from 0 to 1 is refused."""
    with pytest.raises(InputError, match="from 0 to 1"):
        suppression_share(share)


def test_long_shares_keep_all_their_digits():
    """A share of more digits than Python's decimals keep by default is still rounded down."""
    assert suppression_limit(Decimal("0." + "9" * 40), 10) == 9


def test_distinct_values_put_missing_last():
    """Values come by their UTF-8 bytes, missing last and only if it occurs."""
    assert distinct_values(pl.Series(["é", "b", None, "a", "b", "Z"])) == ["Z", "a", "b", "é", None]
    assert distinct_values(pl.Series(["b", "a"])) == ["a", "b"]
    assert distinct_values(pl.Series([None, None], dtype=pl.String)) == [None]


def test_the_lattice_is_that_of_the_hierarchies():
    """Attributes come by name, with as many levels as their hierarchies; equal rows are counted once."""
    frame = pl.DataFrame({"zip": ["02130", "02131", "02130"], "age": [31, 35, 31]})
    table = encode(frame, request(frame, zip=prefix(5), age=intervals(10)))

    assert table.problem.names == ("age", "zip")
    assert table.problem.lattice == 3 * 6
    assert table.problem.task.rows.records.tolist() == [2, 1]
    assert table.problem.row_of_record.tolist() == [0, 1, 0]
    assert list(table.hierarchies) == ["zip", "age"]


def test_costs_are_whole_leaves():
    """What a value costs at a level is the leaves that its label covers, less one."""
    frame = pl.DataFrame({"a": ["1", "2", "3"]})
    hierarchy = hierarchy_rows([["1", "x", "*"], ["2", "x", "*"], ["3", "y", "*"], ["4", "y", "*"], ["5", "y", "*"]])
    costs = encode(frame, request(frame, a=hierarchy)).problem.task.costs

    assert costs.domain.tolist() == [4]
    np.testing.assert_allclose(costs.mean, [[0, (1 + 1 + 2) / 12, 1]])
    np.testing.assert_allclose(costs.worst, [[0, 2 / 4, 1]])


def test_no_records():
    """A table without records is refused."""
    frame = pl.DataFrame({"a": []}, schema={"a": pl.String})
    with pytest.raises(InputError, match="no records"):
        encode(frame, request(frame, a=suppress()))


@pytest.mark.parametrize(("low", "high"), [(1, 0), (0, 2), (3, None), (-1, 1)])
def test_bounds_outside_the_hierarchy(low, high):
    """Level bounds must be levels of the hierarchy, the lower one first."""
    frame = pl.DataFrame({"a": ["1", "1"]})
    wanted = TableRequest({"a": QuasiIdentifier(suppress(), low, high)}, (KAnonymity(2),))
    with pytest.raises(InputError, match="levels 0 to 1"):
        encode(frame, wanted)
