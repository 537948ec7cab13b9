"""The HTML reports of a release, a job and an exploration: one page each, without scripts or network access."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from cloister.errors import MOST_NAMED, name_few
from cloister.io import write_private
from cloister.kernels.private_cache import cache_folder
from cloister.release.folder import json_bytes, report_json
from cloister.release.head import FIGURES, README, REPORT, Section
from cloister.release.manifest import AnyManifest
from cloister.results import Figures
from cloister.shapes.registry import FORMS

from .chart import Scatter, class_size_chart, in_order, risk_curve, risk_rows
from .release_warnings import warnings_of
from .sentences import (
    accepted_words,
    columns_of,
    guarantee_sentences,
    of_codes,
    of_table,
    promise_of,
    recorded_codes,
    resisting_words,
)
from .verdict_card import labels_overlap, lost_columns, rank_recorded_columns

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment
    from markupsafe import Markup

    from cloister.shapes.claims.format.data import Step
    from cloister.shapes.claims.format.manifest import ClaimsManifest, Sensitivity

PAGE, JOB, READ_ME, CLAIMS_WORDS = "page.html", "job.html", "readme", "claims_words.txt"
ENDING = ".j2"
FRAME = "width:100%;border:1px solid #ccc"
EXPONENTIAL = 1e15  # from here on numbers are written with an exponent
ROLES_OF_KIND = {"diagnosis": ("diagnosis", "diagnoses"), "procedure": ("procedure", "procedures"), "place": ("place",)}
"""Roles of the columns of claims in which codes of each kind are looked for."""


def _template_cache() -> "BytecodeCache | None":
    """Return the cache of compiled templates; None without a cache folder."""
    from jinja2 import FileSystemBytecodeCache

    folder = cache_folder("templates", Path(__file__).parent)
    return None if folder is None else FileSystemBytecodeCache(str(folder), "page-%s.cache")


@cache
def environment() -> "Environment":
    """Return the environment of templates."""
    from jinja2 import (  # only a release needs it, not every command
        DictLoader,
        Environment,
        StrictUndefined,
        select_autoescape,
    )

    templates = [file for file in files("cloister.report").iterdir() if file.name.endswith(ENDING)]
    environment = Environment(
        loader=DictLoader({file.name.removesuffix(ENDING): file.read_text(encoding="utf-8") for file in templates}),
        autoescape=select_autoescape(disabled_extensions=("txt",), default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_template_cache(),
    )
    environment.filters |= {
        "number": _number,
        "percent": lambda share: f"{100 * share:.2f} %",
        "flat": lambda figures: list(_flat(figures, "")),
        "settings": _settings,
        "chart": class_size_chart,
        "risk_curve": risk_curve,
        "risk_rows": risk_rows,
        "in_order": in_order,
        "recorded": rank_recorded_columns,
        "lost": lost_columns,
        "overlaps": labels_overlap,
        "name_few": name_few,
        # neither the string of CSS nor its page can be ended by what it contains
        "css_text": lambda text: "".join(
            one if one.isascii() and one.isalnum() else f"\\{ord(one):x} " for one in text
        ),
        "sentences": guarantee_sentences,
        "promise": promise_of,
        "resisting": resisting_words,
        "table_promise": of_table,
        "codes_promise": of_codes,
        "worded_steps": worded_steps,
        "assumed": assumed_words,
        "accepted_words": accepted_words,
        "quoted": repr,
        "share": _share,
        "columns_of": columns_of,
        "recorded_codes": recorded_codes,
    }
    environment.globals["most_named"] = MOST_NAMED
    return environment


def _number(value: object) -> str:
    """Return integers with thousands separators, other numbers with four digits, and masked counts unchanged."""
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000 <= abs(value) < EXPONENTIAL else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _share(one: Mapping[str, float] | None) -> str:
    """Return a share in percent, with the margin of sampling error."""
    if one is None:
        return "-"
    wide = 100 * max(one["value"] - one["low"], one["high"] - one["value"])
    return f"{100 * one['value']:.1f}±{wide:.1f}%" if one["low"] != one["high"] else f"{one['value']:.1%}"


def _settings(settings: Section) -> list[tuple[str, str]]:
    """Return settings, one per line: the source first, the delimiter last, as it is known only after writing."""
    facts = settings.as_json()
    written = {"delimiter": facts.pop("delimiter")} if "delimiter" in facts else {}
    return list(_flat({"source": facts["source"]} | facts | written, ""))


def _flat(value: object, name: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of settings, one per line; lists of plain values share a line."""
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
    if isinstance(value, float):
        return f"{value:.6g}"
    return ("yes" if value else "no") if isinstance(value, bool) else _number(value)


def worded_steps(manifest: "ClaimsManifest") -> list[tuple["Step", str]]:
    """Return the steps of a release of claims, each with a sentence about its effect."""
    roles = {role: column for column, role in manifest.settings.plan.claims.roles.items()}  # of several, the last
    (kinds,) = [step.looked_for for step in manifest.steps if step.looked_for is not None]
    there = [kind for kind in kinds if any(role in roles for role in ROLES_OF_KIND[kind])]
    words = vars(environment().get_template(CLAIMS_WORDS).module)
    return [(step, words["done"](step.step, manifest, roles, kinds, there).strip()) for step in manifest.steps]


def assumed_words(adversary: str, sensitivity: "Sensitivity") -> str:
    """Return the assumed knowledge of an adversary of claims, in a sentence or two."""
    row = next((row for row in sensitivity.attacks if row.adversary == adversary), None)
    words = vars(environment().get_template(CLAIMS_WORDS).module)
    return str(words["assumed"](adversary, sensitivity.voter_list, row)).strip()


