"""Facts of disassociated code sets that follow from clusters: for the manifest, the codebook and the report."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.kernels.ragged import owners
from cloister.release.derived import Derived, Part, Place
from cloister.release.figures import Counted, Counts, ReportCounts
from cloister.shapes.codes.data import CODES, MARK, CodeSets, Integers, plain_code
from cloister.shapes.codes.manifest import CodeRecords, KmRule, PolicySets, codebook_of_codes, has_sets
from cloister.shapes.codes.policy import is_made_of_codes, made_of

from .data import Disassociation, InferenceCheck, Refine, lay_out
from .manifest import (
    NO_SETS,
    DisassociationSettings,
    DisassociationUtility,
    MethodSettings,
    PartCounts,
    SensitiveCodesRule,
    TiedCodes,
)
from .ties import count_ties, ties_of_repeats


@dataclass(frozen=True, repr=False)
class DerivedChunks(Derived):
    """The parts that follow from clusters, their settings, and stated facts of policy sets and input.

    ``suppressed``: the number of suppressed patients, ``<N`` for fewer than N
    """

    released: Disassociation
    settings: DisassociationSettings
    sets: PolicySets
    suppressed: int | str

    def parts(self) -> dict[Place, Part]:
        """Return sensitive codes, numbers of patients, rules, utility, ties and counts of clusters."""
        released, settings = self.released, self.settings
        facts = facts_of(released, settings, self.sets)
        return {
            ("settings", "repeats"): released.repeats,
            ("settings", "sensitive"): sensitive_codes(released),
            ("records",): CodeRecords.of(released.n_records, self.suppressed),
            ("guarantee", "rules"): rules_of(settings),
            ("utility",): facts.utility,
            ("risk",): facts.risk,
            ("clusters",): facts.clusters,
        }

    def codebook(self) -> pl.DataFrame:
        """Return one row for each code, as ``clusters.json`` writes it, and one for the id."""
        return codebook(self.released, numbered=self.settings.ids == "number")

    def report_counts(self) -> ReportCounts:
        """Return the patients of each cluster, and the patients with each code as far as the chunks reveal them."""
        return ReportCounts(
            k=self.released.k,
            sizes=pl.Series(self.released.sizes, dtype=pl.Int64),
            of="patients",
            by="the size of their cluster",
            columns=(count_patients(self.released, CODES),),
            files={},
        )


def sensitive_codes(released: Disassociation) -> list[str]:
    """Return the sensitive codes, in their order."""
    return sorted({plain_code(released.vocabulary[item], repeats=released.repeats) for item in released.sensitive})


def sets_of(released: Disassociation, policy: str | None) -> PolicySets | None:
    """Return the outcomes of the sets of a policy, given by its words; None if the clusters do not show them.

    Nothing is published without a policy, or of frequent sets: which sets are frequent does not follow from the chunks.
    """
    if policy is None or not has_sets(policy):
        return NO_SETS
    if not is_made_of_codes(policy):
        return None
    record = CodeSets.of_all(released.vocabulary, repeats=released.repeats)
    made = made_of(policy, record)
    return NO_SETS if made is None else count_sets(released, made.item_numbers(record))


def count_sets(released: Disassociation, constraints: Sequence[Sequence[int]]) -> PolicySets:
    """Count constraints whose codes are all counted exactly, and constraints whose patients are, too."""
    of_code = np.full(len(released.vocabulary), -1, dtype=np.int64)
    for number, items in enumerate(constraints):
        of_code[list(items)] = number
    satisfied = np.ones(len(constraints) + 1, dtype=np.bool_)
    # Codes of no constraint fall on the last place, which is omitted below.
    satisfied[of_code[released.item_chunks]] = False
    # For each chunk and each constraint with codes in it: the constraint, first and last place of its clusters.
    layout, spans = lay_out(released), []
    record, shared = released.record_chunks, released.shared_chunks
    own = layout.position[record.owner]
    over = ((record, own, own + 1), (shared, layout.low[shared.owner], layout.high[shared.owner]))
    for chunks, begin, end in over:
        chunk = owners(chunks.domain_offsets)
        constraint, chunk = np.unique(np.stack([of_code[chunks.domain], chunk]), axis=1)
        spans.append(np.stack([constraint, begin[chunk], end[chunk]]))
    constraint, begin, end = np.concatenate(spans, axis=1)
    # Where two chunks lie over one cluster, anyone who has codes of both is counted twice.
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


def codes_counted_exactly(released: Disassociation) -> NDArray[np.bool_]:
    """Return which codes are in no item chunk, so that the chunks show their exact count: (n_codes,)."""
    return ~np.isin(np.arange(len(released.vocabulary)), released.item_chunks)


def published_supports(released: Disassociation) -> Integers:
    """Return the occurrences of each code in record and shared chunks: its number where it is in no item chunk."""
    items = np.concatenate([released.record_chunks.items, released.shared_chunks.items])
    return np.bincount(items, minlength=len(released.vocabulary))


@dataclass(frozen=True)
class ClusterFacts:
    """The parts of a manifest that follow from clusters and settings."""

    utility: DisassociationUtility
    risk: TiedCodes
    clusters: PartCounts


def facts_of(released: Disassociation, settings: MethodSettings, sets: PolicySets) -> ClusterFacts:
    """Return what clusters say that were released under these settings.

    How many occurrences item chunks hide is bounded by the records of their clusters. The true number, or any bound
    that depends on it, would exclude data sets that could have led to the release, and with them candidates. What
    became of the sets of a policy from a file, ``sets``, is not in the release; of any other policy it is counted.
    """
    item_share = int((released.sizes * np.diff(released.item_offsets)).sum())
    occurrences = int(published_supports(released).sum())
    known = sets_of(released, settings.policy) or sets
    is_off = settings.inference_check is InferenceCheck.OFF
    ties = None if is_off else count_ties(released, settings.inference_threshold)
    utility = DisassociationUtility(
        **dict(zip(PolicySets.model_fields, known.counts(), strict=True)),
        codes=len(released.vocabulary),
        suppressed_codes=0,
        codes_counted_exactly=int(codes_counted_exactly(released).sum()),
        occurrences_counted=occurrences,
        occurrences_in_item_chunks=item_share / max(1, occurrences + item_share),
        average_relative_error=None,
    )
    clusters = PartCounts(
        clusters=released.n_clusters,
        smallest=int(released.sizes.min()),
        largest=int(released.sizes.max()),
        record_chunks=len(released.record_chunks),
        joint_clusters=released.n_joints,
        shared_chunks=len(released.shared_chunks),
    )
    risk = TiedCodes(tied_pairs=ties.pairs if ties else None, tied_codes=ties.codes if ties else None)
    return ClusterFacts(utility, risk, clusters)


def rules_of(settings: DisassociationSettings) -> tuple[KmRule] | tuple[KmRule, SensitiveCodesRule]:
    """Return the guarantee as rules."""
    rule = KmRule(model="k^m-anonymity", k=settings.k, m=settings.m)
    if settings.diversity is None:
        return (rule,)
    return rule, SensitiveCodesRule(model="l-diversity", l=settings.diversity)


def method_failures(released: Disassociation, settings: MethodSettings) -> list[str]:
    """Return settings of the method that contradict the clusters, in sentences.

    Where no code may give another away, occurrences of one code still do.
    """
    threshold = settings.inference_threshold
    fits = {
        "k and m": (settings.k, settings.m) == (released.k, released.m),
        "refine": settings.refine is not Refine.OFF or not released.n_joints,
        "inference_check": settings.inference_check is not InferenceCheck.ENFORCE
        or count_ties(released, threshold).pairs == ties_of_repeats(released, threshold),
        "policy": settings.policy is None
        or not is_made_of_codes(settings.policy)
        or made_of(settings.policy, CodeSets.of_all(released.vocabulary, repeats=released.repeats)) is not None,
    }
    return [f"settings.{name} in release.json do not fit the clusters" for name, holds in fits.items() if not holds]


def sets_are_possible(utility: PolicySets, released: Disassociation) -> bool:
    """Return whether so many sets of a policy from a file can be: each has a code that no other has."""
    codes = {plain_code(code, repeats=released.repeats) for code in released.vocabulary}
    return (utility.constraints or 0) <= len(codes)


def codebook(released: Disassociation, *, numbered: bool) -> pl.DataFrame:
    """Return one row for each code, as ``clusters.json`` writes it, and one for the id."""
    exact, sensitive = codes_counted_exactly(released), set(released.sensitive.tolist())
    meanings = {}
    for item, code in enumerate(released.vocabulary):
        if item in sensitive:
            meaning = "as recorded; sensitive: it is not told how many patients have it"
        elif exact[item]:
            meaning = "as recorded; the chunks tell how many patients have it"
        else:
            meaning = "as recorded; in some clusters it is not told how many patients have it"
        if released.repeats:
            name = plain_code(code, repeats=True)
            meaning += f" ({name}, occurrence {code.removeprefix(name + MARK)})"
        meanings[code] = meaning
    return codebook_of_codes(meanings, "number of a reconstructed record, which is no patient's" if numbered else None)


def count_patients(released: Disassociation, column: str) -> Counted:
    """Return the number of patients with each code, as far as the chunks reveal it; only first occurrences count."""
    supports, is_exact = published_supports(released), codes_counted_exactly(released)
    named = {
        place: plain_code(code, repeats=released.repeats)
        for place, code in enumerate(released.vocabulary)
        if not released.repeats or code.endswith(f"{MARK}1")
    }
    after: Counts = {name: int(supports[place]) for place, name in named.items()}
    least = frozenset(name for place, name in named.items() if not is_exact[place])
    return Counted("clusters", column, "patients", after, least=least)
