"""What is to be done with patients and their claims: the plan, read from TOML or refused with the key that is wrong."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from annotated_types import Ge, Gt, Le, Lt, Predicate
from pydantic import Field

from cloister.errors import InputError, did_you_mean
from cloister.io.csv import load_text
from cloister.settings import toml as typed_toml
from cloister.settings.toml import SECTION, key, read_toml, typed

from .group_tables import NAMED, RANGED, exclusion_rules
from .hierarchies import OF_GROUPS, hierarchy_named, split_bounds

STRICT = typed_toml.STRICT | {"allow_inf_nan": False}

PatientRole = Literal["id", "birth-date", "birth-year", "age", "sex", "pcp", "quasi-identifier", "keep", "drop"]
ClaimRole = Literal[
    "id", "date", "end-date", "paid-date", "diagnosis", "diagnoses", "procedure", "procedures", "place", "specialty",
    "length-of-stay", "days-since-first-claim", "pay-delay", "provider", "vendor", "pcp", "quasi-identifier", "keep",
    "drop",
]  # fmt: skip
SEVERAL = frozenset({"quasi-identifier", "keep", "drop", "diagnoses", "procedures", "provider", "vendor", "pcp"})
"""Roles that several columns may have."""

NEVER_RELEASED = frozenset({"birth-date", "birth-year", "date", "end-date", "paid-date", "diagnoses", "procedures"})
"""Roles of columns that steps read and that no release holds."""

PSEUDONYMS = frozenset({"provider", "vendor", "pcp"})
FREE = frozenset({*NEVER_RELEASED, *PSEUDONYMS, "id", "keep", "drop"})
"""Roles of columns that need no hierarchy."""

CODED = frozenset({"diagnosis", "diagnoses", "procedure", "procedures", "place", "specialty", "sex", *PSEUDONYMS})
"""Roles whose values are codes, names or ids, whatever they look like."""

HMAC = "hmac:"
"""Stands before the file of the key, where ids are keyed hashes."""

AGE, DAYS_IN_HOSPITAL = "age", "days_in_hospital"
DAYS_SINCE_FIRST, LENGTH_OF_STAY, PAY_DELAY, YEAR = "days_since_first_claim", "length_of_stay", "pay_delay", "year"
DAYS_OF_YEAR = "days_since_first_claim_of_year"
CHOSEN: Final = "chosen"
"""In place of ``max_flag_rate``: levels are chosen together with what is suppressed."""

DerivedOfClaims = Literal[
    "days_since_first_claim", "days_since_first_claim_of_year", "length_of_stay", "pay_delay", "year"
]
GroupedRole = Literal["diagnosis", "procedure", "place", "specialty"]

UNJOINED = (
    "ids.patients cannot be drop: the id is all that says whose claims are whose, and without it the files fall apart. "
    "Take number, which says nothing of a patient, or hmac:KEYFILE."
)


class TablePlan:
    """Columns of a file: what each one is, and the hierarchies of quasi-identifiers."""

    roles: Mapping[str, str]
    qi: Mapping[str, str]
    derived: tuple[str, ...]

    def columns(self, *roles: str) -> tuple[str, ...]:
        """Columns with one of these roles."""
        return tuple(column for column, role in self.roles.items() if role in roles)

    def column(self, role: str, derived: str | None = None) -> str | None:
        """The column with this role, else the derived column if the plan asks for it, else None."""
        return next(iter((*self.columns(role), *(name for name in self.derived if name == derived))), None)


@dataclass(frozen=True)
class PatientsPlan(TablePlan):
    """Columns of the patients' file: roles of all, hierarchies of quasi-identifiers, derived columns among them.

    Derived are the age at the first claim (years) and the days in hospital (15 and more are ``15+``).
    """

    __pydantic_config__: ClassVar = STRICT
    roles: Mapping[str, PatientRole] = field(metadata={"allowed": "a role for each column"})
    qi: Mapping[str, str] = field(metadata={"allowed": "a hierarchy for each quasi-identifier"})
    derived: tuple[Literal["age", "days_in_hospital"], ...] = key((), "a list among age, days_in_hospital")
    without_claims: Literal["keep", "drop"] = key("drop", "keep or drop")


@dataclass(frozen=True)
class ClaimsTablePlan(TablePlan):
    """Columns of the claims' file, likewise; derived: days since the first claim, of stay, until payment, and year."""

    __pydantic_config__: ClassVar = STRICT
    roles: Mapping[str, ClaimRole] = field(metadata={"allowed": "a role for each column"})
    qi: Mapping[str, str] = field(metadata={"allowed": "a hierarchy for each quasi-identifier"})
    derived: tuple[DerivedOfClaims, ...] = key((), f"a list among {', '.join(get_args(DerivedOfClaims))}")


