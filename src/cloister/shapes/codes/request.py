"""The request for code sets: settings and workloads.

A workload is the case counts that a release should answer well. Source: Loukides et al. (2014), Journal of Biomedical
Informatics 50, section 6.1: sets of codes that a share of the patients have, and sets of codes drawn at random, a
larger set being a smaller one and one more code (section 6.4).
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from cloister.errors import InputError
from cloister.kernels.ragged import owners
from cloister.settings.checking import plain
from cloister.settings.constraints import check_value
from cloister.settings.run_options import SEED
from cloister.utility import CountedSets, frequent_itemsets

from .data import CodeSets, occurrence
from .policy import UtilityPolicy, least_support

LARGEST_QUERY = 4
FEWEST = 1
MOST_QUERIES = 100_000
FIRST, NO_PLACE = -1, -2  # In place of the item of the occurrence before: the first has none; it is missing


@dataclass(frozen=True)
class CodesWorkload:
    """Queries, each a set of item numbers, and where they came from, as on the command line."""

    spec: str
    queries: tuple[tuple[int, ...], ...]


def frequent_workload(codes: CodeSets, percent: float) -> CodesWorkload:
    """Return queries for every set of up to four codes that at least this percentage of the patients have."""
    least = least_support(percent, codes.n_records)
    itemsets = frequent_itemsets(codes.offsets, codes.items, least, largest=LARGEST_QUERY)
    return CodesWorkload(f"frequent:{percent:g}", tuple(itemset.items for itemset in itemsets))


def random_workload(codes: CodeSets, n_queries: int, seed: int = 0) -> CodesWorkload:
    """Return queries for random sets of one to four codes, equally many of each size."""
    if not FEWEST <= n_queries <= MOST_QUERIES:
        raise InputError(f"A random workload has {FEWEST} to {MOST_QUERIES:,} queries, not {n_queries}.")
    generator = np.random.default_rng(seed)
    largest = min(LARGEST_QUERY, codes.n_codes)
    queries: list[tuple[int, ...]] = []
    while len(queries) < n_queries:
        drawn = generator.choice(codes.n_codes, largest, replace=False).tolist()
        queries += [tuple(sorted(drawn[:size])) for size in range(1, largest + 1)]
    return CodesWorkload(f"random:{n_queries}", tuple(queries[:n_queries]))


def parse_workload(spec: str, codes: CodeSets, seed: int = 0) -> CodesWorkload:
    """Parse a workload: ``frequent:5`` (percent of the patients) or ``random:1000`` (queries)."""
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


@dataclass(frozen=True)
class CodesRequest:
    """The request for code sets, whatever the method."""

    k: int  # patients that anyone who knows codes of one must be left with
    _: KW_ONLY
    policy: UtilityPolicy | None = None
    workload: CodesWorkload | None = None  # case counts whose error is measured for the custodian
    numbered: bool = True  # whether the records of the data file are numbered
    drop_empty: bool = False  # whether patients without codes were to be omitted
    accuracy: bool = False  # whether answers that the release gives are to be compared with the original
    accept_empty: bool = False  # whether a release that loses nearly everything is one


def check_seed(seed: int) -> int:
    """Return the seed of reconstructions after checking it."""
    check_value("seed", plain(seed), SEED)
    return int(seed)


def check_codes(codes: CodeSets) -> CodeSets:
    """Return code sets after checking that they can be used."""
    if not isinstance(codes, CodeSets):
        raise InputError("Code sets are needed, as CodeSets.read or CodeSets.from_records return them.")
    if not codes.n_records:
        raise InputError("There are no records, so there is nothing to release.")
    if codes.repeats and not _is_numbered(codes):
        raise InputError(
            "The codes are said to be numbered occurrences, but are not numbered from 1 without gaps in each record, "
            "as 401.9#1, 401.9#2. Make them by CodeSets.read or CodeSets.from_records with repeats=True."
        )
    return codes


def _is_numbered(codes: CodeSets) -> bool:
    """Whether each record that has an occurrence of a code has all earlier ones."""
    place = {occurrence(name): item for item, name in enumerate(codes.vocabulary)}
    before = np.full(codes.n_codes, NO_PLACE, dtype=np.int64)
    for found, item in place.items():
        if found is not None:
            before[item] = FIRST if found[1] == 1 else place.get((found[0], found[1] - 1), NO_PLACE)
    owner = owners(codes.offsets) * codes.n_codes
    earlier = before[codes.items]
    later = earlier != FIRST
    return bool(np.all(earlier != NO_PLACE) and np.isin((owner + earlier)[later], owner + codes.items).all())


def index_codes(codes: CodeSets) -> CountedSets:
    """Index code sets for counting."""
    return CountedSets.of(codes.offsets, codes.items, codes.n_codes)
