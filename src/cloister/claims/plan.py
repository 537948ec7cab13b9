"""What is to be done with patients and their claims: the plan, read from TOML or refused with the key that is wrong."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from cloister.errors import InputError, did_you_mean
from cloister.io.csv import load_text
from cloister.typed_toml import SECTION, STRICT, key, read_toml, typed

from .group_tables import NAMED, RANGED, exclusion_rules
from .hierarchies import hierarchy_named, split_bounds
from .plan_sections import (
    HMAC,
    NEVER_RELEASED,
    PSEUDONYMS,
    SEVERAL,
    AdversaryPlan,
    ClaimsTablePlan,
    ExclusionsPlan,
    GroupingPlan,
    IdsPlan,
    PatientsPlan,
    PopulationPlan,
    RemovalsPlan,
    RiskPlan,
    SearchPlan,
    SuppressionPlan,
    TopCoding,
    TruncationPlan,
)

LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1000
Section = PatientsPlan | ClaimsTablePlan
FREE = frozenset({*NEVER_RELEASED, *PSEUDONYMS, "id", "keep", "drop"})
"""Roles of columns that need no hierarchy."""

CODES = {"diagnosis": "diagnosis", "procedure": "procedure"}
GROUPS = {"diagnosis-group": "diagnosis", "procedure-group": "procedure", "place": "place", "specialty": "specialty"}
"""Hierarchies that begin at codes, and that begin at groups, with the role whose columns they are for."""

CODED = frozenset({"diagnosis", "diagnoses", "procedure", "procedures", "place", "specialty", "sex", *PSEUDONYMS})
"""Roles whose values are codes, names or ids, whatever they look like."""

UNJOINED = (
    "ids.patients cannot be drop: the id is all that says whose claims are whose, and without it the files fall apart. "
    "Take number, which says nothing of a patient, or hmac:KEYFILE."
)


@dataclass(frozen=True)
class ClaimsPlan:
    """Everything that is asked of a release of patients and their claims.

    Attributes
    ----------
    patients, claims : columns, roles and hierarchies
    exclusions, removals, grouping, top_coding : steps 2, 3 and 6
    truncation, adversary, risk, suppression, search : steps 7 to 11
    weights : of quasi-identifiers in the loss, by column; 1 for those not named
    ids : step 1
    population : for the attacks of step 12
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
    weights: Mapping[str, float] = field(
        default_factory=dict, metadata={"allowed": "a number from 0.001 to 1000 for each quasi-identifier named"}
    )
    ids: IdsPlan = field(default_factory=IdsPlan, metadata=SECTION)
    search: SearchPlan = field(default_factory=SearchPlan, metadata=SECTION)
    population: PopulationPlan = field(default_factory=PopulationPlan, metadata=SECTION)

    @classmethod
    def read(cls, path: str | Path) -> "ClaimsPlan":
        """Read a plan; names of files in it are taken from its own folder.

        Raises
        ------
        InputError
            The file is no plan; names the key, what it may be, and the nearest known key.
        """
        file = Path(path)
        return parse_plan(load_text(file).data.decode(), file.name, file.resolve().parent)

    def patient_columns(self, *roles: str) -> tuple[str, ...]:
        """Columns of the patients' file with one of these roles."""
        return tuple(column for column, role in self.patients.roles.items() if role in roles)

    def claim_columns(self, *roles: str) -> tuple[str, ...]:
        """Columns of the claims' file with one of these roles."""
        return tuple(column for column, role in self.claims.roles.items() if role in roles)

    def patient_column(self, role: str, derived: str | None = None) -> str | None:
        """The column of patients with this role, else the derived column if the plan asks for it, else None."""
        asked = (derived,) if derived in self.patients.derived else ()
        return next(iter((*self.patient_columns(role), *asked)), None)

    def claim_column(self, role: str, derived: str | None = None) -> str | None:
        """The column of claims with this role, else the derived column if the plan asks for it, else None."""
        asked = (derived,) if derived in self.claims.derived else ()
        return next(iter((*self.claim_columns(role), *asked)), None)


def parse_plan(text: str, name: str, folder: Path) -> ClaimsPlan:
    """Return the plan in a text; ``folder`` is what names of files in it are relative to."""
    return plan_of(read_toml(text, name, "cloister init claims"), name, folder)


def plan_of(content: Mapping[str, Any], name: str, folder: Path, inside: Sequence[str] = ()) -> ClaimsPlan:
    """Return the plan in a section of a TOML file; the keys ``inside`` lead to it."""
    plan = _with_paths(typed(content, ClaimsPlan, name, inside), folder)
    for place, allowed in out_of_range(plan):
        raise InputError(f"{name}: {'.'.join([*inside, place])} must be {allowed}.", file=name)
    for problem in consistency_errors(plan):
        raise InputError(f"{name}: {problem}", file=name)
    return plan


