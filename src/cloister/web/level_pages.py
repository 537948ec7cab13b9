"""Any transformation of a table, measured at once: levels on sliders, what they give, their neighbours, the lattice."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from cloister.search.problem import Candidate, SearchProblem
from cloister.tabular.options import FULL_DOMAIN

from .app import Visit
from .data_pages import job_page, saved
from .data_read import Measurable

SHOWN, NEAR = 20, 8
"""Transformations that are listed: the best of all, and the best one level away."""

QUICK = 500_000
"""Distinct rows times columns up to which the page waits for what is around its levels."""

WIDE, HIGH, EDGE = 640, 260, 24


@dataclass(frozen=True)
class Neighbour:
    """A transformation one level away in one column."""

    column: str
    level: int
    found: Candidate
    is_safe: bool


@dataclass(frozen=True)
class Node:
    """A transformation in the drawing: how general it is to the right, what it loses upwards."""

    x: float
    y: float
    kind: str


def _levels(visit: Visit, found: Measurable) -> list[int]:
    """The levels that are asked for, each between the bounds of its column; else those of the job, or the best."""
    problem, levels = found.table.problem, []
    fixed = visit.state.section(visit.part).get("levels") or ({} if found.best is None else found.best.levels)
    for place, (low, high) in enumerate(zip(problem.lowest.tolist(), problem.highest.tolist(), strict=True)):
        typed = visit.say(f"level-{place}")
        level = int(typed) if typed.isdigit() and len(typed) < 6 else int(fixed.get(problem.names[place], high))
        levels.append(min(max(level, low), high))
    return levels


def _measured(visit: Visit, problem: SearchProblem, levels: Sequence[int]) -> dict[str, object]:
    """What levels give."""
    found = visit.app.data.measured(problem, levels)
    return {
        "found": found, "is_safe": problem.is_safe(found), "limit": problem.limit,
        "records": problem.task.threshold.n_records, "losses": list(zip(problem.names, found.losses, strict=False)),
    }  # fmt: skip


def _around(visit: Visit, problem: SearchProblem, levels: Sequence[int]) -> list[Neighbour]:
    """What the transformations one level away give, the best first."""
    around = []
    for place, name in enumerate(problem.names):
        for level in (levels[place] - 1, levels[place] + 1):
            if problem.lowest[place] <= level <= problem.highest[place]:
                one = visit.app.data.measured(problem, [*levels[:place], level, *levels[place + 1 :]])
                around.append(Neighbour(name, level, one, problem.is_safe(one)))
    around.sort(key=lambda one: (not one.is_safe, one.found.loss))
    return around[:NEAR]


def _drawn(found: Measurable, chosen: Sequence[int]) -> list[Node]:
    """Where each transformation of the lattice stands; the chosen one last, and so on top."""
    ranks = [sum(one.levels) for one in found.lattice]
    low, wide = min(ranks, default=0), max(1, max(ranks, default=0) - min(ranks, default=0))
    dots = []
    for rank, one in zip(ranks, found.lattice, strict=True):
        kind = "safe" if found.table.problem.is_safe(one) else "unsafe"
        kind = "chosen" if list(one.levels) == list(chosen) else kind
        x, y = EDGE + (WIDE - 2 * EDGE) * (rank - low) / wide, EDGE + (HIGH - 2 * EDGE) * (1 - one.loss)
        dots.append(Node(round(x, 1), round(y, 1), kind))
    return sorted(dots, key=lambda dot: dot.kind == "chosen")


def levels(visit: Visit) -> Response:
    """Show a slider for each quasi-identifier, and what the levels give."""
    found = visit.app.data.measurable(visit.state, visit.part)
    problem, chosen = found.table.problem, _levels(visit, found)
    bounds = zip(problem.names, problem.lowest.tolist(), problem.highest.tolist(), chosen, strict=True)
    is_quick = problem.task.rows.records.size * len(problem.names) <= QUICK
    safe = sorted((one for one in found.lattice if problem.is_safe(one)), key=lambda one: (one.loss, one.tie_break))
    return job_page(
        visit, "levels", rows=list(bounds), lattice=problem.lattice, best=found.best, names=problem.names,
        dots=_drawn(found, chosen), wide=WIDE, high=HIGH, safe=safe[:SHOWN], n_safe=len(safe),
        measured=_measured(visit, problem, chosen), around=_around(visit, problem, chosen) if is_quick else None,
    )  # fmt: skip


def measure(visit: Visit) -> Response:
    """Return what the levels give, as they are moved; those around them follow once they rest."""
    found = visit.app.data.measurable(visit.state, visit.part)
    return visit.shown("measured", measured=_measured(visit, found.table.problem, _levels(visit, found)), around=None)


def around(visit: Visit) -> Response:
    """Return what the transformations one level away give."""
    found = visit.app.data.measurable(visit.state, visit.part)
    return visit.shown("around", around=_around(visit, found.table.problem, _levels(visit, found)))


def fix_levels(visit: Visit) -> Response:
    """Take these levels: every release of the job has them from now on."""
    if visit.say("measure"):
        return levels(visit)
    state, found = visit.state, visit.app.data.measurable(visit.state, visit.part)
    fixed = found.table.problem.by_name(_levels(visit, found))
    section = {**state.section(visit.part), "levels": fixed, "method": FULL_DOMAIN}
    for key in ("search", "store", "time_limit", "levels_from", "merge_classes"):
        section.pop(key, None)
    return saved(visit, state.with_section(visit.part, section), "release")
