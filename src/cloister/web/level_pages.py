"""Pages that measure any transformation of a table: levels on sliders, their results, neighbours, and the lattice."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from starlette.responses import RedirectResponse, Response

from cloister.errors import InputError
from cloister.report.chart import Placed, Scatter, scatter
from cloister.results import SearchResult
from cloister.search.problem import Candidate, SearchProblem
from cloister.shapes.table.format.options import FULL_DOMAIN

from .app import RequestContext
from .data_pages import job_page, save_job
from .data_read import Measurable, count_between
from .picture_files import picture_file

SHOWN, NEAR, MOST_PINNED = 50, 8, 6
"""Transformations that are listed: the best between the bounds, the best one level away; and those side by side."""

QUICK = 500_000
"""Distinct rows times columns up to which the page waits for what is around its levels."""

AXES = "total generalization", "information loss"


@dataclass(frozen=True)
class Neighbour:
    """A transformation one level away in one column."""

    column: str
    level: int
    found: Candidate
    is_safe: bool


def _read_levels(
    visit: RequestContext, name: str, usual: Sequence[int], low: Sequence[int], high: Sequence[int]
) -> list[int]:
    """A level for each column, as it was typed, or the usual one; none beyond the bounds of its column."""
    found = []
    for place, (least, most) in enumerate(zip(low, high, strict=True)):
        word = visit.say(f"{name}-{place}")
        level = int(word) if word.isdecimal() and len(word) < 6 else usual[place]
        found.append(min(max(level, least), most))
    return found


def _levels(visit: RequestContext, found: Measurable) -> list[int]:
    """The levels that are asked for; else those of the job, or the best."""
    problem = found.table.problem
    fixed = visit.state.section(visit.part).get("levels") or ({} if found.best is None else found.best.levels)
    usual = [int(fixed.get(name, top)) for name, top in zip(problem.names, problem.top, strict=True)]
    linked = _levels_in(visit.say("at"))
    usual = linked if len(linked) == len(usual) else usual
    return _read_levels(visit, "level", usual, problem.lowest.tolist(), problem.top)


def _read_pinned(visit: RequestContext, problem: SearchProblem) -> list[tuple[int, ...]]:
    """The transformations that are pinned, each once; what is none is omitted."""
    found = []
    for word in visit.every("pin"):
        levels = tuple(_levels_in(word))
        if len(levels) == len(problem.names) and all(np.array(levels) <= problem.highest):
            found.append(tuple(np.maximum(levels, problem.lowest).tolist()))
    return list(dict.fromkeys(found))[-MOST_PINNED:]


def _place(visit: RequestContext, chosen: Sequence[int], pins: Sequence[Sequence[int]]) -> str:
    """Return the address of this page with these levels on its sliders and these pinned; bounds stay the same."""
    typed = {**visit.query, **visit.form}
    query: dict[str, str | list[str]] = {"at": _word(chosen)}
    query |= {name: str(typed[name]) for name in typed if name.startswith(("low-", "high-"))}
    query |= {"pin": [_word(one) for one in pins]} if pins else {}
    return visit.to("levels", part=visit.part, **query)


def _word(levels: Sequence[int]) -> str:
    return ".".join(map(str, levels))


def _levels_in(word: str) -> list[int]:
    """The levels in a word of an address."""
    return [int(part) for part in word.split(".") if part.isdecimal() and len(part) < 6]


def _bounds(visit: RequestContext, found: Measurable) -> tuple[list[int], list[int]]:
    """The levels between which transformations are drawn and listed: by default all, or those around the best."""
    problem, around = found.table.problem, found.around_best
    low, high = problem.lowest.tolist(), problem.top
    return _read_levels(visit, "low", around[0], low, high), _read_levels(visit, "high", around[1], low, high)


def _measure_levels(
    visit: RequestContext, problem: SearchProblem, levels: Sequence[int], best: SearchResult | None
) -> dict[str, object]:
    """What levels give, and how they differ from those of the job, or from the best found."""
    found = visit.app.data.measure(problem, levels)
    fixed = visit.state.section(visit.part).get("levels")
    known = fixed or ({} if best is None else best.levels)
    changes = [
        (name, known[name], level)
        for name, level in zip(problem.names, levels, strict=True)
        if known.get(name, level) != level
    ]
    return {
        "changes": changes, "whose": "the levels of the job" if fixed else "the best levels found",
        "found": found, "is_safe": problem.is_safe(found), "limit": problem.limit,
        "records": problem.task.threshold.n_records, "losses": list(zip(problem.names, found.losses, strict=False)),
    }  # fmt: skip


def _around(visit: RequestContext, problem: SearchProblem, levels: Sequence[int]) -> list[Neighbour]:
    """What the transformations one level away give, the best first."""
    around = []
    for place, name in enumerate(problem.names):
        for level in (levels[place] - 1, levels[place] + 1):
            if problem.lowest[place] <= level <= problem.highest[place]:
                one = visit.app.data.measure(problem, [*levels[:place], level, *levels[place + 1 :]])
                around.append(Neighbour(name, level, one, problem.is_safe(one)))
    around.sort(key=lambda one: (not one.is_safe, one.found.loss))
    return around[:NEAR]


def lattice_picture(problem: SearchProblem, lattice: Sequence[Candidate], chosen: Sequence[int]) -> Scatter | None:
    """Return each transformation by its generalization and loss; safe ones and the chosen one last, and so on top."""
    rows = [
        Placed(
            ", ".join(map(str, one.levels)), sum(one.levels), one.loss, problem.is_safe(one),
            list(one.levels) == list(chosen), f"{one.suppressed:,} suppressed",
        )
        for one in lattice
    ]  # fmt: skip
    rows.sort(key=lambda row: (row.recommended, row.on_frontier))
    return scatter(rows, *AXES, is_named=False) if rows else None


def picture(visit: RequestContext) -> Response:
    """Return the drawing of the lattice as a file, or its transformations as CSV."""
    found = visit.app.data.measurable(visit.state, visit.part)
    problem = found.table.problem
    lattice = visit.app.data.between(found, *_bounds(visit, found)) or ()
    drawn = lattice_picture(problem, lattice, _levels(visit, found))
    if drawn is None:
        raise InputError("There is nothing to draw between these bounds.")
    table: list[list[object]] = [[*problem.names, AXES[0], AXES[1], "suppressed", "satisfies the privacy models"]]
    table += [[*one.levels, sum(one.levels), one.loss, one.suppressed, problem.is_safe(one)] for one in lattice]
    return picture_file(visit, "levels", "Combinations of levels", drawn, table)


def levels(visit: RequestContext) -> Response:
    """Show a slider for each quasi-identifier, what the levels give, those pinned, and all between some bounds."""
    found = visit.app.data.measurable(visit.state, visit.part)
    problem, chosen, bounds = found.table.problem, _levels(visit, found), _bounds(visit, found)
    pins = _read_pinned(visit, problem)
    is_quick = problem.task.rows.records.size * len(problem.names) <= QUICK
    lattice = visit.app.data.between(found, *bounds)
    safe = sorted((one for one in lattice or () if problem.is_safe(one)), key=lambda one: (one.loss, one.tie_break))
    listed = [
        (one, _place(visit, one.levels, pins), _place(visit, chosen, [*pins, one.levels])) for one in safe[:SHOWN]
    ]
    side = []
    for pin in pins:
        one, without = visit.app.data.measure(problem, pin), [other for other in pins if other != pin]
        side.append((one, problem.is_safe(one), _place(visit, pin, pins), _place(visit, chosen, without)))
    rows = zip(problem.names, problem.lowest.tolist(), problem.top, chosen, *bounds, strict=True)
    return job_page(
        visit, "levels", rows=list(rows), lattice=problem.lattice, best=found.best, names=problem.names,
        drawn=lattice_picture(problem, lattice or (), chosen), here=_place(visit, chosen, pins), listed=listed,
        links={", ".join(map(str, one.levels)): _place(visit, one.levels, pins) for one in lattice or ()},
        n_safe=len(safe),
        n_between=count_between(*bounds), most=found.most, is_whole=lattice is not None,
        pins=[_word(pin) for pin in pins], side=side,
        measured=_measure_levels(visit, problem, chosen, found.best),
        around=_around(visit, problem, chosen) if is_quick else None,
    )  # fmt: skip


def measure(visit: RequestContext) -> Response:
    """Return the results of the levels while they move; their neighbours follow once the sliders rest."""
    found = visit.app.data.measurable(visit.state, visit.part)
    measured = _measure_levels(visit, found.table.problem, _levels(visit, found), found.best)
    return visit.shown("measured", measured=measured, around=None)


def around(visit: RequestContext) -> Response:
    """Return the results of the transformations one level away."""
    found = visit.app.data.measurable(visit.state, visit.part)
    return visit.shown("around", around=_around(visit, found.table.problem, _levels(visit, found)))


def fix_levels(visit: RequestContext) -> Response:
    """Fix these levels: every release of the job uses them from now on."""
    state, found = visit.state, visit.app.data.measurable(visit.state, visit.part)
    problem, chosen = found.table.problem, _levels(visit, found)
    if visit.say("measure") or visit.say("keep"):
        pins = _read_pinned(visit, problem)
        return RedirectResponse(_place(visit, chosen, [*pins, chosen] if visit.say("keep") else pins), 303)
    fixed = problem.by_name(chosen)
    section = {**state.section(visit.part), "levels": fixed, "method": FULL_DOMAIN}
    for key in ("search", "store", "time_limit", "levels_from", "merge_classes"):
        section.pop(key, None)
    return save_job(visit, state.with_section(visit.part, section), "release")
