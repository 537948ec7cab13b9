"""What the clusters of a release say: for manifest, codebook and report, and to verify these."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, groupby, permutations
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.codesets.data import CODES, CodeSets, Integers, codebook_of_codes, owners, spread
from cloister.codesets.encode import MARK, plain_code
from cloister.codesets.manifest import KmRule, PolicySets, has_sets
from cloister.codesets.policy import is_made_of_codes, made_of
from cloister.report_figures import Counted, Counts, ReportCounts

from .data import Chunks, Disassociation, InferenceCheck, Refine, lay_out
from .manifest import (
    DisassociationSettings,
    DisassociationUtility,
    MethodSettings,
    PartCounts,
    SensitiveCodesRule,
    TiedCodes,
)
from .verify_chunks import Occurrences, blocks, codes_by_subrecords

NO_SETS = PolicySets(constraints=None, constraints_satisfied=None, constraints_preserved=None)
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
BLOCK = 500_000  # Occurrences that are looked at together
MANY_PAIRS = 1e6  # Pairs of occurrences that are counted whatever the subrecords are like

PAIRS_A_SUBRECORD = 16
"""Chunks with more pairs of occurrences, in all and a subrecord, are looked at by the records their codes share."""

SET, CLASS, CODE, COUNT = "set", "class", "code", "count"


def sets_of(released: Disassociation, policy: str | None) -> PolicySets | None:
    """Return what became of the sets of a policy by its words; None where the clusters do not tell.

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
    """Count constraints, those all of whose codes are counted exactly, and those whose patients are, too."""
    of_code = np.full(len(released.vocabulary), -1, dtype=np.int64)
    for number, items in enumerate(constraints):
        of_code[list(items)] = number
    satisfied = np.ones(len(constraints) + 1, dtype=np.bool_)
    # Codes of no constraint fall on the last place, which is left out below.
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
    # Where two chunks lie over one cluster, whoever has codes of both is counted twice.
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
    """Return which codes stand in no item chunk, so that the chunks tell their number: (n_codes,)."""
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
        occurrences_told=occurrences,
        occurrences_in_item_chunks=item_share / max(1, occurrences + item_share),
        are=None,
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
    """Return what is promised."""
    rule = KmRule(model="k^m-anonymity", k=settings.k, m=settings.m)
    if settings.diversity is None:
        return (rule,)
    return rule, SensitiveCodesRule(model="l-diversity", l=settings.diversity)


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


def shown_of(released: Disassociation) -> ReportCounts:
    """Return what is shown of code sets."""
    return ReportCounts(
        k=released.k,
        sizes=pl.Series(released.sizes, dtype=pl.Int64),
        of="patients",
        by="the size of their cluster",
        columns=(counted(released, CODES),),
        files={},
    )


def counted(released: Disassociation, column: str) -> Counted:
    """Return how many patients have each code, as far as the chunks tell; of occurrences, the first counts."""
    supports, is_exact = published_supports(released), codes_counted_exactly(released)
    named = {
        place: plain_code(code, repeats=released.repeats)
        for place, code in enumerate(released.vocabulary)
        if not released.repeats or code.endswith(f"{MARK}1")
    }
    after: Counts = {name: int(supports[place]) for place, name in named.items()}
    least = frozenset(name for place, name in named.items() if not is_exact[place])
    return Counted("clusters", column, "patients", after, least=least)


class Ties(NamedTuple):
    """Pairs (x, y) of a chunk such that somebody who knows x learns y, each counted where it stands."""

    pairs: int
    codes: int  # distinct codes x
    by_cluster: NDArray[np.int64]  # (n_clusters,) pairs in each cluster's record chunks


def count_ties(released: Disassociation, threshold: float = 1.0) -> Ties:
    """Count the pairs of codes of a chunk with s({x, y}) / s(x) of ``threshold`` or more, s being the support there.

    k^m-anonymity does not forbid them: it hides who has a code, not what comes with it. Where ``inference_check`` is
    ``enforce``, chunks are built without such pairs: a code that would tie waits for the next chunk (vertical
    partitioning), or gets a shared chunk of its own. So nothing has to be suppressed or moved to item chunks
    afterwards, which is where we deviate from what others propose.
    """
    owner, code = _tied(released.record_chunks, threshold)
    by_cluster = np.bincount(owner, minlength=released.n_clusters)
    _, shared_code = _tied(released.shared_chunks, threshold)
    codes = np.unique(np.concatenate([code, shared_code])).size
    return Ties(code.size + shared_code.size, codes, by_cluster)


