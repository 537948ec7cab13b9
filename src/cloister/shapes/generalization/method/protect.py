"""Generalize code sets by the requested method, until every set of the privacy policy matches k patients.

The result contains the outcomes of the sets of the privacy policy and of the utility policy.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), IEEE ITAB; for AA Terrovitis, Mamoulis, Kalnis (2008), PVLDB 1(1).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cloister.errors import InputError, NoSafeRelease
from cloister.kernels.ragged import owners, starts_of
from cloister.kernels.terms import supports
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.codes.policy import UtilityPolicy
from cloister.shapes.generalization.format.data import (
    Generalization,
    GeneralizationMethod,
    GeneralizationRequest,
    Integers,
    Numbers,
    Sets,
    Status,
    TermLoss,
    Uncovered,
    record_bits,
)
from cloister.shapes.generalization.format.privacy_policy import (
    CodePostings,
    PrivacyConstraints,
    PrivacyPolicy,
    constraints_on,
    maximal,
    rare_parts,
)

from .exact import MOST_CODES, ExactSearch
from .losses import (
    CodeTree,
    GeneralizationFigures,
    GeneralizedCodes,
    PolicySetOutcome,
    certainty_penalty,
    count_terms,
    icd_tree,
    information_loss,
    log_exponential_loss,
    tree_of,
    weight_tree,
)
from .moves import TermSearch
from .terms import WorkingTerms, clip, cluster, group_constraints, recode

SHAKES = 60  # Of the best terms that moves found
RECORDS = [["a", "b", "c"], ["a", "b"], ["c", "d"], ["d"]]


def unprotected_parts(apart: Sets, released: Generalization) -> Sets:
    """Return parts of sets, as terms, that 1 to k - 1 released records hold.

    The sets occur in no record of the original together, but their terms may.
    """
    postings = CodePostings.of(released.records, len(released.terms))
    return Sets.of([]).joined(*(rare_parts(terms, postings, released.k) for terms in _as_terms(apart, released)))


def _as_terms(sets: Sets, released: Generalization) -> list[Numbers]:
    """The terms of some sets of codes, each once and without suppressed codes."""
    term_of = released.term_of()
    mapped = {tuple(np.unique(term_of[sets.members(number)]).tolist()) for number in range(len(sets))}
    kept = sorted({tuple(term for term in terms if term >= 0) for terms in mapped} - {()})
    return [np.array(terms, dtype=np.int32) for terms in kept]


def statuses(constraints: PrivacyConstraints, released: Generalization) -> dict[Status, int]:
    """Count the sets of the privacy policy by outcome."""
    given = constraints.given
    vacuous = given.sizes == 0
    gone = released.term_of() < 0
    suppressed = np.bincount(given.owners()[gone[given.items]], minlength=len(given)) > 0
    # A set is violated if some part of it is held by 1 to k - 1 records.
    names = tuple(map(str, range(len(released.terms))))
    as_codes = CodeSets(names, released.records.offsets, released.records.items)
    held = supports(released.term_of(), record_bits(as_codes), given.offsets, given.items, released.k)
    violated = (held > 0) & (held < released.k)
    postings = CodePostings.of(released.records, len(released.terms))
    for number in np.flatnonzero((held == 0) & ~vacuous).tolist():
        terms = _as_terms(given.chosen(np.array([number])), released)
        violated[number] = any(len(rare_parts(each, postings, released.k)) for each in terms)
    return {
        Status.SATISFIED: int(np.sum(~vacuous & ~violated & ~suppressed)),
        Status.VACUOUS: int(vacuous.sum()),
        Status.SUPPRESSED: int(np.sum(suppressed & ~violated)),
        Status.VIOLATED: int(violated.sum()),
    }


def outcomes(policy: UtilityPolicy | None, codes: CodeSets, released: Generalization) -> tuple[PolicySetOutcome, ...]:
    """Return for each set of the utility policy whether it is satisfied, and which of it is suppressed."""
    if policy is None:
        return ()
    term_of, found = released.term_of(), []
    for name, members in zip(policy.names, policy.item_numbers(codes), strict=True):
        items = np.array(members, dtype=np.int64)
        terms = np.unique(term_of[items])
        reached = released.terms.chosen(terms[terms >= 0].astype(np.int64)).items
        gone = int(np.sum(term_of[items] < 0))
        found.append(PolicySetOutcome(name, len(items), gone, bool(np.all(np.isin(reached, items)))))
    return tuple(found)


def generalize(codes: CodeSets, request: GeneralizationRequest) -> GeneralizedCodes:
    """Generalize codes, and suppress where that is not enough.

    *Guarantee*: every set of the privacy policy, and every part of one, is held by no released record or by k or more,
    each code read as the term that it is in and suppressed codes omitted. So anyone who knows such a set of a patient,
    and that the patient is among the data, is left with k records. Terms hold codes of one set of the utility policy
    only (CBA, UGACLIP). Records that keep no term are omitted where they are fewer than k. Not promised: anything
    against someone who knows other codes, more codes of a patient than a set has, or codes that a patient does not
    have; nor that the k records differ in their other terms. Cost: for each merger the codes of a utility constraint
    times the terms of the set at hand, a bit a record for each.

    Codes of the vocabulary that no record holds are omitted. Source: Loukides, Gkoulalas-Divanis, Malin (2010),
    "Privacy-preserving publication of diagnosis codes for effective biomedical analysis", IEEE ITAB, Algorithm 1.
    Beyond the paper: sets that occur only in part are protected part by part, in the original and in what is released.
    """
    codes = occurring(codes)
    if codes.n_records < request.k:
        raise NoSafeRelease(
            f"Every set of codes must lead to {request.k} patients, but there are {codes.n_records}. "
            "Ask for a smaller k."
        )
    tree = icd_tree(codes) if request.hierarchy is None else tree_of(codes, request.hierarchy)
    tree = weight_tree(tree, request.code_weights)
    constraints = constraints_on(request.privacy, codes)
    if not len(constraints.required):
        raise InputError(
            f"None of the {len(constraints.given)} sets of the privacy policy {request.privacy.spec} has a code of the "
            "data, so nothing would be protected. Write codes as the data do."
        )
    term_of, bound = find_terms(codes, request, tree, constraints)
    everyone, origin = released_as(codes, term_of, request)
    released, origin = without_few_empty(everyone, origin)
    if not len(released.terms) or released.n_records < request.k:
        raise NoSafeRelease(
            f"With k = {request.k} every code would have to be suppressed, or too few patients would keep one. Ask for "
            "a smaller k, or let more codes be generalized together."
        )
    occurrences = codes.supports()
    counts = count_terms(everyone, occurrences, tree)
    figures = GeneralizationFigures(
        ilm=information_loss(counts),
        log_ul=log_exponential_loss(counts),
        ncp=certainty_penalty(counts),
        suppressed_codes=len(everyone.suppressed),
        suppressed_occurrences=int(counts.suppressed.sum()),
        empty_records=int(np.sum(everyone.records.sizes == 0)),
        left_out=codes.n_records - released.n_records,
        ilm_terms=information_loss(count_terms(released, occurrences, tree, shown=True)),
        closeness=tree.spec,
        statuses=statuses(constraints, everyone),
        outcomes=outcomes(request.policy, codes, everyone),
        bound=bound,
    )
    return GeneralizedCodes(released, origin, codes, figures)


def find_terms(
    codes: CodeSets, request: GeneralizationRequest, tree: CodeTree, constraints: PrivacyConstraints
) -> tuple[Numbers, float | None]:
    """Return the smallest code of the term that each code is in, -1 for suppressed codes; and a bound of the ILM.

    The bound is None where the method has none.
    """
    if request.method is GeneralizationMethod.GENERALIZATION:
        return _best_terms(codes, request, tree, constraints)
    return _terms(codes, request, tree, constraints), None


def occurring(codes: CodeSets) -> CodeSets:
    """Return the code sets with a vocabulary of the codes that some record holds."""
    held = codes.supports() > 0
    if held.all():
        return codes
    number = np.cumsum(held) - 1
    vocabulary = tuple(code for code, occurs in zip(codes.vocabulary, held.tolist(), strict=True) if occurs)
    return CodeSets(vocabulary, codes.offsets, number[codes.items].astype(np.int32), codes.ids, codes.repeats)


def released_as(codes: CodeSets, term_of: Numbers, request: GeneralizationRequest) -> tuple[Generalization, Integers]:
    """Return what is released of some codes, and the record of the original behind each released one.

    ``term_of`` is the smallest code of the term that each code is in, -1 for suppressed codes: (n_codes,).
    """
    kept = np.flatnonzero(term_of >= 0)
    names, number = np.unique(term_of[kept], return_inverse=True)
    terms = Sets(
        np.searchsorted(np.sort(number), np.arange(len(names) + 1)),
        kept[np.argsort(number, kind="stable")].astype(np.int32),
    )
    place = np.full(codes.n_codes, -1, dtype=np.int64)
    place[kept] = number
    # The terms of each record, each once, then the records in the order of what they hold.
    width = max(1, len(names))
    term = place[codes.items]
    owner = owners(codes.offsets) * width + term
    owner, term = np.divmod(np.unique(owner[term >= 0]), width)
    offsets = starts_of(np.bincount(owner, minlength=codes.n_records))
    records = Sets(offsets, term.astype(np.int32))
    origin = records.order()
    suppressed = np.flatnonzero(term_of < 0).astype(np.int32)
    m = request.privacy.m
    ordered = records.chosen(origin)
    return Generalization(request.k, codes.vocabulary, terms, suppressed, ordered, m, codes.repeats), origin


def without_few_empty(released: Generalization, origin: Integers) -> tuple[Generalization, Integers]:
    """Return what is released without the records that keep no term, if there are some, but fewer than k.

    Such a record says that its patient has nothing but suppressed codes, and so that it is one of the few who have
    rare codes. They hold no term, so that leaving them out changes no count of terms.
    """
    empty = released.records.sizes == 0
    if not 0 < int(empty.sum()) < released.k:
        return released, origin
    kept = np.flatnonzero(~empty)
    return replace(released, records=released.records.chosen(kept)), origin[kept]


def _terms(codes: CodeSets, request: GeneralizationRequest, tree: CodeTree, constraints: PrivacyConstraints) -> Numbers:
    if request.method is GeneralizationMethod.APRIORI:
        return recode(codes, tree, request.k, request.privacy.m or 1)
    policy = request.policy.item_numbers(codes) if request.policy else []
    groups = group_constraints(policy, codes.n_codes, uncovered_together=request.uncovered is Uncovered.GENERALIZE)
    terms = WorkingTerms(codes, tree, groups)
    protect = cluster if request.method is GeneralizationMethod.CBA else clip
    waiting = constraints.required
    # Until no set, and no part of one, has 1 to k - 1 records: what is merged can let parts meet.
    while len(waiting):
        protect(terms, waiting, request.k, exponential=request.loss is TermLoss.UL)
        if terms.first_below(constraints.required, request.k, 0) < len(constraints.required):
            waiting = constraints.required
            continue
        released, _ = released_as(codes, terms.term_of, request)
        rare = unprotected_parts(constraints.apart, released)
        first = released.terms.items[released.terms.offsets[:-1]]
        waiting = maximal(Sets(rare.offsets, first[rare.items]))
    return terms.term_of


def _best_terms(
    codes: CodeSets, request: GeneralizationRequest, tree: CodeTree, constraints: PrivacyConstraints
) -> tuple[Numbers, float | None]:
    """Search from the terms of CBA, those of UGACLIP and none; return the terms of least loss, and a bound of the ILM.

    They never lose more than the terms of either method. For few codes, no terms lose less. If codes repeat, moves
    could separate occurrences of a code: then return the better result of the two methods, without a bound.
    """
    methods = GeneralizationMethod.CBA, GeneralizationMethod.UGACLIP
    found = [_terms(codes, replace(request, method=method), tree, constraints).copy() for method in methods]
    if codes.repeats:
        best = _least_of(found, codes, request, tree, constraints)
        return found[0] if best is None else best, None
    search, nothing = search_of(codes, request, tree, constraints), np.full(codes.n_codes, -1, dtype=np.int32)
    for start, nodes_first in ((found[0], False), (found[1], False), (nothing, False), (nothing, True)):
        found.append(search.improve(start, nodes_first=nodes_first))
    found.append(search.shaken(min(found, key=search.loss_of), SHAKES))
    best, least = _least_of(found, codes, request, tree, constraints), search.bound()
    if codes.n_codes <= MOST_CODES:
        exact = ExactSearch(
            codes,
            search,
            constraints.apart,
            lambda term_of: is_releasable(*released_as(codes, term_of, request), constraints, request),
        )
        best = exact.find(nothing if best is None else best)
        least = max(least, exact.bound)
    return found[0] if best is None else best, least / (search.unit * codes.n_records)


def _least_of(
    found: Sequence[Numbers],
    codes: CodeSets,
    request: GeneralizationRequest,
    tree: CodeTree,
    constraints: PrivacyConstraints,
) -> Numbers | None:
    """The terms of least loss among those that can be released, the first of them; None if none can."""
    losses, occurrences = list[tuple[float, int, Numbers]](), codes.supports()
    for term_of in found:
        everyone, origin = released_as(codes, term_of, request)
        if is_releasable(everyone, origin, constraints, request):
            losses.append((information_loss(count_terms(everyone, occurrences, tree)), len(losses), term_of))
    return min(losses, key=lambda each: each[:2])[2] if losses else None


def is_releasable(
    everyone: Generalization, origin: Integers, constraints: PrivacyConstraints, request: GeneralizationRequest
) -> bool:
    """Return whether terms protect the sets that no record holds, and leave k records or more, or all if they must."""
    released, _ = without_few_empty(everyone, origin)
    if released.n_records < everyone.n_records and not request.may_omit:
        return False
    is_enough = len(released.terms) > 0 and released.n_records >= released.k
    return is_enough and not len(unprotected_parts(constraints.apart, everyone))


def search_of(
    codes: CodeSets, request: GeneralizationRequest, tree: CodeTree, constraints: PrivacyConstraints
) -> TermSearch:
    """Return what searches terms under a request, and bounds their loss."""
    policy = request.policy.item_numbers(codes) if request.policy else []
    groups = group_constraints(policy, codes.n_codes, uncovered_together=request.uncovered is Uncovered.GENERALIZE)
    return TermSearch(codes, tree, groups.group, constraints.required, request.k)


def load_kernels() -> None:
    """Run every kernel once, on four records."""
    codes = CodeSets.from_records(RECORDS)
    for method in (GeneralizationMethod.CBA, GeneralizationMethod.UGACLIP, GeneralizationMethod.APRIORI):
        generalize(codes, GeneralizationRequest(2, PrivacyPolicy.all_combinations(codes, 2), method))
