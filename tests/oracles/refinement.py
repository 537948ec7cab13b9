"""Whoever knows the method repeats it on every possible original: slow, and the most that can be learnt."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement, product

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
