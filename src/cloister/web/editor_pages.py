"""The page that edits one hierarchy by hand: cut points of numbers in a histogram, or groups of values.

Groups are a draft in memory until they are saved as a new file; the page shows a part of the values at a time.
"""

import csv
import io
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from starlette.responses import RedirectResponse, Response

from cloister.errors import CloisterError, InputError
from cloister.hierarchy import CutHierarchy, Hierarchy, QuantileHierarchy, check_rows, parse_hierarchy
from cloister.hierarchy.draft import DraftGroup, HierarchyDraft
from cloister.io import as_text, write_private
from cloister.pipeline.tables import TableInMemory
from cloister.report.histogram import NumberHistogram, histogram_of

from .app import Application, RequestContext, status_of
from .data_pages import job_page
from .forms import in_words
from .hierarchy_pages import preview_of, split_bounds

MOST_VALUES, MOST_DRAFTS = 100_000, 20
MOST_SHOWN = 100
"""Items of a level that one page shows."""

PARTS = (4, 5, 10)
"""Numbers of groups of equal size that are offered for numbers."""


@dataclass(frozen=True)
class Edited:
    """The column of the page: its place, its hierarchy, in words too, how many records have each value, and the k."""

    name: str
    place: int
    spec: str
    records: Mapping[str, int]
    hierarchy: Hierarchy
    k: int

    def key(self, visit: RequestContext) -> str:
        """The draft of the column."""
        return f"{visit.state.path}|{visit.part}|{self.name}|{self.spec}"


def _edited(visit: RequestContext) -> Edited:
    rows = list(visit.state.section(visit.part).get("qi", {}).items())
    place = int(visit.say("place")) if visit.say("place").isdigit() else -1
    if not 0 <= place < len(rows):
        raise InputError("There is no such column any more. Go back to the hierarchies.")
    prepared = visit.app.data.prepared(visit.state, visit.part)
    assert isinstance(prepared, TableInMemory)
    name, spec = rows[place]
    hierarchy = prepared.request.quasi_identifiers[name].hierarchy
    counted = as_text(prepared.source.frame[name]).fill_null("").value_counts(sort=False, name="records")
    return Edited(name, place, str(spec), dict(counted.iter_rows()), hierarchy, prepared.request.k)


def edit(visit: RequestContext, problem: str = "", status: int = 200) -> Response:
    """Show the histogram of a numeric column with its cut points, or the groups of a column."""
    own = _edited(visit)
    histogram = histogram_of(own.records)
    if histogram is None or visit.say("groups"):
        return _show_groups(visit, own, problem, status)
    cuts = _cuts_typed(visit) if visit.form else _cuts_of(own)
    return job_page(
        visit, "hierarchies_cuts", status, column=own.name, place=own.place, problem=problem,
        **_drawn(visit, own, histogram, cuts),
    )  # fmt: skip


def _cuts_typed(visit: RequestContext) -> list[str]:
    """The cut points of each level as typed: without empty levels and blanks."""
    typed = [visit.say(f"cuts-{level}").replace(";", ",").replace(" ", "").strip(",") for level in range(1, 4)]
    return [one for one in typed if one]


def _cuts_of(own: Edited) -> list[str]:
    """The cut points of the hierarchy, if it has some; else those of four groups of about equal size."""
    hierarchy = own.hierarchy
    if not isinstance(hierarchy, CutHierarchy):
        return _equal_groups(own, PARTS[0])
    return [",".join(map(str, level)) for level in hierarchy.cuts]


