"""Branch and bound over boxes of transformations: the compiled part of the optimal search.

A box holds all transformations between ``lower`` and ``upper``. Three facts end it:

* its bound (the loss of ``lower`` by generalization, raised by what must be suppressed at ``upper``) passes the best
  loss known;
* more records than the limit are suppressed at ``upper``, hence at every transformation of the box;
* no segment is undecided: then the same records are suppressed throughout, and ``lower`` is the best of the box.
  Where class size is not all that is asked of a class, such a box is handed over to be judged by other means.

Otherwise ``upper`` is drawn in to where the bound still allows it, and the box is cut in two at one attribute: the
half below is refuted or explored, the half above takes its place.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, inner_with_arrays, jit
from .classes import _cost, _roll_up
from .layout import MOST_FOUND, TOLERANCE, Best, Task, aggregate, bound_of, cannot_win, hand_over, keep, term, width
from .segments import Rise, Span, Workspace, merge, move, raise_codes, split, suppressed_if_split

CUT, DRAWN_IN, REFUTED, BOUNDED, MEASURED, COUNTED, VISITED = range(7)
"""Places in the statistics: what was done to boxes, transformations measured, upper ones counted, groups visited."""

STATISTICS = 7

VISITS_OF_MEASURE = 4
"""What measuring a transformation costs, in visits of each distinct row."""


@inner_with_arrays
def _measure_lower(task, lower, best, statistics):
    """Measure one transformation exactly and keep it if it can win."""
    leaves = np.zeros(lower.shape[0], dtype=np.int64)
    codes = np.empty_like(task.rows.codes)
    records = np.empty_like(task.rows.records)
    found = _roll_up(task.rows, task.maps, np.zeros_like(leaves), lower, codes, records)
    suppressed, kept, _ = _cost(codes, records, found, task.costs, lower, task.threshold.k, leaves)
    statistics[MEASURED] += 1
    statistics[VISITED] += VISITS_OF_MEASURE * task.rows.records.shape[0]
    if suppressed > task.threshold.limit or kept == 0:
        return
    terms = 0.0
    for j in range(lower.shape[0]):
        domain = task.costs.domain[j]
        loss = (leaves[j] + suppressed * domain) / (task.threshold.n_records * domain)
        terms += task.costs.weight[j] * (np.log1p(loss) if task.costs.geometric else loss)
    keep(task.maps, aggregate(task.costs, terms), suppressed, lower, best)


@inner
def _span(stack, d):
    return Span(stack.span[d, 0], stack.span[d, 1], stack.span[d, 2], stack.span[d, 3])


@inner_with_arrays
def _rise(task, stack, d, attribute, level):
    """One attribute of a box's groups seen at a coarser level."""
    start = task.maps.start[attribute, stack.level[d, attribute], level]
    packing = task.packing
    return Rise(packing.word[attribute], packing.shift[attribute], packing.mask[attribute], task.maps.up[start:])


@inner_with_arrays
def _would_suppress(task, pool, stack, d, attribute, level, statistics):
    """Records suppressed at the upper transformation of the box if it were drawn in to ``level`` in one attribute."""
    rise = _rise(task, stack, d, attribute, level)
    budget = task.threshold.limit - stack.suppressed[d]
    statistics[COUNTED] += 1
    statistics[VISITED] += stack.span[d, 1]
    return stack.suppressed[d] + suppressed_if_split(pool, _span(stack, d), rise, task.threshold.k, budget)


@inner_with_arrays
def _split_to(task, pool, stack, d, attribute, level, target):
    """Split the groups of a box as if drawn in to ``level``; return where they are, and what that suppresses."""
    rise = _rise(task, stack, d, attribute, level)
    size, segments, suppressed = split(pool, _span(stack, d), rise, task.threshold.k, target)
    return Span(target.start, size, target.bound, segments), suppressed


@inner
def _behind(stack, d):
    """The free place behind the list of a box."""
    return Span(stack.span[d, 0] + stack.span[d, 1], 0, stack.span[d, 2] + stack.span[d, 3] + 1, 0)


@inner
def _draw_in(task, pool, stack, d, attribute, level, statistics):
    """Lower the upper transformation in one attribute; False if that refutes the whole box."""
    if _would_suppress(task, pool, stack, d, attribute, level, statistics) > task.threshold.limit:
        return False
    drawn, suppressed = _split_to(task, pool, stack, d, attribute, level, _behind(stack, d))
    # Lists are written one behind the other; the old one is not needed any more and makes room where it is short.
    if 2 * (drawn.start + drawn.size) > pool.records.shape[0]:
        home = _span(stack, d)
        move(pool, drawn, home)
        drawn = Span(home.start, drawn.size, home.bound, drawn.segments)
    stack.span[d, 0] = drawn.start
    stack.span[d, 1] = drawn.size
    stack.span[d, 2] = drawn.bound
    stack.span[d, 3] = drawn.segments
    stack.suppressed[d] += suppressed
    stack.upper[d, attribute] = level
    statistics[DRAWN_IN] += 1
    return True