@dataclass(frozen=True)
class ExclusionsPlan:
    """High-risk patients: rules of the shipped list by name (None: all), and a file of the same form with more."""

    __pydantic_config__: ClassVar = STRICT
    rules: tuple[str, ...] | None = key(None, "a list of names of rules")
    file: str | None = key(None, "the name of a CSV file with the columns rule, kind, first, last")


@dataclass(frozen=True)
class RemovalsPlan:
    """Claims that are removed, each alone or with all others of its patient."""

    __pydantic_config__: ClassVar = STRICT
    newborns: bool = key(True, "true or false")
    letter_procedures: bool = key(True, "true or false")
    revenue_codes: bool = key(True, "true or false")
    whole_patient: bool = key(False, "true or false")


@dataclass(frozen=True)
class GroupingPlan:
    """Columns replaced by their groups from the start, by role; and tables of one's own, by role."""

    __pydantic_config__: ClassVar = STRICT
    columns: tuple[GroupedRole, ...] = key(
        ("place", "specialty"), "a list among diagnosis, procedure, place, specialty"
    )
    tables: Annotated[Mapping[str, str], Predicate(lambda tables: {*tables} <= {*RANGED, *NAMED})] = field(
        default_factory=dict, metadata={"allowed": "names of CSV files, by role (diagnosis, procedure, ...)"}
    )


@dataclass(frozen=True)
class TopCoding:
    """One column in which all values from a quantile on get one label, such as ``162+``."""

    __pydantic_config__: ClassVar = STRICT
    column: str = field(metadata={"allowed": "the name of a column"})
    quantile: float = key(0.95, "a number above 0 and below 1")
    exclude_zero: bool = key(False, "true or false")


@dataclass(frozen=True)
class TruncationPlan:
    """Percentiles of claims per patient to which claims may be truncated; the search takes one of them."""

    __pydantic_config__: ClassVar = STRICT
    percentiles: Annotated[
        tuple[Literal["none"] | float, ...],
        Predicate(lambda given: given and all(one == "none" or 50 <= one < 100 for one in given)),
    ] = key(
        ("none", 99.0, 97.5, 95.0, 90.0),
        'a list of "none" and numbers from 50 to below 100, so that most patients keep all of their claims',
    )
    per: Literal["patient", "patient-year"] = key("patient", "patient or patient-year")

    @property
    def levels(self) -> tuple[float, ...]:
        """The percentiles as numbers; ``none`` is 100."""
        return tuple(100.0 if level == "none" else float(level) for level in self.percentiles)


@dataclass(frozen=True)
class AdversaryPlan:
    """What the adversary knows: at most ``power`` values of each quasi-identifier of claims.

    The power is the higher of those by recorded values and by the levels chosen with ``basis = "raw"``, the latter with
    ``"node"``. ``tolerant``, ``likeliest``: whether the risk by who believes flags, and by who picks the likeliest of
    those who fit, is limited.
    """

    __pydantic_config__: ClassVar = STRICT
    power: Annotated[int, Ge(1), Le(1000)] = key(5, "a whole number from 1 to 1000")
    rounding: Literal["ceil", "floor", "round"] = key("ceil", "ceil, floor or round")
    basis: Literal["raw", "node"] = key("raw", "raw or node")
    tolerant: Literal["bounded", "waived"] = key("bounded", "bounded or waived")
    likeliest: Literal["told", "bounded"] = key("told", "told or bounded")


