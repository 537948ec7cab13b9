"""Local recoding: records that full-domain generalization suppressed are released at coarser levels of their own."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease
from cloister.kernels.bounds import TOLERANCE
from cloister.kernels.layout import Rows, Threshold, make_task
from cloister.results import SearchResult
from cloister.search.problem import SearchProblem
from cloister.utility import IYENGAR, AttributeLoss

from ..checking.checker import TransformationEvaluator
from ..coding import costs_of
from .table_recoding import Partition, Recoding

Search = Callable[[SearchProblem, float | None], SearchResult]
"""Chooses a transformation within a number of seconds, or without a limit."""


def recode_locally(
    recoding: Recoding, first: SearchResult, choose: Search, time_limit: float | None = None
) -> Partition:
    """Return the release of a policy, and with it what of its suppressed records can be saved at coarser levels.

    The suppressed records are searched again by themselves, with the same hierarchies, rules and loss, and any number
    of them may stay suppressed. What then satisfies the rules is released at the levels found. This is repeated until
    a pass lowers the loss no more.

    *Guarantee*: every class of released records with equal labels satisfies all rules about classes, and the release
    those about the table, against anybody who knows the quasi-identifiers of a patient. The loss is never more than
    without local recoding. Rules that compare with the input compare with the whole of it. Not promised: the least
    loss of all such releases; that labels of different classes exclude each other (an age of [40-49] stands beside
    [40-44]). Cost: a search for each pass, over the records left.

    Parameters
    ----------
    time_limit : seconds for all passes together
    """
    levels = [first.levels[name] for name in recoding.problem.names]
    partition = recoding.full_domain(levels, recoding.problem.kept_rows(levels))
    loss, started = recoding.measure(partition), time.perf_counter()
    while not partition.is_released.all():
        left = None if time_limit is None else time_limit - (time.perf_counter() - started)
        candidate = None if left is not None and left <= 0 else _pass(recoding, partition, choose, left)
        if candidate is None or (lower := recoding.measure(candidate)) >= loss - TOLERANCE:
            break
        partition, loss = candidate, lower
    return partition


def _pass(recoding: Recoding, partition: Partition, choose: Search, time_limit: float | None) -> Partition | None:
    """The partition with what can be saved of its suppressed records; None if no transformation saves any."""
    rest = np.flatnonzero(~partition.is_released)
    problem = _remaining(recoding, rest)
    try:
        found = choose(problem, time_limit)
    except NoSafeRelease:
        return None
    levels = [found.levels[name] for name in problem.names]
    is_kept = np.zeros(recoding.n_rows, dtype=np.bool_)
    is_kept[rest] = problem.kept_rows(levels)
    saved = recoding.full_domain(levels, is_kept)
    rows = np.flatnonzero(saved.is_released)
    both = partition.joined(rows, saved.class_of_row[rows], saved.levels)
    while True:  # what is saved stays suppressed where it would break the class that it looks like
        released = recoding.released(both)
        holds = recoding.checker.holds(released.rows, released.classes, released.n_classes)
        broken = np.zeros(recoding.n_rows, dtype=np.bool_)
        broken[released.rows[~holds[released.classes]]] = True
        if not np.any(broken & ~partition.is_released):
            return settled(recoding, both)
        both = both.without(broken & ~partition.is_released)


def settled(recoding: Recoding, partition: Partition) -> Partition:
    """Return the partition without classes that violate a rule as they look in the release, the smallest first.

    Classes of equal labels are one class in the release. Some rules may hold of two classes and not of both together.
    """
    while True:
        released = recoding.released(partition)
        holds = recoding.checker.holds(released.rows, released.classes, released.n_classes)
        sizes = recoding.checker.records(released.rows, released.classes, released.n_classes)
        kept = np.flatnonzero(holds)
        # Classes are numbered by their labels, columns in the order of their names: neither rows nor columns of the
        # file decide which of one size goes first.
        ordered = kept[np.argsort(sizes[kept], kind="stable")]
        holds[ordered[: recoding.checker.n_left_out(sizes[ordered])]] = False
        if holds.all():
            return partition
        suppressed = np.zeros(recoding.n_rows, dtype=np.bool_)
        suppressed[released.rows[~holds[released.classes]]] = True
        partition = partition.without(suppressed)


def _remaining(recoding: Recoding, rows: NDArray[np.int64]) -> SearchProblem:
    """The problem of some of the rows by themselves; all of them may be suppressed, and no rule is about the table."""
    problem, task, loss = recoding.problem, recoding.problem.task, recoding.loss
    own = Rows(np.ascontiguousarray(task.rows.codes[:, rows]), task.rows.records[rows])
    n_records = int(own.records.sum())
    mean_loss = loss if isinstance(loss, AttributeLoss) else IYENGAR
    costs = costs_of(recoding.coded, own, recoding.weights.tolist(), mean_loss)
    part = make_task(own, task.ladders, costs, Threshold(task.threshold.k, n_records, n_records))
    checker = recoding.checker.restricted(part, rows)
    evaluator = None
    if problem.evaluator is not None:
        evaluator = TransformationEvaluator(part, recoding.coded, checker, loss, problem.aggregate, recoding.weights)
    return replace(
        problem,
        task=part,
        row_of_record=np.repeat(np.arange(rows.size), own.records),
        evaluator=evaluator,
        is_monotone=checker.is_monotone,
        is_nested=True,
    )
