"""What the clusters of a release say: for manifest, codebook and report, and to verify these."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.codesets.data import CODES, ID, Integers
from cloister.codesets.encode import MARK, plain_code
from cloister.codesets.manifest import KmRule, PolicySets, has_sets
from cloister.codesets.policy_words import is_made_of_codes, made_anew, one_record
from cloister.report_figures import Counted, Counts, Shown

from .data import Disassociation, Refine, Safe, lay_out
from .manifest import (
    DisassociationSettings,
    DisassociationUtility,
    SensitiveRule,
    MethodSettings,
    PartCounts,
    TiedCodes,
)
from .ties import count_ties, ties_of_repeats

Rules = tuple[KmRule] | tuple[KmRule, SensitiveRule]


NO_SETS = PolicySets(constraints=None, constraints_satisfied=None, constraints_preserved=None)


def sets_of(released: Disassociation, policy: str | None) -> PolicySets | None:
    """Return what became of the sets of a policy by its words; None where the clusters do not tell.

    Nothing is published without a policy, or of frequent sets: which sets are frequent does not follow from the chunks.
    """
    if policy is None or not has_sets(policy):
        return NO_SETS
    if not is_made_of_codes(policy):
        return None
    made = made_anew(policy, released.vocabulary, repeats=released.repeats)
    if made is None:
        return NO_SETS
    return count_sets(released, made.item_numbers(one_record(released.vocabulary, repeats=released.repeats)))


def count_sets(released: Disassociation, constraints: Sequence[Sequence[int]]) -> PolicySets:
    """Count constraints, those all of whose codes are counted exactly, and those whose patients are, too.

    Parameters
    ----------
    constraints : disjoint sets of item numbers
    """
    of_code = np.full(len(released.vocabulary), -1, dtype=np.int64)
    for number, items in enumerate(constraints):
        of_code[list(items)] = number
    satisfied = np.ones(len(constraints) + 1, dtype=np.bool_)
    # Codes of no constraint fall on the last place, which is left out below.
    satisfied[of_code[released.item_chunks]] = False
    # Where two chunks lie over one cluster, whoever has codes of both is counted twice.
    constraint, begin, end = _spans(released, of_code)
    order = np.lexsort((begin, constraint))
    constraint, begin, end = constraint[order], begin[order], end[order]
    meet = (np.diff(constraint) == 0) & (end[:-1] > begin[1:])
    preserved = satisfied.copy()
    preserved[constraint[1:][meet]] = False
    return PolicySets(
        constraints=len(constraints),
        constraints_satisfied=int(satisfied[:-1].sum()),
        constraints_preserved=int(preserved[:-1].sum()),
    )


def _spans(released: Disassociation, of_code: Integers) -> tuple[Integers, Integers, Integers]:
    """For each chunk and each constraint that has codes in it: the constraint, first and last place of its clusters."""
    layout, found = lay_out(released), []
    record, shared = released.record_chunks, released.shared_chunks
    own = layout.position[record.owner]
    over = ((record, own, own + 1), (shared, layout.low[shared.owner], layout.high[shared.owner]))
    for chunks, begin, end in over:
        chunk = np.repeat(np.arange(len(chunks)), np.diff(chunks.domain_offsets))
        constraint, chunk = np.unique(np.stack([of_code[chunks.domain], chunk]), axis=1)
        found.append(np.stack([constraint, begin[chunk], end[chunk]]))
    constraint, begin, end = np.concatenate(found, axis=1)
    return constraint, begin, end


def codes_counted_exactly(released: Disassociation) -> NDArray[np.bool_]:
    """Return which codes stand in no item chunk, so that the chunks tell their number: (n_codes,)."""
    counted = np.ones(len(released.vocabulary), dtype=np.bool_)
    counted[released.item_chunks] = False
    return counted


def supports_told(released: Disassociation) -> Integers:
    """Return the occurrences of each code in record and shared chunks: its number where it is in no item chunk."""
    n_codes = len(released.vocabulary)
    own = np.bincount(released.record_chunks.items, minlength=n_codes)
    return own + np.bincount(released.shared_chunks.items, minlength=n_codes)


@dataclass(frozen=True)
class ClusterFacts:
    """The parts of a manifest that follow from clusters and settings."""

    utility: DisassociationUtility
    risk: TiedCodes
    clusters: PartCounts


def facts_of(released: Disassociation, settings: MethodSettings, sets: PolicySets) -> ClusterFacts:
    """Return what clusters say that were released under these settings.

    How many occurrences item chunks hide is bounded by the records of their clusters. The true number, or any bound
    that depends on it, would exclude data sets that could have led to the release, and with them candidates.

    Parameters
    ----------
    sets : what became of the sets of a policy from a file, which is not in the release; of any other it is counted
    """
    item_share = int((released.sizes * np.diff(released.item_offsets)).sum())
    occurrences = int(supports_told(released).sum())
    known = sets_of(released, settings.policy) or sets
    ties = None if settings.safe is Safe.OFF else count_ties(released, settings.safe_threshold)
    return ClusterFacts(
        utility=DisassociationUtility(
            **dict(zip(PolicySets.model_fields, known.counts(), strict=True)),
            codes=len(released.vocabulary),
            suppressed_codes=0,
            codes_counted_exactly=int(codes_counted_exactly(released).sum()),
            occurrences_told=occurrences,
            occurrences_in_item_chunks=item_share / max(1, occurrences + item_share),
            are=None,
        ),
        risk=TiedCodes(tied_pairs=ties.pairs if ties else None, tied_codes=ties.codes if ties else None),
        clusters=PartCounts(
            clusters=released.n_clusters,
            smallest=int(released.sizes.min()),
            largest=int(released.sizes.max()),
            record_chunks=len(released.record_chunks),
            joint_clusters=released.n_joints,
            shared_chunks=len(released.shared_chunks),
        ),
    )


def rules_of(settings: DisassociationSettings) -> Rules:
    """Return what is promised."""
    rule = KmRule(model="k^m-anonymity", k=settings.k, m=settings.m)
    if settings.diversity is None:
        return (rule,)
    return rule, SensitiveRule(model="l-diversity", l=settings.diversity)


def utility_follows(
    utility: DisassociationUtility, settings: MethodSettings, released: Disassociation, facts: ClusterFacts
) -> bool:
    """Return whether utility is that of the clusters.

    Of the sets of a policy from a file only this is known: each has a code that no other has.
    """
    codes = {plain_code(code, repeats=released.repeats) for code in released.vocabulary}
    return (
        utility == facts.utility
        and (utility.constraints is not None) is has_sets(settings.policy)
        and (utility.constraints or 0) <= len(codes)
    )


def method_failures(released: Disassociation, settings: MethodSettings) -> list[str]:
    """Return which settings of the method do not fit the clusters, as sentences.

    Where no code may give another away, occurrences of one code still do.
    """
    safe, threshold = settings.safe, settings.safe_threshold
    fits = {
        "k and m": (settings.k, settings.m) == (released.k, released.m),
        "refine": settings.refine is not Refine.OFF or not released.n_joints,
        "safe": safe is not Safe.ENFORCE
        or count_ties(released, threshold).pairs == ties_of_repeats(released, threshold),
        "policy": settings.policy is None
        or not is_made_of_codes(settings.policy)
        or made_anew(settings.policy, released.vocabulary, repeats=released.repeats) is not None,
    }
    return [f"settings.{name} in release.json do not fit the clusters" for name, holds in fits.items() if not holds]


Row = tuple[str, str, None, None, str | None, str]

COLUMNS = ("column", "role", "hierarchy", "level", "label", "meaning")
EXACT = "as recorded; the chunks tell how many patients have it"
PARTLY = "as recorded; in some clusters it is not told how many patients have it"
SENSITIVE = "as recorded; sensitive: it is not told how many patients have it"
NUMBER = "number of a reconstructed record, which is no patient's"


def codebook(released: Disassociation, *, numbered: bool) -> pl.DataFrame:
    """Return one row for each code, as ``clusters.json`` writes it, and one for the id."""
    counted = codes_counted_exactly(released)
    sensitive = set(released.sensitive.tolist())
    rows: list[Row] = [(ID, "identifier", None, None, None, NUMBER)] if numbered else []
    for item, code in enumerate(released.vocabulary):
        meaning = SENSITIVE if item in sensitive else EXACT if counted[item] else PARTLY
        rows.append((CODES, "codes", None, None, code, meaning + _occurrence(code, released.repeats)))
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def _occurrence(code: str, repeats: bool) -> str:
    if not repeats:
        return ""
    name = plain_code(code, repeats=repeats)
    return f" ({name}, occurrence {code.removeprefix(name + MARK)})"


def shown_of(released: Disassociation) -> Shown:
    """Return what is shown of code sets."""
    return Shown(
        k=released.k,
        sizes=pl.Series(released.sizes, dtype=pl.Int64),
        of="patients",
        by="the size of their cluster",
        columns=(counted(released, CODES),),
        files={},
    )


def counted(released: Disassociation, column: str) -> Counted:
    """Return how many patients have each code, as far as the chunks tell; of occurrences, the first counts."""
    told, is_exact = supports_told(released), codes_counted_exactly(released)
    named = {
        place: plain_code(code, repeats=released.repeats)
        for place, code in enumerate(released.vocabulary)
        if not released.repeats or code.endswith(f"{MARK}1")
    }
    after: Counts = {name: int(told[place]) for place, name in named.items()}
    least = frozenset(name for place, name in named.items() if not is_exact[place])
    return Counted("clusters", column, "patients", after, least=least)