@dataclass(frozen=True)
class RiskPlan:
    """The risk that is accepted, and how it is estimated: by at most so many repeats of so many drawn patients.

    Classes need ``ceil(1 / threshold)`` patients. With ``max_flag_rate = "chosen"`` levels and suppression are chosen
    together. A number, the highest share flagged of the levels chosen, is halved, up to four times, if it must be.
    """

    __pydantic_config__: ClassVar = STRICT
    threshold: Annotated[float, Gt(0), Le(0.5)] = key(0.05, "a number above 0 and at most 0.5")
    max_flag_rate: Literal["chosen"] | Annotated[float, Gt(0), Lt(1)] = key(
        CHOSEN, "chosen or a number above 0 and below 1"
    )
    seed: Annotated[int, Ge(0), Lt(2**32)] = key(0, "a whole number from 0 to below 2^32")
    repeats: Annotated[int, Ge(1), Le(1_000_000)] = key(1000, "a whole number from 1 to 1,000,000")
    draws: Annotated[int, Ge(1_000), Le(1_000_000)] = key(10_000, "a whole number from 1,000 to 1,000,000")


@dataclass(frozen=True)
class SuppressionPlan:
    """What is suppressed of a flagged patient; of which share of the patients, and how many may be left out whole."""

    __pydantic_config__: ClassVar = STRICT
    treatment: Literal["patients", "claims", "cells"] = key("cells", "patients, claims or cells")
    most_treated: Annotated[float, Gt(0), Le(1)] = key(0.5, "a number above 0 and at most 1")
    most_removed: Annotated[float, Gt(0), Le(1)] = key(0.1, "a number above 0 and at most 1")


@dataclass(frozen=True)
class IdsPlan:
    """What replaces the ids: of patients ``number`` or ``hmac:KEYFILE``; of the others see step 1."""

    __pydantic_config__: ClassVar = STRICT
    # in a plan as it is published, hmac stands without the file of the key
    patients: Annotated[str, Field(pattern="^(number|drop|hmac(:.+)?)$")] = key("number", "number or hmac:KEYFILE")
    provider: Literal["drop", "number", "per-table"] = key("number", "drop, number or per-table")
    vendor: Literal["drop", "number", "per-table"] = key("number", "drop, number or per-table")
    pcp: Literal["drop", "number", "per-table"] = key("number", "drop, number or per-table")


@dataclass(frozen=True)
class SearchPlan:
    """What the search minimizes, and its bounds over all truncation levels, at which the best so far is taken.

    The miss test: nodes pass with misses decided on base values and on their own, or, as in the paper, on their own.
    """

    __pydantic_config__: ClassVar = STRICT
    loss: Literal["entropy", "iyengar", "precision"] = key("entropy", "entropy, iyengar or precision")
    nodes: Annotated[int, Ge(1)] | None = key(None, "a whole number from 1")
    time_limit_s: Annotated[float, Gt(0)] | None = key(None, "a number above 0")
    miss_test: Literal["both", "node"] = key("both", "both or node")


@dataclass(frozen=True)
class PopulationPlan:
    """A register of the population that the patients come from: one row a person, quasi-identifiers of patients."""

    __pydantic_config__: ClassVar = STRICT
    patients: str | None = key(None, "the name of a CSV or Parquet file")