@dataclass(frozen=True, repr=False)
class ReportPage:
    """A report as one page: shown as such by a notebook, and written to a file by `write`."""

    html: str
    title: str = "Release report"
    height: str = "44rem"  # in a notebook

    def __repr__(self) -> str:
        """Return what it is, as the page itself is for a browser."""
        return f"ReportPage of {len(self.html):,} characters; write(file) saves it"

    def _repr_html_(self) -> str:
        """Return the page as a notebook shows it."""
        return self.in_frame()

    def in_frame(self) -> str:
        """Return a frame with the page, so that its styles change nothing around it, and no script could run."""
        style = f"{FRAME};height:{self.height}"
        return f'<iframe sandbox srcdoc="{escape(self.html)}" title="{escape(self.title)}" style="{style}"></iframe>'

    def write(self, file: str | Path) -> None:
        """Write the page to a new file that its owner alone can read."""
        write_private(Path(file), self.html.encode())


def foot_of(title: str, *manifests: AnyManifest) -> str:
    """Return the line at the foot of each printed page: title, hash of the first data file of each part, and date."""
    hashes = [
        f"{name} {digest.removeprefix('sha256:')[:12]}"
        for one in manifests
        for name, digest in [*one.files.items()][:1]
    ]
    return " \u00b7 ".join([title, *hashes, manifests[0].created[:10]])


def render_report(
    manifest: AnyManifest, figures: Figures | None = None, exact: Mapping[str, object] | None = None
) -> str:
    """Return the HTML report of a release.

    ``figures``: class sizes, labels and signs of identifiers, as ``report.json`` has them; omitted where there are
       none
    ``exact``: figures for the custodian only; their page must not be part of a release
    """
    warnings = warnings_of(manifest, figures or {})
    title, sections = f"Release report: {manifest.settings.source}", _sections(manifest, figures, exact, warnings)
    foot = foot_of(title, manifest)
    return environment().get_template(PAGE).render(title=title, sections=sections, x=exact, foot=foot)


def report_files(manifest: AnyManifest, figures: Figures, exact: Figures | None = None) -> dict[str, bytes]:
    """Return the HTML report, its figures and the README of a release, by file name.

    ``figures, exact``: see `render_report`; the custodian's has no page of plain text
    """
    warnings = warnings_of(manifest, figures)
    shown = {"figures": figures} | ({} if exact is None else {"exact": exact})
    return {
        REPORT: render_report(manifest, figures, exact).encode(),
        FIGURES: json_bytes(report_json(manifest, warnings, shown)),
        **({README: render_readme(manifest)} if exact is None else {}),
    }


def render_readme(manifest: Section) -> bytes:
    """Return the README of a release or job: the contents of its folder, and how to read them."""
    form: str | None = getattr(manifest, "form", None)
    words = READ_ME if form is None else FORMS[form].words
    return (environment().get_template(f"{words}.txt").render(m=manifest, base=READ_ME) + "\n").encode()


def _sections(
    manifest: AnyManifest,
    figures: Mapping[str, object] | None,
    exact: Mapping[str, object] | None = None,
    warnings: Sequence[str] = (),
    *,
    level: int = 2,
    prefix: str = "",
    part: str | None = None,
) -> "Markup":
    """Return the seven sections and the annex of the report of a release, in HTML.

    ``part``: return the row of this part in the table of all parts instead, with the blocks of the first section
    """
    from markupsafe import Markup  # comes with the templates; what these rendered is escaped

    template = environment().get_template(FORMS[manifest.form].page)
    shown = {"m": manifest, "f": figures or {}, "x": exact, "n": level, "at": prefix, "warnings": warnings}
    return Markup(template.render(**shown, as_row=part is not None, part=part))  # noqa: S704


def render_job(
    job: Section,
    name: str,
    parts: Mapping[str, tuple[AnyManifest, Figures]],
    warnings: Sequence[str],
    *,
    promised: Sequence[str],
    not_promised: Sequence[str],
) -> str:
    """Return the HTML report of a job, with the warnings of all parts on top.

    ``parts``: by name the manifest of each part, and its figures
    ``promised, not_promised``: of all parts together, in sentences
    """
    anchors = {name: f"part-{name}" for name in parts}
    is_one = len(parts) == 1  # whose report is that of the job
    sections = {
        name: _sections(
            *part,
            warnings=warnings if is_one else (),
            level=2 if is_one else 3,
            prefix="" if is_one else f"{anchors[name]}-",
        )
        for name, part in parts.items()
    }
    rows = [_sections(*one, level=3, prefix=f"{anchors[part]}-", part=part) for part, one in parts.items()]
    return (
        environment()
        .get_template(JOB)
        .render(
            j=job,
            parts=sections,
            rows=rows,
            anchors=anchors,
            title=f"Release report: {name}",
            foot=foot_of(f"Release report: {name}", *(manifest for manifest, _ in parts.values())),
            n=2,
            x=None,
            warnings=warnings,
            promised=promised,
            not_promised=not_promised,
        )
    )


def render_exploration(facts: Figures) -> str:
    """Return the HTML report of an exploration: its record, settings in words, and pictures by title."""
    return environment().get_template("exploration.html").render(e=facts)


def render_facts(rows: Sequence[tuple[str, str]], sizes: Figures) -> str:
    """Return the HTML page of the facts of a release: rows of a name and a text, and class sizes."""
    return environment().get_template("facts.html").render(rows=rows, sizes=sizes)


def render_comparison(
    facts: Mapping[str, object], rows: Sequence[tuple[str, Sequence[str]]], picture: Scatter | None
) -> str:
    """Return the HTML page that compares releases."""
    return environment().get_template("comparison.html").render(c={**facts, "picture": picture, "rows": rows})
