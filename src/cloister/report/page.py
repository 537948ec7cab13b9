"""The report of a release: one self-contained page, readable without scripts or network."""

from functools import cache
from importlib.resources import files
from typing import Any

from cloister.results import Manifest

from .scatter import scatter

TABLE, CODES, GENERALIZED = "report.html", "codes.html", "generalized_codes.html"
TRAJECTORIES, CLAIMS = "trajectories.html", "claims.html"
ENDING = ".j2"


@cache
def environment() -> Any:
    """Return what fills the templates in."""
    from jinja2 import DictLoader, Environment, StrictUndefined  # only a release needs it, not every command

    templates = [file for file in files("cloister.report").iterdir() if file.name.endswith(ENDING)]
    environment = Environment(
        loader=DictLoader({file.name.removesuffix(ENDING): file.read_text(encoding="utf-8") for file in templates}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    environment.filters["percent"] = _percent
    environment.filters["scatter"] = scatter
    return environment


def _number(value: object) -> str:
    """Whole numbers with thousands apart, others to six digits; what is kept back as it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def render_report(manifest: Manifest) -> str:
    """Return the HTML page of a manifest.

    Parameters
    ----------
    manifest : of a table, of code sets, of trajectories or of claims; the hashes of the files need not be there yet
    """
    page: str = environment().get_template(_template(manifest)).render(m=manifest)
    return page


def _template(manifest: Manifest) -> str:
    if manifest["shape"] == "trajectories":
        return TRAJECTORIES
    if manifest["shape"] == "claims":
        return CLAIMS
    if manifest["shape"] != "codes":
        return TABLE
    return CODES if manifest["method"] == "disassociation" else GENERALIZED
