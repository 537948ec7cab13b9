"""The manifest of a released table: what a recipient may know of how it was made, as types."""

import math
from decimal import Decimal
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator, StringConstraints, model_validator

from cloister.hierarchy import names_hierarchy
from cloister.io.query import Dialect
from cloister.privacy import KPatients, PrivacyRule, rule_of
from cloister.release.head import ALL_LOST, Delimiter, FileName, FileSpec, ManifestHead, Section, Share, fitting
from cloister.release.masking import mask_small_count, mask_total
from cloister.results import Why
from cloister.utility import LOSSES, PAYOUT, PRECISION, find_game

from .guarantee import Guarantee, Questions
from .options import FULL_DOMAIN, JOINING, LOCAL_RECODING, MDAV, MERGED, MODE, MONDRIAN

AGREEMENT = 1e-9  # how far a bound may be above the loss
ALWAYS_TOLD = ("iyengar", "arx", "precision", "discernibility", "average_class_size")
"""Losses that are in every manifest, with the one that was minimized."""

SHARE_ROUNDED = Decimal("1e-15")
"""How far a share of suppression may be from the one asked for, as JSON holds no more than 16 digits of it."""
SEARCHED = (FULL_DOMAIN, LOCAL_RECODING, MERGED)  # methods that begin with a search
MOST_RECORDS = 2**62  # no table has more
ASSUMED: Literal["assumed"] = "assumed"
UNIQUE: Literal["ids are unique"] = "ids are unique"
SEVERAL: Literal["patients are counted"] = "patients are counted"
OneRow = Literal["assumed", "ids are unique", "patients are counted"]


def _known_loss(name: str) -> str:
    if name not in (*LOSSES, PAYOUT):
        raise ValueError("a loss that this version does not know")
    return name


def _rule(described: object) -> PrivacyRule:
    """Parse a rule of a manifest; reject rules that this version does not know, as it cannot check them."""
    if isinstance(described, PrivacyRule):
        return described
    try:
        return rule_of(described)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass
    raise ValueError("not a rule of this version")


Rule = Annotated[PrivacyRule, PlainValidator(_rule), PlainSerializer(lambda rule: rule.describe())]
Whole = Annotated[int, Field(ge=0, le=MOST_RECORDS)]
Records = Annotated[int, Field(ge=1, le=MOST_RECORDS)]
Masked = Annotated[str, StringConstraints(pattern=r"^<[0-9]{1,20}$")]
Weight = Annotated[float, Field(ge=0)]
Average = Literal["mean", "median", "mode"]
LossName = Annotated[str, AfterValidator(_known_loss)]
SearchName = Annotated[str, StringConstraints(pattern=r"^[a-z:-]{1,40}$")]
NameInDatabase = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,2}$")]


class PublishedSettings(Section):
    """What was asked, and how the input was read."""

    source: FileName
    k: Records
    rules: tuple[str, ...]
    suppression: Share
    loss: LossName
    weights: dict[str, Weight]
    target: str | None = None
    strata: tuple[str, ...] = ()
    search: SearchName | None
    local_recoding: bool
    merge_bound: Share | None
    labels: Literal["joined"] | None = None  # whether labels may join adjacent intervals and list values
    # whether finer values of every class stay open to those who know the method; None in releases of before it
    resist_downcoding: Literal[True] | None = None
    microaggregate: dict[str, Average]
    time_limit: Annotated[float, Field(gt=0)] | None
    default_role: Literal["error", "drop", "keep"] | None = None  # of releases before ``undecided``
    undecided: Literal["drop", "sensitive", "keep", "quasi-identifier"] | None = None
    ids: Literal["drop", "number", "hmac"] | None
    keep_suppressed: bool
    escape_formulas: bool
    hierarchies: dict[str, str]
    level_bounds: dict[str, tuple[Whole, Whole | None]]
    not_released: tuple[str, ...]
    delimiter: Delimiter = ","

    def allowed_suppression(self, records: int) -> int:
        """Return the number of original records that may be suppressed."""
        share = Decimal(str(self.suppression))
        return math.floor(min(Decimal(1), share + SHARE_ROUNDED) * records)


