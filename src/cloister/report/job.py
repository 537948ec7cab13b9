"""The report of a job: one page on all of its parts."""

from collections.abc import Mapping

from cloister.results import Manifest

from .page import environment

TEMPLATE = "job.html"


def render_job(name: str, manifests: Mapping[str, Manifest]) -> str:
    """Return the HTML page of a job.

    Parameters
    ----------
    name : of the job
    manifests : of the parts, by name
    """
    page: str = environment().get_template(TEMPLATE).render(name=name, parts=manifests)
    return page
