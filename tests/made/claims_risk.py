"""Settings of the risk of claims, each by its name alone."""

from cloister.shapes.claims.format.plan import (
    CHOSEN,
    AdversaryPlan,
    RiskPlan,
    SearchPlan,
    SuppressionPlan,
    TruncationPlan,
)
from cloister.shapes.claims.method.risk import RiskSettings


def risk_settings(**asked):
    """The sections of a plan with these settings; ``max_sup`` is 0.05 unless asked for, ``repeats`` 100."""
    asked = {"max_sup": 0.05, "repeats": 100} | asked
    most = asked.pop("max_sup")
    risk = {name: asked.pop(name) for name in ("threshold", "seed", "repeats", "draws") if name in asked}
    treated = {name: asked.pop(name) for name in ("treatment", "most_treated", "most_removed") if name in asked}
    percentiles = asked.pop("truncation", None)
    nodes, seconds = asked.pop("search_nodes", None), asked.pop("search_seconds", None)
    is_waived, is_bounded = asked.pop("is_flag_aware_waived", False), asked.pop("is_likeliest_bounded", False)
    miss_test = "node" if asked.pop("is_node_alone", False) else "both"
    return RiskSettings(
        RiskPlan(**risk, max_flag_rate=CHOSEN if most is None else most),
        SearchPlan(nodes=nodes, time_limit_s=seconds, miss_test=miss_test),
        TruncationPlan() if percentiles is None else TruncationPlan(percentiles),
        SuppressionPlan(**treated),
        AdversaryPlan(
            flag_aware="waived" if is_waived else "bounded", likeliest="bounded" if is_bounded else "reported"
        ),
        **asked,
    )
