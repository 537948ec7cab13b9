"""Aligning two sequences of pairs at the least loss: generalize two pairs, or suppress one of either.

Losses are whole numbers: leaves that a value gains, times what one leaf of its attribute is worth. A *sequence* X
consists of nodes and may stand for several patients already; a sequence Y consists of leaves, by rank: the place among
the leaves in the order in which every node covers a range of them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit

GENERALIZE, SUPPRESS_Y, SUPPRESS_X = 0, 1, 2
"""What is done last, in the order in which ties are settled."""

Places = tuple[NDArray[np.int32], ...]
"""Nodes, or ranks of leaves, of codes, ages and perhaps details."""

FORBIDDEN = np.int64(2**61)
"""More than any sum of losses."""


class Branches(NamedTuple):
    """A hierarchy as a tree."""

    parent: NDArray[np.int32]  # (n_nodes,) -1 for the root
    leaves: NDArray[np.int64]  # (n_nodes,) leaves below; 0 for a leaf
    low: NDArray[np.int32]  # low, high: (n_nodes,) ranks of the leaves that the node covers
    high: NDArray[np.int32]
    leaf: NDArray[np.int32]  # (n_values,) the leaf of each rank
    closed: NDArray[np.bool_]  # (n_nodes,) nodes that nothing may be generalized to


class Domain(NamedTuple):
    """All hierarchies, what one leaf of each is worth, and how losses are counted."""

    # code, age, detail: the hierarchies; where pairs have no detail, that of one value, which is worth nothing
    code: Branches
    age: Branches
    code_unit: int  # code_unit, age_unit, detail_unit: loss of one leaf
    age_unit: int
    detail: Branches
    detail_unit: int
    weighted: bool  # whether the loss of a pair of X counts for each of its patients
    by_index: bool  # whether pairs are matched by their index only (Baseline)


@inner
def _meet(tree, node, rank):
    """The lowest node that covers a node and the leaf of a rank."""
    while rank < tree.low[node] or rank >= tree.high[node]:
        node = tree.parent[node]
    return node


@inner
def _loss(tree, unit, node, rank, weight):
    """What a node and a leaf lose by meeting."""
    above = _meet(tree, node, rank)
    if tree.closed[above]:
        return FORBIDDEN
    return unit * (weight * (tree.leaves[above] - tree.leaves[node]) + tree.leaves[above])


@inner
def _row(tree, unit, node, weight, row):
    """What a node loses with the leaf of each rank."""
    low = tree.low[node]
    high = tree.high[node]
    for rank in range(low, high):
        row[rank] = unit * tree.leaves[node]
    if tree.closed[node]:
        row[low:high] = FORBIDDEN
    # Ancestors meet the leaves that the node below them does not cover: each leaf is filled once.
    above = tree.parent[node]
    while above >= 0:
        price = unit * (weight * (tree.leaves[above] - tree.leaves[node]) + tree.leaves[above])
        if tree.closed[above]:
            price = FORBIDDEN
        for rank in range(tree.low[above], low):
            row[rank] = price
        for rank in range(high, tree.high[above]):
            row[rank] = price
        low = tree.low[above]
        high = tree.high[above]
        above = tree.parent[above]


@inner
def _suppression_loss(domain, code, age, detail, weight):
    """What the code, age and detail of a pair of X lose by suppression."""
    codes = domain.code_unit * weight * (domain.code.leaf.shape[0] - domain.code.leaves[code])
    ages = domain.age_unit * weight * (domain.age.leaf.shape[0] - domain.age.leaves[age])
    details = domain.detail_unit * weight * (domain.detail.leaf.shape[0] - domain.detail.leaves[detail])
    return codes, ages, details


@inner
def _edges(domain, codes, ages, details, weight, loss, choice):
    """Suppress all of X, pair by pair, before any pair of Y; and all of Y before any pair of X."""
    for h in range(codes.shape[0]):
        of_code, of_age, of_detail = _suppression_loss(domain, codes[h], ages[h], details[h], weight)
        loss[0, h + 1, 0] = loss[0, h, 0] + of_code
        loss[1, h + 1, 0] = loss[1, h, 0] + of_age
        loss[2, h + 1, 0] = loss[2, h, 0] + of_detail
        choice[h + 1, 0] = SUPPRESS_X
    for j in range(choice.shape[1] - 1):
        loss[0, 0, j + 1] = loss[0, 0, j] + domain.code_unit * domain.code.leaf.shape[0]
        loss[1, 0, j + 1] = loss[1, 0, j] + domain.age_unit * domain.age.leaf.shape[0]
        loss[2, 0, j + 1] = loss[2, 0, j] + domain.detail_unit * domain.detail.leaf.shape[0]
        choice[0, j + 1] = SUPPRESS_Y


@jit
def _tables(domain, codes, ages, details, weight, y_codes, y_ages, y_details):
    """The matrices of Algorithm 2: losses of codes, ages and details (3, m + 1, n + 1), and choices."""
    m = codes.shape[0]
    n = y_codes.shape[0]
    loss = np.zeros((3, m + 1, n + 1), dtype=np.int64)
    choice = np.zeros((m + 1, n + 1), dtype=np.int8)
    whole_code = domain.code_unit * domain.code.leaf.shape[0]
    whole_age = domain.age_unit * domain.age.leaf.shape[0]
    whole_detail = domain.detail_unit * domain.detail.leaf.shape[0]
    _edges(domain, codes, ages, details, weight, loss, choice)
    for h in range(m):
        x_code, x_age, x_detail = _suppression_loss(domain, codes[h], ages[h], details[h], weight)
        for j in range(n):
            code = loss[0, h, j] + _loss(domain.code, domain.code_unit, codes[h], y_codes[j], weight)
            age = loss[1, h, j] + _loss(domain.age, domain.age_unit, ages[h], y_ages[j], weight)
            detail = loss[2, h, j] + _loss(domain.detail, domain.detail_unit, details[h], y_details[j], weight)
            best = GENERALIZE
            # Strictly less, in the order of the choices: of a tie the earlier choice stays.
            above = loss[0, h + 1, j] + loss[1, h + 1, j] + loss[2, h + 1, j]
            if above + whole_code + whole_age + whole_detail < code + age + detail:
                code = loss[0, h + 1, j] + whole_code
                age = loss[1, h + 1, j] + whole_age
                detail = loss[2, h + 1, j] + whole_detail
                best = SUPPRESS_Y
            left = loss[0, h, j + 1] + loss[1, h, j + 1] + loss[2, h, j + 1]
            if left + x_code + x_age + x_detail < code + age + detail:
                code = loss[0, h, j + 1] + x_code
                age = loss[1, h, j + 1] + x_age
                detail = loss[2, h, j + 1] + x_detail
                best = SUPPRESS_X
            loss[0, h + 1, j + 1] = code
            loss[1, h + 1, j + 1] = age
            loss[2, h + 1, j + 1] = detail
            choice[h + 1, j + 1] = best
    return loss, choice


@jit
def _matches(domain, codes, ages, details, weight, y_codes, y_ages, y_details):
    """The pair of Y that each pair of X is generalized with; -1: suppressed."""
    match = np.full(codes.shape[0], -1, dtype=np.int64)
    if domain.by_index:
        for h in range(min(codes.shape[0], y_codes.shape[0])):
            if not domain.code.closed[_meet(domain.code, codes[h], y_codes[h])]:
                match[h] = h
        return match
    choice = _tables(domain, codes, ages, details, weight, y_codes, y_ages, y_details)[1]
    h = codes.shape[0]
    j = y_codes.shape[0]
    while h > 0 or j > 0:
        if choice[h, j] == GENERALIZE:
            h -= 1
            j -= 1
            match[h] = j
        elif choice[h, j] == SUPPRESS_Y:
            j -= 1
        else:
            h -= 1
    return match


@jit
def _distances(domain, sequences, weights, ranks, loss):
    """The loss of aligning each of many sequences of nodes, by (start, codes, ages, details), with Y."""
    start, codes, ages, details = sequences
    for i in range(weights.shape[0]):
        begin = start[i]
        end = start[i + 1]
        x = codes[begin:end], ages[begin:end], details[begin:end]
        table = _tables(domain, x[0], x[1], x[2], weights[i], ranks[0], ranks[1], ranks[2])[0]
        loss[i] = table[:, end - begin, ranks[0].shape[0]].sum()


def _check_arguments(domain: Domain, nodes: Places, ranks: Places) -> None:
    for tree, node, rank in zip((domain.code, domain.age, domain.detail), nodes, ranks, strict=True):
        if node.size and not 0 <= node.min() <= node.max() < tree.parent.size:
            raise ValueError("a sequence names nodes that the tree has not")
        if rank.size and not 0 <= rank.min() <= rank.max() < tree.leaf.size:
            raise ValueError("a sequence names leaves that the tree has not")
    if len({node.shape for node in nodes}) > 1 or len({rank.shape for rank in ranks}) > 1:
        raise ValueError("a sequence must have as many codes as ages, and as details")


def _with_details(places: Places) -> Places:
    """Add the detail that there is where pairs have none."""
    return places if len(places) > 2 else (*places, np.zeros_like(places[0]))


def align(
    domain: Domain, nodes: Places, weight: int, ranks: Places
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int64]]:
    """Align X, given by nodes, with Y, given by ranks of leaves.

    Parameters
    ----------
    nodes : codes, ages and perhaps details of X
    weight : the number of patients of X, if losses count for each patient; else 1
    ranks : the same of Y

    Returns
    -------
    losses of codes, ages and details, (3, m + 1, n + 1); what is done last, (m + 1, n + 1); the pair of Y that each
    pair of X is generalized with, (m,), -1 where it is suppressed
    """
    nodes, ranks = _with_details(nodes), _with_details(ranks)
    _check_arguments(domain, nodes, ranks)
    arguments = domain, nodes[0], nodes[1], nodes[2], weight, ranks[0], ranks[1], ranks[2]
    loss, choice = _tables(*arguments)
    return loss, choice, _matches(*arguments)


def distances(
    domain: Domain, start: NDArray[np.int64], nodes: Places, weights: NDArray[np.int64], ranks: Places
) -> NDArray[np.int64]:
    """Return the loss of aligning each of many sequences with Y, at the least, also where pairs go by index.

    Parameters
    ----------
    start : where each begins, (n + 1,)
    nodes : codes, ages and perhaps details of all
    weights : (n,) the number of patients of each, if losses count for each patient; else 1
    ranks : the same of Y
    """
    nodes, ranks = _with_details(nodes), _with_details(ranks)
    _check_arguments(domain, nodes, ranks)
    if start.shape != (weights.size + 1,) or start[-1] != nodes[0].size:
        raise ValueError("every sequence must have a start and a weight")
    loss = np.empty(weights.size, dtype=np.int64)
    _distances(domain, (start, *nodes), weights, ranks, loss)
    return loss
