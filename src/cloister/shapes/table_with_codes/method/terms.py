"""Generalize the codes of a protected table inside each of its classes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from cloister.errors import NoSafeRelease
from cloister.kernels.terms import SUPPRESSED
from cloister.shapes.codes.data import CodeSets
from cloister.shapes.codes.policy import UtilityPolicy
from cloister.shapes.disassociation.format.data import RecordClasses
from cloister.shapes.generalization.format.data import Generalization, GeneralizationMethod, GeneralizationRequest
from cloister.shapes.generalization.format.privacy_policy import PrivacyPolicy, constraints_on
from cloister.shapes.generalization.method.losses import CodeTree, certainty_penalty, count_terms, icd_tree
from cloister.shapes.generalization.method.protect import find_terms, released_as
from cloister.shapes.generalization.method.release import check_size
from cloister.shapes.table.method.data import ProtectedTable, TableRequest
from cloister.shapes.table_with_codes.format.data import CodesRequested, ReadCodes
from cloister.shapes.table_with_codes.format.terms import NO_TERM

from .protect import class_columns, classes_of, codes_of_rows, policy_for, select_records
from .request import k_of


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedTerms:
    """A table and its terms ready for release, with information for the custodian only."""

    table: ProtectedTable  # its codes reduced to their presence; rows that are equal in all else are sorted by terms
    frame: pl.DataFrame  # the same with terms
    codes: CodeSets  # true codes of the patients of the rows that have any, in their order; secret
    # ncp, suppressed: the mean loss of occurrences of codes, 1 for suppressed ones; how many of them are; secret
    ncp: float
    suppressed: int
    policy: UtilityPolicy | None  # the utility policy for these codes
    classification: str  # by which codes are close: ``icd9`` or ``icd10``


def protect_terms_of(
    table: ProtectedTable, request: TableRequest, read: ReadCodes, asked: CodesRequested
) -> ProtectedTerms:
    """Generalize the codes of the released patients inside the classes of the released table.

    *Guarantee* ((k, k^m)-anonymity): of each class of k records, every set of up to m terms that one of its records has
    is that of k records of the class or more. So someone who knows the quasi-identifiers of a patient, whether it has
    codes, and up to m of these codes, is left with k records by their terms; a code in no term of the class excludes
    none. Not promised: anything against someone who knows more codes, codes that a patient does not have, other
    columns, or several patients; that the k records differ in other columns. Cost: for each class that of `generalize`.

    The table is protected so that records of a class have codes all or none. Nothing is random.

    Source: Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos (2013), "Anonymizing data with relational and transaction
    attributes", ECML PKDD 2013: (k, k^m)-anonymity. Its classes are merged for the sake of codes; here the classes are
    those of the table, which ``merge_bound`` merges.
    """
    rows, codes = codes_of_rows(table, read)
    k = k_of(request)
    policy = policy_for(asked, read, codes, k)
    classes = classes_of(table.tally.frame, class_columns(table, asked.column), rows)
    classification = icd_tree(codes).spec
    found = list(_generalize_classes(codes, classes, partial(_request, k, asked, policy), classification))
    texts = pl.Series([text for one in found for text in one.texts], dtype=pl.String)
    texts = texts.gather(np.argsort(np.argsort(classes.class_of, kind="stable")))
    if (texts == NO_TERM).all():
        raise NoSafeRelease(
            f"With k = {k} every code would have to be suppressed. Ask for a smaller k, let more codes be generalized "
            "together, or merge classes."
        )
    shown = table.tally.frame.get_column(asked.column).clone().scatter(rows, texts)
    order = _order_of_terms(table.tally.frame, shown, request.numbered_id)
    frame = table.tally.frame.with_columns(shown.gather(order))
    own = np.searchsorted(rows, order.to_numpy()[rows])
    is_released = table.originals.is_not_null()  # rows of * stay where they are
    places = (is_released.cum_sum().cast(pl.Int64) - 1).gather(order).filter(is_released)
    return ProtectedTerms(
        replace(table, originals=table.originals.gather(order), labels=table.labels.gather(places)),
        frame,
        select_records(codes, own),
        sum(one.lost for one in found) / codes.items.size,
        sum(one.suppressed for one in found),
        policy,
        classification,
    )


def _request(k: int, asked: CodesRequested, policy: UtilityPolicy | None, codes: CodeSets) -> GeneralizationRequest:
    """Return the request for the codes of one class; no record of the class may be suppressed."""
    return GeneralizationRequest(
        k,
        PrivacyPolicy.all_combinations(codes, asked.m),
        GeneralizationMethod(asked.method),
        policy=None if policy is None else policy.within(codes),
        may_omit=False,
    )


@dataclass(frozen=True, eq=False, repr=False)
class _GeneralizedClass:
    """The cells of the records of a class, and what they lost."""

    texts: list[str]
    lost: float
    suppressed: int


def _generalize_classes(
    codes: CodeSets, classes: RecordClasses, ask: Callable[[CodeSets], GeneralizationRequest], classification: str
) -> Iterator[_GeneralizedClass]:
    """Generalize the codes of each class by itself, in the order of the classes."""
    order = np.argsort(classes.class_of, kind="stable")
    for members in np.split(order, np.cumsum(np.bincount(classes.class_of))[:-1]):
        own = select_records(codes, members)
        tree = icd_tree(own, classification)
        released = _generalize_class(own, ask(own), tree)
        check_size(released)
        counts = count_terms(released, own.supports(), tree)
        texts = [" ".join(terms) or NO_TERM for terms in released.named_records()]
        yield _GeneralizedClass(texts, certainty_penalty(counts) * own.items.size, int(counts.suppressed.sum()))


def _generalize_class(codes: CodeSets, request: GeneralizationRequest, tree: CodeTree) -> Generalization:
    """Return the terms of the records of a class, in their order.

    Where fewer than k records would keep no term, further terms are suppressed, those of the fewest records first: a
    record that is alone without terms says that its patient has nothing but rare codes.
    """
    term_of = find_terms(codes, request, tree, constraints_on(request.privacy, codes))[0].copy()
    while True:
        released, origin = released_as(codes, term_of, request)
        if not 0 < int((released.records.sizes == 0).sum()) < request.k:
            return replace(released, records=released.records.chosen(np.argsort(origin)))
        term_of[released.terms.members(int(np.argmin(released.supports())))] = SUPPRESSED


def _order_of_terms(frame: pl.DataFrame, shown: pl.Series, numbered_id: str | None) -> pl.Series:
    """Return the places of the rows in the order of their terms, among rows that are equal in all but their number."""
    others = [series.alias(f"c{place}") for place, series in enumerate(frame) if series.name != numbered_id]
    runs = pl.DataFrame(others).select(pl.struct(pl.all()).rle_id().alias("run"))
    texts = runs.with_columns(shown.fill_null("").alias("text"))
    return texts.select(pl.arg_sort_by("run", "text", maintain_order=True)).to_series()
