"""The manifest of generalized code sets: what a recipient may know of how they were made, as types, and what follows.

Patients without codes are omitted if that was asked for; and patients all of whose codes are suppressed, if they are
fewer than k. Of these no number is published, nor one that it follows from: their sum with the others is a bound
(decisions 6 and 8). Which codes were suppressed is not in the release, so that losses and sets of a utility policy are
only bounded by the data file.
"""

from collections import Counter
from math import fsum
from typing import Annotated, ClassVar, Literal, Self

from annotated_types import Ge, Le
from pydantic import model_validator

from cloister.hierarchy.icd import load_classification
from cloister.release.head import AttributesFile, Count, FileName, Positive, Section, Share, fitting
from cloister.shapes.codes.data import CODES, GivenCodes, plain_code
from cloister.shapes.codes.manifest import (
    CodesGuarantee,
    CodesManifest,
    CodesUtility,
    KmRule,
    SharedCodesSettings,
    Whole,
    has_sets,
    input_settings,
)
from cloister.shapes.codes.policy import CLASSIFICATIONS, UtilityPolicy, is_built

from .data import ALL, WHOLE_WEIGHT, Generalization, GeneralizationMethod, GeneralizationRequest, TermLoss, Uncovered

Loss = Annotated[float, Ge(0), Le(1)]
AGREEMENT = 1e-9  # How far a loss may be from the one recomputed
TOP = 4  # Height of the root of a classification: category, section, chapter, root


class GeneralizationSettings(SharedCodesSettings):
    """What was asked, and how the input was read; null: what the method apriori does not look at."""

    m: Positive | None
    privacy: str
    uncovered: Uncovered | None
    loss: TermLoss | None
    code_hierarchy: FileName
    code_weights: tuple[Share, ...] | None = None
    attributes: FileName | None = None

    @model_validator(mode="after")
    def _fit(self) -> Self:
        by_size = self.privacy == f"{ALL}:{self.m}"
        alike = (self.uncovered is None) is (self.loss is None)
        weights = self.code_weights or (1.0,)
        rise = weights[0] > 0 and list(weights) == sorted(weights) and weights[-1] == 1
        complete = len(weights) == TOP or self.code_weights is None or self.code_hierarchy not in CLASSIFICATIONS
        fits = {"privacy": by_size is (self.m is not None), "uncovered": alike, "code_weights": rise and complete}
        return fitting(self, fits)

    def weight(self, height: int) -> float:
        """Return what codes of a classification that meet at a height weigh."""
        return height / TOP if self.code_weights is None else self.code_weights[height - 1]

    @property
    def by_sets(self) -> bool:
        """Whether terms keep to the sets of the utility policy."""
        return self.uncovered is not None


class PolicyRule(Section):
    """Anyone who knows a set of a privacy policy, or a part of one, is left with none or k records."""

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
    attributes: AttributesFile | None = None

    @model_validator(mode="after")
    def _fit(self) -> Self:
        suppressed, k, drops = self.records.suppressed, self.settings.k, self.settings.drop_empty
        if isinstance(suppressed, str):
            bound = int(suppressed[1:])
            possible = k > 1 and (bound == k or (drops and bound >= 2 * k - 1))
        else:
            possible = suppressed == 0 or (drops and suppressed >= k)
        by_sets = self.method is not GeneralizationMethod.APRIORI
        has_attributes = (self.attributes is None) is (self.settings.attributes is None)
        fits = {"records": possible, "settings": self.settings.by_sets is by_sets, "attributes": has_attributes}
        return fitting(self, fits)

    def roles(self) -> dict[str, str]:
        """Return the role of each column of the data file, auxiliary attributes last."""
        return super().roles() | ({} if self.attributes is None else self.attributes.roles())

    def one_row_a_patient(self) -> tuple[str, dict[str, str]] | None:
        """Return the data file, each record of which has the terms and auxiliary attributes of one patient."""
        attributes = {} if self.attributes is None else self.attributes.roles()
        return self.data_file, {CODES: "terms"} | attributes

    def risk_and_loss(self) -> tuple[None, float | None]:
        """Return no risk of a record, and the loss of the terms."""
        return None, self.utility.ilm_terms


def settings_of(
    given: GivenCodes, request: GeneralizationRequest, policy: str | None, closeness: str
) -> GeneralizationSettings:
    """Return the requested settings, with the policy in words and the hierarchy from which the weights come."""
    return GeneralizationSettings.model_validate(
        {
            **input_settings(given, request, policy),
            "m": request.privacy.m,
            "privacy": request.privacy.spec,
            "uncovered": request.uncovered if request.by_sets else None,
            "loss": request.loss if request.by_sets else None,
            "code_hierarchy": closeness,
            **({} if given.attributes is None else {"attributes": given.attributes.name}),
            **(
                {}
                if request.code_weights is None
                else {"code_weights": tuple(weight / WHOLE_WEIGHT for weight in request.code_weights)}
            ),
        }
    )