def _equal_groups(own: Edited, parts: int) -> list[str]:
    """Round cut points between groups of about equal size; none where too few records differ."""
    texts = [value for value, count in own.records.items() if value for _ in range(count)]
    near = max(own.k, len(texts) // (4 * parts))  # a quarter of a group around each quantile
    try:
        found = QuantileHierarchy((parts,)).cut(own.name, texts, near)
    except InputError:
        return []
    return [",".join(map(str, level)) for level in found.cuts]


def _drawn(visit: RequestContext, own: Edited, histogram: NumberHistogram, cuts: list[str]) -> dict[str, object]:
    """The histogram with lines at the cut points, and the levels that they make."""
    levels, error = preview_of(visit, own.name, f"interval:cuts={'/'.join(cuts)}") if cuts else ((), "")
    lines: list[float] = []
    with suppress(InputError):  # of level 1 alone, while another level is still wrong
        first = parse_hierarchy(f"interval:cuts={cuts[0]}") if cuts else None
        lines = [histogram.x(float(cut)) for cut in first.cuts[0]] if isinstance(first, CutHierarchy) else []
    return {
        "cuts": [*cuts, "", "", ""][:3],
        "histogram": histogram,
        "lines": lines,
        "levels": levels,
        "error": error,
        "offered": PARTS,
    }


def change_cuts(visit: RequestContext) -> Response:
    """Show the levels of cut points as typed, dragged or proposed; or save them."""
    own = _edited(visit)
    histogram = histogram_of(own.records)
    if histogram is None:
        raise InputError("The column has no numbers any more. Go back to the hierarchies.")
    cuts = _equal_groups(own, int(visit.say("equal"))) if visit.say("equal").isdigit() else _cuts_typed(visit)
    drawn = _drawn(visit, own, histogram, cuts)
    if visit.say("save") and cuts and not drawn["error"]:
        return _use(visit, own, f"interval:cuts={'/'.join(cuts)}")
    if visit.is_partial:
        return visit.shown("cuts_drawn", 200, column=own.name, **drawn)
    problem = "There are no cut points. Type some, or choose groups of equal size." if visit.say("save") else ""
    return job_page(
        visit, "hierarchies_cuts", 400 if problem else 200, column=own.name, place=own.place,
        problem=problem, **drawn,
    )  # fmt: skip


def _draft(app: Application, visit: RequestContext, own: Edited) -> HierarchyDraft:
    """The draft of the column: of this server, else made of the hierarchy of the job."""
    key = own.key(visit)
    if key not in app.drafts:
        values = [value or None for value in sorted(own.records)]
        if len(values) > MOST_VALUES:
            raise InputError(
                f"The column has {len(values):,} values, more than the {MOST_VALUES:,} that are edited here. Write a "
                "file of the hierarchy with cloister hierarchy build, and name it."
            )
        bound = own.hierarchy.bind(own.name, values)
        if bound.labels[0] != bound.values:
            raise InputError("The hierarchy has open groups at its ends (top or bottom). Use cut points instead.")
        rows = [[label or "" for label in row] for row in zip(*bound.labels, strict=True)]
        draft = HierarchyDraft.of(rows)
        return draft if draft.n_levels else draft.add_level()
    return app.drafts[key]


def _show_groups(visit: RequestContext, own: Edited, problem: str = "", status: int = 200) -> Response:
    draft = _draft(visit.app, visit, own)
    level = min(max(1, int(visit.say("level")) if visit.say("level").isdigit() else 1), max(1, draft.n_levels))
    groups = draft.groups(level, own.records) if draft.n_levels else []
    found, more = _found(groups, visit.say("find"), level)
    return job_page(
        visit, "hierarchies_edit", status, column=own.name, place=own.place, problem=problem, level=level,
        n_levels=draft.n_levels, groups=groups, found=found, more=more, find=visit.say("find"),
        total=sum(own.records.values()), is_numeric=histogram_of(own.records) is not None,
    )  # fmt: skip


def _found(groups: list[DraftGroup], find: str, level: int) -> tuple[list[DraftGroup], int]:
    """The groups with the items that a search finds, as many as a page shows; and how many more there are."""
    wanted = find.strip().casefold()
    shown, more = [], 0
    room = MOST_SHOWN
    for group in groups:
        is_named = level > 0 and wanted in group.label.casefold()
        items = tuple(item for item in group.items if is_named or wanted in item[0].casefold())
        if items:
            shown.append(DraftGroup(group.label, items[:room]))
            more += max(0, len(items) - room)
            room = max(0, room - len(items))
    return [group for group in shown if group.items], more


def change_groups(visit: RequestContext) -> Response:
    """Change the draft of the groups as a button says, or save it as a new file and use it."""
    own = _edited(visit)
    draft, level = _draft(visit.app, visit, own), int(visit.say("level")) if visit.say("level").isdigit() else 1
    items = visit.every("item")
    try:
        if visit.say("act") == "group":
            draft = draft.put_together(level, items, visit.say("label").strip())
        elif visit.say("act") == "apart":
            draft = draft.take_apart(level, items)
        elif visit.say("act") == "add":
            draft = draft.add_level()
        elif visit.say("act") == "remove":
            draft = draft.remove_level(level)
        elif visit.say("act") == "save":
            return _save(visit, own, draft)
    except CloisterError as error:
        return _show_groups(visit, own, in_words(error), status_of(error))
    visit.app.keep_draft(own.key(visit), draft, MOST_DRAFTS)
    return _show_groups(visit, own)


def _save(visit: RequestContext, own: Edited, draft: HierarchyDraft) -> Response:
    """Write the draft to a new file next to the job, and use it."""
    if problems := check_rows(draft.rows):
        return _show_groups(visit, own, " ".join(problem.message for problem in problems), 400)
    written = io.StringIO()
    csv.writer(written, delimiter=";", lineterminator="\n").writerows(draft.rows)
    folder = visit.state.path.parent / "hierarchies"
    folder.mkdir(mode=0o700, exist_ok=True)
    number = 1 + sum(1 for _ in folder.glob("edited-*.csv"))
    while (path := folder / f"edited-{number:03d}.csv").exists():
        number += 1
    write_private(path, written.getvalue().encode())
    visit.app.drafts.pop(own.key(visit), None)
    return _use(visit, own, f"hierarchies/{path.name}")


def _use(visit: RequestContext, own: Edited, spec: str) -> Response:
    """Save a hierarchy for the column, with the bounds of levels that it had; go back to all hierarchies."""
    section, (_, low, high) = visit.state.section(visit.part), split_bounds(own.spec)
    section["qi"] = {**section["qi"], own.name: spec + (f"@{low}-{high}" if low else "")}
    visit.state.with_content(visit.state.with_section(visit.part, section)).save(visit.say("version"))
    return RedirectResponse(visit.to("hierarchies", part=visit.part), 303)
