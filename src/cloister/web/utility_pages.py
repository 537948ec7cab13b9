"""The utility of a released table, for its custodian."""

from functools import partial

import numpy as np
from starlette.responses import Response

from cloister.recipients.utility_comparison import ComparedTable, Conditions, compare_with_original

from .app import RequestContext
from .check_pages import verdict_of
from .data_pages import job_page

PAIRED = 8
"""Records of the original that are shown with one of the release, evenly spaced."""

FAR = (0.05, 0.2, 0.5)
"""How far off a count is: shares of what it was before."""


def is_released(visit: RequestContext) -> bool:
    """Whether the job of the page has a release in the folder of the application."""
    out = visit.state.path.parent / visit.state.job.output
    return (out / visit.part).is_dir() and out.resolve().is_relative_to(visit.app.folder.path)


def compare_release(visit: RequestContext) -> tuple[ComparedTable | None, str]:
    """Return the table of the page with its verified release; None, and why, if there is none."""
    if not is_released(visit):
        return None, ""
    out = visit.state.path.parent / visit.state.job.output
    found, folder = verdict_of(visit, out), out / visit.part
    if found.failures:
        return None, found.failures[0]
    return visit.app.data.compare(visit.state, visit.part, folder, partial(compare_with_original, folder)), ""


def utility(visit: RequestContext) -> Response:
    """Show the remaining information about the protected columns in a release of the job."""
    compared, problem = compare_release(visit)
    if compared is None:
        return job_page(visit, "utility", compared=None, problem=problem)
    names = list(compared.asked)
    chosen = [name for name in (visit.say("a"), visit.say("b")) if name in compared.asked]
    one, other = chosen if len(set(chosen)) == 2 else (names * 2)[:2]
    target, height = visit.say("target"), compared.original.height
    places = range(0, height, 1 + (height - 1) // PAIRED) if visit.say("records") else ()
    return job_page(
        visit, "utility", compared=compared, one=one, other=other,
        rows=_together(compared.asked[one], compared.asked[other]),
        across=compared.asked[other].names, columns=[(name, asked.rows()) for name, asked in compared.asked.items()],
        pairs=[compared.pair(place) for place in places],
        target=target, model=compared.model(target) if target in compared.targets else None,
    )  # fmt: skip


def _together(one: Conditions, other: Conditions) -> list[tuple[str, list[tuple[float, float, int]]]]:
    """Of each condition of a column its name, and by those of another the shares before and after, and how far off."""
    before, after = one.together(other)
    off = np.abs(after - before) / np.maximum(before, 0.5 / max(1, one.place.size))
    far = np.searchsorted(FAR, off, side="left")
    return [
        (name, list(zip(*pairs, strict=True)))
        for name, *pairs in zip(one.names, before.tolist(), after.tolist(), far.tolist(), strict=True)
    ]