@dataclass(frozen=True)
class ClaimsPlan:
    """Everything that is asked of a release of patients and their claims.

    ``weights`` are of quasi-identifiers in the loss, by column; 1 for those not named.
    """

    __pydantic_config__: ClassVar = STRICT
    patients: PatientsPlan = field(metadata={"allowed": "a section with roles and qi"})
    claims: ClaimsTablePlan = field(metadata={"allowed": "a section with roles and qi"})
    exclusions: ExclusionsPlan = field(default_factory=ExclusionsPlan, metadata=SECTION)
    removals: RemovalsPlan = field(default_factory=RemovalsPlan, metadata=SECTION)
    grouping: GroupingPlan = field(default_factory=GroupingPlan, metadata=SECTION)
    top_coding: tuple[TopCoding, ...] = key((), "sections written [[top_coding]]")
    truncation: TruncationPlan = field(default_factory=TruncationPlan, metadata=SECTION)
    adversary: AdversaryPlan = field(default_factory=AdversaryPlan, metadata=SECTION)
    risk: RiskPlan = field(default_factory=RiskPlan, metadata=SECTION)
    suppression: SuppressionPlan = field(default_factory=SuppressionPlan, metadata=SECTION)
    weights: Mapping[str, Annotated[float, Ge(0.001), Le(1000)]] = field(
        default_factory=dict, metadata={"allowed": "a number from 0.001 to 1000 for each quasi-identifier named"}
    )
    ids: IdsPlan = field(default_factory=IdsPlan, metadata=SECTION)
    search: SearchPlan = field(default_factory=SearchPlan, metadata=SECTION)
    population: PopulationPlan = field(default_factory=PopulationPlan, metadata=SECTION)

    @classmethod
    def read(cls, path: str | Path) -> "ClaimsPlan":
        """Read a plan; names of files in it are taken from its own folder."""
        file = Path(path)
        return parse_plan(load_text(file).data.decode(), file.name, file.resolve().parent)

    def of(self, table: str) -> TablePlan:
        """What is said of one file."""
        return self.patients if table == "patients" else self.claims

    def with_files(self, named: Callable[[str], str], hierarchy: Callable[[str], str]) -> "ClaimsPlan":
        """The same with other names of files, and other words for hierarchies, which may name files."""
        patients, claims, ids, exclusions = self.patients, self.claims, self.ids.patients, self.exclusions
        of_ids = HMAC + named(ids.removeprefix(HMAC)) if ids.startswith(HMAC) else ids
        register = self.population.patients
        return dataclasses.replace(
            self,
            patients=dataclasses.replace(patients, qi={name: hierarchy(words) for name, words in patients.qi.items()}),
            claims=dataclasses.replace(claims, qi={name: hierarchy(words) for name, words in claims.qi.items()}),
            exclusions=dataclasses.replace(exclusions, file=exclusions.file and named(exclusions.file)),
            ids=dataclasses.replace(self.ids, patients=of_ids),
            population=PopulationPlan(register and named(register)),
            grouping=dataclasses.replace(
                self.grouping, tables={role: named(file) for role, file in self.grouping.tables.items()}
            ),
        )


def parse_plan(text: str, name: str, folder: Path) -> ClaimsPlan:
    """Return the plan in a text; ``folder`` is what names of files in it are relative to."""
    return plan_of(read_toml(text, name, "cloister init claims"), name, folder)


def plan_of(content: Mapping[str, Any], name: str, folder: Path, inside: Sequence[str] = ()) -> ClaimsPlan:
    """Return the plan in a section of a TOML file; the keys ``inside`` lead to it."""

    def hierarchy(words: str) -> str:
        spec, bounds = split_bounds(words)
        return f"{folder / spec}{bounds}" if spec and (folder / spec).is_file() else words

    plan = typed(content, ClaimsPlan, name, inside).with_files(
        lambda file: str(folder / Path(file).expanduser()), hierarchy
    )
    for place in out_of_range(plan):
        raise InputError(f"{name}: {'.'.join([*inside, place])}.", file=name)
    for problem in consistency_errors(plan):
        raise InputError(f"{name}: {problem}", file=name)
    return plan


