"""Attacks by somebody who knows the method: repeated on every possible original, and as two papers describe them.

The first is slow, and the most that can be learnt. Cohen (2022), "Attacks on Deidentification's Defenses", USENIX
Security 2022; "Exposing Privacy Risks in Anonymizing Clinical Data" (2025), arXiv:2509.03350.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, combinations_with_replacement, pairwise, product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

Record = tuple[str, ...]
Release = tuple[Record, ...]


def originals(domains: Sequence[Sequence[str]], n: int) -> Iterator[tuple[Record, ...]]:
    """Yield every table of ``n`` records, whatever their order, in which all values of each column occur."""
    for records in combinations_with_replacement(product(*domains), n):
        if all({record[j] for record in records} == set(domain) for j, domain in enumerate(domains)):
            yield records


def consistent(
    release: Release, domains: Sequence[Sequence[str]], n: int, protect: Callable[[Sequence[Record]], tuple]
) -> list[list[tuple[Record, Record]]]:
    """Return, for each original whose release is this one, its records with their labels."""
    found = []
    for records in originals(domains, n):
        labels = protect(records)
        if labels is not None and sorted(labels) == sorted(release):
            found.append(list(zip(records, labels, strict=True)))
    return found


def determined(possible: list[list[tuple[Record, Record]]], column: int, finer: Callable[[str, str], str]) -> dict:
    """Return, for each class, the counts of finer labels of a column if all possible originals have the same.

    ``finer``: the label of a value directly below the label of its class
    """
    counts: dict[Record, set] = {}
    for records in possible:
        of_class: dict[Record, Counter] = {}
        for record, label in records:
            of_class.setdefault(label, Counter())[finer(record[column], label[column])] += 1
        for label, count in of_class.items():
            counts.setdefault(label, set()).add(frozenset(count.items()))
    return {label: next(iter(some)) for label, some in counts.items() if len(some) == 1}


def minimal_counts(n: int, n_labels: int, k: int) -> Iterator[tuple[int, ...]]:
    """Yield counts of finer labels in a class of a minimal release, as Cohen (2022) has it.

    No finer label can replace the label of all records, nor that of some, if k records or more have it and k or more
    keep the label.
    """
    for counts in product(range(n + 1), repeat=n_labels):
        if sum(counts) == n and max(counts) < n and not any(k <= count <= n - k for count in counts):
            yield counts


def refined_counts(n: int, columns: Sequence[int], k: int) -> list[list[tuple[int, int]]]:
    """Return the least and the most records that each finer label of each column of a class can have.

    After *combinatorial refinement* (2025): with a variable for each combination of finer labels of all columns, at
    most k - 1 records have a finer label; an integer program for each bound.

    ``columns``: of each how many finer labels it has
    """
    cells = list(product(*map(range, columns)))
    rows = [(j, label) for j, n_labels in enumerate(columns) for label in range(n_labels)]
    has = np.array([[cell[j] == label for cell in cells] for j, label in rows], dtype=float)
    rules = [LinearConstraint(has, 0, k - 1), LinearConstraint(np.ones((1, len(cells))), n, n)]
    ends = {
        (row, sign): milp(sign * has[place], constraints=rules, integrality=np.ones(len(cells)), bounds=Bounds(0, n))
        for place, row in enumerate(rows)
        for sign in (1, -1)
    }
    assert all(one.success for one in ends.values())
    return [
        [(round(ends[(j, label), 1].fun), round(-ends[(j, label), -1].fun)) for label in range(n_labels)]
        for j, n_labels in enumerate(columns)
    ]


def assignments(n: int, columns: Sequence[Sequence[int]]) -> Iterator[list[list[list[int]]]]:
    """Yield all ways in which n records fall into intervals of all columns: of each column, the records of each.

    ``columns``: of each, the intervals inside of each finer label
    """
    every = product(*(range(sum(cells)) for cells in columns))
    for records in product(list(every), repeat=n):
        found = []
        for j, cells in enumerate(columns):
            counts = Counter(record[j] for record in records)
            ends = list(accumulate(cells, initial=0))
            found.append([[counts[place] for place in range(*pair)] for pair in pairwise(ends)])
        yield found
