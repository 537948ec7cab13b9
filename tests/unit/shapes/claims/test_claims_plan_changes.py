"""A plan with changed values is that plan otherwise."""

from pathlib import Path

import pytest

from cloister.errors import InputError
from cloister.shapes.claims.format.plan import change_plan, plan_of

PLAN = {
    "patients": {
        "roles": {"id": "id", "born": "birth-year", "sex": "sex"},
        "qi": {"age": "age@1-3", "sex": "suppress"},
        "derived": ["age"],
    },
    "claims": {"roles": {"id": "id", "date": "date", "icd9": "diagnosis", "paid": "keep"}, "qi": {"icd9": "diagnosis"}},
    "exclusions": {"rules": ["hiv"]},
    "truncation": {"percentiles": ["none", 95]},
    "weights": {"age": 2.0},
    "ids": {"patients": "number"},
}


def read(content):
    """A plan."""
    return plan_of(content, "plan.toml", Path())


def test_nothing_is_lost_by_a_change():
    """Without a changed key the plan is equal; with one, it differs by that alone."""
    plan = read(PLAN)

    assert change_plan(plan, {}, "grid", Path()) == plan
    assert change_plan(plan, {"risk.threshold": 0.1}, "grid", Path()) == read({**PLAN, "risk": {"threshold": 0.1}})
    assert change_plan(plan, {"risk.threshold": 0.1}, "grid", Path()) != plan


@pytest.mark.parametrize("key", ["risk.none", "risk.threshold.deep", "nothing"])
def test_a_key_that_a_plan_lacks_is_refused(key):
    """A mistyped key is an error, and not a plan that differs by nothing."""
    with pytest.raises(InputError):
        change_plan(read(PLAN), {key: 0.1}, "grid", Path())