@inner
def _highest_allowed(task, stack, d, attribute, terms, best):
    """Highest level of an attribute at which the bound of the box does not yet pass the best loss."""
    share = stack.suppressed[d] / task.threshold.n_records
    lower = stack.lower[d, attribute]
    rest = terms - term(task.costs, attribute, lower, share)
    level = stack.upper[d, attribute]
    while level > lower:
        if aggregate(task.costs, rest + term(task.costs, attribute, level, share)) <= best.loss[0] + TOLERANCE:
            break
        level -= 1
    return level


@inner
def _settle(task, pool, stack, d, best, statistics):
    """Draw the box in as far as its bound allows; True if the box is done with."""
    drawn = True
    while drawn:
        drawn = False
        share = stack.suppressed[d] / task.threshold.n_records
        terms = bound_of(task.costs, stack.lower[d], share)
        loss = aggregate(task.costs, terms)
        # What is suppressed at the upper transformation is suppressed throughout, so that this bounds all of the box.
        if cannot_win(task.maps, loss, stack.suppressed[d], stack.lower[d], best):
            statistics[BOUNDED] += 1
            return True
        for j in range(stack.lower.shape[1]):
            level = _highest_allowed(task, stack, d, j, terms, best)
            if level < stack.upper[d, j]:
                if not _draw_in(task, pool, stack, d, j, level, statistics):
                    statistics[REFUTED] += 1
                    return True
                drawn = True
                break
    # No undecided group: the same records are suppressed throughout, and the lower transformation loses least.
    if stack.span[d, 1] == 0 or not _has_room(stack, d):
        if best.is_final:
            _measure_lower(task, stack.lower[d], best, statistics)
        else:
            hand_over(best, stack.lower[d], stack.upper[d], stack.suppressed[d])
        return True
    return False


@inner
def _has_room(stack, d):
    for j in range(stack.lower.shape[1]):
        if stack.upper[d, j] > stack.lower[d, j]:
            return True
    return False


@inner
def _choose_cut(task, stack, d):
    """Attribute to cut a box at, and the level that ends the lower half.

    The attribute whose levels differ most in cost and in number of values: a dear upper half soon meets its bound,
    a coarse one has few groups. The level is the last that costs no more than half of what lies between.
    """
    attribute = -1
    widest = -1.0
    for j in range(stack.lower.shape[1]):
        low = stack.lower[d, j]
        high = stack.upper[d, j]
        if high > low:
            merged = np.log(task.maps.sizes[j, low] / task.maps.sizes[j, high])
            spread = width(task.costs, j, low, high) * merged
            if spread > widest:
                widest = spread
                attribute = j
    low = stack.lower[d, attribute]
    high = stack.upper[d, attribute]
    half = 0.5 * width(task.costs, attribute, low, high)
    level = low
    while level + 1 < high and width(task.costs, attribute, low, level + 1) <= half:
        level += 1
    return attribute, level


@inner_with_arrays
def _catch_up(task, pool, stack, d, statistics):
    """Bring the groups of a box to its lower transformation and merge those that have become equal."""
    behind = False
    for j in range(stack.lower.shape[1]):
        high = stack.lower[d, j]
        if stack.level[d, j] < high:
            raise_codes(pool, _span(stack, d), _rise(task, stack, d, j, high))
            stack.level[d, j] = high
            behind = True
    if behind:
        statistics[VISITED] += 4 * stack.span[d, 1]
        size, segments = merge(pool, _span(stack, d), task.threshold.k)
        stack.span[d, 1] = size
        stack.span[d, 3] = segments


@inner
def _open_lower_half(task, pool, stack, d, attribute, level):
    """Push the lower half of a cut onto the stack."""
    child, suppressed = _split_to(task, pool, stack, d, attribute, level, _behind(stack, d))
    for j in range(stack.lower.shape[1]):
        stack.lower[d + 1, j] = stack.lower[d, j]
        stack.upper[d + 1, j] = stack.upper[d, j]
        stack.level[d + 1, j] = stack.level[d, j]
    stack.upper[d + 1, attribute] = level
    stack.span[d + 1, 0] = child.start
    stack.span[d + 1, 1] = child.size
    stack.span[d + 1, 2] = child.bound
    stack.span[d + 1, 3] = child.segments
    stack.suppressed[d + 1] = stack.suppressed[d] + suppressed
    stack.cut[d + 1, 0] = -1
    stack.depth[0] += 1


@inner
def _fill(task, pool):
    """Fill the pool with the distinct rows as they are: one list of one segment."""
    n = task.rows.records.shape[0]
    for i in range(n):
        pool.records[i] = task.rows.records[i]
        for w in range(pool.words.shape[1]):
            pool.words[i, w] = 0
    for j in range(task.rows.codes.shape[0]):
        word = task.packing.word[j]
        shift = task.packing.shift[j]
        for i in range(n):
            pool.words[i, word] |= np.uint64(task.rows.codes[j, i]) << shift
    pool.bounds[0] = 0
    pool.bounds[1] = n