class QuasiIdentifierColumn(Section):
    """A generalized column: its level; None where it differs between classes, beside the levels that occur."""

    role: Literal["quasi-identifier"]
    hierarchy: str
    level: Whole | None
    levels: Annotated[tuple[Whole, ...], Field(min_length=1)] = ()
    lists: Literal[True] | None = None  # whether labels such as {a | b} list values
    average: Average | None = None

    @model_validator(mode="after")
    def _fit(self) -> Self:
        used = self.used_levels
        return fitting(
            self,
            {
                "levels": bool(used) and tuple(sorted(set(used))) == used and None not in used,
                "level": not self.levels or self.level == (self.levels[0] if len(self.levels) == 1 else None),
            },
        )

    @property
    def used_levels(self) -> tuple[int, ...]:
        """The occurring levels, ascending."""
        return self.levels if self.level is None else (self.level,)


class RecordedColumn(Section):
    """A column that is released as recorded."""

    role: Literal["sensitive", "kept"]


class TableIdColumn(Section):
    """What is in the place of ids."""

    role: Literal["identifier"]
    ids: Literal["number", "hmac"]


Column = Annotated[QuasiIdentifierColumn | RecordedColumn | TableIdColumn, Field(discriminator="role")]


class RecordCounts(Section):
    """How many records there were, were released and were suppressed; a number below k is masked."""

    in_: Records | Masked = Field(alias="in")
    released: Records
    suppressed: Whole | Masked


class AcceptedColumn(Section):
    """A column that undoes the protection of others, which the releaser accepted; evidence."""

    column: str
    why: Why
    about: str | None = None


class TableGuarantee(Section):
    """What is promised, and that it was verified.

    ``one_row_per_patient`` is assumed where no ids said that a patient has one row alone; where a patient may have
    several, classes are counted by patients.
    """

    rules: Annotated[tuple[Rule, ...], Field(min_length=1)]
    verified: Literal[True]
    one_row_per_patient: OneRow
    accepted: tuple[AcceptedColumn, ...]

    @property
    def patients(self) -> KPatients | None:
        """The rule about patients, if a patient may have several records."""
        return next((rule for rule in self.rules if isinstance(rule, KPatients)), None)

    def about(self) -> tuple[str, ...]:
        """Return the sensitive columns of the rules, in order."""
        columns = [rule.about for rule in self.rules if rule is not self.patients]
        return tuple(dict.fromkeys(column for column in columns if column is not None))


class ColumnUtility(Section):
    """What a column lost: evidence but for the labels."""

    loss: Share
    top: Whole
    labels: Whole
    variance_lost: Share | None = None
    values_changed: Share | None = None


class TableUtility(Section):
    """What was lost; where ``exact`` is false, as far as the released records alone tell."""

    loss: Share
    exact: bool
    losses: dict[str, Share]
    columns: dict[str, ColumnUtility]


class TableRisk(Section):
    """The risk of a record to be found by its class; follows from the released records."""

    highest: Share
    average: Share
    share_above_threshold: Share
    threshold: Share
    classes: Records
    smallest_class: Records
    largest_class: Records
    records_by_class_size: dict[str, Whole]


class TableSearch(Section):
    """What a search found and proved: evidence. How much it checked depends on records that are not released."""

    levels: dict[str, Whole]
    lattice: Annotated[int, Field(ge=0)]
    checked: None
    optimal: bool
    bound: Share | None
    gap: Share | None


class DatabasePlace(Section):
    """The table of a database in which the records are, and its columns that were not counted.

    ``dialect``: of the SQL of the database; None in releases without ``verify.sql``
    """

    name: NameInDatabase
    not_counted: tuple[str, ...]
    dialect: Dialect | None = None