def _with_paths(plan: ClaimsPlan, folder: Path) -> ClaimsPlan:
    """The plan with the files it names as paths."""

    def whole(name: str) -> str:
        return str(folder / Path(name).expanduser())

    def hierarchies(qi: Mapping[str, str]) -> dict[str, str]:
        found = {}
        for column, words in qi.items():
            spec, bounds = split_bounds(words)
            is_file = spec and (folder / spec).is_file()
            found[column] = f"{folder / spec}{bounds}" if is_file else words
        return found

    patients, claims, exclusions, ids = plan.patients, plan.claims, plan.exclusions, plan.ids
    population = plan.population
    if population.patients is not None:
        population = dataclasses.replace(population, patients=whole(population.patients))
    if exclusions.file is not None:
        exclusions = dataclasses.replace(exclusions, file=whole(exclusions.file))
    if ids.patients.startswith(HMAC):
        ids = dataclasses.replace(ids, patients=HMAC + whole(ids.patients.removeprefix(HMAC)))
    tables = {role: whole(file) for role, file in plan.grouping.tables.items()}
    return dataclasses.replace(
        plan,
        patients=dataclasses.replace(patients, qi=hierarchies(patients.qi)),
        claims=dataclasses.replace(claims, qi=hierarchies(claims.qi)),
        exclusions=exclusions,
        ids=ids,
        population=population,
        grouping=dataclasses.replace(plan.grouping, tables=tables),
    )


def out_of_range(plan: ClaimsPlan) -> Iterator[tuple[str, str]]:
    """Keys whose values are out of range, with what they may be."""
    allowed = {
        f"{section.name}.{field.name}": str(field.metadata["allowed"])
        for section in dataclasses.fields(plan)
        if dataclasses.is_dataclass(section.type)
        for field in dataclasses.fields(section.type)
    }
    risk, search, suppression = plan.risk, plan.search, plan.suppression
    percentiles = [level for level in plan.truncation.percentiles if level != "none"]
    in_range = {
        "risk.threshold": 0 < risk.threshold <= 0.5,
        "risk.max_flag_rate": 0 < risk.max_flag_rate < 1,
        "risk.seed": 0 <= risk.seed < 2**32,
        "risk.repeats": 1 <= risk.repeats <= 1_000_000,
        "risk.draws": 1_000 <= risk.draws <= 1_000_000,
        "suppression.most_treated": 0 < suppression.most_treated <= 1,
        "suppression.most_removed": 0 < suppression.most_removed <= 1,
        "adversary.power": 1 <= plan.adversary.power <= 1000,
        "truncation.percentiles": bool(plan.truncation.percentiles) and all(50 <= level < 100 for level in percentiles),
        "search.nodes": search.nodes is None or search.nodes >= 1,
        "search.time_limit_s": search.time_limit_s is None or 0 < search.time_limit_s < math.inf,
        "grouping.tables": set(plan.grouping.tables) <= {*RANGED, *NAMED},
        "ids.patients": plan.ids.patients in ("number", "drop")
        or plan.ids.patients.removeprefix(HMAC) not in ("", plan.ids.patients),
    }
    yield from ((key, allowed[key]) for key, holds in in_range.items() if not holds)
    for column, weight in plan.weights.items():
        if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
            yield f"weights.{column}", f"a number from {LEAST_WEIGHT} to {MOST_WEIGHT}"
    for number, coding in enumerate(plan.top_coding, start=1):
        if not 0 < coding.quantile < 1:
            yield f"top_coding.quantile (section {number})", "a number above 0 and below 1"
    known = exclusion_rules()
    for rule in plan.exclusions.rules or ():
        if rule not in known:
            yield "exclusions.rules", f"a list among {', '.join(known)}"


def consistency_errors(plan: ClaimsPlan) -> Iterator[str]:
    """Sentences about what does not fit, none if all does; keys and names of columns only."""
    for table, section in (("patients", plan.patients), ("claims", plan.claims)):
        yield from _roles(table, section)
        yield from _quasi_identifiers(table, section)
    if not plan.claims.qi:
        yield "claims.qi needs at least one quasi-identifier."
    yield from _grouping(plan)
    for table, qi in (("patients", plan.patients.qi), ("claims", plan.claims.qi)):
        for column, words in qi.items():
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
    for column in plan.weights:
        if column not in known:
            hint = did_you_mean(column, known)
            yield f"weights.{column} is no quasi-identifier, and only what they lose is weighed.{hint}"
    if plan.ids.patients == "drop":
        yield UNJOINED


def _roles(table: str, section: Section) -> Iterator[str]:
    given = [str(role) for role in section.roles.values()]
    for role in sorted({role for role in given if role not in SEVERAL and given.count(role) > 1}):
        yield f"only one column of {table} can have the role {role}."
    if "id" not in given:
        yield f"a column of {table} needs the role id, to join the two files."
    read = {column for column, role in section.roles.items() if role != "drop"}
    for column in sorted(read.intersection(section.derived)):
        yield f"{table} has a column {column} already. Take it out of {table}.derived, or drop it."


def _quasi_identifiers(table: str, section: Section) -> Iterator[str]:
    """Every column that is released and neither an id nor kept has a hierarchy, and no other has one."""
    needed = {column for column, role in section.roles.items() if role not in FREE}
    needed |= {*section.derived}
    for column in section.qi:
        if column not in needed:
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
        if word in CODES and (grouped or role != CODES[word]):
            yield (
                f"claims.qi.{column}: the hierarchy {word} begins at codes of a column with the role {CODES[word]}. "
                f'Take the role out of grouping.columns, or name "{word}-group".'
            )
        if word in GROUPS and (not grouped or role != GROUPS[word]):
            yield (
                f"claims.qi.{column}: the hierarchy {word} begins at groups. Put the role {GROUPS[word]} into "
                "grouping.columns, or name another hierarchy."
            )
