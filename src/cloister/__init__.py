"""Release patient-level health data with a guarantee that can be proved and the least possible loss.

Everything public is here; what is used is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cloister.api.assess import assess
    from cloister.api.attack import attack
    from cloister.api.claims import deidentify_claims
    from cloister.api.codes import disassociate, generalize_codes
    from cloister.api.explore import compare, explore
    from cloister.api.open import ReleasedData, ReleaseFacts, export, open  # noqa: A004  (the public name)
    from cloister.api.run_job import init, run_job
    from cloister.api.tables import anonymize
    from cloister.api.trajectories import anonymize_trajectories
    from cloister.attacks.adversary import Attack
    from cloister.claims.data import Claims
    from cloister.claims.plan import ClaimsPlan
    from cloister.claims.release import ClaimsRelease
    from cloister.codesets.data import CodeSets
    from cloister.codesets.disassociation.release import CodesRelease
    from cloister.codesets.generalization.privacy_policy import PrivacyPolicy
    from cloister.codesets.generalization.release import GeneralizedCodesRelease
    from cloister.codesets.policy import UtilityPolicy
    from cloister.errors import CloisterError, GuaranteeViolation, InputError, InternalError, NoSafeRelease
    from cloister.exploration.comparison import Comparison
    from cloister.exploration.outcome import Exploration
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
        RecursiveLDiversity,
        SampleUniqueness,
        TCloseness,
    )
    from cloister.recipients.pooling import PooledEstimate, pool
    from cloister.release import Release
    from cloister.results import CountBounds, Verdict
    from cloister.risk.assessment import CodesAssessment, HistoriesAssessment, TableAssessment
    from cloister.table_with_codes.protect import TableWithCodesRelease
    from cloister.trajectories.data import Trajectories
    from cloister.trajectories.release import TrajectoriesRelease
    from cloister.verification import verify_folder
    from cloister.version import __version__ as __version__

__all__ = [
    "AlphaKAnonymity", "Attack", "AverageRisk", "BetaLikeness", "Claims", "ClaimsPlan", "ClaimsRelease",
    "CloisterError", "CodeSets", "CodesAssessment", "CodesRelease", "Comparison", "CountBounds", "DeltaDisclosure",
    "DeltaPresence", "EnhancedBetaLikeness", "EntropyLDiversity", "Exploration", "GeneralizedCodesRelease",
    "GuaranteeViolation", "Hierarchy", "HistoriesAssessment", "InputError", "InternalError", "KAnonymity", "KMap",
    "KPatients", "LDiversity", "NoAttack", "NoSafeRelease", "PooledEstimate", "PopulationUniqueness", "PrivacyPolicy",
    "RecursiveLDiversity", "Release", "ReleaseFacts", "ReleasedData", "SampleUniqueness", "TCloseness",
    "TableAssessment", "TableWithCodesRelease", "Trajectories", "TrajectoriesRelease", "UtilityPolicy", "Verdict",
    "anonymize", "anonymize_trajectories", "assess", "attack", "compare", "dates", "deidentify_claims",
    "disassociate", "explore", "export", "generalize_codes", "hierarchy_file", "hierarchy_rows", "icd9", "icd10",
    "init", "intervals", "open", "parse_hierarchy", "pool", "prefix", "run_job", "suppress", "verify_folder",
]  # fmt: skip

_HOME = {
    "attacks.adversary": "Attack",
    "claims.data": "Claims",
    "claims.plan": "ClaimsPlan",
    "claims.release": "ClaimsRelease",
    "codesets.data": "CodeSets",
    "codesets.disassociation.release": "CodesRelease",
    "codesets.generalization.privacy_policy": "PrivacyPolicy",
    "codesets.generalization.release": "GeneralizedCodesRelease",
    "codesets.policy": "UtilityPolicy",
    "errors": "CloisterError GuaranteeViolation InputError InternalError NoSafeRelease",
    "exploration.comparison": "Comparison",
    "exploration.outcome": "Exploration",
    "hierarchy": "Hierarchy dates hierarchy_file hierarchy_rows icd9 icd10 intervals parse_hierarchy prefix suppress",
    "privacy": "AlphaKAnonymity AverageRisk BetaLikeness DeltaDisclosure DeltaPresence EnhancedBetaLikeness "
    "EntropyLDiversity KAnonymity KMap KPatients LDiversity NoAttack PopulationUniqueness RecursiveLDiversity "
    "SampleUniqueness TCloseness",
    "verification": "verify_folder",
    "release": "Release",
    "recipients.pooling": "PooledEstimate pool",
    "results": "CountBounds Verdict",
    "risk.assessment": "CodesAssessment HistoriesAssessment TableAssessment",
    "table_with_codes.protect": "TableWithCodesRelease",
    "trajectories.release": "TrajectoriesRelease",
    "trajectories.data": "Trajectories",
    "api.assess": "assess",
    "api.attack": "attack",
    "api.claims": "deidentify_claims",
    "api.codes": "disassociate generalize_codes",
    "api.explore": "compare explore",
    "api.open": "ReleaseFacts ReleasedData export open",
    "api.run_job": "init run_job",
    "api.tables": "anonymize",
    "api.trajectories": "anonymize_trajectories",
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