class TableSections(Section):
    """The manifest sections that are particular to a table."""

    shape: Literal["table"]
    method: Literal["full-domain", "mondrian", "cluster", "top-down", "mdav", "local-recoding", "merged-classes"]
    settings: PublishedSettings
    columns: dict[str, Column]
    records: RecordCounts
    guarantee: TableGuarantee
    utility: TableUtility
    risk: TableRisk
    search: TableSearch | None = None
    table: DatabasePlace | None = None

    @model_validator(mode="after")
    def _fit(self) -> Self:
        settings, guarantee, quasi = self.settings, self.guarantee, self.quasi_identifiers
        ids = [column for column in self.columns.values() if isinstance(column, TableIdColumn)]
        has_ids = bool(ids) or settings.ids is not None
        about = {*guarantee.about()}
        return fitting(
            self,
            {
                "columns": bool(quasi) and len(ids) <= 1,
                "guarantee.rules": about <= {column for column in self.columns if self.role(column) == "sensitive"},
                "guarantee.one_row_per_patient": guarantee.one_row_per_patient
                == (SEVERAL if guarantee.patients else UNIQUE if has_ids else ASSUMED),
                "guarantee.accepted": {one.column for one in guarantee.accepted}
                <= {*self.columns, *settings.not_released}
                and {one.about for one in guarantee.accepted} <= {None, *quasi},
                "columns.ids": not guarantee.patients or self._patients_fit(guarantee.patients),
                "settings.ids": settings.ids == ids[0].ids if ids else settings.ids in (None, "drop"),
                "settings.weights": settings.weights.keys() <= quasi.keys()
                and any(settings.weights.get(column, 1) > 0 for column in quasi),
                "settings.strata": {*settings.strata} <= quasi.keys(),
                "settings.level_bounds": settings.level_bounds.keys() <= quasi.keys(),
                "settings.hierarchies": settings.hierarchies.keys() == quasi.keys()
                and all(names_hierarchy(settings.hierarchies[name], quasi[name].hierarchy) for name in quasi),
                "settings.not_released": not {*settings.not_released} & self.columns.keys(),
                "settings.suppression": self._share_fits(),
                "method": self._method_fits(),
                # Rows of * could be counted, so a masked number cannot be published with them.
                "records": self.suppressed is not None or not settings.keep_suppressed,
                **({} if self.search is None else self._search_fits(self.search)),
                "table": self.table is None or self._place_fits(self.table, about),
                **self._losses_fit(),
            },
        )

    @property
    def quasi_identifiers(self) -> dict[str, QuasiIdentifierColumn]:
        """The generalized columns, in the order of the file."""
        return {name: column for name, column in self.columns.items() if isinstance(column, QuasiIdentifierColumn)}

    def role(self, column: str) -> str | None:
        """Return the role of a column; None where there is none of that name."""
        found = self.columns.get(column)
        return None if found is None else found.role

    def averages(self) -> dict[str, Average]:
        """Return the columns that contain averages, with the kind of average."""
        return {name: each.average for name, each in self.quasi_identifiers.items() if each.average is not None}

    @property
    def empty(self) -> list[str]:
        """The quasi-identifiers without information in this release: one label, with nearly all values lost."""
        losses = self.utility.columns
        return [name for name in self.quasi_identifiers if losses[name].labels == 1 and losses[name].loss >= ALL_LOST]

    @property
    def mean_loss(self) -> float:
        """The mean loss of the quasi-identifiers, each with equal weight, whatever loss was minimized."""
        losses = self.utility.columns
        return sum(losses[name].loss for name in self.quasi_identifiers) / max(1, len(self.quasi_identifiers))

    @property
    def suppressed(self) -> int | None:
        """The number of suppressed records; None if it is masked."""
        return None if isinstance(self.records.suppressed, str) else self.records.suppressed

    def _share_fits(self) -> bool:
        released, settings = self.records.released, self.settings
        if self.suppressed is None:
            return settings.allowed_suppression(released + settings.k - 1) >= 1
        return self.suppressed <= settings.allowed_suppression(released + self.suppressed)

    def _method_fits(self) -> bool:
        settings, is_merged = self.settings, self.settings.merge_bound is not None
        is_plain = self.method == FULL_DOMAIN
        searched = (self.search is not None) == (self.method in SEARCHED) == (settings.search is not None)
        levels = all(bool(column.levels) != is_plain for column in self.quasi_identifiers.values())
        recoded = settings.local_recoding is (self.method == LOCAL_RECODING)
        recoded &= settings.labels is None or self.method in JOINING
        recoded &= settings.resist_downcoding is None or (self.method == MONDRIAN and settings.labels is None)
        recoded &= self.method != MDAV or self.averages().keys() == self.quasi_identifiers.keys()
        return searched and levels and recoded and (not is_plain if is_merged else self.method != MERGED)

    def _search_fits(self, search: TableSearch) -> dict[str, bool]:
        levels = {name: column.level for name, column in self.quasi_identifiers.items()}
        is_plain = self.method == FULL_DOMAIN
        # An estimated loss may be below what was proven of the true one.
        highest = self.utility.loss + AGREEMENT if self.utility.exact or search.optimal else 1.0
        return {
            "search.levels": search.levels == levels if is_plain else search.levels.keys() == levels.keys(),
            "search.bound": (search.bound or 0.0) <= highest,
            "search.gap": search.gap == 0 or not search.optimal,
        }

    def _losses_fit(self) -> dict[str, bool]:
        utility, quasi, loss = self.utility, self.quasi_identifiers, self.settings.loss
        return {
            "utility.losses": utility.losses.keys() == {*ALWAYS_TOLD, loss},
            "settings.loss": loss != PAYOUT or find_game(loss, self.guarantee.rules) is not None,
            "utility.exact": not utility.exact or self.suppressed is not None,
            "utility.columns": utility.columns.keys() == quasi.keys()
            and all(
                column.used_levels[-1] <= utility.columns[name].top
                and (utility.columns[name].variance_lost is None) is (column.average in (None, MODE))
                and (utility.columns[name].values_changed is None) is (column.average != MODE)
                for name, column in quasi.items()
            ),
        }

    def _patients_fit(self, rule: KPatients) -> bool:
        column = self.columns.get(rule.column)
        if column is None:
            return self.settings.ids == "drop"
        return isinstance(column, TableIdColumn) and column.ids == "number"

    def _place_fits(self, place: DatabasePlace, about: set[str]) -> bool:
        stayed = place.not_counted
        known = all(self.role(name) in ("identifier", "sensitive", "kept") and name not in about for name in stayed)
        return known and len({*stayed}) == len(stayed) and not self.settings.keep_suppressed


