"""Anonymizing trajectories: clusters of patients, each released with one sequence of generalized pairs."""

import numpy as np

from cloister.errors import InputError, NoSafeRelease
from cloister.kernels.grouping import group

from .clusters import gather, release
from .data import ProtectedTrajectories, Side, Trajectories, TrajectoriesRequest
from .losses import measure
from .problem import pose
from .tree import Tree


def anonymize(
    trajectories: Trajectories, request: TrajectoriesRequest, side: Side | None = None
) -> ProtectedTrajectories:
    """Give the patients of every cluster one sequence of generalized pairs."""
    if not trajectories.n_patients:
        raise InputError("There are no patients.")
    if trajectories.n_patients < request.k:
        raise NoSafeRelease(
            f"There are {trajectories.n_patients} patients, fewer than k = {request.k}. Give a smaller k, or more data."
        )
    trees = bind(trajectories, request)
    return anonymize_under(trajectories, request, trees, side)


def bind(trajectories: Trajectories, request: TrajectoriesRequest) -> tuple[Tree, Tree]:
    """Return the trees of codes and ages."""
    codes = request.code_hierarchy.bind("code", trajectories.vocabulary)
    ages = request.age_hierarchy.bind("age", trajectories.age_values)
    return Tree.of(codes, trajectories.vocabulary), Tree.of(ages, trajectories.age_values)


def anonymize_under(
    trajectories: Trajectories, request: TrajectoriesRequest, trees: tuple[Tree, Tree], side: Side | None = None
) -> ProtectedTrajectories:
    """Anonymize under trees that are bound already."""
    problem = pose(trajectories, trees, request, side)
    chosen = [np.arange(problem.first.size)]
    diversity = 1 if request.diversity is None else request.diversity.l
    groups = [group(problem.domain, problem.sequences(own), request.k, diversity) for own in chosen]
    clusters = gather(problem, chosen, groups)
    released, alignment = release(problem, clusters, request.k, drop_empty=request.drop_empty)
    losses = measure(trajectories, released, alignment, clusters.gained)
    return ProtectedTrajectories(released, alignment, losses, len(chosen))
