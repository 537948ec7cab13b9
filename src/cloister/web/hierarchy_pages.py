"""The page on generalization hierarchies: builders and files, with a preview of the levels of each column."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from starlette.responses import RedirectResponse, Response

from cloister.errors import CloisterError, InputError
from cloister.hierarchy import describe_builders
from cloister.hierarchy.file_hierarchy import LevelPreview
from cloister.io import write_private
from cloister.pipeline.table_request import BOUNDS
from cloister.pipeline.tables import TableInMemory
from cloister.settings.declaration import Given
from cloister.shapes.table.method.data import TableRequest

from .app import RequestContext, status_of
from .data_pages import job_page, read_part, save_job, seen_or_refuse
from .folder import HIERARCHIES, HIERARCHY
from .forms import bind_fields, errors_of, fill_section, in_words, only, specs_of_shape
from .job_state import Conflict, JobState

MORE = ("hierarchies", "missing_as")
MOST_FILES = 200


def split_bounds(spec: str) -> tuple[str, str, str]:
    """Split a typed text into the words of a hierarchy and its level bounds.

    Examples
    --------
    >>> split_bounds("interval:5,10@1-2"), split_bounds("suppress")
    (('interval:5,10', '1', '2'), ('suppress', '', ''))
    """
    match = BOUNDS.fullmatch(spec)
    return (spec, "", "") if match is None else (match["spec"], match["low"], match["high"] or match["low"])


def _read_hierarchy(visit: RequestContext, place: int, column: str) -> str:
    """What the form says of a column: ``HIERARCHY`` or ``HIERARCHY@LOW-HIGH``; an end that is left open is the last."""
    spec, low, high = (visit.say(f"{name}-{place}").strip() for name in ("spec", "low", "high"))
    if low and not high:
        high = str(max(len(preview_of(visit, column, spec)[0]) - 1, 0))
    return f"{spec}@{low or 0}-{high}" if high else spec


def reduce_to(visit: RequestContext, column: str, spec: str) -> Given:
    """Return the content of the job with one quasi-identifier, and nothing that others may have wrong."""
    section = {**visit.state.section(visit.part), "qi": {column: spec}}
    keys = ("shape", "source", "name", "k", "qi", "hierarchies", "missing_as")
    return visit.state.with_section(visit.part, {key: value for key, value in section.items() if key in keys})


def prepare_column(visit: RequestContext, reduced: JobState, column: str) -> tuple[TableRequest, Mapping[str, int]]:
    """Return what a job of one quasi-identifier asks, and how many records have each of its values; "" is missing."""
    prepared = visit.app.data.prepared(reduced, visit.part)
    assert isinstance(prepared, TableInMemory)
    return prepared.request, visit.app.data.counts(prepared.source.frame[column], read_part(visit).stamp)


@dataclass(frozen=True)
class PageColumn:
    """The quasi-identifier of a page, its place among those of the job, and its hierarchy in words."""

    name: str
    place: int
    spec: str


def column_of_page(visit: RequestContext) -> PageColumn:
    """Return the quasi-identifier that a page or its form is about."""
    rows = list(visit.state.section(visit.part).get("qi", {}).items())
    place = int(visit.say("place")) if visit.say("place").isdecimal() else -1
    named = "".join(visit.exact("column")) or (rows[place][0] if 0 <= place < len(rows) else "")
    if not 0 <= place < len(rows) or rows[place][0] != named:
        raise InputError("The quasi-identifiers changed after this page was opened. Go back to the hierarchies.")
    return PageColumn(named, place, str(rows[place][1]))


def write_hierarchy(visit: RequestContext, name: str, content: bytes) -> str:
    """Write a hierarchy file next to the job, and return its name there; a file of this name and content is kept."""
    if visit.say("version") != visit.state.version:
        raise Conflict(f"{visit.state.path.name} was changed after this page was opened. Look at it, and save again.")
    folder = visit.app.folder.inside(visit.app.folder.place(visit.state.path.parent / HIERARCHIES))
    folder.mkdir(mode=0o700, exist_ok=True)
    names = (f"{name}-{number}.csv" if number > 1 else f"{name}.csv" for number in count(1))
    path = next(
        path
        for one in names
        if not os.path.lexists(path := folder / one)
        or (path.is_file() and not path.is_symlink() and path.read_bytes() == content)
    )
    if not path.exists():
        write_private(path, content)
    return f"{HIERARCHIES}/{path.name}"


def use_hierarchy(visit: RequestContext, own: PageColumn, spec: str, top: int, *, has_bounds: bool = False) -> Response:
    """Save a hierarchy for a column.

    Bounds of levels that it had before stay up to its highest level, ``top``; not if the new hierarchy ``has_bounds``.
    """
    section, (_, low, high) = visit.state.section(visit.part), split_bounds(own.spec)
    bounds = f"@{min(int(low), top)}-{min(int(high), top)}" if low and not has_bounds else ""
    section["qi"] = {**section["qi"], own.name: spec + bounds}
    visit.state.with_content(visit.state.with_section(visit.part, section)).save(visit.say("version"))
    return RedirectResponse(visit.to("hierarchies", part=visit.part), 303)


def preview_of(visit: RequestContext, column: str, spec: str) -> tuple[tuple[LevelPreview, ...], str]:
    """Return what the levels of one column do to its values, or why there are none."""
    try:
        reduced = visit.state.with_content(reduce_to(visit, column, spec))
        return visit.app.data.levels(reduced, visit.part, column), ""
    except CloisterError as error:
        return (), in_words(error)


def hierarchies(
    visit: RequestContext, errors: Mapping[str, str] | None = None, problem: str = "", status: int = 200
) -> Response:
    """Show the hierarchy of each quasi-identifier, with a preview of its levels."""
    section, sample = visit.state.section(visit.part), read_part(visit)
    rows = []
    for place, (column, spec) in enumerate(section.get("qi", {}).items()):
        typed = _read_hierarchy(visit, place, column) if visit.form else str(spec)
        levels, wrong = preview_of(visit, column, typed)
        rows.append(
            {
                "column": column,
                "spec": split_bounds(typed),
                "levels": levels,
                "error": wrong or (errors or {}).get(column, ""),
            }
        )
    specs, folder = only(specs_of_shape("table"), MORE), visit.state.path.parent
    # files that may be hierarchies, next to the job or in folders with that name
    found = sorted([*folder.glob("*hierarch*/*.csv"), *folder.glob(f"*{HIERARCHY}*.csv")])[:MOST_FILES]
    return job_page(
        visit, "hierarchies", status, rows=rows, builders=describe_builders(), sample=sample,
        files=[one.relative_to(folder).as_posix() for one in found], problem=problem, values=bool(visit.say("values")),
        entries=bind_fields(specs, fill_section(specs, section, visit.form) if visit.form else section, errors),
    )  # fmt: skip


def preview_one(visit: RequestContext) -> Response:
    """Return a preview of the levels of one column, as typed."""
    columns = list(visit.state.section(visit.part).get("qi", {}))
    place = int(visit.say("place")) if visit.say("place").isdigit() else -1
    if not 0 <= place < len(columns):
        raise InputError("There is no such column any more. Load the page again.")
    levels, wrong = preview_of(visit, columns[place], _read_hierarchy(visit, place, columns[place]))
    return visit.shown("levels_drawn", levels=levels, error=wrong, values=bool(visit.say("values")), place=place)


def save_hierarchies(visit: RequestContext) -> Response:
    """Save hierarchies that cover all values of their columns."""
    state, specs = visit.state, only(specs_of_shape("table"), MORE)
    section = fill_section(specs, state.section(visit.part), visit.form)
    try:
        seen_or_refuse(visit, read_part(visit).stamp)
        section["qi"] = {
            column: _read_hierarchy(visit, place, column) for place, column in enumerate(section.get("qi", {}))
        }
        if not section["qi"]:
            raise InputError("No column is a quasi-identifier yet. Choose one on the page Columns.")
        wrong = {column: text for column, spec in section["qi"].items() if (text := preview_of(visit, column, spec)[1])}
        if wrong:
            return hierarchies(visit, wrong, "", 400)
        return save_job(visit, state.with_section(visit.part, section), "promise")
    except CloisterError as error:
        return hierarchies(visit, errors_of(error), in_words(error), status_of(error))
