"""Pages that show the progress of a task, and stop it."""

from dataclasses import replace

from starlette.responses import RedirectResponse, Response

from cloister.errors import InputError

from .app import RequestContext
from .work import Work


def _work(visit: RequestContext) -> Work:
    found = visit.app.works.get(visit.say("key"))
    if found is None:
        raise InputError("This work is not known any more. Go back to the start.")
    return found


def _of_this_moment(work: Work) -> Work:
    """Return a copy: work that ends while its page is written would leave no way on."""
    return replace(work, figures={**work.figures}, notes=[*work.notes])


def work(visit: RequestContext) -> Response:
    """Show the progress of a task; redirect once it is done."""
    one = _of_this_moment(_work(visit))
    if one.code == 0 and one.then:
        return RedirectResponse(one.then, 303)
    return visit.shown("work", work=one)


def state(visit: RequestContext) -> Response:
    """Return the changing part of the page; once the task is done, the address to continue at."""
    one = _of_this_moment(_work(visit))
    shown = visit.shown("work_state", work=one)
    if one.code == 0 and one.then:
        shown.headers["HX-Redirect"] = one.then
    return shown


def cancel(visit: RequestContext) -> Response:
    """Stop the task."""
    one = _work(visit)
    one.cancel()
    return visit.working(one)
