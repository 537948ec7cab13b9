"""Codes cut from the right, one character a level (ZIP codes, codes without a table), or all at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from cloister.errors import InputError
from cloister.hierarchy.ladder import Ladder, group_sizes, make_ladder, require_cover, texts_in_order

LONGEST = 64
"""Longest code that a prefix hierarchy takes, in characters."""


@dataclass(frozen=True)
class PrefixHierarchy:
    """Levels that keep ever fewer of the first characters: `81367`, `8136*`, `813**`, `81***`, `8****`, `*`.

    Level i keeps the first ``length - i`` characters and writes `*` for each position dropped; the last level is the
    root. A shorter code counts as padded on the right: at the level where its length is reached it joins the longer
    codes that begin with it (with ``length`` 5, `813` is `813*`, then `813**` together with `81367`). So levels nest
    for codes of mixed lengths. The domain is the distinct values present.
    """

    length: int

    def __post_init__(self) -> None:
        if type(self.length) is not int or not 1 <= self.length <= LONGEST:
            raise InputError(
                f"prefix needs the number of characters of the longest code, 1 to {LONGEST}, such as prefix:5."
            )

    @property
    def kind(self) -> str:
        """`prefix`."""
        return "prefix"

    @property
    def spec(self) -> str:
        """As on the command line: `prefix:5`."""
        return f"prefix:{self.length}"

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Those of the distinct values that are longer than the hierarchy."""
        return [value for value in values if value is not None and len(value) > self.length]

    def bind(self, column: str, values: Sequence[str | None]) -> Ladder:
        """Return the ladder of these distinct values."""
        texts, missing = texts_in_order(values)
        self._require_cover(column, texts)
        labels = [
            [text[: self.length - dropped] + "*" * dropped for text in texts] for dropped in range(1, self.length)
        ]
        return make_ladder(column, texts, missing, labels, [group_sizes(level) for level in labels], len(texts))

    def _require_cover(self, column: str, texts: Sequence[str]) -> None:
        longest = max(map(len, texts), default=0)
        require_cover(
            column,
            len(self.outside(texts)),
            len(texts),
            f"are longer than the {self.length} characters of {self.spec}; the longest has {longest}",
            f"Use prefix:{longest}, or correct the values."
            if longest <= LONGEST
            else "Use suppress or a hierarchy file.",
        )


@dataclass(frozen=True)
class SuppressHierarchy:
    """Two levels: the value as it is, and `*`.

    The domain is the distinct values present; every value is covered.
    """

    @property
    def kind(self) -> str:
        """`suppress`."""
        return "suppress"

    @property
    def spec(self) -> str:
        """`suppress`."""
        return "suppress"

    def outside(self, values: Sequence[str | None]) -> list[str]:  # noqa: ARG002 - the protocol's signature
        """Return an empty list: no value is outside."""
        return []

    def bind(self, column: str, values: Sequence[str | None]) -> Ladder:
        """Return the ladder of these distinct values."""
        texts, missing = texts_in_order(values)
        return make_ladder(column, texts, missing, (), (), len(texts))
