"""The page that edits one hierarchy by hand: cut points of numbers in a histogram, or groups of values.

Groups are a draft in memory until they are saved as a new file; the page shows a part of the values at a time.
"""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from starlette.responses import RedirectResponse, Response

from cloister.errors import CloisterError, InputError
from cloister.hierarchy import CutHierarchy, FileHierarchy, Hierarchy, QuantileHierarchy, check_rows, parse_hierarchy
from cloister.hierarchy.draft import DraftGroup, HierarchyDraft
from cloister.hierarchy.file_hierarchy import LevelPreview
from cloister.report.histogram import NumberHistogram, histogram_of

from .app import RequestContext, status_of
from .data_pages import job_page, read_part
from .forms import in_words
from .hierarchy_pages import (
    PageColumn,
    column_of_page,
    prepare_column,
    preview_of,
    reduce_to,
    use_hierarchy,
    write_hierarchy,
)
from .job_state import Conflict

MOST_VALUES, MOST_DRAFTS = 100_000, 20
LEAST_FIELDS, MOST_LEVELS, MOST_CUTS = 3, 12, 200
CUTS = "interval:cuts="
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
MOST_SHOWN = 100
"""Items of a level that one page shows."""

PARTS = (4, 5, 10)
"""Numbers of groups of equal size that are offered for numbers."""


@dataclass(frozen=True)
class Edited(PageColumn):
    """The column of the page with its hierarchy, how many records have each value, and the k of the job."""

    records: Mapping[str, int]
    histogram: NumberHistogram | None
    hierarchy: Hierarchy
    k: int
    key: str  # of its draft: another state of the data or of the hierarchy has another one


def _edited(visit: RequestContext) -> Edited:
    column = column_of_page(visit)
    state, name, place, spec = visit.state, column.name, column.place, column.spec
    # other columns do not matter here, even if their hierarchies are wrong
    reduced, stamp = state.with_content(reduce_to(visit, name, spec)), read_part(visit).stamp
    key = f"{state.path}|{visit.part}|{name}|{spec}|{stamp}"

    def made() -> Edited:
        request, records = prepare_column(visit, reduced, name)
        hierarchy = request.quasi_identifiers[name].hierarchy
        return Edited(name, place, spec, records, histogram_of(records), hierarchy, request.k, key)

    return visit.app.data.remember(f"edited {place} {reduced.version} {key}", made)


def edit(visit: RequestContext, problem: str = "", status: int = 200) -> Response:
    """Show the histogram of a numeric column with its cut points, or the groups of a column."""
    own = _edited(visit)
    if own.histogram is None:
        return _show_groups(visit, own, problem, status)
    if visit.say("groups"):
        try:
            return _show_groups(visit, own, problem, status)
        except InputError as error:  # such as open groups at the ends: cut points remain
            return _show_cuts(visit, own, _equal_groups(own, PARTS[0]), in_words(error), 400)
    if isinstance(own.hierarchy, CutHierarchy):
        return _show_cuts(visit, own, own.hierarchy.spec.removeprefix(CUTS).split("/"))
    return _show_cuts(visit, own, _equal_groups(own, PARTS[0]))


def _show_cuts(visit: RequestContext, own: Edited, cuts: list[str], problem: str = "", status: int = 200) -> Response:
    levels: tuple[LevelPreview, ...] = ()
    error, lines = problem, list[float]()
    with suppress(InputError):  # of level 1 alone, while another level is still wrong
        first = parse_hierarchy(_spec_of(cuts[:1])) if cuts else None
        if isinstance(first, CutHierarchy) and own.histogram is not None:
            lines = [own.histogram.x(float(cut)) for cut in first.cuts[0]]
    if cuts and not problem:
        levels, error = preview_of(visit, own.name, _spec_of(cuts))
    found: dict[str, object] = {
        "column": own.name, "place": own.place, "spec": own.spec, "histogram": own.histogram, "lines": lines,
        "levels": levels, "error": error, "offered": PARTS, "cuts": [*cuts, *[""] * max(1, LEAST_FIELDS - len(cuts))],
    }  # fmt: skip
    if visit.is_partial:
        return visit.shown("cuts_editor", 200, **found)
    return job_page(visit, "hierarchies_cuts", status, problem="", **found)


