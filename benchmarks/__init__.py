"""Measurements of cloister: run from the root of the repository, as `python -m benchmarks.papers.trajectories`."""
