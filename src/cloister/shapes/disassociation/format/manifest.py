"""The manifest of disassociated code sets: what a recipient may know of how they were made, as types."""

from typing import Annotated, ClassVar, Literal, Self

from annotated_types import Gt, Le
from pydantic import model_validator

from cloister.release.head import CLUSTERS, DATA, Count, FileSpec, Positive, Section, Share, fitting
from cloister.release.masking import below
from cloister.shapes.codes.data import GivenCodes
from cloister.shapes.codes.manifest import (
    CodesGuarantee,
    CodesManifest,
    CodesUtility,
    KmRule,
    PolicySets,
    PolicyText,
    SharedCodesSettings,
    Whole,
    input_settings,
)

from .data import DisassociationRequest, InferenceCheck, Refine

NO_SETS = PolicySets(constraints=None, constraints_satisfied=None, constraints_preserved=None)


class MethodSettings(Section):
    """What was asked of the method."""

    k: Whole
    m: Whole
    max_cluster_size: Whole
    policy: PolicyText | None
    refine: Refine
    inference_check: InferenceCheck
    inference_threshold: Annotated[float, Gt(0), Le(1)]

    @model_validator(mode="after")
    def _clusters_are_larger_than_k(self) -> Self:
        return fitting(self, {"max_cluster_size": self.max_cluster_size > self.k})


class DisassociationSettings(SharedCodesSettings, MethodSettings):
    """What was asked, and how the input was read."""

    sensitive: tuple[str, ...]
    diversity: Whole | None

    @model_validator(mode="after")
    def _sensitive_codes_are_diverse(self) -> Self:
        return fitting(self, {"diversity": (self.diversity is not None) is bool(self.sensitive)})


class SensitiveCodesRule(Section):
    """A sensitive code is that of at most one in l records of a cluster."""

    model: Literal["l-diversity"]
    l: Whole  # noqa: E741  (as the model is called)


class DisassociationGuarantee(CodesGuarantee):
    """What is promised, and that it was verified."""

    rules: tuple[KmRule] | tuple[KmRule, SensitiveCodesRule]


class DisassociationUtility(CodesUtility):
    """What the chunks tell of what was lost; of the sets of a policy from a file, the releaser's word.

    ``codes_counted_exactly`` are those of no item chunk, ``occurrences_counted`` are in record and shared chunks;
    ``occurrences_in_item_chunks`` bounds the share of all that are in item chunks: if all records of each cluster had
    all codes of its item chunk.
    """

    suppressed_codes: Literal[0]
    codes_counted_exactly: Count
    occurrences_counted: Count
    occurrences_in_item_chunks: Share


class TiedCodes(Section):
    """Pairs (x, y) of a chunk such that anyone who knows x learns y, and distinct codes x; null if not counted."""

    tied_pairs: Count | None
    tied_codes: Count | None


class PartCounts(Section):
    """How many parts a release has."""

    clusters: Positive
    smallest: Positive
    largest: Positive
    record_chunks: Count
    joint_clusters: Count
    shared_chunks: Count


class DisassociationManifest(CodesManifest):
    """All that ``release.json`` of disassociated code sets says."""

    form: ClassVar[Literal["disassociation"]] = "disassociation"
    is_whole: ClassVar[bool] = False
    method: Literal["disassociation"]
    settings: DisassociationSettings
    guarantee: DisassociationGuarantee
    utility: DisassociationUtility
    risk: TiedCodes
    clusters: PartCounts

    @model_validator(mode="after")
    def _fit(self) -> Self:
        suppressed, k = self.records.suppressed, self.settings.k
        masked = suppressed == below(k) and k > 1
        known = suppressed == 0 or (isinstance(suppressed, int) and suppressed >= k and self.settings.drop_empty)
        return fitting(self, {"records": masked or known})

    def file_specs(self) -> tuple[FileSpec, ...]:
        """Return the file of clusters, and the file of records, which belong to no patients."""
        return FileSpec(CLUSTERS), FileSpec(DATA[0], tuple(self.columns.as_json()))

    def risk_and_loss(self) -> tuple[None, float]:
        """Return no risk of a record, as records are nobody's, and the share of codes released without theirs."""
        return None, self.utility.occurrences_in_item_chunks


def method_settings(request: DisassociationRequest, policy: str | None) -> dict[str, object]:
    """Return the settings of the method; ``policy`` is the utility policy in words."""
    same = ("k", "m", "refine", "inference_check")
    return {
        **{name: getattr(request, name) for name in same},
        "max_cluster_size": request.cluster_limit,
        "policy": policy,
        "inference_threshold": float(request.inference_threshold),
    }


def settings_of(given: GivenCodes, request: DisassociationRequest, policy: str | None) -> DisassociationSettings:
    """Return the settings, with the utility policy in words, and how the input was read."""
    return DisassociationSettings.model_validate(
        {
            **input_settings(given, request, policy),
            **method_settings(request, policy),
            "sensitive": tuple(request.sensitive),
            "diversity": request.diversity if request.sensitive else None,
        }
    )
