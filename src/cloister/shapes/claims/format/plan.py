"""The plan for releasing patients and their claims: read from TOML, or rejected with the name of the wrong key."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from annotated_types import MinLen
from pydantic import Field, TypeAdapter

from cloister.errors import InputError, Message, NamedSetting, WrongValue, did_you_mean
from cloister.io.csv import load_text
from cloister.settings.constraints import COLUMN, Described, ForEach, Interval, OneOf
from cloister.settings.declaration import Keywords
from cloister.settings.toml import STRICT as STRICT_SECTION
from cloister.settings.toml import key_inside, parse_section, read_toml

from .group_tables import NAMED, RANGED, exclusion_rules
from .hierarchies import OF_GROUPS, hierarchy_named, split_bounds

STRICT = STRICT_SECTION | {"allow_inf_nan": False}

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
DerivedOfPatients = Literal["age", "days_in_hospital"]
GroupedRole = Literal["diagnosis", "procedure", "place", "specialty"]
Pseudonym = Literal["drop", "number", "per-table"]

ROLES, HIERARCHIES = Described("a role for each column"), Described("a hierarchy for each quasi-identifier")
WEIGHT = Interval(float, 0.001, 1000)


def list_among(*words: str) -> Described:
    """Return the constraint of a list of these words."""
    return Described(f"a list among {', '.join(words)}")


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
    roles: Annotated[Mapping[str, PatientRole], ROLES]
    qi: Annotated[Mapping[str, str], HIERARCHIES]
    derived: Annotated[tuple[DerivedOfPatients, ...], list_among(*get_args(DerivedOfPatients))] = ()
    without_claims: Literal["keep", "drop"] = "drop"


@dataclass(frozen=True)
class ClaimsTablePlan(TablePlan):
    """Columns of the claims' file, likewise; derived: days since the first claim, of stay, until payment, and year."""

    __pydantic_config__: ClassVar = STRICT
    roles: Annotated[Mapping[str, ClaimRole], ROLES]
    qi: Annotated[Mapping[str, str], HIERARCHIES]
    derived: Annotated[tuple[DerivedOfClaims, ...], list_among(*get_args(DerivedOfClaims))] = ()


@dataclass(frozen=True)
class ExclusionsPlan:
    """High-risk patients: rules of the shipped list by name (None: all), and a file of the same form with more."""

    __pydantic_config__: ClassVar = STRICT
    rules: Annotated[tuple[str, ...] | None, Described("a list of names of rules")] = None
    file: Annotated[str | None, Described("the name of a CSV file with the columns rule, kind, first, last")] = None


@dataclass(frozen=True)
class RemovalsPlan:
    """Claims that are removed, each alone or with all others of its patient."""

    __pydantic_config__: ClassVar = STRICT
    newborns: bool = True
    letter_procedures: bool = True
    revenue_codes: bool = True
    whole_patient: bool = False


@dataclass(frozen=True)
class GroupingPlan:
    """Columns replaced by their groups from the start, by role; and tables of one's own, by role."""

    __pydantic_config__: ClassVar = STRICT
    columns: Annotated[tuple[GroupedRole, ...], list_among(*get_args(GroupedRole))] = ("place", "specialty")
    tables: Annotated[
        Mapping[Annotated[str, OneOf(*RANGED, *NAMED)], str],
        Described("names of CSV files, by role (diagnosis, procedure, ...)"),
    ] = field(default_factory=dict)


@dataclass(frozen=True)
class TopCoding:
    """One column in which all values from a quantile on get one label, such as ``162+``."""

    __pydantic_config__: ClassVar = STRICT
    column: Annotated[str, COLUMN]
    quantile: Annotated[float, Interval(float, 0, 1, closed="neither")] = 0.95
    exclude_zero: bool = False


@dataclass(frozen=True)
class TruncationPlan:
    """Percentiles of claims per patient to which claims may be truncated; the search takes one of them."""

    __pydantic_config__: ClassVar = STRICT
    percentiles: Annotated[
        tuple[Literal["none"] | Annotated[float, Interval(float, 50, 100, closed="left")], ...],
        MinLen(1),
        Described('a list of "none" and numbers from 50 to below 100, so that most patients keep all of their claims'),
    ] = ("none", 99.0, 97.5, 95.0, 90.0)
    per: Literal["patient", "patient-year"] = "patient"

    @property
    def levels(self) -> tuple[float, ...]:
        """The percentiles as numbers; ``none`` is 100."""
        return tuple(100.0 if level == "none" else float(level) for level in self.percentiles)