def _spec_of(cuts: Sequence[str]) -> str:
    return f"{CUTS}{'/'.join(cuts)}"


def _cuts_typed(visit: RequestContext) -> list[str]:
    """The cut points of each level as typed, with commas between them; a level without any ends them."""
    found = []
    for level in range(1, MOST_LEVELS):
        words = re.split(r"[,;\s]+", visit.say(f"cuts-{level}").strip(" ,;"))
        if words == [""]:
            break
        if len(words) > MOST_CUTS or not all(NUMBER.fullmatch(word) for word in words):
            raise InputError(f"Cut points of level {level} must be numbers, at most {MOST_CUTS}, as in 18, 40, 65.")
        found.append(",".join(words))
    return found


def _equal_groups(own: Edited, parts: int) -> list[str]:
    """Round cut points between groups of about equal size; none where too few records differ."""
    numbers = [value for value, count in own.records.items() if NUMBER.fullmatch(value) for _ in range(count)]
    near = max(own.k, len(numbers) // (4 * parts))  # a quarter of a group around each quantile
    try:
        return QuantileHierarchy((parts,)).cut(own.name, numbers, near).spec.removeprefix(CUTS).split("/")
    except InputError:
        return []


def change_cuts(visit: RequestContext) -> Response:
    """Show the levels of cut points as typed, dragged or proposed; or save them."""
    own = _edited(visit)
    try:
        if visit.say("equal").isdecimal():
            return _show_cuts(visit, own, _equal_groups(own, int(visit.say("equal"))))
        cuts = _cuts_typed(visit)
        if visit.say("save") and not cuts:
            raise InputError("There are no cut points. Type some, or choose groups of equal size.")
        if visit.say("save") and not preview_of(visit, own.name, _spec_of(cuts))[1]:
            return use_hierarchy(visit, own, _spec_of(cuts), len(cuts) + 1)
        return _show_cuts(visit, own, cuts)
    except CloisterError as error:
        typed = [visit.say(f"cuts-{level}") for level in range(1, MOST_LEVELS)]
        return _show_cuts(visit, own, [one for one in typed if one], in_words(error), status_of(error))


def _draft(visit: RequestContext, own: Edited) -> HierarchyDraft:
    """The draft of the column: of this server, else made of the hierarchy of the job."""
    if own.key in visit.app.drafts:
        return visit.app.drafts[own.key]
    if len(own.records) > MOST_VALUES:
        raise InputError(
            f"The column has {len(own.records):,} values, more than the {MOST_VALUES:,} that are edited here. Write a "
            "file of the hierarchy with cloister hierarchy build, and name it."
        )

    def made() -> HierarchyDraft:
        bound = own.hierarchy.bind(own.name, [value or None for value in sorted(own.records)])
        if bound.labels[0] != bound.values:
            raise InputError("The hierarchy has open groups at its ends (top or bottom). Use cut points instead.")
        rows = [[label or "" for label in row] for row in zip(*bound.labels, strict=True)]
        if isinstance(own.hierarchy, FileHierarchy):  # its order may be one that somebody chose
            place = {value: place for place, value in enumerate(own.hierarchy.values)}
            rows.sort(key=lambda row: place.get(row[0], len(place)))
        draft = HierarchyDraft.of(rows)
        return draft if draft.n_levels else draft.add_level()

    return visit.app.data.remember(f"draft {own.key}", made)


def _show_groups(visit: RequestContext, own: Edited, problem: str = "", status: int = 200) -> Response:
    draft = _draft(visit, own)
    level = min(max(1, int(visit.say("level")) if visit.say("level").isdecimal() else 1), max(1, draft.n_levels))
    groups = draft.groups(level, own.records) if draft.n_levels else []
    found, more = _found(groups, visit.say("find"))
    shown = {item for group in found for item, _ in group.items}
    selected = visit.exact("item")
    return job_page(
        visit, "hierarchies_edit", status, column=own.name, place=own.place, problem=problem, level=level,
        n_levels=draft.n_levels, groups=groups, found=found, more=more, find=visit.say("find"), spec=own.spec,
        total=sum(own.records.values()), is_numeric=own.histogram is not None, selected=selected,
        unseen=[item for item in selected if item not in shown], label=visit.say("label"), seen=draft.fingerprint,
        smallest=min((group.records for group in groups), default=0), at=visit.say("at"), size=visit.say("size"),
        places={item: n for n, item in enumerate(draft.order(level), 1)} if draft.n_levels else {},
    )  # fmt: skip


def _found(groups: list[DraftGroup], find: str) -> tuple[list[DraftGroup], int]:
    """The groups with the items that a search finds, as many as a page shows; and how many more there are."""
    wanted = find.strip().casefold()
    shown, more = [], 0
    room = MOST_SHOWN
    for group in groups:
        is_named = not wanted or wanted in group.label.casefold()
        items = group.items if is_named else tuple(item for item in group.items if wanted in item[0].casefold())
        if items and room:
            shown.append(DraftGroup(group.label, items[:room]))
        more += max(0, len(items) - room)
        room = max(0, room - len(items))
    return shown, more


def change_groups(visit: RequestContext) -> Response:
    """Change the draft of the groups as a button says, or save it as a new file and use it."""
    own = _edited(visit)
    draft, level = _draft(visit, own), int(visit.say("level")) if visit.say("level").isdecimal() else 1
    act, items, label = visit.say("act"), visit.exact("item"), visit.say("label").strip()
    try:
        if act == "cancel":
            visit.app.drafts.pop(own.key, None)
            return RedirectResponse(visit.to("hierarchies", part=visit.part), 303)
        if act == "enter":
            act = "group" if label and items else "move" if items and visit.say("at") else "show"
        if act == "show":
            return _show_groups(visit, own)
        if visit.say("seen") != draft.fingerprint:
            raise Conflict("The groups were changed in another window, or the data changed. Look at them first.")
        if act == "save":
            return _save(visit, own, draft)
        draft = _change_draft(visit, draft, act, level, items)
    except CloisterError as error:
        return _show_groups(visit, own, in_words(error), status_of(error))
    visit.app.keep_draft(own.key, draft, MOST_DRAFTS)
    more = {"find": visit.say("find")} if visit.say("find") else {}
    return RedirectResponse(
        visit.to("hierarchies/edit", part=visit.part, place=str(own.place), level=str(level), groups="1", **more), 303
    )


def _change_draft(
    visit: RequestContext, draft: HierarchyDraft, act: str, level: int, items: list[str]
) -> HierarchyDraft:
    """The draft after the change that a button makes."""
    place, size = (int(word) if word.isdecimal() and len(word) < 9 else 0 for word in map(visit.say, ("at", "size")))
    changes: Mapping[str, Callable[[], HierarchyDraft]] = {
        "group": lambda: draft.put_together(level, items, visit.say("label").strip()),
        "apart": lambda: draft.take_apart(level, items),
        "move": lambda: draft.move(level, items, place),
        "neighbours": lambda: draft.join_neighbours(level, size),
        "add": draft.add_level,
        "remove": lambda: draft.remove_level(level),
    }
    return changes[act]() if act in changes else draft


def _save(visit: RequestContext, own: Edited, draft: HierarchyDraft) -> Response:
    """Write the draft to a new file next to the job, and use it."""
    if problems := check_rows(draft.rows):
        raise InputError(" ".join(problem.message for problem in problems))
    written = io.StringIO()
    csv.writer(written, delimiter=";", lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(draft.rows)
    spec = write_hierarchy(visit, "edited", written.getvalue().encode())
    used = use_hierarchy(visit, own, spec, draft.n_levels + 1)
    visit.app.drafts.pop(own.key, None)
    return used
