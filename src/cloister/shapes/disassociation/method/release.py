"""A release of code sets: clusters, data sets consistent with them, and the distance of these from the original.

How far they are is for the custodian alone: whoever makes them anew from ``clusters.json`` could test a guess about the
original against it. What follows from the chunks is in `facts`.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.io import write_csv
from cloister.kernels.ragged import owners, starts_of
from cloister.kernels.reconstruction import (
    ANY_NUMBER,
    BELOW_K,
    ONE_ROW,
    Items,
    Rows,
    SharedSpans,
    collect,
    place_items,
    place_records,
    place_shared,
)
from cloister.kernels.sequences import take_sequences
from cloister.release.folder import read_data
from cloister.release.head import CLUSTERS, DATA
from cloister.release.release import Release
from cloister.results import Verdict
from cloister.shapes.codes.data import CodeSets, GivenCodes, Integers, occurrences
from cloister.shapes.codes.request import CodesWorkload, index_codes
from cloister.shapes.disassociation.format.canonical import reorder_chunks, with_owners
from cloister.shapes.disassociation.format.clusters_file import read_clusters, same_release, write_clusters
from cloister.shapes.disassociation.format.data import (
    Disassociation,
    DisassociationRequest,
    InferenceCheck,
    Layout,
    ProtectedCodes,
    lay_out,
)
from cloister.shapes.disassociation.format.facts import count_sets, published_supports
from cloister.shapes.disassociation.format.ties import count_ties
from cloister.utility import (
    QueryErrors,
    error_histogram,
    lost_top_itemsets,
    matching_errors,
    pair_errors,
    query_errors,
    share_within,
)

CHANGED = "The clusters stand for no code sets: they were changed since they were released."
RECONSTRUCTIONS = 10  # Reconstructions whose mean answers a query
CLOSE = 0.05  # A constraint whose matching error is within this is well supported (section 6.5)
Query = tuple[int, ...]  # Item numbers, each once


class ItemSupport(StrEnum):
    """To how many records a code of an item chunk is given: one, up to k - 1, or up to all of the cluster."""

    ONE = "one"
    BELOW_K = "below-k"
    ANY = "any"


HOW_MANY = {ItemSupport.ONE: ONE_ROW, ItemSupport.BELOW_K: BELOW_K, ItemSupport.ANY: ANY_NUMBER}


def reconstruct(released: Disassociation, seed: int = 0, item_support: ItemSupport | str = ItemSupport.ONE) -> CodeSets:
    """Return random code sets that are consistent with a release: subrecords combined so that no record is empty.

    The subrecords of a chunk go to different records of its cluster, or of its joint cluster without the clusters that
    hold the code elsewhere. Codes of item chunks go to records without any code first; most of them have one
    (``item_support``). Not every data set that the release may stand for is equally likely to be drawn. The same seed
    gives the same code sets. See Loukides et al. (2014), section 3.2.
    """
    if item_support not in list(ItemSupport):
        raise InputError(f"The item support must be one of {', '.join(ItemSupport)}.")
    counter = np.random.default_rng(seed).integers(0, 2**64, size=1, dtype=np.uint64)
    layout = lay_out(released)
    at = np.argsort(layout.position)
    row_starts = starts_of(released.sizes[at])
    n = int(row_starts[-1])
    rows = Rows(row_starts, np.zeros(n, dtype=np.int32), np.full(n, -1, dtype=np.int64))
    # Record chunks by the position of their cluster, and where those of each position begin.
    chunks = released.record_chunks
    first = starts_of(np.bincount(chunks.owner, minlength=at.size))
    starts, numbers = take_sequences(first, np.arange(len(chunks), dtype=np.int32), at)
    record = reorder_chunks(with_owners(chunks, chunks.owner.astype(np.int64)), numbers.astype(np.int64))
    item_starts, items = take_sequences(released.item_offsets, released.item_chunks, at)
    # An item chunk fills records if it has a code that all of them may hold: one that is not sensitive.
    plain = np.concatenate([[0], np.cumsum(~np.isin(items, released.sensitive))])
    fillable = np.diff(plain[item_starts]) > 0
    try:
        record_rows = place_records(rows, starts, record.starts, fillable, counter)
        shared_rows = place_shared(rows, _locate_shared_chunks(released, layout), counter)
    except ValueError:
        raise InputError(CHANGED) from None
    held = _items(released, item_starts, items)
    item_rows, item_codes = place_items(rows, held, released.k, HOW_MANY[ItemSupport(item_support)], counter)
    shared = released.shared_chunks
    offsets, codes = collect(
        released.n_records,
        [
            (record_rows, record.item_starts, record.items),
            (shared_rows, shared.item_offsets, shared.items),
            (item_rows, np.arange(item_rows.size + 1), item_codes),
        ],
    )
    return CodeSets(released.vocabulary, offsets, codes, None, released.repeats)


def _locate_shared_chunks(released: Disassociation, layout: Layout) -> SharedSpans:
    """Shared chunks with the positions in their span that hold their (first) code elsewhere."""
    shared, record, n = released.shared_chunks, released.record_chunks, released.n_clusters
    in_record = np.repeat(record.owner, np.diff(record.domain_offsets))
    owner = np.concatenate([in_record, owners(released.item_offsets)])
    code = np.concatenate([record.domain, released.item_chunks]).astype(np.int64)
    keys = np.sort(code * n + layout.position[owner])
    first = shared.domain[shared.domain_offsets[:-1]].astype(np.int64)
    low, high = layout.low[shared.owner], layout.high[shared.owner]
    begin, end = np.searchsorted(keys, first * n + low), np.searchsorted(keys, first * n + high)
    held_starts = starts_of(end - begin)
    before = np.repeat(begin - held_starts[:-1], end - begin)
    held = keys[before + np.arange(before.size)] % max(1, n)
    return SharedSpans(shared.subrecord_offsets, low, high, held_starts, held)


def _items(released: Disassociation, starts: Integers, codes: NDArray[np.int32]) -> Items:
    """Item chunks with the occurrences of each code in order."""
    if not released.repeats:
        return Items(starts, codes, np.zeros(codes.size, dtype=np.bool_))
    unit, level = occurrences(released.vocabulary)
    if not level.all():
        raise InputError(CHANGED)
    codes = codes[np.lexsort((level[codes], unit[codes], owners(starts)))]
    return Items(starts, codes, level[codes] > 1)


@dataclass(frozen=True, repr=False)
class CodesRelease(Release):
    """Verified disassociated code sets; ``frame`` is one reconstruction, the content of ``data.csv``."""

    clusters: Disassociation
    frame: pl.DataFrame = field(repr=False)
    delimiter: str
    _check: Callable[[Disassociation], Verdict] = field(repr=False)

    def reconstruct(self, seed: int = 0, item_support: ItemSupport | str = ItemSupport.ONE) -> CodeSets:
        """Return code sets consistent with this release; see `cloister.shapes.disassociation.method.release`."""
        return reconstruct(self.clusters, seed, item_support)

    def recheck(self) -> Verdict:
        """Return the verdict on the clusters."""
        return self._check(self.clusters)

    def write_data(self, folder: Path) -> tuple[str, ...]:
        """Write clusters and reconstruction."""
        write_clusters(self.clusters, folder / CLUSTERS)
        write_csv(self.frame, folder / DATA[0], self.delimiter)
        return CLUSTERS, DATA[0]

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on both files."""
        written = read_clusters(folder / CLUSTERS)
        if not same_release(written, self.clusters):
            return Verdict("the files were read back", (), (f"{CLUSTERS} does not hold what was verified",))
        frame = read_data(folder / DATA[0], self.delimiter)
        if not frame.equals(self.frame.cast(pl.String)):
            return Verdict("the files were read back", (), (f"{DATA[0]} does not hold what was reconstructed",))
        return self._check(written)