@dataclass(frozen=True)
class AdversaryPlan:
    """What the adversary knows: at most ``power`` values of each quasi-identifier of claims.

    The power is the higher of those by recorded values and by the levels chosen with ``basis = "raw"``, the latter with
    ``"node"``. ``flag_aware``, ``likeliest``: whether the risk is limited for an adversary who believes flags, and for
    one who picks the most likely candidate.
    """

    __pydantic_config__: ClassVar = STRICT
    power: Annotated[int, Interval(int, 1, 1000)] = 5
    rounding: Literal["ceil", "floor", "round"] = "ceil"
    basis: Literal["raw", "node"] = "raw"
    flag_aware: Literal["bounded", "waived"] = "bounded"
    likeliest: Literal["reported", "bounded"] = "reported"

    @property
    def is_flag_aware_waived(self) -> bool:
        """Whether the risk for an adversary who believes flags is not limited."""
        return self.flag_aware == "waived"


def smallest_class(threshold: float) -> int:
    """Return k: the smallest class in which a random guess is right with a probability of at most the threshold."""
    k = max(1, math.floor(1 / threshold) - 1)
    while 1 / k > threshold:
        k += 1
    return k


@dataclass(frozen=True)
class RiskPlan:
    """The risk that is accepted, and how it is estimated: by at most so many repeats of so many drawn patients.

    Classes need ``ceil(1 / threshold)`` patients. With ``max_flag_rate = "chosen"`` levels and suppression are chosen
    together. A number, the highest share flagged of the levels chosen, is halved, up to four times, if it must be.
    """

    __pydantic_config__: ClassVar = STRICT
    threshold: Annotated[float, Interval(float, 0, 0.5, closed="right")] = 0.05
    max_flag_rate: Literal["chosen"] | Annotated[float, Interval(float, 0, 1, closed="neither")] = CHOSEN
    seed: Annotated[int, Interval(int, 0, 2**32 - 1)] = 0
    repeats: Annotated[int, Interval(int, 1, 1_000_000)] = 1000
    draws: Annotated[int, Interval(int, 1_000, 1_000_000)] = 10_000

    @property
    def k(self) -> int:
        """The smallest class that is not flagged."""
        return smallest_class(self.threshold)

    def seed_of(self, purpose: int) -> int:
        """Return a seed for another purpose than choosing levels: odd numbers for measuring, even ones for choosing."""
        return self.seed + (purpose << 32)


@dataclass(frozen=True)
class SuppressionPlan:
    """What is suppressed of a flagged patient; of which share of the patients, and how many may be omitted whole."""

    __pydantic_config__: ClassVar = STRICT
    treatment: Literal["patients", "claims", "cells"] = "cells"
    most_treated: Annotated[float, Interval(float, 0, 1, closed="right")] = 0.5
    most_removed: Annotated[float, Interval(float, 0, 1, closed="right")] = 0.1


@dataclass(frozen=True)
class IdsPlan:
    """What replaces the ids: of patients ``number`` or ``hmac:KEYFILE``; of the others see step 1."""

    __pydantic_config__: ClassVar = STRICT
    # a published plan contains hmac without the name of the key file
    patients: Annotated[str, Field(pattern="^(number|drop|hmac(:.+)?)$"), Described("number or hmac:KEYFILE")] = (
        "number"
    )
    provider: Pseudonym = "number"
    vendor: Pseudonym = "number"
    pcp: Pseudonym = "number"


@dataclass(frozen=True)
class SearchPlan:
    """What the search minimizes, and its bounds over all truncation levels, at which the best so far is taken.

    The miss test: nodes pass with misses decided on base values and on their own, or, as in the paper, on their own.
    """

    __pydantic_config__: ClassVar = STRICT
    loss: Literal["entropy", "iyengar", "precision"] = "entropy"
    nodes: Annotated[int, Interval(int, 1)] | None = None
    time_limit_s: Annotated[float, Interval(float, 0, closed="neither", what="a number of seconds")] | None = None
    miss_test: Literal["both", "node"] = "both"


