"""Any transformation of a table, measured at once: levels on sliders, what they give, and their neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from cloister.search.problem import Candidate
from cloister.tabular.data import EncodedTable
from cloister.tabular.options import FULL_DOMAIN

from .app import Visit
from .data_pages import job_page, saved

MOST_DRAWN = 2_000
"""Transformations of the largest lattice that is drawn whole."""


@dataclass(frozen=True)
class Neighbour:
    """A transformation one level away in one column."""

    column: str
    level: int
    found: Candidate
    is_safe: bool


def _levels(visit: Visit, table: EncodedTable) -> list[int]:
    """The levels that the form says, each between the bounds of its column; in the order of the problem."""
    problem, levels = table.problem, []
    fixed = visit.state.section(visit.part).get("levels", {})
    for place, (low, high) in enumerate(zip(problem.lowest.tolist(), problem.highest.tolist(), strict=True)):
        typed = visit.say(f"level-{place}")
        level = int(typed) if typed.isdigit() and len(typed) < 6 else int(fixed.get(problem.names[place], low))
        levels.append(min(max(level, low), high))
    return levels


def _measured(visit: Visit, table: EncodedTable, levels: Sequence[int]) -> dict[str, object]:
    problem, data = table.problem, visit.app.data
    found = data.measured(table, levels)
    around = []
    for place, name in enumerate(problem.names):
        for step in (-1, 1):
            level = levels[place] + step
            if problem.lowest[place] <= level <= problem.highest[place]:
                one = data.measured(table, [*levels[:place], level, *levels[place + 1 :]])
                around.append(Neighbour(name, level, one, problem.is_safe(one)))
    around.sort(key=lambda one: (not one.is_safe, one.found.loss))
    return {
        "problem_of": problem, "found": found, "is_safe": problem.is_safe(found), "around": around[:8],
        "records": problem.task.threshold.n_records, "losses": list(zip(problem.names, found.losses, strict=False)),
    }  # fmt: skip


def levels(visit: Visit) -> Response:
    """Show a slider for each quasi-identifier, and what the levels give."""
    table = visit.app.data.encoded(visit.state, visit.part)
    chosen = _levels(visit, table)
    rows = [
        (name, int(low), int(high), level)
        for name, low, high, level in zip(
            table.problem.names, table.problem.lowest, table.problem.highest, chosen, strict=True
        )
    ]
    return job_page(visit, "levels", rows=rows, **_measured(visit, table, chosen))


def measure(visit: Visit) -> Response:
    """Return what the levels give, as they are moved."""
    table = visit.app.data.encoded(visit.state, visit.part)
    return visit.shown("measured", **_measured(visit, table, _levels(visit, table)))


def fix_levels(visit: Visit) -> Response:
    """Take these levels: every release of the job has them from now on."""
    if visit.say("measure"):
        return levels(visit)
    state = visit.state
    table = visit.app.data.encoded(state, visit.part)
    section = {
        **state.section(visit.part),
        "levels": table.problem.by_name(_levels(visit, table)),
        "method": FULL_DOMAIN,
    }
    for key in ("search", "time_limit", "levels_from"):
        section.pop(key, None)
    return saved(visit, state.with_section(visit.part, section), "release")
