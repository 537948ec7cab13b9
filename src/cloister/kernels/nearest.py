"""Looking for the sequence that is closest to another, or farthest from it, without aligning with all of them.

What is found is exactly what aligning with all would find. Bounds only rule out what cannot win: of a tie, the sequence
that comes first wins.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner
from .alignment import FORBIDDEN, Domain, _row, _suppressed


class Sequences(NamedTuple):
    """Distinct sequences of leaves, in an order that does not depend on the input.

    start : (n + 1,) int64, where each begins in ``symbol``
    symbol : int32, numbers of the pairs
    code, age : (n_symbols,) int32, ranks of the leaves of each pair
    times : (n,) int64, how often each sequence occurs; counted down
    value : (n,) int32, a sensitive value that all of them have; -1: none
    """

    start: NDArray[np.int64]
    symbol: NDArray[np.int32]
    code: NDArray[np.int32]
    age: NDArray[np.int32]
    times: NDArray[np.int64]
    value: NDArray[np.int32]


class Scratch(NamedTuple):
    """The cluster that is being formed, as nodes and what each loses, and room for the search.

    code, age : (longest,) int32, nodes of X
    lost : (longest + 1,) int64, what each pair of X loses by suppression
    price : (n_symbols * longest,) int64, what each pair of X loses with each symbol
    least : (n_symbols,) int64, the least of these, or suppression
    row : (longest + 1,) int64
    bound : (n,) int64, a lower bound for each sequence
    alive : (n,) int32, sequences that are left, longest first
    held : (n_values,) int64, patients of the cluster with each sensitive value
    code_row, age_row : what a node loses with each leaf
    """

    code: NDArray[np.int32]
    age: NDArray[np.int32]
    lost: NDArray[np.int64]
    price: NDArray[np.int64]
    least: NDArray[np.int64]
    row: NDArray[np.int64]
    bound: NDArray[np.int64]
    alive: NDArray[np.int32]
    held: NDArray[np.int64]
    code_row: NDArray[np.int64]
    age_row: NDArray[np.int64]


@inner
def _prepare(domain, data, scratch, m, weight):
    """Work out what each pair of X loses with each symbol, and the least that a symbol can lose."""
    whole = domain.code_unit * domain.code.leaf.shape[0] + domain.age_unit * domain.age.leaf.shape[0]
    n = data.code.shape[0]
    scratch.least[:] = whole
    for h in range(m):
        of_code, of_age = _suppressed(domain, scratch.code[h], scratch.age[h], weight)
        scratch.lost[h] = of_code + of_age
        _row(domain.code, domain.code_unit, scratch.code[h], weight, scratch.code_row)
        _row(domain.age, domain.age_unit, scratch.age[h], weight, scratch.age_row)
        both = scratch.lost[h] + whole
        for symbol in range(n):
            price = scratch.code_row[data.code[symbol]] + scratch.age_row[data.age[symbol]]
            if domain.by_index and price >= FORBIDDEN:
                price = both
            scratch.price[symbol * m + h] = price
            if price < scratch.least[symbol]:
                scratch.least[symbol] = price
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
def _distance(symbols, scratch, m, whole, limit):
    """The loss of aligning X with a sequence; some number above the limit if it is above."""
    row, price, lost, least = scratch.row, scratch.price, scratch.lost, scratch.least
    row[0] = 0
    for h in range(m):
        row[h + 1] = row[h] + lost[h]
    left = np.int64(0)
    for at in range(symbols.shape[0]):
        left += least[symbols[at]]
    for at in range(symbols.shape[0]):
        symbol = symbols[at]
        left -= least[symbol]
        diagonal = row[0]
        here = diagonal + whole
        row[0] = here
        lowest = here
        base = symbol * m
        for h in range(m):
            above = row[h + 1]
            here = min(diagonal + price[base + h], above + whole, here + lost[h])
            row[h + 1] = here
            diagonal = above
            lowest = min(lowest, here)
        # Every way to the end passes this row and then loses at least what each symbol left loses at least.
        if lowest + left > limit:
            return limit + 1
    return row[m]


@inner
def _distance_by_index(symbols, scratch, m, whole):
    """The loss of matching X with a sequence by index."""
    n = symbols.shape[0]
    loss = np.int64(0)
    for h in range(min(m, n)):
        loss += scratch.price[symbols[h] * m + h]
    for h in range(n, m):
        loss += scratch.lost[h]
    return loss + max(0, n - m) * whole


@inner
def _measured(by_index, symbols, scratch, m, whole, limit):
    """The distance of X to a sequence, by the method asked for; some number above the limit if it is above."""
    if by_index:
        return _distance_by_index(symbols, scratch, m, whole)
    return _distance(symbols, scratch, m, whole, limit)


@inner
def _closest(domain, data, scratch, alive, m, weight, cap):
    """The sequence left that X is closest to, of a tie the first; none with a value that the cluster has enough of."""
    whole = _prepare(domain, data, scratch, m, weight)
    first = _bound_all(data, scratch, alive, m, whole, cap)
    if first < 0:
        return first
    by_index = domain.by_index
    found = scratch.alive[first]
    symbols = data.symbol[data.start[found] : data.start[found + 1]]
    best = _measured(by_index, symbols, scratch, m, whole, FORBIDDEN)
    for i in range(alive):
        sequence = scratch.alive[i]
        # What has a higher bound cannot win, and of a tie only a sequence that comes first can.
        if scratch.bound[i] < best or (scratch.bound[i] == best and sequence < found):
            symbols = data.symbol[data.start[sequence] : data.start[sequence + 1]]
            loss = _measured(by_index, symbols, scratch, m, whole, best)
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
        if data.times[sequence] > 0:
            symbols = data.symbol[data.start[sequence] : data.start[sequence + 1]]
            loss = _measured(domain.by_index, symbols, scratch, m, whole, FORBIDDEN)
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


def make_scratch(domain: Domain, data: Sequences) -> Scratch:
    """Return room for a search among these sequences."""
    if (
        data.start.size != data.times.size + 1
        or data.value.size != data.times.size
        or data.start[-1] != data.symbol.size
    ):
        raise ValueError("every sequence must have a start, a number of times and a value")
    if data.symbol.size and not 0 <= data.symbol.min() <= data.symbol.max() < data.code.size:
        raise ValueError("a sequence names symbols that there are not")
    lengths = np.diff(data.start)
    longest, n, symbols = int(lengths.max()), lengths.size, data.code.size
    alive = np.argsort(-lengths, kind="stable").astype(np.int32)
    wide = [np.empty(size, dtype=np.int64) for size in (longest + 1, symbols * longest, symbols, longest + 1, n)]
    return Scratch(
        np.empty(longest, dtype=np.int32),
        np.empty(longest, dtype=np.int32),
        wide[0],
        wide[1],
        wide[2],
        wide[3],
        wide[4],
        alive,
        np.zeros(int(data.value.max(initial=-1)) + 1, dtype=np.int64),
        np.empty(domain.code.leaf.size, dtype=np.int64),
        np.empty(domain.age.leaf.size, dtype=np.int64),
    )
