"""All small tables, and what follows from a release for whoever runs the method on each of them: slow, and exact."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product

Row = tuple[int, ...]
Label = tuple[int, int]  # level, and the number of the label there
Class = tuple[Label, ...]
Assigned = list[tuple[Row, Class, int]]  # rows of a table with the labels of their class, and how many


def tables(domains: Sequence[int], n: int) -> Iterator[Counter[Row]]:
    """Yield every table of ``n`` records, as the number of each row; ``domains``: values of each column."""
    cells = list(product(*map(range, domains)))

    def counts(left: int, cells_left: int) -> Iterator[tuple[int, ...]]:
        if cells_left == 1:
            yield (left,)
            return
        for here in range(left + 1):
            for others in counts(left - here, cells_left - 1):
                yield (here, *others)

    for found in counts(n, len(cells)):
        yield Counter({cell: number for cell, number in zip(cells, found, strict=True) if number})


def find_determined(
    domains: Sequence[int], n: int, maps: Sequence[Sequence[Sequence[int]]], protect: Callable[[Counter[Row]], Assigned]
) -> tuple[int, int, list[tuple[Class, int]]]:
    """Return how many tables there are, how many coarser labels of classes, and those whose finer counts follow.

    ``maps``: for each column, the label of each value at each level. A label that covers one label of the level below
    it is not coarser.
    """
    possible: dict[frozenset, dict[tuple[Class, int], set]] = defaultdict(lambda: defaultdict(set))
    n_tables = 0
    for table in tables(domains, n):
        n_tables += 1
        sizes: Counter[Class] = Counter()
        finer: dict[tuple[Class, int], Counter] = defaultdict(Counter)
        for row, shown, number in protect(table):
            sizes[shown] += number
            for column, (level, _) in enumerate(shown):
                if level:
                    finer[shown, column][maps[column][level - 1][row[column]]] += number
        of_release = possible[frozenset(sizes.items())]
        for pair, counts in finer.items():
            of_release[pair].add(frozenset(counts.items()))
    pairs = [
        (pair, counts) for release in possible.values() for pair, counts in release.items() if _is_coarser(pair, maps)
    ]
    return n_tables, len(pairs), [pair for pair, counts in pairs if len(counts) == 1]


def _is_coarser(pair: tuple[Class, int], maps: Sequence[Sequence[Sequence[int]]]) -> bool:
    shown, column = pair
    level, label = shown[column]
    below = {finer for finer, own in zip(maps[column][level - 1], maps[column][level], strict=True) if own == label}
    return len(below) > 1