@inner
def _enter(task, pool, stack, lower, upper, statistics):
    """Make one box the only one on the stack; False if that alone refutes it."""
    n = task.rows.records.shape[0]
    _fill(task, pool)
    for j in range(lower.shape[0]):
        stack.lower[0, j] = lower[j]
        stack.upper[0, j] = task.maps.heights[j] - 1
        stack.level[0, j] = 0
    stack.span[0, 0] = 0
    stack.span[0, 1] = n
    stack.span[0, 2] = 0
    stack.span[0, 3] = 1
    stack.suppressed[0] = 0
    stack.cut[0, 0] = -1
    stack.depth[0] = 1
    _catch_up(task, pool, stack, 0, statistics)
    for j in range(lower.shape[0]):
        # Where the top level has more than one value it keeps rows apart as well, though nothing is drawn in.
        if task.maps.sizes[j, upper[j]] > 1 and not _draw_in(task, pool, stack, 0, j, upper[j], statistics):
            return False
    return True


@inner
def _explore(task, pool, stack, best, statistics, work):
    """Work on the boxes of the stack until none is left, the work is done, or a room is full."""
    until = statistics[VISITED] + work
    while stack.depth[0] > 0:
        d = stack.depth[0] - 1
        if stack.cut[d, 0] >= 0:
            stack.lower[d, stack.cut[d, 0]] = stack.cut[d, 1] + 1
            stack.cut[d, 0] = -1
        # A split writes at most as many groups behind the list as it has.
        full = stack.span[d, 0] + 2 * stack.span[d, 1] > pool.records.shape[0]
        if full or best.n_found[0] == MOST_FOUND or statistics[VISITED] >= until:
            return
        if _settle(task, pool, stack, d, best, statistics):
            stack.depth[0] -= 1
            continue
        attribute, level = _choose_cut(task, stack, d)
        stack.cut[d, 0] = attribute
        stack.cut[d, 1] = level
        statistics[CUT] += 1
        # The lower half's upper transformation suppresses too much, hence all finer ones do.
        if _would_suppress(task, pool, stack, d, attribute, level, statistics) > task.threshold.limit:
            statistics[REFUTED] += 1
            continue
        _catch_up(task, pool, stack, d, statistics)
        _open_lower_half(task, pool, stack, d, attribute, level)


@jit
def _search(task, pool, stack, best, statistics, bounds, work):
    if _enter(task, pool, stack, bounds[0], bounds[1], statistics):
        _explore(task, pool, stack, best, statistics, work)
    else:
        statistics[REFUTED] += 1
        stack.depth[0] = 0


class Box(NamedTuple):
    """All transformations between two, with the bound on their loss and the records they suppress at least."""

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    bound: float
    suppressed: int


def generalization_bound(task: Task, levels: NDArray[np.int64], suppressed: int = 0) -> float:
    """Return what a transformation loses at least if at least so many records are suppressed.

    Parameters
    ----------
    levels : (n_attributes,) level of each attribute
    """
    if levels.shape != task.maps.heights.shape or np.any(levels < 0) or np.any(levels >= task.maps.heights):
        raise ValueError(f"levels must be one per attribute, each below {task.maps.heights.tolist()}")
    terms = bound_of(task.costs, levels, suppressed / task.threshold.n_records)
    return float(np.expm1(terms)) if task.costs.geometric else float(terms)


def explore(
    task: Task, workspace: Workspace, box: Box, best: Best, statistics: NDArray[np.int64], work: int
) -> list[Box]:
    """Search one box for transformations that can win; return the boxes left undone.

    Parameters
    ----------
    best : what is known of good transformations; what is found is added to it
    statistics : (STATISTICS,) int64, added to; see the names at the top of this module
    work : stop after about this many visits of groups
    """
    heights = task.maps.heights
    if np.any(box.lower < 0) or np.any(box.lower > box.upper) or np.any(box.upper >= heights):
        raise ValueError(f"a box must lie within the lattice of heights {heights.tolist()}")
    stack = workspace.stack
    _search(task, workspace.pool, stack, best, statistics, np.stack([box.lower, box.upper]), work)
    left = []
    for d in range(int(stack.depth[0])):
        lower = stack.lower[d].copy()
        if stack.cut[d, 0] >= 0:
            lower[stack.cut[d, 0]] = stack.cut[d, 1] + 1
        suppressed = int(stack.suppressed[d])
        left.append(Box(lower, stack.upper[d].copy(), generalization_bound(task, lower, suppressed), suppressed))
    return left


def settle_boxes(task: Task, best: Best) -> list[Box]:
    """Return the boxes that an exploration handed over: settled as far as class sizes go, not judged otherwise."""
    boxes = []
    for found in range(int(best.n_found[0])):
        lower, suppressed = best.found[found].copy(), int(best.least[found])
        bound = generalization_bound(task, lower, suppressed)
        boxes.append(Box(lower, best.uppers[found].copy(), bound, suppressed))
    return boxes
