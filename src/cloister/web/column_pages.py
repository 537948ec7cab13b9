"""The page on the columns of a table: the role of each, alerts, and how well quasi-identifiers distinguish records."""

from collections.abc import Mapping, Sequence

from starlette.responses import Response

from cloister.errors import CloisterError, InputError
from cloister.jobs.job import CLAIMS
from cloister.settings.declaration import Given, Keywords

from .app import RequestContext, status_of
from .columns_table import (
    ROLES,
    SORTS,
    SUGGESTED,
    ColumnAlert,
    ColumnRow,
    ColumnsView,
    alerts_of,
    alerts_of_revealed,
    bars_after,
    counts_of,
    rows_of,
)
from .data_pages import job_page, read_part, read_places, save_job, seen_or_refuse, source_of, suggest_hierarchy
from .data_read import FirstRecords
from .forms import bind_fields, errors_of, fill_section, in_words, only, specs_of_shape
from .job_state import JobState
from .plan_columns import save_plan_columns, show_plan_columns, show_plan_list
from .utility_pages import compare_release, is_released

LISTS = ("sensitive", "keep", "drop")
BULK = {
    "": "stop with an error (default)",
    "drop": "do not release",
    "sensitive": "release as recorded (sensitive)",
    "keep": "release as recorded",
    "quasi-identifier": "treat as quasi-identifiers",
}
"""What becomes of the undecided columns of a part, by the word of the setting."""

MOST_EXAMINED = 500
"""Pairs of a quasi-identifier and another column that are examined unasked: in some five seconds."""

SINGLE_ROLES = ("id", "patient", "codes")
"""Roles that one column at most has."""


def role_of(state: JobState, part: str, column: str) -> str:
    """Return the role of a column in a job; "" while it is undecided."""
    section = state.section(part)
    source = state.content["sources"][section["source"]]
    if column == source.get("id"):
        return "id"
    for key, role in (("patient", "patient"), ("codes", "codes")):
        if column == section.get(key):
            return role
    for key in LISTS:
        if column in section.get(key, []) or f"{column}={key}" in section.get("undecided", ()):
            return key
    if column in section.get("qi", {}) or f"{column}=quasi-identifier" in section.get("undecided", ()):
        return "quasi-identifier"
    return ""


def _chosen(visit: RequestContext, sample: FirstRecords) -> list[str]:
    """The role of each column: of the form, with the change that a button of it makes, else of the job."""
    if not visit.form:
        return [role_of(visit.state, visit.part, one.name) for one in sample.columns]
    chosen = _read_roles(visit, sample)
    role, _, places = visit.say("fix").partition(":")
    changed = places.split(",") if places else []
    if visit.say("set"):
        role = visit.say("set-role")
        changed = visit.every("selected") if visit.say("set") == "selected" else visit.say("shown").split(",")
    place = read_places(visit)  # by name: a file that was changed may have other columns at these places
    for number, one in enumerate(sample.columns):
        own = one.suggestion if role == SUGGESTED else role
        chosen[number] = own if own in ROLES and place.get(one.name) in changed else chosen[number]
    return chosen


def _read_roles(visit: RequestContext, sample: FirstRecords) -> list[str]:
    """The role of each column in the form, by name."""
    place = read_places(visit)
    return [visit.say(f"role-{place[one.name]}") if one.name in place else "" for one in sample.columns]


def _content(visit: RequestContext, sample: FirstRecords, errors: Mapping[str, str]) -> dict[str, object]:
    """What the table of columns shows."""
    chosen = _chosen(visit, sample)
    bulk = _bulk(visit)
    view = ColumnsView(*(visit.say(name) for name in ("find", "show", "sort")))
    called, source, _ = source_of(visit.state.job, visit.part)
    names = [one.name for one, role in zip(sample.columns, chosen, strict=True) if role == "quasi-identifier"]
    hierarchies = {name: _hierarchy(visit, name) for name in names}
    viewed = f"{view.find}|{view.show}|{view.sort}"
    is_same_view = bool(visit.form) and visit.say("viewed") == viewed
    words = visit.say("shown").split(",") if is_same_view else []
    shown = [int(word) for word in words if word.isdecimal() and int(word) < len(sample.columns)]
    rows = rows_of(sample.columns, chosen, hierarchies, bulk, view, shown)
    saved = [role_of(visit.state, visit.part, one.name) for one in sample.columns]
    compared, unread = compare_release(visit) if visit.say("after") else (None, "")
    refused = visit.exact("refused")
    selected = set() if visit.say("set") else set(visit.every("selected"))
    return {
        "sample": sample, "rows": rows, "counts": counts_of(rows), "alerts": list(alerts_of(rows, bulk, refused)),
        "view": view, "viewed": viewed, "unsaved": sum(a != b for a, b in zip(chosen, saved, strict=True)),
        "roles": ROLES, "sorts": SORTS, "selected": selected, "wrong": errors,
        "is_released": is_released(visit), "compared": bars_after(rows, compared), "unread": unread, "refused": refused,
        "bulk_chosen": bulk,
        "revealed": _revealed(visit, rows), "is_quick": len(names) * len(rows) <= MOST_EXAMINED,
        "together": visit.app.data.together(visit.state.path.parent, called, source, names),
    }  # fmt: skip


def _hierarchy(visit: RequestContext, column: str) -> str:
    """The hierarchy of a quasi-identifier: of the job, else as suggested."""
    return str(visit.state.section(visit.part).get("qi", {}).get(column) or suggest_hierarchy(visit, column))


