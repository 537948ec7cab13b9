"""The game of a publisher and an adversary (Wan et al. 2015), solved by enumeration of all transformations."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.tables import cases
from tests.oracles import privacy_rules as oracle
from tests.oracles.full_domain import carry_out

import cloister as cl
from cloister.errors import InputError, NoSafeRelease
from cloister.privacy import PositivePayout
from cloister.search import SINGLE, optimal
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.shapes.table.method.encode import encode
from cloister.utility import parse_loss


def solve(case, prices, limit):
    """The publisher's best payout, and the levels with it, by the definition; ties as searches decide them."""
    found = []
    for levels in product(*(range(len(rows[0])) for rows in case.hierarchies)):
        lost = sum(Fraction(level, len(rows[0]) - 1) for level, rows in zip(levels, case.hierarchies)) / len(levels)

        def keeps(general, lost=lost):
            safe = oracle.positive_payout([(key, None) for key in general], lost, *prices)
            return {key for key, holds in safe.items() if holds}

        done = carry_out(case.records, case.hierarchies, levels, keeps)
        paid = sum(
            oracle.payout(done.general.count(key), lost, *prices)
            for key, kept in zip(done.general, done.is_kept)
            if kept
        )
        if done.suppressed <= limit and done.kept:
            found.append((-paid, done.suppressed, sum(levels), levels))
    return min(found, default=None)


PRICES = st.tuples(*(st.sampled_from([0.3, 1.0, 2.0, 7.0, 20.0]) for _ in range(4)))


@pytest.mark.parametrize("search", ["optimal", "exhaustive", "flash", "bfs"])
@examples(60)
@given(case=cases(most_records=14, most_attributes=3), prices=PRICES)
def test_the_game_is_solved(search, case, prices):
    """The search for the least loss finds the publisher's greatest payout, by enumeration, and proves it."""
    rule = PositivePayout(*prices)
    request = replace(case.request(), rules=(rule,), loss=parse_loss("payout", [rule]), weights={})
    problem, best = encode(case.frame(), request).problem, solve(case, prices, case.limit)
    try:
        result = optimal(problem) if search == "optimal" else SINGLE[search](problem)
    except NoSafeRelease:
        assert best is None
        return

    assert (best[1], best[3]) == (result.suppressed, tuple(result.levels[name] for name in case.names))
    assert result.optimal
    whole = len(case.records) * Fraction(str(prices[2]))
    assert result.loss == pytest.approx(float(1 + best[0] / whole), abs=1e-12)


AGES = pl.DataFrame({"age": ["30", "30", "31", "31", "62"]})
LEVELS = [("30", "30s", "*"), ("31", "30s", "*"), ("62", "60s", "*")]
GAMES = {
    "all are attacked, and worth it": ((300, 4, 1200, 300), 0, 5, 5 * 1200 - 3 * 300),
    "nobody attacks four": ((300, 100, 100, 300), 1, 4, 4 * 50),
    "nobody attacks two": ((3, 2, 100, 300), 0, 4, 4 * 100),
    "attacks on two are accepted": ((300, 4, 100, 120), 0, 4, 4 * 100 - 2 * 120),
}
"""Prices, and the level, the records released and the publisher's payout, computed by hand."""


def play(prices):
    """The search of the best level at these prices."""
    rule = PositivePayout(*prices)
    asked = {"age": QuasiIdentifier(cl.hierarchy_rows(LEVELS))}
    request = TableRequest(asked, (rule,), suppression=Decimal(1), loss=parse_loss("payout", [rule]))
    return optimal(encode(AGES, request).problem)


@pytest.mark.parametrize(("prices", "level", "released", "paid"), GAMES.values(), ids=GAMES)
def test_games_by_hand(prices, level, released, paid):
    """Five patients are released at the level with the greatest payout, and the loss is the share not paid."""
    found = play(prices)

    assert (found.levels, found.suppressed) == ({"age": level}, 5 - released)
    assert found.loss == pytest.approx(1 - paid / (5 * prices[2]))


def test_a_game_that_the_publisher_cannot_win():
    """Nothing is released where each class costs the publisher more than it is worth."""
    with pytest.raises(NoSafeRelease):
        play((300, 4, 100, 300))


@pytest.mark.parametrize("rules", [[], [cl.PositivePayout(1, 1, 1, 1)] * 2], ids=["none", "two"])
def test_a_payout_needs_one_list_of_prices(rules):
    """Without prices, or with two lists of them, there is no payout to maximize."""
    with pytest.raises(InputError, match="prices of one rule positive-payout"):
        cl.protect_table(AGES, qi={"age": "suppress"}, k=2, rule=rules, loss="payout")


def test_a_release_of_a_game_is_verified(tmp_path):
    """A release of greatest payout holds, with and without its original; not with prices at which it would not."""
    rule = [cl.PositivePayout(3, 2, 100, 300)]
    release = cl.protect_table(AGES, qi={"age": "suppress"}, rule=rule, loss="payout", suppression=1)
    release.write(tmp_path / "release")

    assert cl.verify_folder(tmp_path / "release").holds
    assert cl.verify_folder(tmp_path / "release", original=AGES).holds
    path = tmp_path / "release" / "release.json"
    path.write_text(path.read_text().replace('"gain": 3.0', '"gain": 300.0'))
    with pytest.raises(cl.GuaranteeViolation, match="every record is worth more to the publisher than attacks on it"):
        cl.verify_folder(tmp_path / "release")
