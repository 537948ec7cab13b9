"""The manifest of generalized code sets: what a recipient may know of how they were made, as types.

Patients without codes are left out if that was asked for; and patients all of whose codes are suppressed, if they are
fewer than k. Of these no number is published, nor one that it follows from: their sum with the others is a bound
(decisions 6 and 8).
"""

from typing import Annotated, ClassVar, Literal, Self

from annotated_types import Ge, Le
from pydantic import model_validator

from cloister.codesets.data import GivenCodes
from cloister.codesets.manifest import (
    CodesGuarantee,
    CodesManifest,
    CodesUtility,
    KmRule,
    SharedCodesSettings,
    Whole,
    input_settings,
)
from cloister.manifest.head import Count, Positive, Section, fitting

from .data import ALL, GeneralizationMethod, GeneralizationRequest, TermLoss, Uncovered

Loss = Annotated[float, Ge(0), Le(1)]


class GeneralizationSettings(SharedCodesSettings):
    """What was asked, and how the input was read; null: what the method apriori does not look at."""

    m: Positive | None
    privacy: str
    uncovered: Uncovered | None
    loss: TermLoss | None
    code_hierarchy: str

    @model_validator(mode="after")
    def _fit(self) -> Self:
        by_size = self.privacy == f"{ALL}:{self.m}"
        alike = (self.uncovered is None) is (self.loss is None)
        return fitting(self, {"privacy": by_size is (self.m is not None), "uncovered": alike})

    @property
    def by_sets(self) -> bool:
        """Whether terms keep to the sets of the utility policy."""
        return self.uncovered is not None


class PolicyRule(Section):
    """Whoever knows a set of a privacy policy, or a part of one, is left with none or k records."""

    model: Literal["privacy-constrained anonymity"]
    k: Whole
    privacy: str


class TermsGuarantee(CodesGuarantee):
    """What is promised, and that it was verified."""

    rules: tuple[KmRule] | tuple[PolicyRule]


class TermFigures(Section):
    """How many terms there are, and of how many codes; one that repeats counts once. Follows from the data file."""

    terms: Positive
    terms_of_several_codes: Count
    generalized_codes: Count
    largest_term: Positive


class GeneralizationUtility(TermFigures, CodesUtility):
    """Counts of terms, and the releaser's word as far as the data file bounds it.

    That is how many codes are suppressed, what became of sets of the utility policy, and the loss: ILM counts
    occurrences of suppressed codes, and is published where there are none; else only what terms lose.
    """

    ilm: Loss | None
    ilm_terms: Loss

    @model_validator(mode="after")
    def _fit(self) -> Self:
        return fitting(self, {"ilm": self.ilm == (None if self.suppressed_codes else self.ilm_terms)})


class TermRisk(Section):
    """How rare what is released is. Follows from the data file."""

    smallest_term: Positive
    terms_below_k: Count
    unique_records: Count


class GeneralizationManifest(CodesManifest):
    """All that ``release.json`` of generalized code sets says."""

    form: ClassVar[Literal["generalization"]] = "generalization"
    method: GeneralizationMethod
    settings: GeneralizationSettings
    guarantee: TermsGuarantee
    utility: GeneralizationUtility
    risk: TermRisk

    @model_validator(mode="after")
    def _fit(self) -> Self:
        left_out, k, drops = self.records.suppressed, self.settings.k, self.settings.drop_empty
        if isinstance(left_out, str):
            bound = int(left_out[1:])
            possible = k > 1 and (bound == k or (drops and bound >= 2 * k - 1))
        else:
            possible = left_out == 0 or (drops and left_out >= k)
        by_sets = self.method is not GeneralizationMethod.APRIORI
        return fitting(self, {"records": possible, "settings": self.settings.by_sets is by_sets})


def settings_of(
    given: GivenCodes, request: GeneralizationRequest, policy: str | None, closeness: str
) -> GeneralizationSettings:
    """Return what was asked, with the policy in words and the hierarchy that weights were taken from."""
    return GeneralizationSettings.model_validate(
        {
            **input_settings(given, request, policy),
            "m": request.privacy.m,
            "privacy": request.privacy.spec,
            "uncovered": request.uncovered if request.by_sets else None,
            "loss": request.loss if request.by_sets else None,
            "code_hierarchy": closeness,
        }
    )
