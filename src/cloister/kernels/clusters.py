"""Clusters of similar sequences: MDAV' around the alignment of two (Algorithms 3 and 4 of Tamersoy et al., 2012).

The sequence that is closest to another, or farthest from it, is found without aligning with all of them, and is exactly
what aligning with all would find. Bounds only rule out what cannot win: of a tie, the sequence that comes first wins.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, inner_with_arrays, jit
from .alignment import FORBIDDEN, Domain, _matches, _meet, _row, _suppression_loss

CLUSTERS, MEMBERS, PAIRS, NODES, ALIVE, SINCE = 0, 1, 2, 3, 4, 5
"""What a cursor counts; SINCE is where the positions of the cluster that is being formed begin."""


class Sequences(NamedTuple):
    """Distinct sequences of leaves, in an order that does not depend on the input."""

    start: NDArray[np.int64]  # (n + 1,) where each begins in ``symbol``
    symbol: NDArray[np.int32]  # numbers of the pairs
    code: NDArray[np.int32]  # code, age, detail: (n_symbols,) ranks of the leaves of each pair
    age: NDArray[np.int32]
    detail: NDArray[np.int32]
    times: NDArray[np.int64]  # (n,) how often each sequence occurs; counted down
    value: NDArray[np.int32]  # (n,) a sensitive value that all of them have; -1: none


class Scratch(NamedTuple):
    """The cluster that is being formed, as nodes and what each loses, and room for the search."""

    code: NDArray[np.int32]  # code, age, detail: (longest,) nodes of X
    age: NDArray[np.int32]
    detail: NDArray[np.int32]
    lost: NDArray[np.int64]  # (longest + 1,) what each pair of X loses by suppression
    # code_price, age_price, detail_price: (n_leaves, longest) what each pair of X loses with each leaf
    code_price: NDArray[np.int64]
    age_price: NDArray[np.int64]
    detail_price: NDArray[np.int64]
    least: NDArray[np.int64]  # (n_symbols,) the least that each symbol loses with a pair of X, or suppressed
    left: NDArray[np.int64]  # (n_symbols,) how often each symbol occurs in the sequences that are left
    row: NDArray[np.int64]  # row, through: (longest + 1,) int64
    through: NDArray[np.int64]
    bound: NDArray[np.int64]  # (n,) a lower bound for each sequence
    alive: NDArray[np.int32]  # (n,) sequences that are left, longest first
    held: NDArray[np.int64]  # (n_values,) patients of the cluster with each sensitive value
    leaf_row: NDArray[np.int64]  # what a node loses with each leaf
    used: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]  # ranks of codes, ages, details that occur


class Groups(NamedTuple):
    """The clusters found so far."""

    member: NDArray[np.int32]  # (n_patients,) the sequence of each patient, cluster by cluster
    position: NDArray[np.int32]  # (n_pairs,) place of each of their pairs in the cluster's sequence, -1: suppressed
    size: NDArray[np.int64]  # size, length: (n_clusters,) patients of each cluster, and pairs of its sequence
    length: NDArray[np.int64]
    code: NDArray[np.int32]  # code, age, detail: nodes of the clusters' sequences
    age: NDArray[np.int32]
    detail: NDArray[np.int32]
    gained: NDArray[np.int64]  # (n_clusters, 3) leaves that codes, ages and details gained, as the paper counts them
    cursor: NDArray[np.int64]  # (6,) int64


@inner
def _spread(tree, unit, nodes, m, weight, leaf_row, used, price):
    """Work out what the nodes of X lose with each leaf that is used; those of a leaf go next to each other."""
    for h in range(m):
        _row(tree, unit, nodes[h], weight, leaf_row)
        for at in range(used.shape[0]):
            price[used[at], h] = leaf_row[used[at]]


@inner
def _prepare(domain, data, scratch, m, weight):
    """Work out what each pair of X loses with each leaf, and the least that a symbol can lose."""
    whole = domain.code_unit * domain.code.leaf.shape[0] + domain.age_unit * domain.age.leaf.shape[0]
    whole += domain.detail_unit * domain.detail.leaf.shape[0]
    for h in range(m):
        of_code, of_age, of_detail = _suppression_loss(
            domain, scratch.code[h], scratch.age[h], scratch.detail[h], weight
        )
        scratch.lost[h] = of_code + of_age + of_detail
    code_price, age_price, detail_price = scratch.code_price, scratch.age_price, scratch.detail_price
    codes, ages, details = scratch.used
    _spread(domain.code, domain.code_unit, scratch.code, m, weight, scratch.leaf_row, codes, code_price)
    _spread(domain.age, domain.age_unit, scratch.age, m, weight, scratch.leaf_row, ages, age_price)
    _spread(domain.detail, domain.detail_unit, scratch.detail, m, weight, scratch.leaf_row, details, detail_price)
    for symbol in range(data.code.shape[0]):
        if scratch.left[symbol] == 0:
            continue
        of_code, of_age = code_price[data.code[symbol]], age_price[data.age[symbol]]
        of_detail = detail_price[data.detail[symbol]]
        least = whole
        for h in range(m):
            least = min(least, of_code[h] + of_age[h] + of_detail[h])
        scratch.least[symbol] = least
    return whole


@inner
def _take(domain, data, scratch, sequence):
    """Make a sequence the X of the search; return its length."""
    begin = data.start[sequence]
    m = data.start[sequence + 1] - begin
    for h in range(m):
        symbol = data.symbol[begin + h]
        scratch.code[h] = domain.code.leaf[data.code[symbol]]
        scratch.age[h] = domain.age.leaf[data.age[symbol]]
        scratch.detail[h] = domain.detail.leaf[data.detail[symbol]]
    return m


@inner
def _bound_all(data, scratch, alive, m, whole, cap):
    """A loss that aligning X with each sequence left has at least; return where the least bound is, -1 for nowhere."""
    start, symbols, least, bounds = data.start, data.symbol, scratch.least, scratch.bound
    cheapest = whole
    for h in range(m):
        cheapest = min(cheapest, scratch.lost[h])
    lowest = FORBIDDEN
    first = -1
    for i in range(alive):
        sequence = scratch.alive[i]
        bounds[i] = FORBIDDEN
        value = data.value[sequence]
        if data.times[sequence] == 0 or (value >= 0 and scratch.held[value] >= cap):
            continue
        begin = start[sequence]
        end = start[sequence + 1]
        bound = np.int64(0)
        for at in range(begin, end):
            bound += least[symbols[at]]
        # A longer X suppresses so many of its pairs, at the cheapest; of a shorter one so many symbols are lost whole.
        longer = m - (end - begin)
        bound = bound + longer * cheapest if longer > 0 else max(bound, -longer * whole)
        bounds[i] = bound
        if bound < lowest:
            lowest = bound
            first = i
    return first


@inner
def _distance_by_index(data, scratch, sequence, m, whole):
    """The loss of generalizing each pair of X with the symbol that is as far from the start, or suppressing both."""
    begin = data.start[sequence]
    n = data.start[sequence + 1] - begin
    loss = max(0, n - m) * whole
    for h in range(m):
        lost = scratch.lost[h]
        if h < n:
            symbol = data.symbol[begin + h]
            of_code, of_age = scratch.code_price[data.code[symbol], h], scratch.age_price[data.age[symbol], h]
            lost = min(lost + whole, of_code + of_age + scratch.detail_price[data.detail[symbol], h])
        loss += lost
    return loss


@inner
def _distance(data, scratch, sequence, m, whole, limit):
    """The loss of aligning X with a sequence; some number above the limit if it is above."""
    row, through, lost, least = scratch.row, scratch.through, scratch.lost, scratch.least
    code_price, age_price, detail_price = scratch.code_price, scratch.age_price, scratch.detail_price
    row[0] = 0
    for h in range(m):
        row[h + 1] = row[h] + lost[h]
    begin, end = data.start[sequence], data.start[sequence + 1]
    left = np.int64(0)
    for at in range(begin, end):
        left += least[data.symbol[at]]
    for at in range(begin, end):
        symbol = data.symbol[at]
        left -= least[symbol]
        of_code, of_age = code_price[data.code[symbol]], age_price[data.age[symbol]]
        of_detail = detail_price[data.detail[symbol]]
        for h in range(m):
            through[h] = min(row[h] + of_code[h] + of_age[h] + of_detail[h], row[h + 1] + whole)
        here = row[0] + whole
        row[0] = here
        lowest = here
        for h in range(m):
            here = min(through[h], here + lost[h])
            row[h + 1] = here
            lowest = min(lowest, here)
        # Every way to the end passes this row and then loses at least what each symbol left loses at least.
        if lowest + left > limit:
            return limit + 1
    return row[m]


@inner
def _closest(domain, data, scratch, alive, m, weight, cap):
    """The sequence left that X is closest to, of a tie the first; none with a value that the cluster has enough of."""
    whole = _prepare(domain, data, scratch, m, weight)
    first = _bound_all(data, scratch, alive, m, whole, cap)
    if first < 0:
        return first
    found = scratch.alive[first]
    best = FORBIDDEN
    for place in range(-1, alive):
        # The one with the least bound comes first, and once more in its place, where it changes nothing.
        i = first if place < 0 else place
        sequence = scratch.alive[i]
        # What has a higher bound cannot win, and of a tie only a sequence that comes first can.
        if scratch.bound[i] < best or (scratch.bound[i] == best and sequence < found):
            if domain.by_index:
                loss = _distance_by_index(data, scratch, sequence, m, whole)
            else:
                loss = _distance(data, scratch, sequence, m, whole, best)
            if loss < best or (loss == best and sequence < found):
                best = loss
                found = sequence
    return found


@inner
def _farthest(domain, data, scratch, alive, origin):
    """The sequence left that is farthest from one; of a tie the first."""
    m = _take(domain, data, scratch, origin)
    whole = _prepare(domain, data, scratch, m, 1)
    all_lost = np.int64(0)
    for h in range(m):
        all_lost += scratch.lost[h]
    best = np.int64(-1)
    found = -1
    for i in range(alive):
        sequence = scratch.alive[i]
        length = data.start[sequence + 1] - data.start[sequence]
        # Suppressing both is the dearest alignment there is, and sequences that follow are no longer.
        if all_lost + length * whole < best:
            break
        if data.times[sequence] == 0:
            continue
        # The best alignment loses no more than the one by index: where that is too little, it is not looked for.
        most = _distance_by_index(data, scratch, sequence, m, whole)
        if most < best or (most == best and sequence > found):
            continue
        loss = most if domain.by_index else _distance(data, scratch, sequence, m, whole, FORBIDDEN)
        if loss > best or (loss == best and sequence < found):
            best = loss
            found = sequence
    return found


@inner
def _most_frequent(data, scratch, alive):
    """The sequence left that occurs most often; of a tie the first."""
    found = scratch.alive[0]
    for i in range(1, alive):
        sequence = scratch.alive[i]
        count = data.times[sequence]
        if count > data.times[found] or (count == data.times[found] and sequence < found):
            found = sequence
    return found


@inner
def _enter(data, scratch, groups, sequence):
    """Take one of a sequence out of what is left and put it into the cluster; return where its positions go."""
    data.times[sequence] -= 1
    if data.value[sequence] >= 0:
        scratch.held[data.value[sequence]] += 1
    groups.member[groups.cursor[MEMBERS]] = sequence
    groups.cursor[MEMBERS] += 1
    at = groups.cursor[PAIRS]
    groups.cursor[PAIRS] += data.start[sequence + 1] - data.start[sequence]
    return at


@inner
def _suppress(domain, gained, pairs, of_code, of_age, of_detail):
    """Count the leaves that suppressed pairs gain, beyond those that their nodes have."""
    gained[0] += pairs * domain.code.leaf.shape[0] - of_code
    gained[1] += pairs * domain.age.leaf.shape[0] - of_age
    gained[2] += pairs * domain.detail.leaf.shape[0] - of_detail


@inner_with_arrays
def _join(domain, data, scratch, groups, m, weight, sequence):
    """Align X with a sequence and put the patient into the cluster; return the length of what X has become."""
    begin = data.start[sequence]
    symbols = data.symbol[begin : data.start[sequence + 1]]
    codes = data.code[symbols]
    ages = data.age[symbols]
    details = data.detail[symbols]
    n = symbols.shape[0]
    match = _matches(domain, scratch.code[:m], scratch.age[:m], scratch.detail[:m], weight, codes, ages, details)
    since = groups.cursor[PAIRS]
    place = np.full(m, -1, dtype=np.int32)
    at = _enter(data, scratch, groups, sequence)
    groups.position[at : at + n] = -1
    gained = groups.gained[groups.cursor[CLUSTERS]]
    kept = 0
    for h in range(m):
        of_code = domain.code.leaves[scratch.code[h]]
        of_age = domain.age.leaves[scratch.age[h]]
        of_detail = domain.detail.leaves[scratch.detail[h]]
        if match[h] < 0:
            _suppress(domain, gained, 1, of_code, of_age, of_detail)
            continue
        code = _meet(domain.code, scratch.code[h], codes[match[h]])
        age = _meet(domain.age, scratch.age[h], ages[match[h]])
        gained[0] += 2 * domain.code.leaves[code] - of_code
        detail = _meet(domain.detail, scratch.detail[h], details[match[h]])
        gained[1] += 2 * domain.age.leaves[age] - of_age
        gained[2] += 2 * domain.detail.leaves[detail] - of_detail
        groups.position[at + match[h]] = kept
        place[h] = kept
        scratch.code[kept] = code
        scratch.age[kept] = age
        scratch.detail[kept] = detail
        kept += 1
    _suppress(domain, gained, n - kept, 0, 0, 0)
    _follow(groups, groups.cursor[SINCE], since, place)
    return kept


@inner
def _follow(groups, begin, end, place):
    """Move the pairs of the patients who were there before to where X has them now."""
    for at in range(begin, end):
        if groups.position[at] >= 0:
            groups.position[at] = place[groups.position[at]]


@inner
def _form(domain, data, scratch, groups, seed, size, cap):
    """Algorithm 4: a cluster of so many patients around one sequence."""
    groups.cursor[SINCE] = groups.cursor[PAIRS]
    scratch.held[:] = 0
    m = _take(domain, data, scratch, seed)
    at = _enter(data, scratch, groups, seed)
    for h in range(m):
        groups.position[at + h] = h
    for joined in range(1, size):
        weight = joined if domain.weighted else 1
        alive = groups.cursor[ALIVE]
        sequence = _closest(domain, data, scratch, alive, m, weight, cap)
        # Nobody left has another value: diversity gives way, and the caller looks.
        if sequence < 0:
            sequence = _closest(domain, data, scratch, alive, m, weight, size)
        m = _join(domain, data, scratch, groups, m, weight, sequence)
    begin = groups.cursor[NODES]
    groups.cursor[NODES] += m
    for h in range(m):
        groups.code[begin + h] = scratch.code[h]
        groups.age[begin + h] = scratch.age[h]
        groups.detail[begin + h] = scratch.detail[h]
    groups.size[groups.cursor[CLUSTERS]] = size
    groups.length[groups.cursor[CLUSTERS]] = m
    groups.cursor[CLUSTERS] += 1
    kept = 0
    for i in range(groups.cursor[ALIVE]):
        sequence = scratch.alive[i]
        if data.times[sequence] > 0:
            scratch.alive[kept] = sequence
            kept += 1
            continue
        for at in range(data.start[sequence], data.start[sequence + 1]):
            scratch.left[data.symbol[at]] -= 1
    groups.cursor[ALIVE] = kept


@jit
def _group(domain, data, scratch, groups, k, diversity):
    """Algorithm 3: clusters of k around the farthest; what is left below 2 k is the last."""
    left = data.times.sum()
    while left >= 2 * k:
        frequent = _most_frequent(data, scratch, groups.cursor[ALIVE])
        far = _farthest(domain, data, scratch, groups.cursor[ALIVE], frequent)
        _form(domain, data, scratch, groups, far, k, k // diversity)
        if left >= 3 * k:
            opposite = _farthest(domain, data, scratch, groups.cursor[ALIVE], far)
            _form(domain, data, scratch, groups, opposite, k, k // diversity)
            left -= k
        left -= k
    rest = _most_frequent(data, scratch, groups.cursor[ALIVE])
    _form(domain, data, scratch, groups, rest, left, left // diversity)


def make_scratch(domain: Domain, data: Sequences) -> Scratch:
    """Return room for a search among these sequences."""
    sizes = data.start.size - 1, data.times.size, data.value.size
    if len(set(sizes)) > 1 or data.start[-1] != data.symbol.size:
        raise ValueError("every sequence must have a start, a number of times and a value")
    if data.symbol.size and not 0 <= data.symbol.min() <= data.symbol.max() < data.code.size:
        raise ValueError("a sequence names symbols that there are not")
    lengths = np.diff(data.start)
    longest, n, symbols = int(lengths.max()), lengths.size, data.code.size
    alive = np.argsort(-lengths, kind="stable").astype(np.int32)
    code, age, detail = (np.empty(longest, dtype=np.int32) for _ in range(3))
    leaves = [tree.leaf.size for tree in (domain.code, domain.age, domain.detail)]
    prices = [np.empty((n_leaves, longest), dtype=np.int64) for n_leaves in leaves]
    lost, row, through, least, bound, leaf_row = (
        np.empty(size, dtype=np.int64) for size in (longest + 1, longest + 1, longest + 1, symbols, n, max(leaves))
    )
    left = np.bincount(data.symbol, minlength=symbols)
    held = np.zeros(int(data.value.max(initial=-1)) + 1, dtype=np.int64)
    of_code, of_age, of_detail = prices
    known = lost, of_code, of_age, of_detail, least, left
    used = np.unique(data.code), np.unique(data.age), np.unique(data.detail)
    return Scratch(code, age, detail, *known, row, through, bound, alive, held, leaf_row, used)


def group(domain: Domain, data: Sequences, k: int, diversity: int = 1) -> Groups:
    """Put sequences into clusters of k to 2 k - 1 patients, each with one sequence of nodes.

    Parameters
    ----------
    data : at least one sequence; ``times`` is left as it is
    k : at least 1, at most as many as there are patients
    diversity : at most one in so many patients of a cluster shall have the same sensitive value; kept while others are
        left, so that the caller must look
    """
    n_patients = int(data.times.sum())
    if not 1 <= k <= n_patients:
        raise ValueError(f"k is {k}, but there are {n_patients} patients")
    scratch = make_scratch(domain, data)
    pairs = int((np.diff(data.start) * data.times).sum())
    clusters = n_patients // k
    narrow = [np.empty(size, dtype=np.int32) for size in (n_patients, pairs, pairs, pairs, pairs)]
    sizes = [np.zeros(size, dtype=np.int64) for size in (clusters, clusters, 6)]
    gained = np.zeros((clusters, 3), dtype=np.int64)
    groups = Groups(narrow[0], narrow[1], sizes[0], sizes[1], narrow[2], narrow[3], narrow[4], gained, sizes[2])
    groups.cursor[ALIVE] = data.times.size
    _group(domain, data._replace(times=data.times.copy()), scratch, groups, k, diversity)
    found, nodes = int(groups.cursor[CLUSTERS]), int(groups.length.sum())
    return groups._replace(
        size=groups.size[:found],
        length=groups.length[:found],
        code=groups.code[:nodes],
        age=groups.age[:nodes],
        detail=groups.detail[:nodes],
        gained=groups.gained[:found],
    )
