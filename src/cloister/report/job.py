"""The report of a job: one page on all of its parts."""

from collections.abc import Mapping
from typing import Any

from cloister.results import Manifest

from .page import environment, rendered_sections

TEMPLATE = "job.html"


def render_job(manifest: Manifest, parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the HTML page of a job.

    Parameters
    ----------
    parts : by name what ``report.json`` of each part has: its manifest as ``release``, its ``figures``
    """
    anchors = {name: f"part-{name}" for name in parts}
    sections = {
        name: rendered_sections(part["release"], part["figures"], level=3, prefix=f"{anchors[name]}-")
        for name, part in parts.items()
    }
    title = f"Release report: {manifest['name']}"
    template = environment().get_template(TEMPLATE)
    page: str = template.render(j=manifest, parts=sections, anchors=anchors, title=title, n=2, x=None)
    return page
