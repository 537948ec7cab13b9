"""The report of a release: one self-contained page, readable without scripts or network."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from cloister.results import Manifest

from .chart import class_size_chart, in_order
from .claim_steps import worded_steps
from .scatter import scatter
from .sentences import assumed_words, guarantee_sentences, one_row_words

TABLE, CODES, GENERALIZED = "report.html", "codes.html", "generalized_codes.html"
TRAJECTORIES, CLAIMS = "trajectories.html", "claims.html"
PAGE = "page.html"
ENDING = ".j2"


@cache
def environment() -> Any:
    """Return the templates, ready to be rendered."""
    from jinja2 import DictLoader, Environment, StrictUndefined  # only a release needs it, not every command

    templates = [file for file in files("cloister.report").iterdir() if file.name.endswith(ENDING)]
    environment = Environment(
        loader=DictLoader({file.name.removesuffix(ENDING): file.read_text(encoding="utf-8") for file in templates}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": _number,
        "percent": _percent,
        "flat": lambda settings: list(_flat(settings, "")),
        "chart": class_size_chart,
        "in_order": in_order,
        "scatter": scatter,
        "sentences": guarantee_sentences,
        "one_row": one_row_words,
        "worded_steps": worded_steps,
        "assumed": assumed_words,
    }
    return environment


def _number(value: object) -> str:
    """Whole numbers with thousands apart, others to six digits; what is kept back as it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _flat(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Names and values of settings, one a line; lists of plain values on one line."""
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from _flat(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and any(isinstance(part, Mapping | list | tuple) for part in value):
        for number, part in enumerate(value, start=1):
            yield from _flat(part, f"{name}.{number}")
    elif isinstance(value, list | tuple):
        yield name, ", ".join(map(_word, value)) or "none"
    else:
        yield name, _word(value)


def _word(value: object) -> str:
    if value is None or (isinstance(value, Mapping) and not value):
        return "none"
    return ("yes" if value else "no") if isinstance(value, bool) else _number(value)


def render_report(
    manifest: Manifest, figures: Mapping[str, Any] | None = None, exact: Mapping[str, Any] | None = None
) -> str:
    """Return the HTML page of a manifest.

    Parameters
    ----------
    manifest : of a table, of code sets, of trajectories or of claims; the hashes of the files need not be there yet
    figures : class sizes, labels and signs of identifiers, as ``report.json`` has them; left out where there are none
    exact : figures for the custodian alone; their page must not be part of a release
    """
    title = f"Release report: {manifest['settings']['source']}"
    sections = rendered_sections(manifest, figures, exact)
    page: str = environment().get_template(PAGE).render(title=title, sections=sections, x=exact)
    return page


def rendered_sections(
    manifest: Manifest,
    figures: Mapping[str, Any] | None,
    exact: Mapping[str, Any] | None = None,
    *,
    level: int = 2,
    prefix: str = "",
) -> Any:
    """Return the nine sections of a manifest, ready to be put into a page.

    Parameters
    ----------
    figures, exact : as of `render_report`
    level : of their headings
    prefix : of their anchors; none where they are the whole of a page, which is then signed at their end
    """
    from markupsafe import Markup  # comes with the templates; what these rendered is escaped

    template = environment().get_template(_template(manifest))
    return Markup(template.render(m=manifest, f=figures or {}, x=exact, n=level, at=prefix))  # noqa: S704


def _template(manifest: Manifest) -> str:
    if manifest["shape"] == "trajectories":
        return TRAJECTORIES
    if manifest["shape"] == "claims":
        return CLAIMS
    if manifest["shape"] != "codes":
        return TABLE
    return CODES if manifest["method"] == "disassociation" else GENERALIZED