def _tied(chunks: Chunks, threshold: float) -> Pairs:
    """The owners of the tied pairs (x, y), and x."""
    lengths = np.diff(chunks.item_offsets)
    chunk_of = owners(chunks.subrecord_offsets)
    pairs = np.bincount(chunk_of, weights=lengths.astype(float) ** 2, minlength=len(chunks))
    many = (pairs > MANY_PAIRS) & (pairs > PAIRS_A_SUBRECORD * np.diff(chunks.subrecord_offsets))
    found = [_tied_by_counting(occurrences, ~many, threshold) for occurrences in blocks(chunks, BLOCK)]
    for chunk in np.flatnonzero(many).tolist():
        # Of a chunk with long subrecords, codes of the same records are taken together.
        codes = codes_by_subrecords(chunks, chunk)
        tied: list[int] = []
        for pattern, own in codes.items():
            reached = threshold * pattern.bit_count()
            n = sum(len(others) for other, others in codes.items() if (pattern & other).bit_count() >= reached) - 1
            tied += own * n
        found.append((np.full(len(tied), chunk, dtype=np.int64), np.array(tied, dtype=np.int64)))
    at = np.concatenate([np.empty(0, dtype=np.int64), *(pair[0] for pair in found)])
    return chunks.owner[at].astype(np.int64), np.concatenate([at[:0], *(pair[1] for pair in found)])


def _tied_by_counting(occurrences: Occurrences, light: NDArray[np.bool_], threshold: float) -> Pairs:
    items, ends, owner = occurrences
    width = int(items.max()) + 1
    single, number, support = np.unique(owner * width + items, return_inverse=True, return_counts=True)
    at = np.flatnonzero(light[owner])
    later = ends[at] - at - 1
    pairs = number[np.repeat(at, later)] * single.size + number[spread(at + 1, later)]
    pair, together = np.unique(pairs, return_counts=True)
    x, y = pair // single.size, pair % single.size
    tied = np.concatenate([x[together >= threshold * support[x]], y[together >= threshold * support[y]]])
    return single[tied] // width, single[tied] % width


def ties_of_repeats(released: Disassociation, threshold: float) -> int:
    """Return how many of the pairs are occurrences of one code; a second one takes the first one along always."""
    if not released.repeats:
        return 0
    names = [plain_code(code, repeats=True) for code in released.vocabulary]
    tied = 0
    for chunks in (released.record_chunks, released.shared_chunks):
        for chunk in range(len(chunks)):
            support = Counter(chain.from_iterable(chunks.subrecords_of(chunk)))
            for _, group in groupby(sorted(support, key=names.__getitem__), key=names.__getitem__):
                tied += sum(support[y] >= threshold * support[x] for x, y in permutations(group, 2))
    return tied


def miscounted(rows: pl.DataFrame, released: Disassociation, *, is_drawn: bool = True) -> int:
    """Return how many codes stand in rows of a class more or less often than the clusters allow.

    Rows are the class of each record, 0 where there are none, and its codes, those that repeat not numbered. In a
    reconstruction of ours (``is_drawn``) a code of an item chunk is given to one record, and otherwise to records
    that would have no code, so that it is alone.
    """
    # A count outside these bounds is that of no data set behind the clusters, so the file is not one of ours.
    kind = pl.col(CLASS).cast(pl.Int64)
    found = rows.explode(SET).group_by(kind, pl.col(SET).alias(CODE)).len(COUNT)
    both = counts_allowed(released).join(found, on=[CLASS, CODE], how="full", coalesce=True)
    most = pl.col("most")
    if is_drawn:
        single = rows.filter(pl.col(SET).list.len() == 1)
        alone = single.group_by(kind, pl.col(SET).list.first().alias(CODE)).len("alone")
        both = both.join(alone, on=[CLASS, CODE], how="left")
        most = pl.min_horizontal(most, pl.col("least") + pl.col("alone").fill_null(0))
    fits = both.select(pl.col(COUNT).is_between(pl.col("least"), most).fill_null(value=False)).to_series()
    return int((~fits).sum())


def counts_allowed(released: Disassociation) -> pl.DataFrame:
    """Return the least and the most of each code in each class: as chunks say, and one to all records an item chunk."""
    n = released.n_clusters
    class_of = released.class_of if released.class_of.size else np.zeros(n, dtype=np.int32)
    of_joint = np.zeros(released.n_joints, dtype=np.int64)
    for joint, child in enumerate(released.children[released.child_offsets[:-1]].tolist()):
        of_joint[joint] = class_of[child] if child < n else of_joint[child - n]  # children come first
    own = class_of[owners(released.item_offsets)], released.item_chunks, released.sizes[owners(released.item_offsets)]
    parts = [(own[0].astype(np.int64), own[1].astype(np.int64), own[2])]
    for chunks, classes in ((released.record_chunks, class_of), (released.shared_chunks, of_joint)):
        held = classes[chunks.owner].repeat(np.diff(chunks.item_offsets[chunks.subrecord_offsets]))
        parts.append((held.astype(np.int64), chunks.items.astype(np.int64), np.ones(held.size, dtype=np.int64)))
    table = pl.concat([pl.DataFrame(dict(zip((CLASS, "item", "most"), part, strict=True))) for part in parts])
    plain = [plain_code(code, repeats=released.repeats) for code in released.vocabulary]
    counted = table.group_by(CLASS, "item").agg(pl.len().cast(pl.Int64).alias("least"), pl.col("most").sum())
    named = counted.with_columns(pl.Series(CODE, plain, dtype=pl.String).gather(counted["item"]))
    return named.group_by(CLASS, CODE).agg(pl.col("least").sum(), pl.col("most").sum())
