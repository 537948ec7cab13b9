"""Sensitive codes: kept apart from all others, in clusters large enough."""

import numpy as np
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease
from cloister.kernels.splitting import Split
from cloister.kernels.tree import Tree, make_tree

from .encode_request import Encoded


def merge_for_diversity(encoded: Encoded, split: Split, diversity: int) -> Split:
    """Merge clusters along the split tree until each sensitive code is in at most one of ``diversity`` records of each.

    Every cluster also gets a code that is not sensitive, as the sensitive ones can not fill its records (see
    `cloister.codesets.disassociation.repair`).
    A part stays split if both of its sides can be made to hold the bound. The paper publishes 1/|P| as the probability
    of a sensitive code; that is the bound only if one record of the cluster has it. What is kept here is the true
    share, support / |P| <= 1 / l.

    *Guarantee*: in each cluster, at most one record in l has any one sensitive code, and the release ties it to no
    other code or record. Not promised: that nothing is learned from other clusters having no such code.

    Raises
    ------
    NoSafeRelease
        A sensitive code is in more than one of ``diversity`` of all records, or all codes are sensitive.

    References
    ----------
    Loukides et al. (2014), section 7.2.
    """
    if not encoded.sensitive.size:
        return split
    if encoded.records.passed_over.all():
        raise NoSafeRelease("All codes are sensitive, so nothing could be told. Leave a code out of them.")
    tree = make_tree(split.depths)
    totals = np.concatenate([np.zeros((encoded.sensitive.size, 1), dtype=np.int64), _supports(encoded, split)], axis=1)
    totals = np.cumsum(totals, axis=1)
    others = _others(encoded, split)
    parts = np.arange(split.starts.size - 1)
    part_holds = _holds(split, totals, parts, parts, diversity) & (np.diff(others) > 0)
    node_holds = _holds(split, totals, tree.low, tree.high, diversity)
    node_holds &= others[tree.high + 1] > others[tree.low]
    if not _holds(split, totals, parts[:1], parts[-1:], diversity).all():
        raise NoSafeRelease(
            f"Each sensitive code may be in one of {diversity} records at most, but one is more frequent. "
            "Give a lower diversity, or leave the code out."
        )
    kept = _splits_to_keep(tree, part_holds, node_holds)
    return Split(split.order, split.starts[np.concatenate([[0], kept + 1, [parts.size]])], split.depths[kept])


def _supports(encoded: Encoded, split: Split) -> NDArray[np.int64]:
    """Records of each part that have each sensitive code, shape (n_sensitive, n_parts)."""
    n = split.order.size
    place = np.empty(n, dtype=np.int64)
    place[split.order] = np.arange(n)
    part = np.searchsorted(split.starts, place, side="right") - 1
    owner = np.repeat(part, np.diff(encoded.records.offsets))
    counts = np.zeros((encoded.sensitive.size, split.starts.size - 1), dtype=np.int64)
    for row, code in enumerate(encoded.sensitive.tolist()):
        np.add.at(counts[row], owner[encoded.records.items == code], 1)
    return counts


def _others(encoded: Encoded, split: Split) -> NDArray[np.int64]:
    """Occurrences of codes that are not sensitive before each part, and in all."""
    told = np.concatenate([[0], np.cumsum(~encoded.records.passed_over[encoded.records.items])])
    per_record = np.diff(told[encoded.records.offsets])
    before = np.concatenate([[0], np.cumsum(per_record[split.order])])
    found: NDArray[np.int64] = before[split.starts]
    return found


def _holds(
    split: Split, totals: NDArray[np.int64], low: NDArray[np.integer], high: NDArray[np.integer], diversity: int
) -> NDArray[np.bool_]:
    sizes = split.starts[high + 1] - split.starts[low]
    holds: NDArray[np.bool_] = np.all((totals[:, high + 1] - totals[:, low]) * diversity <= sizes, axis=0)
    return holds


def _splits_to_keep(tree: Tree, part_holds: NDArray[np.bool_], node_holds: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Nodes both of whose sides can be made to hold, and all above them."""
    spans = zip(tree.low.tolist(), tree.high.tolist(), strict=True)
    node_at = {span: node for node, span in enumerate(spans)}
    deepest_first = np.argsort(-tree.depth, kind="stable").tolist()
    can_hold = node_holds.copy()
    stays = np.zeros(node_holds.size, dtype=np.bool_)
    sides: dict[int, list[int]] = {}
    for node in deepest_first:
        spans_below = ((int(tree.low[node]), node), (node + 1, int(tree.high[node])))
        sides[node] = [node_at[span] for span in spans_below if span[0] != span[1]]
        single = [span[0] for span in spans_below if span[0] == span[1]]
        stays[node] = bool(can_hold[sides[node]].all() and part_holds[single].all())
        can_hold[node] |= stays[node]
    for node in reversed(deepest_first):
        stays[sides[node]] &= stays[node]
    return np.flatnonzero(stays)
