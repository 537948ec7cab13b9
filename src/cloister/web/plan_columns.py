"""The page on the columns of patients and claims: what each column is, and the hierarchy of each quasi-identifier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from starlette.responses import Response

from cloister.errors import CloisterError
from cloister.evidence.column import Guess
from cloister.settings.declaration import Given
from cloister.shapes.claims.format.plan import FREE, ClaimRole, DerivedOfClaims, DerivedOfPatients, PatientRole
from cloister.shapes.claims.method.first_plan import suggest_roles
from cloister.sources import Form

from .app import RequestContext, status_of
from .columns_table import DROP, SORTS, UNDECIDED, ColumnsView, alert_of, alerts_of_recorded, counts_of, sort_rows
from .data_pages import job_page, read_places, save_job, seen_or_refuse, sources_of
from .data_read import ColumnFacts, FirstRecords
from .forms import errors_of, in_words

TABLES = {
    "patients": (get_args(PatientRole), get_args(DerivedOfPatients)),
    "claims": (get_args(ClaimRole), get_args(DerivedOfClaims)),
}
"""For each file the roles of its columns, and the columns that can be derived."""

HIERARCHIES = {"sex": "suppress", "quasi-identifier": "suppress"} | {
    role: role for role in ("age", "diagnosis", "procedure", "place", "specialty")
}
"""The hierarchy that a role has where none is given."""

OFFERED = sorted(
    {*HIERARCHIES.values(), "prefix:5", "interval:5,10,20"}
    | {name.replace("_", "-") for _, derived in TABLES.values() for name in derived}
)
"""Hierarchies that the page proposes."""


@dataclass(frozen=True)
class PlanRow:
    """A column of a file, or a derived one: its number there, role, hierarchy and suggested role."""

    form: Form
    number: int
    facts: ColumnFacts  # of a derived one the name alone
    is_derived: bool  # computed from others; its role is "derived", or "" where it is not computed
    role: str
    hierarchy: str
    guess: Guess | None = None
    is_shown: bool = True

    @property
    def place(self) -> str:
        """Its file and number there."""
        return f"{self.form}-{self.number}"

    @property
    def group(self) -> str:
        """The filter of the role: all quasi-identifiers have one."""
        if self.is_generalized:
            return "quasi-identifier"
        return self.role if self.role in ("id", "keep", "drop", "") and not self.is_derived else "other"

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.facts.name

    @property
    def is_generalized(self) -> bool:
        """Whether the column is released by its hierarchy."""
        return self.role == "derived" if self.is_derived else bool(self.role) and self.role not in FREE


def _plan(visit: RequestContext, table: str) -> Given:
    plan = visit.state.section(visit.part).get("plan")
    return dict(plan.get(table, {})) if isinstance(plan, Mapping) else {}


def _rows(visit: RequestContext, table: Form, columns: Sequence[ColumnFacts]) -> list[PlanRow]:
    """The rows of a file, with what the form says, else the job."""
    own = _plan(visit, table)
    roles, hierarchies = own.get("roles", {}), own.get("qi", {})
    named = [(one, False, str(roles.get(one.name, ""))) for one in columns]
    derived = [(ColumnFacts(name), "derived" if name in own.get("derived", ()) else "") for name in TABLES[table][1]]
    named += [(one, True, role) for one, role in derived]
    found, places = [], read_places(visit, f"{table}-")
    fix, _, fixed = visit.say("fix").partition(":")
    for number, (facts, is_derived, role) in enumerate(named):
        hierarchy = str(hierarchies.get(facts.name, ""))
        if visit.form:  # a column that is new since the page was opened has no role yet
            role, hierarchy = (visit.say(f"{table}-{key}-{places.get(facts.name)}").strip() for key in ("role", "qi"))
            role = role or ("" if is_derived else visit.say("rest"))
        if f"{table}-{places.get(facts.name)}" in fixed.split(","):
            role, hierarchy = fix, ""
        found.append(PlanRow(table, number, facts, is_derived, role, hierarchy))
    return found


def _tables(visit: RequestContext) -> dict[Form, tuple[FirstRecords, list[PlanRow]]]:
    """Both files, with the rows of each."""
    found = {}
    for called, form in sources_of(visit.state.job, visit.part).items():
        sample = visit.app.data.sample(visit.state.path.parent, called, visit.state.job.sources[called], form)
        found[form] = (sample, _rows(visit, form, sample.columns))
    return found


def _suggest(visit: RequestContext, stamps: Sequence[str]) -> dict[str, Guess]:
    """The suggested role of each column, by its place; ``stamps``: of both files."""

    def make() -> dict[str, Guess]:
        job, folder = visit.state.job, visit.state.path.parent
        files = {
            form: visit.app.data.source(folder, called, job.sources[called], form).frame
            for called, form in sources_of(job, visit.part).items()
        }
        suggested = suggest_roles(files["patients"], files["claims"]) or ([], [])
        return {
            f"{form}-{number}": guess
            for form, guesses in zip(TABLES, suggested, strict=True)
            for number, guess in enumerate(guesses)
        }

    return visit.app.data.remember(f"plan roles {stamps}", make)


def show_plan_columns(
    visit: RequestContext, errors: Mapping[str, str] | None = None, problem: str = "", status: int = 200
) -> Response:
    """Show every column of both files with its role, and the columns that can be derived."""
    return job_page(visit, "plan_columns", status, problem=problem, **_content(visit, errors or {}))


def show_plan_list(visit: RequestContext) -> Response:
    """Show the columns with the change that a button or filter makes; nothing is saved yet."""
    return visit.shown("plan_columns_list", 200, part=visit.part, **_content(visit, {}))


def _content(visit: RequestContext, errors: Mapping[str, str]) -> dict[str, object]:
    """What the tables of columns show."""
    tables, view = _tables(visit), ColumnsView(*(visit.say(name) for name in ("find", "show", "sort")))
    every = [row for _, rows in tables.values() for row in rows]
    undecided = [row for row in every if not row.group]
    alerts = [alert_of(undecided, UNDECIDED, DROP)] if undecided else []
    alerts += alerts_of_recorded([row for row in every if row.group == "keep"])
    guesses = _suggest(visit, [sample.stamp for sample, _ in tables.values()])
    for form, (sample, rows) in tables.items():
        found = [
            replace(
                row, guess=guesses.get(row.place), is_shown=row.name in errors or view.includes(row.facts, row.group)
            )
            for row in rows
        ]
        tables[form] = sample, sort_rows(found, view.sort)
    return {
        "tables": tables, "roles": {name: one[0] for name, one in TABLES.items()}, "hierarchies": OFFERED,
        "alerts": alerts, "undecided": len(undecided), "wrong": errors,
        "view": view, "counts": counts_of(every), "sorts": SORTS, "is_released": False,
    }  # fmt: skip


def save_plan_columns(visit: RequestContext) -> Response:
    """Save roles, derived columns and hierarchies of both files if the plan is legal with them."""
    section = visit.state.section(visit.part)
    plan = dict(section["plan"]) if isinstance(section.get("plan"), Mapping) else {}
    try:
        for form, (sample, rows) in _tables(visit).items():
            seen_or_refuse(visit, sample.stamp, f"stamp-{form}")
            usual = {row.name: HIERARCHIES.get(row.role, row.name.replace("_", "-")) for row in rows}
            plan[form] = _plan(visit, form) | {
                "derived": [row.name for row in rows if row.is_derived and row.role],
                "roles": {row.name: row.role for row in rows if not row.is_derived and row.role},
                "qi": {row.name: row.hierarchy or usual[row.name] for row in rows if row.is_generalized},
            }
        if weights := plan.get("weights"):  # a column that is no quasi-identifier any more has none
            known = {*plan["patients"]["qi"], *plan["claims"]["qi"]}
            plan["weights"] = {name: weight for name, weight in weights.items() if name in known}
        changed = visit.state.with_section(visit.part, section | {"plan": plan})
        visit.app.data.check(visit.state.with_content(changed), visit.part)
        return save_job(visit, changed, "promise")
    except CloisterError as error:
        where = {error.column: in_words(error)} if error.column else {}
        return show_plan_columns(visit, {**errors_of(error), **where}, in_words(error), status_of(error))
