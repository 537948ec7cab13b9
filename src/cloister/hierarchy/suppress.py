"""The shortest hierarchy: the value, or nothing of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from cloister.hierarchy.binding import make_ladder, texts_in_order
from cloister.hierarchy.ladder import Ladder


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
