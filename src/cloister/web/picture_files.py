"""Pictures of pages as files: SVG with its own style, and CSV of what it shows; a browser makes PNG from the SVG."""

import csv
import io
import re
from collections.abc import Sequence

from starlette.responses import Response

from cloister.report.chart import Parallel, Scatter

from .app import RequestContext, templates


def file_name(title: str) -> str:
    """Return the name of the file of a picture, without its ending, from the first words of its title."""
    return re.sub(r"[^a-z0-9]+", "-", re.split("[;,]", title.lower())[0]).strip("-")


def picture_file(
    visit: RequestContext, name: str, title: str, picture: Scatter | Parallel, table: Sequence[Sequence[object]]
) -> Response:
    """Return a picture as SVG, or the table that it shows as CSV where the address asks for that."""
    if visit.say("kind") == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(table)
        content, kind, ending = text.getvalue(), "text/csv; charset=utf-8", "csv"
    else:
        content = templates().get_template("picture_file.html").render(name=name, title=title, picture=picture)
        kind, ending = "image/svg+xml", "svg"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}
    return Response(content, media_type=kind, headers=headers)
