"""Categories in groups: as stated, or those together that are most alike in another column."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log
from typing import ClassVar

from cloister.errors import InputError
from cloister.hierarchy.bound import BoundHierarchy, BuiltHierarchy, Levels, of_values_present
from cloister.hierarchy.rare import check_nameable

OTHER = "other"
_PLAIN = re.compile(r"[^,/=@+|\s]([^,/=@+|]*[^,/=@+|\s])?")
Group = tuple[str, ...]


@dataclass(frozen=True)
class GroupsHierarchy(BuiltHierarchy[str]):
    """Levels of categories: the value; the group that holds it, named after its members; then `*`.

    What stands in no group is `other` from the first grouped level on, or `any other` where a group is called so.

    Parameters
    ----------
    partitions : for each level its groups, from fine to coarse; those of a coarser level are made of finer ones
    """

    partitions: tuple[tuple[Group, ...], ...]
    kind: ClassVar[str] = "groups"

    def __post_init__(self) -> None:
        named = [[one for group in level for one in group] for level in self.partitions]
        if not named or not all(all(map(_PLAIN.fullmatch, one)) and len({*one}) == len(one) > 0 for one in named):
            raise InputError(
                "groups needs categories joined by +, each once a level, such as groups:White+Asian,Black+Other; "
                "without the signs , / = @ + |. Use a hierarchy file."
            )
        for finer, coarser in zip(self.partitions, self.partitions[1:], strict=False):
            if {*map(frozenset, finer)} == {*map(frozenset, coarser)} or not all(
                any({*group} <= {*whole} for whole in coarser) for group in finer
            ):
                raise InputError("groups needs levels that nest: each group whole in one of the next level.")

    @property
    def spec(self) -> str:
        """As on the command line: `groups:A+B,C/A+B+C`."""
        return f"groups:{'/'.join(','.join('+'.join(group) for group in level) for level in self.partitions)}"

    def read(self, text: str) -> str:
        """Return the category."""
        return text

    def levels(self, texts: Sequence[str], read: Sequence[str]) -> Levels:
        """Return a level for each partition."""
        named = [{one: "|".join(group) for group in level for one in group} for level in self.partitions]
        rest = OTHER
        while any(rest in level.values() for level in named):
            rest = f"any {rest}"
        return of_values_present([[level.get(value, rest) for value in read] for level in named], len(texts))


@dataclass(frozen=True)
class SimilarHierarchy:
    """Levels of categories that are grouped by what their records have in another column, known once the records are.

    Categories of k records or more begin as groups of their own, all others are `other`. The two groups are joined
    whose joining loses least of what they say of the other column (mutual information), again and again; every time
    that leaves half as many groups is a level, down to two. The released hierarchy is `groups:...`. It says which
    categories of k records or more are alike, and of whom nothing.

    Parameters
    ----------
    other : the other column; a missing value there is a value of its own

    References
    ----------
    Slonim, Tishby (1999), "Agglomerative information bottleneck". Deviation: ties are broken by the names.
    """

    other: str
    kind: ClassVar[str] = "similar"

    @property
    def spec(self) -> str:
        """As on the command line: `similar:diagnosis`."""
        return f"similar:{self.other}"

    def outside(self, _: Sequence[str | None]) -> list[str]:
        """No value is outside."""
        return []

    def bind(self, column: str, _: Sequence[str | None]) -> BoundHierarchy:
        """Refuse: how many records have each value is not known here."""
        raise InputError(
            f"{self.spec} needs the records of column {column!r}, known where a table is protected in memory. "
            "State groups here, as groups:White+Asian,Black+Other."
        )

    def cut(self, column: str, pairs: Sequence[tuple[str, str]], k: int) -> GroupsHierarchy:
        """Return the groups of a column, from the pairs of its values and those of the other column."""
        counts: dict[Group, dict[str, int]] = {}
        for value, other in pairs:
            own = counts.setdefault((value,), {})
            own[other] = own.get(other, 0) + 1
        counts = {group: own for group, own in sorted(counts.items()) if sum(own.values()) >= k}
        check_nameable(self.spec, column, [group[0] for group in counts])
        if len(counts) < 4:
            raise InputError(
                f"{self.spec} needs four categories of column {column!r} with {k} records each, but there are "
                f"{len(counts)}. Use rare or suppress.",
                column=column,
            )
        levels, wanted = [], (len(counts) + 1) // 2
        while len(counts) > 2:
            one, two = min(combinations(counts, 2), key=lambda pair: (_lost(counts[pair[0]], counts[pair[1]]), pair))
            first, second = counts.pop(one), counts.pop(two)
            counts[tuple(sorted(one + two))] = {
                other: first.get(other, 0) + second.get(other, 0) for other in {*first, *second}
            }
            if len(counts) == wanted:
                levels.append(tuple(sorted(counts)))
                wanted = max(2, (wanted + 1) // 2)
        return GroupsHierarchy(tuple(levels))


def _lost(one: dict[str, int], two: dict[str, int]) -> float:
    """Return the information about the other column that is lost where two groups are joined, in nats of records."""

    def information(counts: dict[str, int]) -> float:
        return sum(n * log(n) for _, n in sorted(counts.items())) - log(sum(counts.values())) * sum(counts.values())

    both = {other: one.get(other, 0) + two.get(other, 0) for other in {*one, *two}}
    return round(information(one) + information(two) - information(both), 9)
