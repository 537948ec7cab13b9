"""Workloads: the case counts that a release should answer well.

Source: Loukides et al. (2014), Journal of Biomedical Informatics 50, section 6.1: sets of codes that a share of the
patients have, and sets of codes drawn at random, a larger set being a smaller one and one more code (section 6.4).
"""

from dataclasses import dataclass

import numpy as np

from cloister.errors import InputError
from cloister.utility import frequent_itemsets

from .data import CodeSets
from .policy import least_support

LARGEST_QUERY = 4
FEWEST = 1
MOST_QUERIES = 100_000


@dataclass(frozen=True)
class Workload:
    """Queries, each a set of item numbers, and where they came from, as on the command line."""

    spec: str
    queries: tuple[tuple[int, ...], ...]


def frequent_workload(codes: CodeSets, percent: float) -> Workload:
    """Ask for every set of up to four codes that at least this percentage of the patients have."""
    least = least_support(percent, codes.n_records)
    itemsets = frequent_itemsets(codes.offsets, codes.items, least, largest=LARGEST_QUERY)
    return Workload(f"frequent:{percent:g}", tuple(itemset.items for itemset in itemsets))


def random_workload(codes: CodeSets, n_queries: int, seed: int = 0) -> Workload:
    """Ask for sets of one to four codes drawn at random, as many of each size."""
    if not FEWEST <= n_queries <= MOST_QUERIES:
        raise InputError(f"A random workload has {FEWEST} to {MOST_QUERIES:,} queries, not {n_queries}.")
    generator = np.random.default_rng(seed)
    largest = min(LARGEST_QUERY, codes.n_codes)
    queries: list[tuple[int, ...]] = []
    while len(queries) < n_queries:
        drawn = generator.choice(codes.n_codes, largest, replace=False).tolist()
        queries += [tuple(sorted(drawn[:size])) for size in range(1, largest + 1)]
    return Workload(f"random:{n_queries}", tuple(queries[:n_queries]))


def parse_workload(spec: str, codes: CodeSets, seed: int = 0) -> Workload:
    """Return a workload by its words: ``frequent:5`` (percent of the patients) or ``random:1000`` (queries).

    Raises
    ------
    InputError
        The words are neither.
    """
    kind, _, text = spec.partition(":")
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if kind == "frequent" and number == number:
        return frequent_workload(codes, number)
    if kind == "random" and number.is_integer():
        return random_workload(codes, int(number), seed)
    raise InputError(f"A workload is frequent:PERCENT or random:QUERIES, as frequent:5 or random:1000, not {spec!r}.")
