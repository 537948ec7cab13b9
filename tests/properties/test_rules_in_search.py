"""Under any rules and any loss, searches find what the definitions find."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from tests.made.examples import examples
from tests.made.ruled_tables import ruled_cases, table_rules
from tests.oracles.full_domain import carry_out, generalize

from cloister.errors import NoSafeRelease
from cloister.search import exhaustive, optimal
from cloister.shapes.table.method.encode import encode
from cloister.utility import LOSSES

SEARCHES = {"optimal": optimal, "exhaustive": exhaustive}


def outcomes(ruled):
    """Every policy carried out by definition."""
    case = ruled.case
    for levels in product(*(range(len(hierarchy[0])) for hierarchy in case.hierarchies)):
        yield carry_out(case.records, case.hierarchies, levels, ruled.keeper(levels))


@pytest.mark.parametrize("name", SEARCHES)
@examples(120)
@given(ruled=ruled_cases(losses=LOSSES))
def test_search_finds_the_optimum_under_any_rules(name, ruled):
    """Levels and suppressed records are those of the best policy by definition, ties included."""
    case = ruled.case
    safe = [(o.loss(case.loss, case.weights), o) for o in outcomes(ruled) if o.suppressed <= case.limit and o.kept]
    try:
        result = SEARCHES[name](ruled.problem())
    except NoSafeRelease:
        result = None
    if not safe:
        assert result is None
        return
    least = min(loss for loss, _ in safe)
    best = min((o for loss, o in safe if loss <= least + 1e-12), key=lambda o: (o.suppressed, sum(o.levels), o.levels))

    assert result is not None
    assert (best.levels, best.suppressed) == (tuple(result.levels[name] for name in case.names), result.suppressed)
    assert result.optimal
    assert result.loss == pytest.approx(best.loss(case.loss, case.weights), abs=1e-12)


@examples(100)
@given(ruled=ruled_cases(losses=LOSSES))
def test_policies_are_measured_as_defined(ruled):
    """What is suppressed, which records, and what is lost are those of the definition, at every policy."""
    problem = ruled.problem()
    for expected in outcomes(ruled):
        found = problem.measure(expected.levels)
        kept = problem.kept_rows(expected.levels)[problem.row_of_record].tolist()

        assert expected.is_kept == kept
        assert (expected.suppressed, expected.kept) == (found.suppressed, found.kept)
        assert expected.loss(ruled.case.loss, ruled.case.weights) == pytest.approx(found.loss, abs=1e-12)
        assert found.bound <= found.loss + 1e-12
        assert found.least_suppressed <= found.suppressed


@examples(80)
@given(ruled=ruled_cases(losses=LOSSES))
def test_what_is_declared_of_a_problem_is_true(ruled):
    """Bounds rise with policies; where rules are monotone, finer policies suppress no less; nested ones keep more."""
    problem = ruled.problem()
    measured = {levels: problem.measure(levels) for levels in problem.transformations()}
    for levels, fine in measured.items():
        above = [one for at, one in measured.items() if all(low <= high for low, high in zip(levels, at))]
        assert fine.suppressed >= max(one.least_suppressed for one in above)
        for j, level in enumerate(levels):
            coarse = measured.get((*levels[:j], level + 1, *levels[j + 1 :]))
            if coarse is None:
                continue
            assert fine.bound <= coarse.bound + 1e-12
            if problem.is_monotone and problem.is_safe(fine):
                assert problem.is_safe(coarse)
            if problem.is_monotone and problem.limit:
                assert fine.suppressed >= coarse.suppressed
            if problem.is_nested and problem.is_monotone and problem.limit:
                assert (problem.kept_rows(fine.levels) <= problem.kept_rows(coarse.levels)).all()


@examples(100)
@given(ruled=ruled_cases(losses=LOSSES), about_table=table_rules())
def test_column_order_does_not_matter_under_rules_about_the_table(ruled, about_table):
    """A file with its columns turned round: every policy releases the same records, ties among classes included."""
    ruled = replace(ruled, table_rules=[about_table])
    frame = ruled.frame()
    problem, turned = ruled.problem(), encode(frame.select(reversed(frame.columns)), ruled.request()).problem
    for levels in problem.transformations():
        kept, kept_turned = (one.kept_rows(levels)[one.row_of_record].tolist() for one in (problem, turned))

        assert kept == kept_turned


@examples(60)
@given(ruled=ruled_cases(most_records=14))
def test_a_time_limit_leaves_a_true_bound(ruled):
    """Stopped at once, a search says what it has proven: no safe policy loses less."""
    case = ruled.case
    losses = [o.loss(case.loss, case.weights) for o in outcomes(ruled) if o.suppressed <= case.limit and o.kept]
    try:
        result = optimal(ruled.problem(), time_limit=1e-9)
    except NoSafeRelease:
        return

    assert result.bound <= min(losses) + 1e-12
    assert result.loss >= min(losses) - 1e-12


def test_the_oracle_generalizes_people_as_records():
    """People are generalized by the hierarchies of the table."""
    assert generalize([("a",)], [[("a", "A", "*")]], (1,)) == [("A",)]
