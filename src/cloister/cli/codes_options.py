"""What ``protect codes`` can be told, with the defaults of its options."""

from dataclasses import dataclass

from cloister.cli.release_options import ReleaseOptions

DISASSOCIATION, APRIORI = "disassociation", "apriori"
BY_SETS = ("cba", "ugaclip")
METHODS = (DISASSOCIATION, *BY_SETS, APRIORI)

METHODS_OF = {
    "max_cluster_size": (DISASSOCIATION,),
    "refine": (DISASSOCIATION,),
    "safe": (DISASSOCIATION,),
    "safe_threshold": (DISASSOCIATION,),
    "sensitive": (DISASSOCIATION,),
    "diversity": (DISASSOCIATION,),
    "privacy": (*BY_SETS, APRIORI),
    "visit": BY_SETS,
    "code_hierarchy": (*BY_SETS, APRIORI),
    "uncovered": BY_SETS,
    "loss": BY_SETS,
}
"""Options that only some methods look at."""


@dataclass(frozen=True)
class CodesOptions(ReleaseOptions):
    """The options of ``protect codes``, as typed; see its help. What is None was not said."""

    m: int | None = None
    method: str = DISASSOCIATION
    policy: str | None = None
    max_cluster_size: int | None = None
    refine: str | None = None
    safe: str | None = None
    safe_threshold: float | None = None
    diversity: int | None = None
    privacy: str | None = None
    visit: str | None = None
    uncovered: str | None = None
    loss: str | None = None
    code_hierarchy: str | None = None
    repeats: bool = False
    drop_empty: bool = False
    workload: str | None = None
    codes: str | None = None
    code: str | None = None
