"""Release patient-level health data with a guarantee that can be proved and the least possible loss.

All public names are here; each is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cloister.api.assess import assess
    from cloister.api.attack import attack
    from cloister.api.claims import protect_claims
    from cloister.api.codes import protect_codes
    from cloister.api.explore import compare, explore
    from cloister.api.open import ReleasedData, ReleaseFacts, export, open  # noqa: A004  (the public name)
    from cloister.api.run_job import init, run_job
    from cloister.api.tables import protect_table
    from cloister.api.trajectories import protect_trajectories
    from cloister.attacks.adversary import Attack
    from cloister.errors import CloisterError, GuaranteeViolation, InputError, InternalError, NoSafeRelease
    from cloister.exploration.comparison import Comparison
    from cloister.exploration.results import Exploration
    from cloister.hierarchy import (
        Hierarchy,
        dates,
        hierarchy_file,
        hierarchy_rows,
        icd9,
        icd10,
        intervals,
        parse_hierarchy,
        prefix,
        suppress,
    )
    from cloister.privacy import (
        AlphaKAnonymity,
        AverageRisk,
        BetaLikeness,
        DeltaDisclosure,
        DeltaPresence,
        EnhancedBetaLikeness,
        EntropyLDiversity,
        KAnonymity,
        KMap,
        KPatients,
        LDiversity,
        NoAttack,
        PopulationUniqueness,
        PositivePayout,
        RecursiveLDiversity,
        SampleUniqueness,
        TCloseness,
    )
    from cloister.recipients.pooling import PooledEstimate, pool
    from cloister.release.release import Release
    from cloister.results import CountBounds, Verdict
    from cloister.risk.assessment import CodesAssessment, HistoriesAssessment, TableAssessment
    from cloister.shapes.claims.format.data import Claims
    from cloister.shapes.claims.format.plan import ClaimsPlan
    from cloister.shapes.claims.method.release import ClaimsRelease
    from cloister.shapes.codes.data import CodeSets
    from cloister.shapes.codes.policy import UtilityPolicy
    from cloister.shapes.disassociation.method.release import CodesRelease
    from cloister.shapes.generalization.format.privacy_policy import PrivacyPolicy
    from cloister.shapes.generalization.method.release import GeneralizedCodesRelease
    from cloister.shapes.table_with_codes.method.protect import TableWithCodesRelease
    from cloister.shapes.trajectories.format.data import Trajectories
    from cloister.shapes.trajectories.method.release import TrajectoriesRelease
    from cloister.verification.folder import verify_folder
    from cloister.version import __version__ as __version__

__all__ = [
    "AlphaKAnonymity",
    "Attack",
    "AverageRisk",
    "BetaLikeness",
    "Claims",
    "ClaimsPlan",
    "ClaimsRelease",
    "CloisterError",
    "CodeSets",
    "CodesAssessment",
    "CodesRelease",
    "Comparison",
    "CountBounds",
    "DeltaDisclosure",
    "DeltaPresence",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "Exploration",
    "GeneralizedCodesRelease",
    "GuaranteeViolation",
    "Hierarchy",
    "HistoriesAssessment",
    "InputError",
    "InternalError",
    "KAnonymity",
    "KMap",
    "KPatients",
    "LDiversity",
    "NoAttack",
    "NoSafeRelease",
    "PooledEstimate",
    "PopulationUniqueness",
    "PositivePayout",
    "PrivacyPolicy",
    "RecursiveLDiversity",
    "Release",
    "ReleaseFacts",
    "ReleasedData",
    "SampleUniqueness",
    "TCloseness",
    "TableAssessment",
    "TableWithCodesRelease",
    "Trajectories",
    "TrajectoriesRelease",
    "UtilityPolicy",
    "Verdict",
    "assess",
    "attack",
    "compare",
    "dates",
    "explore",
    "export",
    "hierarchy_file",
    "hierarchy_rows",
    "icd9",
    "icd10",
    "init",
    "intervals",
    "open",
    "parse_hierarchy",
    "pool",
    "prefix",
    "protect_claims",
    "protect_codes",
    "protect_table",
    "protect_trajectories",
    "run_job",
    "suppress",
    "verify_folder",
]  # fmt: skip

_HOME = {
    "attacks.adversary": "Attack",
    "shapes.claims.format.data": "Claims",
    "shapes.claims.format.plan": "ClaimsPlan",
    "shapes.claims.method.release": "ClaimsRelease",
    "shapes.codes.data": "CodeSets",
    "shapes.disassociation.method.release": "CodesRelease",
    "shapes.generalization.format.privacy_policy": "PrivacyPolicy",
    "shapes.generalization.method.release": "GeneralizedCodesRelease",
    "shapes.codes.policy": "UtilityPolicy",
    "errors": "CloisterError GuaranteeViolation InputError InternalError NoSafeRelease",
    "exploration.comparison": "Comparison",
    "exploration.results": "Exploration",
    "hierarchy": "Hierarchy dates hierarchy_file hierarchy_rows icd9 icd10 intervals parse_hierarchy prefix suppress",
    "privacy": "AlphaKAnonymity AverageRisk BetaLikeness DeltaDisclosure DeltaPresence EnhancedBetaLikeness "
    "EntropyLDiversity KAnonymity KMap KPatients LDiversity NoAttack PopulationUniqueness PositivePayout "
    "RecursiveLDiversity SampleUniqueness TCloseness",
    "verification.folder": "verify_folder",
    "release.release": "Release",
    "recipients.pooling": "PooledEstimate pool",
    "results": "CountBounds Verdict",
    "risk.assessment": "CodesAssessment HistoriesAssessment TableAssessment",
    "shapes.table_with_codes.method.protect": "TableWithCodesRelease",
    "shapes.trajectories.method.release": "TrajectoriesRelease",
    "shapes.trajectories.format.data": "Trajectories",
    "api.assess": "assess",
    "api.attack": "attack",
    "api.claims": "protect_claims",
    "api.codes": "protect_codes",
    "api.explore": "compare explore",
    "api.open": "ReleaseFacts ReleasedData export open",
    "api.run_job": "init run_job",
    "api.tables": "protect_table",
    "api.trajectories": "protect_trajectories",
    "version": "__version__",
}
"""Modules, and the public names that each of them has."""

_ROOM = {name: room for room, names in _HOME.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _ROOM:
        return getattr(import_module(f"cloister.{_ROOM[name]}"), name)
    raise AttributeError(f"module 'cloister' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