def facts_of(released: Generalization) -> tuple[TermFigures, TermRisk]:
    """Return what a data file says of its terms, and how rare its contents are."""
    terms, records = _plain_terms(released), released.named_records()
    several = [term for term in terms if len(term) > 1]
    held = Counter(term for record in records for term in record)
    counts = TermFigures(
        terms=len(terms),
        terms_of_several_codes=len(several),
        generalized_codes=sum(map(len, several)),
        largest_term=max(map(len, terms)),
    )
    risk = TermRisk(
        smallest_term=min(held.values()),
        terms_below_k=sum(count < released.k for count in held.values()),
        unique_records=sum(count == 1 for count in Counter(records).values()),
    )
    return counts, risk


def rules_of(settings: GeneralizationSettings) -> tuple[KmRule] | tuple[PolicyRule]:
    """Return the guarantee as rules."""
    if settings.m is not None:
        return (KmRule(model="k^m-anonymity", k=settings.k, m=settings.m),)
    return (PolicyRule(model="privacy-constrained anonymity", k=settings.k, privacy=settings.privacy),)


def _plain_terms(released: Generalization) -> list[set[str]]:
    return [{plain_code(code, repeats=released.repeats) for code in term} for term in released.named_terms()]


def loss_of_terms(released: Generalization, n_codes: int, settings: GeneralizationSettings) -> tuple[float, float]:
    """Return what the terms lose, by ILM, as a lower and an upper bound: equal where the weights are known.

    Of a user's hierarchy only that weights are from 0 to 1 is known. A code that repeats counts once in ``n_codes``.
    """
    classification = settings.code_hierarchy
    known, held = classification in CLASSIFICATIONS, released.supports().tolist()
    losses = [
        len(names)
        / n_codes
        * (settings.weight(_height(names, classification)) if known else 1.0)
        * support
        / released.n_records
        for names, codes, support in zip(_plain_terms(released), released.named_terms(), held, strict=True)
        if len(codes) > 1
    ]
    return (fsum(losses) if known else 0.0), fsum(losses)


def _height(names: set[str], classification: str) -> int:
    """The height of the lowest node above codes; 1 above the occurrences of one, and the root above unknown codes."""
    if len(names) == 1:
        return 1
    tables = load_classification(classification)
    paths = [tables.path(name) for name in names]
    found = [(path.category, path.section, path.chapter) for path in paths if path is not None]
    if len(found) < len(paths):
        return TOP
    return next((height for height, nodes in enumerate(zip(*found, strict=True), start=1) if len(set(nodes)) == 1), TOP)


def evidence_is_possible(
    manifest: GeneralizationManifest, released: Generalization, policy: UtilityPolicy | None
) -> bool:
    """Return whether the data file permits the releaser's statements; the policy is None if it is not known."""
    utility = manifest.utility
    present = len(set().union(*_plain_terms(released)))
    # Of a code that repeats some occurrences may be suppressed, so that it counts among both.
    most = present + utility.suppressed_codes
    least = max(present, utility.suppressed_codes) if released.repeats else most
    if not least <= utility.codes <= most:
        return False
    low, high = loss_of_terms(released, utility.codes, manifest.settings)
    return low - AGREEMENT <= utility.ilm_terms <= high + AGREEMENT and _sets_are_possible(manifest, released, policy)


def _sets_are_possible(
    manifest: GeneralizationManifest, released: Generalization, policy: UtilityPolicy | None
) -> bool:
    """Sets of which no code is released are satisfied.

    Each suppressed code may be all there is of one more set, and may be what another one lacks.
    """
    utility, settings = manifest.utility, manifest.settings
    sets, satisfied, preserved = (count or 0 for count in utility.counts())
    if not has_sets(settings.policy):
        return True
    if preserved < satisfied - utility.suppressed_codes or (settings.by_sets and satisfied < sets):
        return False
    if policy is None:
        return True
    constraints, is_made, terms = policy.constraints, is_built(str(settings.policy)), _plain_terms(released)
    if is_made:
        # A builder makes sets of all codes of the original, but counts only those of which a code is released.
        present = set().union(*terms)
        constraints = tuple(each for each in constraints if each & present)
    # Satisfied are sets that no term reaches beyond, preserved those of which nothing is suppressed either, which is
    # known where the original is.
    gone = {plain_code(released.vocabulary[code], repeats=released.repeats) for code in released.suppressed.tolist()}
    kept = [each for each in constraints if all(term <= each for term in terms if term & each)]
    unseen = sets - len(constraints)
    if unseen and is_made:
        return False
    if released.suppressed.size:
        whole = sum(not each & gone for each in kept)
        return unseen == 0 and (satisfied, preserved) == (len(kept), whole)
    return 0 <= unseen <= utility.suppressed_codes and satisfied == len(kept) + unseen
