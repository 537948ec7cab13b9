"""Categories of which the rare ones are one group."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cloister.errors import InputError
from cloister.hierarchy.bound import BoundHierarchy, BuiltHierarchy, Levels, of_values_present

OTHER = "other"
_PLAIN = re.compile(r"[^,/=@\s]([^,/=@]*[^,/=@\s])?")


@dataclass(frozen=True)
class KeepHierarchy(BuiltHierarchy[str]):
    """Levels of categories: the value; itself if it is kept, else `other`; then `*`.

    Parameters
    ----------
    kept : categories that stay what they are
    """

    kept: tuple[str, ...]
    kind: ClassVar[str] = "keep"

    def __post_init__(self) -> None:
        if not self.kept or not all(_PLAIN.fullmatch(one) for one in self.kept):
            raise InputError(
                "keep needs categories, such as keep:White,Hispanic; without the signs , / = @. Use a hierarchy file."
            )

    @property
    def spec(self) -> str:
        """As on the command line: `keep:White,Hispanic`."""
        return f"keep:{','.join(self.kept)}"

    def read(self, text: str) -> str:
        """Return the category, or that it is another one."""
        return text if text in self.kept else OTHER

    def levels(self, texts: Sequence[str], read: Sequence[str]) -> Levels:
        """Return one level between value and root."""
        return of_values_present([read], len(texts))


@dataclass(frozen=True)
class RareHierarchy:
    """Levels of categories of which those with fewer records than `least` are `other`, known once the records are.

    The released hierarchy is `keep:...` of the others, each of which has at least k records.
    """

    least: int
    kind: ClassVar[str] = "rare"

    def __post_init__(self) -> None:
        if self.least < 1:
            raise InputError("rare needs the fewest records of a category that is kept, such as rare:20.")

    @property
    def spec(self) -> str:
        """As on the command line: `rare:20`."""
        return f"rare:{self.least}"

    def outside(self, _: Sequence[str | None]) -> list[str]:
        """No value is outside."""
        return []

    def bind(self, column: str, _: Sequence[str | None]) -> BoundHierarchy:
        """Refuse: how many records have each value is not known here."""
        raise InputError(
            f"{self.spec} needs the records of column {column!r}, known where a table is protected in memory. "
            "State categories here, as keep:White,Hispanic."
        )

    def cut(self, column: str, texts: Sequence[str], k: int) -> KeepHierarchy:
        """Return what is kept of the categories of a column: those with enough records, and k at least."""
        kept = sorted(value for value, n in Counter(texts).items() if n >= max(self.least, k))
        if not kept:
            raise InputError(
                f"{self.spec} keeps no category of column {column!r}: none has {max(self.least, k)} records.",
                column=column,
            )
        check_nameable(self.spec, column, kept)
        return KeepHierarchy(tuple(kept))


def check_nameable(spec: str, column: str, categories: Sequence[str]) -> None:
    """Refuse categories that a hierarchy in words cannot name."""
    odd = sum(re.search(r"[,/=@+|]|^\s|\s$", one) is not None for one in categories)
    if odd:
        raise InputError(
            f"{spec} cannot name {odd} of the categories of column {column!r}: they have a comma, / = @ + | or a space "
            "at an end. Use a hierarchy file.",
            column=column,
        )
