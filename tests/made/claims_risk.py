"""Plans for the risk of claims, each setting by its name alone, and releases that are attacked under them."""

from cloister.shapes.claims.format.plan import (
    CHOSEN,
    AdversaryPlan,
    ClaimsPlan,
    ClaimsTablePlan,
    PatientsPlan,
    RiskPlan,
    SearchPlan,
    SuppressionPlan,
    TruncationPlan,
)
from cloister.shapes.claims.method.choice import Chooser
from cloister.shapes.claims.method.risk import AttackedClaims


def risk_plan(**asked):
    """A plan without columns and with these settings; ``max_sup`` is 0.05 unless asked for, ``repeats`` 100."""
    asked = {"max_sup": 0.05, "repeats": 100} | asked
    most = asked.pop("max_sup")
    risk = {name: asked.pop(name) for name in ("threshold", "seed", "repeats", "draws") if name in asked}
    treated = {name: asked.pop(name) for name in ("treatment", "most_treated", "most_removed") if name in asked}
    percentiles = asked.pop("truncation", None)
    nodes, seconds = asked.pop("search_nodes", None), asked.pop("search_seconds", None)
    is_waived, is_bounded = asked.pop("is_flag_aware_waived", False), asked.pop("is_likeliest_bounded", False)
    miss_test = "node" if asked.pop("is_node_alone", False) else "both"
    return ClaimsPlan(
        PatientsPlan({}, {}),
        ClaimsTablePlan({}, {}),
        risk=RiskPlan(**risk, max_flag_rate=CHOSEN if most is None else most),
        search=SearchPlan(nodes=nodes, time_limit_s=seconds, miss_test=miss_test),
        truncation=TruncationPlan() if percentiles is None else TruncationPlan(percentiles),
        suppression=SuppressionPlan(**treated),
        adversary=AdversaryPlan(
            power=asked.pop("power", 5),
            flag_aware="waived" if is_waived else "bounded",
            likeliest="bounded" if is_bounded else "reported",
        ),
        **asked,
    )


class ConstantPower:
    """An adversary who knows so many values of each patient and column, and of a node another number if that is given.

    ``powers``: (n_patients, n_columns)
    """

    def __init__(self, powers, of_nodes=None):
        self.powers, self.of_nodes = powers, powers if of_nodes is None else of_nodes

    def at(self, levels=None):
        """The power at levels of claims, or at base values."""
        return self.powers if levels is None else self.of_nodes

    def with_highest(self, power):
        """The same with another number."""
        return ConstantPower(self.powers * 0 + power)


def chooser_of(encoded, power, plan, of_nodes=None, **more):
    """A chooser against an adversary of constant power."""
    return Chooser(encoded, ConstantPower(power, of_nodes), plan, **more)


def attacked(released, levels, power, plan, **more):
    """A release under attack."""
    return AttackedClaims(released, levels, power, plan, **more)
