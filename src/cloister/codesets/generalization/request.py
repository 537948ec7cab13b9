"""What is asked of a generalization."""

from dataclasses import dataclass
from enum import StrEnum

from cloister.codesets.data import LARGEST
from cloister.codesets.policy import UtilityPolicy
from cloister.errors import InputError
from cloister.hierarchy.ladder import Hierarchy

from .privacy_policy import PrivacyPolicy


class Method(StrEnum):
    """How codes are generalized."""

    CBA = "cba"
    UGACLIP = "ugaclip"
    APRIORI = "apriori"


class Uncovered(StrEnum):
    """What may become of codes that are in no set of the utility policy where they cannot stay as they are."""

    GENERALIZE = "generalize"
    SUPPRESS = "suppress"


class TermLoss(StrEnum):
    """What methods keep low: a term of n codes counts n (ILM) or 2^n - 1 (UL)."""

    ILM = "ilm"
    UL = "ul"


@dataclass(frozen=True)
class GeneralizationRequest:
    """What is asked of a generalization.

    Attributes
    ----------
    k : patients that every set of the privacy policy must lead to, at least 1
    privacy : sets of codes by which somebody might recognize a patient
    method : how codes are generalized
    policy : utility policy: codes are generalized only with codes of the same set; None: with any, or with none where
        uncovered codes are suppressed; AA generalizes along the hierarchy whatever the policy
    uncovered : codes of no set are one more set, or are suppressed where they cannot be released as they are
    loss : what CBA and UGACLIP keep low
    hierarchy : how close codes are; None: ICD-9-CM or ICD-10-CM, whichever knows more of the codes
    """

    k: int
    privacy: PrivacyPolicy
    method: Method = Method.CBA
    policy: UtilityPolicy | None = None
    uncovered: Uncovered = Uncovered.GENERALIZE
    loss: TermLoss = TermLoss.ILM
    hierarchy: Hierarchy | None = None

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= LARGEST:
            raise InputError(f"k is {self.k!r}, but must be a whole number from 1 to {LARGEST}.")
        if self.method is Method.APRIORI and self.privacy.m is None:
            raise InputError(
                "The method apriori protects all sets of up to m codes, but the privacy policy is "
                f"{self.privacy.spec}. Give -m, or choose the method cba or ugaclip."
            )
