"""Anonymizing trajectories: clusters of patients, each released with one sequence of generalized pairs."""

from .data import ProtectedTrajectories, Side, Trajectories, TrajectoriesRequest


def anonymize(
    trajectories: Trajectories, request: TrajectoriesRequest, side: Side | None = None
) -> ProtectedTrajectories:
    """Give the patients of every cluster one sequence of generalized pairs."""
    raise NotImplementedError
