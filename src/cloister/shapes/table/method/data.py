"""The states of a table: the request, the encoded table and the protected table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

import polars as pl

from cloister.hierarchy import BoundHierarchy, Hierarchy, Intervals, QuantileHierarchy
from cloister.hierarchy.stated_leaves import state_leaves
from cloister.hierarchy.value_lists import count_listed, may_list
from cloister.io import Tally
from cloister.privacy import ClassRule, KPatients, PositivePayout, PrivacyRule, least_group
from cloister.results import SearchResult
from cloister.shapes.table.format.options import CLUSTER, FULL_DOMAIN, JOINING, MDAV, NESTED, OPTIMAL, TableSettings
from cloister.utility import IYENGAR, AttributeLoss, Loss, find_game

if TYPE_CHECKING:  # so that checking a release does not load the search
    from cloister.search.problem import SearchProblem

    from .coding import Coded
    from .transformation_checker import RuleChecker


class Role(StrEnum):
    """The role of a column in the release."""

    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    KEPT = "kept"
    IDENTIFIER = "identifier"
    DROPPED = "dropped"


class Ids(StrEnum):
    """The treatment of the column that identifies patients."""

    DROP = "drop"
    NUMBER = "number"
    HMAC = "hmac"


@dataclass(frozen=True)
class QuasiIdentifier:
    """The generalization of a quasi-identifier: its hierarchy and allowed levels (``highest`` None: its top)."""

    hierarchy: Hierarchy
    lowest: int = 0
    highest: int | None = None


@dataclass(frozen=True)
class TableRequest(TableSettings):
    """The request for a table, with everything looked up."""

    quasi_identifiers: Mapping[str, QuasiIdentifier]
    rules: tuple[PrivacyRule, ...]
    suppression: Decimal = Decimal("0.05")
    loss: Loss = IYENGAR
    method: str = FULL_DOMAIN
    weights: Mapping[str, float] = field(default_factory=dict)
    levels: Mapping[str, int] | None = None
    microaggregate: Mapping[str, str] = field(default_factory=dict)
    ids: Ids = Ids.NUMBER
    # id, id_key: column that distinguishes patients; a secret of at least 32 bytes where ids are keyed hashes
    id: str | None = None
    id_key: bytes | None = field(default=None, repr=False)
    accept_empty: bool = False
    threads: int = 1  # at least 1; never changes the answer
    kept_by_default: tuple[str, ...] = ()  # columns that nobody named, kept as recorded

    @property
    def class_size(self) -> int:
        """The number of records that every class needs at least to satisfy all rules."""
        return max(rule.class_size for rule in self.rules)

    @property
    def k(self) -> int:
        """The bound below which counts are masked: the smallest group that a rule requires, at least 2."""
        return least_group(self.rules)

    @property
    def patients(self) -> KPatients | None:
        """The rule about patients, if a patient may have several records."""
        return next((rule for rule in self.rules if isinstance(rule, KPatients)), None)

    @property
    def game(self) -> PositivePayout | None:
        """The rule whose payout is maximized, if that is the loss."""
        return find_game(self.loss.name, self.rules)

    @property
    def numbered_id(self) -> str | None:
        """The id column, if numbers replace ids."""
        return self.id if self.ids is Ids.NUMBER else None

    @property
    def search_name(self) -> str:
        """The search of the method, for methods with a search."""
        return OPTIMAL if self.search is None else self.search

    @property
    def kernels(self) -> str:
        """The kernels to compile: of the search, of clusters, of MDAV, or shared by all other methods."""
        if self.chosen_method in (CLUSTER, MDAV):
            return self.chosen_method
        return self.search_name if self.chosen_method == FULL_DOMAIN else "no search"

    def weights_of(self, columns: Sequence[str]) -> list[float]:
        """Return the weight of each column."""
        return [float(self.weights.get(column, 1.0)) for column in columns]

    def bind(self, column: str, values: Sequence[str | None]) -> BoundHierarchy:
        """Return the hierarchy of a quasi-identifier, bound to these distinct values.

        Where labels resist downcoding, it states its leaves itself: losses that count the values which occur would
        say what labels hide.
        """
        hierarchy = self.quasi_identifiers[column].hierarchy
        bound = hierarchy.bind(column, values)
        return state_leaves(bound, hierarchy) if self.resist_downcoding else bound

    @property
    def columns_to_join(self) -> tuple[str, ...]:
        """The columns whose labels may join adjacent intervals or list values; other losses look at levels alone."""
        if self.published_method not in JOINING or not isinstance(self.loss, AttributeLoss) or self.labels == NESTED:
            return ()
        if self.resist_downcoding:  # each end of a joined label, and each value of a list, has a record
            return ()
        quasi, can_list = self.quasi_identifiers, count_listed(self.k) > 0 and self.patients is None
        return tuple(
            name
            for name, one in quasi.items()
            if name not in self.microaggregate
            and (
                isinstance(one.hierarchy, Intervals | QuantileHierarchy)
                or (can_list and one.lowest == 0 and may_list(one.hierarchy))
            )
        )

    @property
    def is_plain(self) -> bool:
        """Whether only class size decides about suppression, and the loss is a mean of attribute losses."""
        return self.is_by_size and isinstance(self.loss, AttributeLoss)

    @property
    def is_by_size(self) -> bool:
        """Whether only the size of a class decides about its release."""
        return all(isinstance(rule, ClassRule) and rule.needs == "sizes" for rule in self.rules)


@dataclass(frozen=True)
class EncodedTable:
    """A table that is ready for the search."""

    tally: Tally
    roles: Mapping[str, Role]
    hierarchies: Mapping[str, BoundHierarchy]  # by quasi-identifier, in the file's order
    problem: "SearchProblem"
    coded: tuple["Coded", ...]  # labels of the quasi-identifiers as numbers, in the order of the problem
    checker: "RuleChecker"

    @property
    def frame(self) -> pl.DataFrame:
        """The columns of the table."""
        return self.tally.frame


@dataclass(frozen=True)
class ProtectedTable:
    """A table ready for release, with information for the custodian only."""

    tally: Tally  # released records, sorted by their values
    # the transformation and what is proven of it; where levels differ between classes, of the whole table before
    # suppressed records were recoded; None where no transformation was searched
    search: SearchResult | None
    suppressed: int  # records omitted, or written as rows of ``*``
    originals: pl.Series  # position in the input of each released record; secret
    # labels of the quasi-identifiers of each released record, rows of ``*`` omitted; what is in ``tally``, unless it
    # was averaged by another method than MDAV
    labels: Tally
    levels: Mapping[str, tuple[int, ...]]  # levels that occur in each quasi-identifier, ascending, in the file's order
    loss: float | None  # computed by the method; None for MDAV

    def released(self) -> Tally:
        """Return the released records, rows of ``*`` omitted."""
        return self.tally.filter(self.originals.is_not_null())