@dataclass(frozen=True)
class PopulationPlan:
    """A register of the population that the patients come from: one row a person, quasi-identifiers of patients."""

    __pydantic_config__: ClassVar = STRICT
    patients: Annotated[str | None, Described("the name of a CSV or Parquet file")] = None


@dataclass(frozen=True)
class ClaimsPlan:
    """Everything that is asked of a release of patients and their claims.

    ``weights`` are of quasi-identifiers in the loss, by column; 1 for those not named.
    """

    __pydantic_config__: ClassVar = STRICT
    patients: PatientsPlan
    claims: ClaimsTablePlan
    exclusions: ExclusionsPlan = field(default_factory=ExclusionsPlan)
    removals: RemovalsPlan = field(default_factory=RemovalsPlan)
    grouping: GroupingPlan = field(default_factory=GroupingPlan)
    top_coding: tuple[TopCoding, ...] = ()
    truncation: TruncationPlan = field(default_factory=TruncationPlan)
    adversary: AdversaryPlan = field(default_factory=AdversaryPlan)
    risk: RiskPlan = field(default_factory=RiskPlan)
    suppression: SuppressionPlan = field(default_factory=SuppressionPlan)
    weights: Annotated[Mapping[str, Annotated[float, WEIGHT]], ForEach(WEIGHT, "quasi-identifier named")] = field(
        default_factory=dict
    )
    ids: IdsPlan = field(default_factory=IdsPlan)
    search: SearchPlan = field(default_factory=SearchPlan)
    population: PopulationPlan = field(default_factory=PopulationPlan)

    @classmethod
    def read(cls, path: str | Path) -> "ClaimsPlan":
        """Read a plan; file names in it are relative to its own folder."""
        file = Path(path)
        return parse_plan(load_text(file).data.decode(), file.name, file.resolve().parent)

    def of(self, table: str) -> TablePlan:
        """Return the statements about one file."""
        return self.patients if table == "patients" else self.claims

    def with_files(self, named: Callable[[str], str], hierarchy: Callable[[str], str]) -> "ClaimsPlan":
        """Return the plan with other names of files, and other hierarchies, which may name files."""
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
    """Parse a plan; file names in it are relative to ``folder``."""
    return plan_of(read_toml(text, name, "cloister init claims"), name, folder)


def plan_of(
    content: Mapping[str, Any], name: str | NamedSetting, folder: Path, inside: Sequence[str] = ()
) -> ClaimsPlan:
    """Parse the plan in a section of a TOML file; ``name``, ``inside``: see `parse_section`."""

    def hierarchy(words: str) -> str:
        spec, bounds = split_bounds(words)
        return f"{folder / spec}{bounds}" if spec and (folder / spec).is_file() else words

    plan = parse_section(content, ClaimsPlan, name, inside).with_files(
        lambda file: str(folder / Path(file).expanduser()), hierarchy
    )
    file = name if isinstance(name, str) else None
    if not has_known_rules(plan):
        key = key_inside(inside, "exclusions", "rules")
        raise WrongValue(key, f"a list among {', '.join(exclusion_rules())}", file=file, place=name)
    for problem in consistency_errors(plan):
        raise InputError(problem, file=file, place=name)
    return plan


def change_plan(plan: ClaimsPlan, keys: Keywords, name: str | NamedSetting, folder: Path) -> ClaimsPlan:
    """Return a plan with changed values; keys are paths such as ``"risk.threshold"``."""
    content = TypeAdapter(ClaimsPlan).dump_python(plan, mode="json", exclude_none=True)
    for key, value in keys.items():
        *sections, last = key.split(".")
        inside = content
        for section in sections:
            inside = inside.setdefault(section, {})
            if not isinstance(inside, dict):
                raise InputError(f"a plan has no key {key}.", place=name)
        inside[last] = value
    return plan_of(content, name, folder)


def has_known_rules(plan: ClaimsPlan) -> bool:
    """Return whether all exclusion rules that a plan names exist."""
    return {*(plan.exclusions.rules or ())} <= {*exclusion_rules()}


def consistency_errors(plan: ClaimsPlan) -> Iterator[str]:
    """Return inconsistencies, in sentences, by keys and names of columns only; empty if there are none."""
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
                yield Message(f"{table}.qi.{column}: ", error.message)
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
