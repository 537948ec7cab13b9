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
    """Both hierarchies, what one leaf of each is worth, and how losses are counted."""

    code: Branches  # code, age: the hierarchies
    age: Branches
    code_unit: int  # code_unit, age_unit: loss of one leaf
    age_unit: int
    weighted: bool  # whether a pair of X loses for every patient that it stands for
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
def _suppression_loss(domain, code, age, weight):
    """What the codes and ages of a pair of X lose by suppression."""
    codes = domain.code_unit * weight * (domain.code.leaf.shape[0] - domain.code.leaves[code])
    ages = domain.age_unit * weight * (domain.age.leaf.shape[0] - domain.age.leaves[age])
    return codes, ages


@inner
def _first_row(domain, codes, ages, weight, loss, choice):
    """Suppress all of X, pair by pair, before any pair of Y."""
    for h in range(codes.shape[0]):
        of_code, of_age = _suppression_loss(domain, codes[h], ages[h], weight)
        loss[0, h + 1, 0] = loss[0, h, 0] + of_code
        loss[1, h + 1, 0] = loss[1, h, 0] + of_age
        choice[h + 1, 0] = SUPPRESS_X


@jit
def _tables(domain, codes, ages, weight, y_codes, y_ages):
    """The matrices of Algorithm 2: losses of codes and ages (2, m + 1, n + 1), and choices; from no loss at all."""
    m = codes.shape[0]
    n = y_codes.shape[0]
    loss = np.zeros((2, m + 1, n + 1), dtype=np.int64)
    choice = np.zeros((m + 1, n + 1), dtype=np.int8)
    whole_code = domain.code_unit * domain.code.leaf.shape[0]
    whole_age = domain.age_unit * domain.age.leaf.shape[0]
    _first_row(domain, codes, ages, weight, loss, choice)
    for j in range(n):
        loss[0, 0, j + 1] = loss[0, 0, j] + whole_code
        loss[1, 0, j + 1] = loss[1, 0, j] + whole_age
        choice[0, j + 1] = SUPPRESS_Y
    for h in range(m):
        x_code, x_age = _suppression_loss(domain, codes[h], ages[h], weight)
        for j in range(n):
            code = loss[0, h, j] + _loss(domain.code, domain.code_unit, codes[h], y_codes[j], weight)
            age = loss[1, h, j] + _loss(domain.age, domain.age_unit, ages[h], y_ages[j], weight)
            best = GENERALIZE
            # Strictly less, in the order of the choices: of a tie the earlier choice stays.
            if loss[0, h + 1, j] + whole_code + loss[1, h + 1, j] + whole_age < code + age:
                code = loss[0, h + 1, j] + whole_code
                age = loss[1, h + 1, j] + whole_age
                best = SUPPRESS_Y
            if loss[0, h, j + 1] + x_code + loss[1, h, j + 1] + x_age < code + age:
                code = loss[0, h, j + 1] + x_code
                age = loss[1, h, j + 1] + x_age
                best = SUPPRESS_X
            loss[0, h + 1, j + 1] = code
            loss[1, h + 1, j + 1] = age
            choice[h + 1, j + 1] = best
    return loss, choice


@jit
def _matches(domain, codes, ages, weight, y_codes, y_ages):
    """The pair of Y that each pair of X is generalized with; -1: suppressed."""
    match = np.full(codes.shape[0], -1, dtype=np.int64)
    if domain.by_index:
        for h in range(min(codes.shape[0], y_codes.shape[0])):
            if not domain.code.closed[_meet(domain.code, codes[h], y_codes[h])]:
                match[h] = h
        return match
    choice = _tables(domain, codes, ages, weight, y_codes, y_ages)[1]
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
def _distances(domain, sequences, weights, y_codes, y_ages, loss):
    """The loss of aligning each of many sequences of nodes, by (start, codes, ages), with Y."""
    start, codes, ages = sequences
    for i in range(weights.shape[0]):
        begin = start[i]
        end = start[i + 1]
        table = _tables(domain, codes[begin:end], ages[begin:end], weights[i], y_codes, y_ages)[0]
        loss[i] = table[0, end - begin, y_codes.shape[0]] + table[1, end - begin, y_codes.shape[0]]


def _check_arguments(
    domain: Domain, nodes: tuple[NDArray[np.int32], ...], ranks: tuple[NDArray[np.int32], ...]
) -> None:
    for tree, node, rank in zip((domain.code, domain.age), nodes, ranks, strict=True):
        if node.size and not 0 <= node.min() <= node.max() < tree.parent.size:
            raise ValueError("a sequence names nodes that the tree has not")
        if rank.size and not 0 <= rank.min() <= rank.max() < tree.leaf.size:
            raise ValueError("a sequence names leaves that the tree has not")
    if nodes[0].shape != nodes[1].shape or ranks[0].shape != ranks[1].shape:
        raise ValueError("a sequence must have as many codes as ages")


def align(
    domain: Domain,
    nodes: tuple[NDArray[np.int32], NDArray[np.int32]],
    weight: int,
    ranks: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int64]]:
    """Align X, given by nodes, with Y, given by ranks of leaves.

    Parameters
    ----------
    nodes : codes and ages of X
    weight : patients that X stands for, if that is to count; else 1
    ranks : codes and ages of Y

    Returns
    -------
    losses of codes and ages, (2, m + 1, n + 1); what is done last, (m + 1, n + 1); the pair of Y that each pair of X
    is generalized with, (m,), -1 where it is suppressed
    """
    _check_arguments(domain, nodes, ranks)
    loss, choice = _tables(domain, nodes[0], nodes[1], weight, ranks[0], ranks[1])
    return loss, choice, _matches(domain, nodes[0], nodes[1], weight, ranks[0], ranks[1])


def distances(
    domain: Domain,
    sequences: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]],
    weights: NDArray[np.int64],
    ranks: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> NDArray[np.int64]:
    """Return the loss of aligning each of many sequences with Y, at the least, also where pairs go by index.

    Parameters
    ----------
    sequences : where each begins, (n + 1,), codes and ages, as nodes
    weights : (n,) patients that each stands for, if that is to count; else 1
    ranks : codes and ages of Y
    """
    _check_arguments(domain, sequences[1:], ranks)
    if sequences[0].shape != (weights.size + 1,) or sequences[0][-1] != sequences[1].size:
        raise ValueError("every sequence must have a start and a weight")
    loss = np.empty(weights.size, dtype=np.int64)
    _distances(domain, sequences, weights, ranks[0], ranks[1], loss)
    return loss