@dataclass(frozen=True)
class Accuracy:
    """The distance of reconstructions from the original; for the custodian."""

    queries: QueryErrors | None = None
    # interval of the matching error -> constraints of the utility policy
    matching: dict[str, int] = field(default_factory=dict)
    within: float | None = None  # share of the constraints whose matching error is in [-5 %, 5 %)
    tlost: float = 0.0  # share of the codes held by at least k patients that no record or shared chunk has, in [0, 1]
    pairs: float | None = None  # mean relative error of the supports of pairs of codes
    # share of the most frequent sets of codes that a reconstruction does not have among its own, in [0, 1]
    tkd: float | None = None


def measure_accuracy(
    codes: CodeSets,
    released: Disassociation,
    *,
    workload: CodesWorkload | None = None,
    constraints: list[Query] | None = None,
    itemsets: bool = False,
    seed: int = 0,
) -> Accuracy:
    """Compare ten reconstructions with the original; if ``itemsets``, also the most frequent sets and pairs."""
    original = index_codes(codes)
    rebuilt = [index_codes(reconstruct(released, seed + number)) for number in range(RECONSTRUCTIONS)]
    queries = None
    if workload is not None:
        answers = [sets.counts(workload.queries) for sets in rebuilt]
        queries = query_errors(original.counts(workload.queries), answers, workload.queries)
    matching, within = {}, None
    if constraints:
        errors = matching_errors(original.matches(constraints), [sets.matches(constraints) for sets in rebuilt])
        matching, within = error_histogram(errors), share_within(errors, CLOSE)
    return Accuracy(
        queries=queries,
        matching=matching,
        within=within,
        tlost=lost_codes(codes, released),
        pairs=pair_errors(original, rebuilt) if itemsets else None,
        tkd=lost_top_itemsets(original, rebuilt[0]) if itemsets else None,
    )


def lost_codes(codes: CodeSets, released: Disassociation) -> float:
    """Return tlost: the share of the codes held by at least k patients that are in item chunks only."""
    common = codes.supports() >= released.k
    lost = common & (published_supports(released) == 0)
    return float(lost.sum() / max(1, common.sum()))


def exact_figures(
    given: GivenCodes, request: DisassociationRequest, protected: ProtectedCodes, seed: int
) -> dict[str, object]:
    """Return figures for the custodian only; ``seed`` is that of the first reconstruction."""
    released, found, policy = protected.released, protected.figures, request.policy
    constraints = None if policy is None else policy.item_numbers(given.codes)
    is_off = request.inference_check is InferenceCheck.OFF
    ties = None if is_off else count_ties(released, request.inference_threshold)
    exact = {"records": given.codes.n_records + given.n_empty, "suppressed": given.n_empty} | asdict(found)
    exact |= {
        "ties": ties.pairs if ties else None,
        "tied_codes": ties.codes if ties else None,
        "share_in_item_chunks": found.in_item_chunks / max(1, found.occurrences),
    }
    if constraints is not None:
        sets = count_sets(released, constraints).counts()
        exact["constraints"] = dict(zip(("sets", "satisfied", "preserved"), sets, strict=True))
    if request.accuracy:
        workload = request.workload
        accuracy = measure_accuracy(given.codes, released, workload=workload, constraints=constraints, seed=seed)
        exact["accuracy"] = asdict(accuracy)
    return exact


def crosswalk(given: GivenCodes, protected: ProtectedCodes) -> pl.DataFrame:
    """Return the secret map: the id of each patient, or the number of the record in the file, and its cluster."""
    return pl.DataFrame([given.original_ids().alias("original"), pl.Series("cluster", protected.cluster_of)])