def columns(
    visit: RequestContext, errors: Mapping[str, str] | None = None, problem: str = "", status: int = 200
) -> Response:
    """Show every column with its suggested and its chosen role."""
    if visit.state.job.parts[visit.part].shape == CLAIMS:
        return show_plan_columns(visit)
    sample, section = read_part(visit), visit.state.section(visit.part)
    specs = only(specs_of_shape("table"), ("accept",))
    section = fill_section(specs, section, visit.form) if visit.form else section
    return job_page(
        visit, "columns", status, **_content(visit, sample, errors or {}), entries=bind_fields(specs, section, errors),
        problem=problem or sample.problem, bulk=BULK,
    )  # fmt: skip


def change_columns(visit: RequestContext) -> Response:
    """Show the columns with the change that a button or filter makes; nothing is saved yet."""
    if not visit.is_partial:
        return columns(visit)
    if visit.state.job.parts[visit.part].shape == CLAIMS:
        return show_plan_list(visit)
    return visit.shown("columns_list", 200, part=visit.part, **_content(visit, read_part(visit), {}))


def show_revealed(visit: RequestContext) -> Response:
    """Show which columns reveal a quasi-identifier: a part of the page that comes when it is found."""
    try:
        sample = read_part(visit)
        rows = rows_of(sample.columns, _chosen(visit, sample), {}, _bulk(visit), ColumnsView())
        revealed = _revealed(visit, rows, is_awaited=True)
    except CloisterError:
        if visit.is_partial:
            return Response(status_code=204)  # whatever else is asked for says so, where it is still seen
        raise
    if not visit.is_partial:
        return columns(visit)
    return visit.shown("columns_revealed", revealed=revealed, part=visit.part)


def _revealed(
    visit: RequestContext, rows: Sequence[ColumnRow], *, is_awaited: bool = False
) -> list[ColumnAlert] | None:
    """Alerts about columns that reveal a quasi-identifier; None if they are not known, and none are awaited."""
    names = [row.facts.name for row in rows if row.role == "quasi-identifier"]
    called, source, _ = source_of(visit.state.job, visit.part)
    found = visit.app.data.find_revealing(visit.state.path.parent, called, source, names, is_awaited=is_awaited)
    return None if found is None else list(alerts_of_revealed(rows, _bulk(visit), found))


def _bulk(visit: RequestContext) -> str:
    """The role that a run gives to undecided columns: of the form, else of the job."""
    return visit.say("undecided") if visit.form else bulk_of(visit.state.section(visit.part))


def bulk_of(section: Keywords) -> str:
    """Return the decision on all undecided columns in a section of a job; "" if it has none."""
    return next((word for word in reversed(section.get("undecided", ())) if word in BULK), "")


def decide(visit: RequestContext) -> Response:
    """Save the decision on undecided columns, and go back to the page that asked for it."""
    return save_job(visit, visit.state.with_section(visit.part, _with_bulk(visit)), "release")


def _with_bulk(visit: RequestContext) -> Given:
    section, word = dict(visit.state.section(visit.part)), visit.say("undecided")
    if word not in BULK:
        raise InputError("Undecided columns can be dropped, sensitive, kept or quasi-identifiers.")
    columns = [one for one in section.get("undecided", ()) if one not in BULK]
    section["undecided"] = [*columns, *([word] if word else [])]
    return {key: value for key, value in section.items() if key != "undecided" or value}


def save_columns(visit: RequestContext) -> Response:
    """Save the role of each column."""
    if visit.state.job.parts[visit.part].shape == CLAIMS:
        return save_plan_columns(visit)
    sample, state = read_part(visit), visit.state
    try:
        seen_or_refuse(visit, sample.stamp)
        chosen = dict(zip([one.name for one in sample.columns], _read_roles(visit, sample), strict=True))
        if visit.say("rest") == "drop":
            chosen = {column: role or "drop" for column, role in chosen.items()}
        for role in SINGLE_ROLES:
            if (several := [column for column, one in chosen.items() if one == role])[1:]:
                raise InputError(f"{len(several)} columns are the {ROLES[role]}. Take one.", column=several[1])
        if strange := {*chosen.values()} - ROLES.keys():
            raise InputError(f"{len(strange)} columns have an unknown role.")
        return save_job(visit, _with_roles(state, visit.part, chosen, visit), "hierarchies")
    except CloisterError as error:
        where = {error.column: in_words(error)} if error.column else {}
        return columns(visit, {**errors_of(error), **where}, in_words(error), status_of(error))


def _with_roles(state: JobState, part: str, chosen: Mapping[str, str], visit: RequestContext) -> Given:
    """The content of a job with these roles; hierarchies that were chosen stay, others are those that were guessed."""
    section = fill_section(only(specs_of_shape("table"), ("accept",)), _with_bulk(visit), visit.form)
    section["undecided"] = [word for word in section.get("undecided", ()) if word in BULK]  # each column has its role
    by_role = {role: [column for column, one in chosen.items() if one == role] for role in ROLES}
    section["qi"] = {column: _hierarchy(visit, column) for column in by_role["quasi-identifier"]}
    for key in LISTS:
        section[key] = by_role[key]
    for key in ("patient", "codes"):
        section.pop(key, None)
        section |= {key: by_role[key][0]} if by_role[key] else {}
    if not by_role["codes"]:
        for key in ("m", "codes_method", "policy", "max_cluster_size", "merge_classes"):
            section.pop(key, None)
    source = {key: value for key, value in state.content["sources"][section["source"]].items() if key != "id"}
    source |= {"id": by_role["id"][0]} if by_role["id"] else {}
    empty = [key for key in ("qi", "undecided", *LISTS) if not section[key]]
    section = {key: value for key, value in section.items() if key not in empty}
    return state.with_section(part, section, {section["source"]: source})
