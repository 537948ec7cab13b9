"""What the data file of generalized code sets says: for the manifest, and to verify it; and what it bounds.

Which codes were suppressed is not in the release, so that losses and sets of a utility policy are only bounded.
"""

from collections import Counter
from dataclasses import dataclass
from math import fsum

from cloister.codesets.encode import plain_code
from cloister.codesets.manifest import KmRule, has_sets
from cloister.codesets.policy import CLASSIFICATIONS, UtilityPolicy, is_built
from cloister.hierarchy.icd import load_classification

from .data import Generalization
from .manifest import (
    GeneralizationManifest,
    GeneralizationSettings,
    GeneralizationUtility,
    PolicyRule,
    TermFigures,
    TermRisk,
)

AGREEMENT = 1e-9
"""How far a loss may be from the one recomputed."""

TOP = 4
"""Height of the root of a classification: category, section, chapter, root."""


@dataclass(frozen=True)
class GeneralizationFacts:
    """The parts of a manifest that follow from the data file and the settings."""

    released: int
    rules: tuple[KmRule] | tuple[PolicyRule]
    counts: TermFigures
    risk: TermRisk

    def differing(self, manifest: GeneralizationManifest) -> list[str]:
        """Return the parts of a manifest that say something else."""
        counts = TermFigures(**{name: getattr(manifest.utility, name) for name in TermFigures.model_fields})
        found = {
            "records": (self.released, manifest.records.released),
            "guarantee.rules": (self.rules, manifest.guarantee.rules),
            "utility": (self.counts, counts),
            "risk": (self.risk, manifest.risk),
        }
        return [part for part, (expected, published) in found.items() if expected != published]


def facts_of(released: Generalization, settings: GeneralizationSettings) -> GeneralizationFacts:
    """Return what a data file says that was released under these settings."""
    terms, records = _plain_terms(released), released.named_records()
    several = [term for term in terms if len(term) > 1]
    held = Counter(term for record in records for term in record)
    return GeneralizationFacts(
        released=released.n_records,
        rules=rules_of(settings),
        counts=TermFigures(
            terms=len(terms),
            terms_of_several_codes=len(several),
            generalized_codes=sum(map(len, several)),
            largest_term=max(map(len, terms)),
        ),
        risk=TermRisk(
            smallest_term=min(held.values()),
            terms_below_k=sum(count < released.k for count in held.values()),
            unique_records=sum(count == 1 for count in Counter(records).values()),
        ),
    )


def rules_of(settings: GeneralizationSettings) -> tuple[KmRule] | tuple[PolicyRule]:
    """Return what is promised."""
    if settings.m is not None:
        return (KmRule(model="k^m-anonymity", k=settings.k, m=settings.m),)
    return (PolicyRule(model="privacy-constrained anonymity", k=settings.k, privacy=settings.privacy),)


def _plain_terms(released: Generalization) -> list[set[str]]:
    return [{plain_code(code, repeats=released.repeats) for code in term} for term in released.named_terms()]


def loss_of_terms(released: Generalization, n_codes: int, classification: str) -> tuple[float, float]:
    """Return what the terms lose, by ILM, as a lower and an upper bound: equal where the weights are known.

    Of a user's hierarchy only that weights are from 0 to 1 is known. A code that repeats counts once in ``n_codes``.
    """
    held = Counter(released.records.items.tolist())
    known = classification in CLASSIFICATIONS
    losses = []
    for term, codes in enumerate(released.named_terms()):
        if len(codes) > 1:
            names = {plain_code(code, repeats=released.repeats) for code in codes}
            weight = _height(names, classification) / TOP if known else 1.0
            losses.append(len(names) / n_codes * weight * held[term] / released.n_records)
    return (fsum(losses) if known else 0.0), fsum(losses)


def _height(names: set[str], classification: str) -> int:
    """The height of the lowest node above codes; 1 above the occurrences of one, and the root above unknown codes."""
    tables = load_classification(classification)
    if len(names) == 1:
        return 1
    paths = [tables.path(name) for name in names]
    found = [(path.category, path.section, path.chapter) for path in paths if path is not None]
    if len(found) < len(paths):
        return TOP
    return next((height for height, nodes in enumerate(zip(*found, strict=True), start=1) if len(set(nodes)) == 1), TOP)


def evidence_is_possible(
    utility: GeneralizationUtility,
    settings: GeneralizationSettings,
    released: Generalization,
    policy: UtilityPolicy | None,
) -> bool:
    """Return whether the releaser's word is within what the data file leaves open; the policy is None if not known."""
    present = len(set().union(*_plain_terms(released)))
    # Of a code that repeats some occurrences may be suppressed, so that it counts among both.
    most = present + utility.suppressed_codes
    least = max(present, utility.suppressed_codes) if released.repeats else most
    if not least <= utility.codes <= most:
        return False
    low, high = loss_of_terms(released, utility.codes, settings.code_hierarchy)
    return low - AGREEMENT <= utility.ilm_terms <= high + AGREEMENT and _sets_are_possible(
        utility, settings, released, policy
    )


def _sets_are_possible(
    utility: GeneralizationUtility,
    settings: GeneralizationSettings,
    released: Generalization,
    policy: UtilityPolicy | None,
) -> bool:
    """Sets of which no code is released are satisfied.

    Each suppressed code may be all there is of one more set, and may be what another one lacks.
    """
    sets, satisfied, preserved = (count or 0 for count in utility.counts())
    suppressed = utility.suppressed_codes
    if not has_sets(settings.policy):
        return True
    if preserved < satisfied - suppressed or (settings.by_sets and satisfied < sets):
        return False
    if policy is None:
        return True
    constraints, is_made = policy.constraints, is_built(str(settings.policy))
    if is_made:
        # A builder makes sets of all codes of the original, but counts only those of which a code is released.
        present = set().union(*_plain_terms(released))
        constraints = tuple(each for each in constraints if each & present)
    # Satisfied are sets that no term reaches beyond, preserved those of which nothing is suppressed either, which is
    # known where the original is.
    gone = {plain_code(released.vocabulary[code], repeats=released.repeats) for code in released.suppressed.tolist()}
    terms = _plain_terms(released)
    kept = [each for each in constraints if all(term <= each for term in terms if term & each)]
    whole = sum(not each & gone for each in kept)
    unseen = sets - len(constraints)
    if unseen and is_made:
        return False
    if released.suppressed.size:
        return unseen == 0 and (satisfied, preserved) == (len(kept), whole)
    return 0 <= unseen <= suppressed and satisfied == len(kept) + unseen