class TableManifest(TableSections, ManifestHead):
    """All that ``release.json`` of a table says."""

    form: ClassVar[Literal["table", "table_with_codes", "table_with_terms"]] = "table"
    is_whole: ClassVar[bool] = False
    seed: int

    def file_specs(self) -> tuple[FileSpec, ...]:
        """Return the data file; none if the records are in a database."""
        return () if self.table is not None else super().file_specs()

    def one_row_a_patient(self) -> tuple[str, dict[str, str]] | None:
        """Return the data file, and the roles of its columns except ids."""
        roles = {name: role for name, role in self.roles().items() if role != "identifier"}
        return self.data_file, roles

    def risk_and_loss(self) -> tuple[float | None, float | None]:
        """Return the highest risk, and the mean loss."""
        return self.risk.highest, self.mean_loss


def record_counts(suppressed: int, released: int, k: int) -> RecordCounts:
    """Return counts of records; suppressed ones below k are masked, and so is the input that would reveal them."""
    masked = mask_small_count(suppressed, k)
    every = mask_total(released, masked)
    return RecordCounts.model_validate({"in": every, "released": released, "suppressed": masked})


def guarantee_of(manifest: TableSections) -> Guarantee:
    """Return the guarantee that a manifest states, for the verifier."""
    quasi, settings = manifest.quasi_identifiers, manifest.settings
    used = {name: column.used_levels for name, column in quasi.items()}
    ids = [(name, column.ids) for name, column in manifest.columns.items() if isinstance(column, TableIdColumn)]
    return Guarantee(
        columns=tuple(manifest.columns),
        levels={name: levels[-1] for name, levels in used.items()},
        k=settings.k,
        released=manifest.records.released,
        suppressed=manifest.suppressed,
        rules=tuple(rule.describe() for rule in manifest.guarantee.rules),
        id=ids[0][0] if ids else None,
        numbered=bool(ids) and ids[0][1] == "number",
        patient=None if manifest.guarantee.patients is None else manifest.guarantee.patients.column,
        stars=settings.keep_suppressed,
        recoded={} if manifest.method == FULL_DOMAIN else used,
        averaged=dict(manifest.averages()),
        tops={name: manifest.utility.columns[name].top for name in quasi},
        questions=None
        if settings.resist_downcoding is None
        else Questions(tuple(quasi), settings.weights, settings.level_bounds, settings.loss == PRECISION.name),
    )
