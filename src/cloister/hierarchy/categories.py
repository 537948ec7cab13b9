"""Groups of categories: as stated, rare ones merged, or similar ones merged by their values in another column."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import log
from typing import ClassVar

from cloister.errors import InputError
from cloister.hierarchy.bound import MadeOfRecords, NamedValues

OTHER = "other"
SIGNS = ",/=@"  # mean something in the words for a hierarchy
JOINING = "+|"  # do so in those for groups
Group = tuple[str, ...]


def _are_nameable(categories: Iterable[str], signs: str) -> list[bool]:
    return [bool(one) and one == one.strip() and not set(one) & set(signs) for one in categories]


def _check_nameable(spec: str, column: str, categories: Sequence[str]) -> None:
    """Refuse categories that a hierarchy in words cannot name."""
    if odd := _are_nameable(categories, SIGNS + JOINING).count(False):
        raise InputError(
            f"{spec} cannot name {odd} of the categories of column {column!r}: they have a comma, / = @ + | or a space "
            "at an end. Use a hierarchy file.",
            column=column,
        )


@dataclass(frozen=True)
class KeepHierarchy(NamedValues):
    """Levels of categories: the value; the value if it is kept, else `other`; then `*`."""

    kept: tuple[str, ...]
    kind: ClassVar[str] = "keep"

    def __post_init__(self) -> None:
        if not self.kept or not all(_are_nameable(self.kept, SIGNS)):
            raise InputError(
                "keep needs categories, such as keep:White,Hispanic; without the signs , / = @. Use a hierarchy file."
            )

    @property
    def spec(self) -> str:
        """As on the command line: `keep:White,Hispanic`."""
        return f"keep:{','.join(self.kept)}"

    def _names(self, texts: Sequence[str]) -> Sequence[Sequence[str]]:
        return [[text if text in self.kept else OTHER for text in texts]]


@dataclass(frozen=True)
class RareHierarchy(MadeOfRecords):
    """Levels of categories: those with fewer records than `least` become `other`. They depend on the records.

    The released hierarchy is `keep:...` of the others, each of which has at least k records.
    """

    least: int
    kind: ClassVar[str] = "rare"
    stated: ClassVar[str] = "categories here, as keep:White,Hispanic"

    def __post_init__(self) -> None:
        if self.least < 1:
            raise InputError("rare needs the fewest records of a category that is kept, such as rare:20.")

    @property
    def spec(self) -> str:
        """As on the command line: `rare:20`."""
        return f"rare:{self.least}"

    def cut(self, column: str, texts: Sequence[str], k: int) -> KeepHierarchy:
        """Return the hierarchy that keeps the categories of a column with enough records, at least k."""
        least = max(self.least, k)
        kept = sorted(value for value, n in Counter(texts).items() if n >= least)
        if not kept:
            raise InputError(
                f"{self.spec} keeps no category of column {column!r}: none has {least} records.", column=column
            )
        _check_nameable(self.spec, column, kept)
        return KeepHierarchy(tuple(kept))


@dataclass(frozen=True)
class GroupsHierarchy(NamedValues):
    """Levels of categories: the value; its group, named after its members; then `*`.

    What is in no group is `other` from the first grouped level on, or `any other` where a group is called so.

    Parameters
    ----------
    partitions : for each level its groups, from fine to coarse; those of a coarser level are made of finer ones
    """

    partitions: tuple[tuple[Group, ...], ...]
    kind: ClassVar[str] = "groups"

    def __post_init__(self) -> None:
        named = [[one for group in level for one in group] for level in self.partitions]
        if not named or not all(
            all(_are_nameable(one, SIGNS + JOINING)) and len({*one}) == len(one) > 0 for one in named
        ):
            raise InputError(
                "groups needs categories joined by +, each once a level, such as groups:White+Asian,Black+Other; "
                "without the signs , / = @ + |. Use a hierarchy file."
            )
        for finer, coarser in pairwise(self.partitions):
            is_same = {*map(frozenset, finer)} == {*map(frozenset, coarser)}
            are_whole = all(any({*group} <= {*whole} for whole in coarser) for group in finer)
            # What is in no group is one with all others of that level, and cannot leave them at the next.
            are_made_of_groups = {one for group in coarser for one in group} <= {
                one for group in finer for one in group
            }
            if is_same or not are_whole or not are_made_of_groups:
                raise InputError(
                    "groups needs levels that nest: each group whole in one of the next level, and what a level groups "
                    "in a group, alone or not, of every level before it."
                )

    @property
    def spec(self) -> str:
        """As on the command line: `groups:A+B,C/A+B+C`."""
        return f"groups:{'/'.join(','.join('+'.join(group) for group in level) for level in self.partitions)}"

    def _names(self, texts: Sequence[str]) -> Sequence[Sequence[str]]:
        named = [{one: "|".join(group) for group in level for one in group} for level in self.partitions]
        rest = OTHER
        while any(rest in level.values() for level in named):
            rest = f"any {rest}"
        return [[level.get(text, rest) for text in texts] for level in named]


@dataclass(frozen=True)
class SimilarHierarchy(MadeOfRecords):
    """Levels of categories grouped by the values of their records in another column. They depend on the records.

    Categories of k records or more begin as groups of their own, all others are `other`. The two groups are joined
    whose joining loses least of what they say of the other column (mutual information), again and again; every time
    that leaves half as many groups is a level, down to two. The released hierarchy is `groups:...`. It says which
    categories of k records or more are alike, and of whom nothing. A missing value of the other column is a value of
    its own.

    References
    ----------
    Slonim, Tishby (1999), "Agglomerative information bottleneck". Deviation: ties are broken by the names.
    """

    other: str
    kind: ClassVar[str] = "similar"
    stated: ClassVar[str] = "groups here, as groups:White+Asian,Black+Other"

    @property
    def spec(self) -> str:
        """As on the command line: `similar:diagnosis`."""
        return f"similar:{self.other}"

    def cut(self, column: str, pairs: Sequence[tuple[str, str]], k: int) -> GroupsHierarchy:
        """Return the groups of a column, from its pairs of values with the other column."""
        every: dict[Group, Counter[str]] = {}
        for value, other in pairs:
            every.setdefault((value,), Counter())[other] += 1
        counts = {group: own for group, own in sorted(every.items()) if own.total() >= k}
        _check_nameable(self.spec, column, [group[0] for group in counts])
        if len(counts) < 4:
            raise InputError(
                f"{self.spec} needs four categories of column {column!r} with {k} records each, but there are "
                f"{len(counts)}. Use rare or suppress.",
                column=column,
            )
        levels, wanted = [], (len(counts) + 1) // 2
        while len(counts) > 2:
            one, two = min(combinations(counts, 2), key=lambda pair: (_lost(counts[pair[0]], counts[pair[1]]), pair))
            counts[tuple(sorted(one + two))] = counts.pop(one) + counts.pop(two)
            if len(counts) == wanted:
                levels.append(tuple(sorted(counts)))
                wanted = max(2, (wanted + 1) // 2)
        return GroupsHierarchy(tuple(levels))


def _lost(one: Counter[str], two: Counter[str]) -> float:
    """Return the information about the other column that is lost by merging two groups, in nats times records."""

    def information(counts: Counter[str]) -> float:
        return sum(n * log(n) for _, n in sorted(counts.items())) - log(counts.total()) * counts.total()

    return round(information(one) + information(two) - information(one + two), 9)
