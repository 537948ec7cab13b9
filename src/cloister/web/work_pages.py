"""How far some work is, and stopping it."""

from starlette.responses import RedirectResponse, Response

from cloister.errors import InputError

from .app import RequestContext
from .work import Work


def _work(visit: RequestContext) -> Work:
    found = visit.app.works.get(visit.say("key"))
    if found is None:
        raise InputError("This work is not known any more. Go back to the start.")
    return found


def work(visit: RequestContext) -> Response:
    """Show how far it is; once it is done, go on."""
    one = _work(visit)
    if one.code == 0 and one.then:
        return RedirectResponse(one.then, 303)
    return visit.shown("work", work=one)


def state(visit: RequestContext) -> Response:
    """Return the part of the page that changes; once it is done, say where to go on."""
    one = _work(visit)
    shown = visit.shown("work_state", work=one)
    if one.code == 0 and one.then:
        shown.headers["HX-Redirect"] = one.then
    return shown


def cancel(visit: RequestContext) -> Response:
    """Stop it."""
    one = _work(visit)
    one.cancel()
    return visit.working(one)