def out_of_range(plan: ClaimsPlan) -> Iterator[str]:
    """Keys whose values are out of range, with what they must be; of those whose types do not say it."""
    for number, coding in enumerate(plan.top_coding, start=1):
        if not 0 < coding.quantile < 1:
            yield f"top_coding.quantile (section {number}) must be a number above 0 and below 1"
    known = exclusion_rules()
    if not {*(plan.exclusions.rules or ())} <= {*known}:
        yield f"exclusions.rules must be a list among {', '.join(known)}"


def consistency_errors(plan: ClaimsPlan) -> Iterator[str]:
    """Sentences about what does not fit, none if all does; keys and names of columns only."""
    for table in ("patients", "claims"):
        yield from section_errors(table, plan.of(table))
    if not plan.claims.qi:
        yield "claims.qi needs at least one quasi-identifier."
    yield from _grouping(plan)
    for table in ("patients", "claims"):
        for column, words in plan.of(table).qi.items():
            try:
                hierarchy_named(words, plan.grouping.tables)
            except InputError as error:
                yield f"{table}.qi.{column}: {error.text}"
    for coding in plan.top_coding:
        for section in (plan.claims, plan.patients):
            role = section.roles.get(coding.column)
            if role in CODED:  # many codes look like numbers
                yield f"top_coding: column {coding.column!r} has the role {role}, and codes are not numbers to be cut."
    known = [*plan.patients.qi, *plan.claims.qi]
    for column in sorted(plan.weights.keys() - known):
        hint = did_you_mean(column, known)
        yield f"weights.{column} is no quasi-identifier, and only what they lose is weighed.{hint}"
    if plan.search.miss_test == "node" and plan.risk.max_flag_rate == CHOSEN:
        yield "search.miss_test tests nodes by a flag rate: give risk.max_flag_rate a number, as 0.05."
    if plan.ids.patients == "drop":
        yield UNJOINED
    if plan.ids.patients == "hmac":
        yield "ids.patients must be number or hmac:KEYFILE."


def section_errors(table: str, section: TablePlan) -> Iterator[str]:
    """Return what does not fit in one table: a released column that is no id and not kept has a hierarchy, no other."""
    given = [str(role) for role in section.roles.values()]
    for role in sorted({role for role in given if role not in SEVERAL and given.count(role) > 1}):
        yield f"only one column of {table} can have the role {role}."
    if "id" not in given:
        yield f"a column of {table} needs the role id, to join the two files."
    read = {column for column, role in section.roles.items() if role != "drop"}
    for column in sorted(read.intersection(section.derived)):
        yield f"{table} has a column {column} already. Take it out of {table}.derived, or drop it."
    needed = {column for column, role in section.roles.items() if role not in FREE} | {*section.derived}
    for column in sorted(section.qi.keys() - needed):
        hint = did_you_mean(column, needed)
        yield f"{table}.qi.{column} is no quasi-identifier by its role and no derived column.{hint}"
    for column in sorted(needed - section.qi.keys()):
        yield (
            f"column {column!r} of {table} is a quasi-identifier, but {table}.qi names no hierarchy for it. Name one, "
            'as "suppress", or give it the role keep or drop (what is derived: take it out of derived).'
        )


def _grouping(plan: ClaimsPlan) -> Iterator[str]:
    """Hierarchies that begin at groups are for columns that were grouped, those that begin at codes for others."""
    for column, hierarchy in plan.claims.qi.items():
        word, _ = split_bounds(hierarchy)
        role = plan.claims.roles.get(column)
        grouped = role in plan.grouping.columns
        if word in RANGED and (grouped or role != word):
            yield (
                f"claims.qi.{column}: the hierarchy {word} begins at codes of a column with the role {word}. "
                f'Take the role out of grouping.columns, or name "{word}-group".'
            )
        if word in OF_GROUPS and (not grouped or role != OF_GROUPS[word]):
            yield (
                f"claims.qi.{column}: the hierarchy {word} begins at groups. Put the role {OF_GROUPS[word]} into "
                "grouping.columns, or name another hierarchy."
            )
