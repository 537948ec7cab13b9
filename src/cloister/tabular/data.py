"""The forms a table takes on its way: what is asked of it, encoded, and protected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

import polars as pl

from cloister.hierarchy import Hierarchy, Ladder
from cloister.privacy import KAnonymity
from cloister.results import SearchResult
from cloister.utility import IYENGAR, AttributeLoss

if TYPE_CHECKING:  # so that checking a release does not load the search
    from cloister.search.problem import Problem


class Role(StrEnum):
    """What a column is to the release."""

    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    KEPT = "kept"
    IDENTIFIER = "identifier"
    DROPPED = "dropped"


class Ids(StrEnum):
    """What becomes of the column that identifies patients."""

    DROP = "drop"
    NUMBER = "number"
    HMAC = "hmac"


@dataclass(frozen=True)
class QuasiIdentifier:
    """How a quasi-identifier may be generalized: its hierarchy, and the levels allowed (``highest`` None: its top)."""

    hierarchy: Hierarchy
    lowest: int = 0
    highest: int | None = None


@dataclass(frozen=True)
class TableRequest:
    """What is asked of a table.

    Attributes
    ----------
    quasi_identifiers : by column name
    rules : privacy rules, all of which must hold
    suppression : share of the records that may be suppressed, in [0, 1]
    loss, weights : what is minimized; weights of columns not named are 1
    search, time_limit : which search, and seconds after which it returns the best found so far
    levels : a fixed policy, level by column, instead of a search
    id, drop, sensitive, keep, rest : roles of the other columns; ``rest`` is error, drop or keep
    ids, id_key : what becomes of the id; a secret of at least 32 bytes where ids are keyed hashes
    keep_suppressed : write suppressed records as rows of ``*`` instead of leaving them out
    threads : at least 1; never changes the answer
    """

    quasi_identifiers: Mapping[str, QuasiIdentifier]
    rules: tuple[KAnonymity, ...]
    suppression: Decimal = Decimal("0.05")
    loss: AttributeLoss = IYENGAR
    weights: Mapping[str, float] = field(default_factory=dict)
    search: str = "optimal"
    time_limit: float | None = None
    levels: Mapping[str, int] | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    rest: str = "error"
    ids: Ids = Ids.NUMBER
    id_key: bytes | None = field(default=None, repr=False)
    keep_suppressed: bool = False
    threads: int = 1

    @property
    def k(self) -> int:
        """The class size that satisfies all rules."""
        return max(rule.k for rule in self.rules)


def is_withheld(suppressed: int, k: int) -> bool:
    """Whether the number of suppressed records, and all that would give it away, is kept back from the recipient."""
    return 0 < suppressed < k


@dataclass(frozen=True)
class EncodedTable:
    """A table ready to be searched.

    Attributes
    ----------
    frame : the records as read
    roles : role of every column, in the file's order
    ladders : by quasi-identifier, in the file's order
    problem : lattice and costs, for the search
    """

    frame: pl.DataFrame
    roles: Mapping[str, Role]
    ladders: Mapping[str, Ladder]
    problem: "Problem"


@dataclass(frozen=True)
class ProtectedTable:
    """A table as it is to be released, and what only the custodian may know.

    Attributes
    ----------
    frame : released records, sorted by their values
    search : the policy and what is proven of it
    suppressed : records left out, or written as rows of ``*``
    originals : position in the input of each released record; secret
    """

    frame: pl.DataFrame
    search: SearchResult
    suppressed: int
    originals: pl.Series
