"""Pages on the guarantee of a release: k by recipient, rules by feared disclosure, and all other settings."""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from starlette.responses import Response

from cloister.errors import CloisterError
from cloister.jobs.job import CLAIMS
from cloister.pipeline.tables import TableInMemory
from cloister.privacy.parse import RULES
from cloister.report.sentences import RESISTING
from cloister.results import Promise
from cloister.settings.declaration import Given

from .app import RequestContext, status_of
from .data_pages import job_page, save_job, source_of
from .forms import Spec, bind_fields, errors_of, fill_section, group_fields, in_words, specs_of_shape

ELSEWHERE = ("qi", "drop", "sensitive", "keep", "patient", "undecided", "accept", "hierarchies", "missing_as")
"""Settings of a table that other pages ask for."""

OF_COLUMNS = [("plan", table, key) for table in ("patients", "claims") for key in ("roles", "qi", "derived")]
"""Settings of claims that the page of columns asks for."""

FIRST = {
    "table": ("k", "suppression", "purpose", "target", "loss", "weight", "rule"),
    "codes": ("k", "m", "method", "policy", "privacy", "codes", "code"),
    "trajectories": ("k", "method", "code", "age", "date", "anchor", "age_unit", "code_hierarchy", "age_hierarchy"),
    CLAIMS: ("plan.risk", "plan.adversary", "plan.patients", "plan.claims"),
}
"""Settings that stand first, by shape; all others follow under a heading of their own."""

UNDER = {**dict.fromkeys(("purpose", "target", "loss", "weight"), "Priorities"), "rule": "Additional privacy models"}
"""Headings of settings of a table."""

PURPOSES = (
    (5, "researchers under contract in a secure environment", "a risk of at most 0.20"),
    (11, "registered users (threshold of the European Medicines Agency, rounded)", "a risk of at most 0.091"),
    (12, "registered users (exactly at most 0.09)", "a risk of at most 0.084"),
    (20, "anybody", "a risk of at most 0.05"),
)
"""k, to whom a release goes, and the highest risk then; see docs/how-to/choose-k.md."""

FEARS = (
    ("l-diversity:{}=2", "Someone learns the {} of a patient because all records of the group have the same value."),
    ("t-closeness:{}=0.2", "The distribution of {} in a group differs much from that of all records."),
)
AT_ALL = (
    ("average-risk=0.05", "Limit the average re-identification risk of all records."),
    ("sample-uniqueness=0.01", "Limit the share of unique records."),
)
OTHER_COLUMNS = "The guarantee does not cover someone who knows a column that is not a quasi-identifier"
NOT_PROMISED = re.compile(r"\*Guarantee\*.+?\. Not promised: (.+?)\.(?: Cost:| [A-Z]|$)")
"""What a rule does not promise, in its own documentation."""


@dataclass(frozen=True)
class Promised:
    """The guarantee of a part in words, its limits, and the problem if it cannot be determined."""

    promise: Promise = field(default_factory=Promise)
    asked: Sequence[tuple[str, str]] = ()
    problem: str = ""


def _specs(visit: RequestContext) -> list[Spec]:
    shape = visit.state.job.parts[visit.part].shape
    columns = list(visit.state.section(visit.part).get("qi", {}))
    if shape != "table":
        return [spec for spec in specs_of_shape(shape) if spec.path not in OF_COLUMNS]
    every = (spec for spec in specs_of_shape(shape, columns) if spec.path[0] not in ELSEWHERE)
    return [replace(spec, group=UNDER.get(spec.key, "")) for spec in every]


def _section(visit: RequestContext, specs: Sequence[Spec]) -> Given:
    """The section with what the form says; k of the whole job is in it as well."""
    section = visit.state.section(visit.part)
    if visit.state.job.parts[visit.part].shape != CLAIMS and "k" not in section and "k" in visit.state.content:
        section["k"] = visit.state.content["k"]
    if not visit.form:
        return section
    section = fill_section(specs, section, visit.form)
    rules = [*section.get("rule", []), *(str(rule) for rule in visit.form.getlist("fear"))]
    if rules:
        section["rule"] = list(dict.fromkeys(rules))
    return section


def _describe_promise(visit: RequestContext, section: Given) -> tuple[Promised, dict[str, str]]:
    """What is about to be promised, and what is wrong, by key."""
    try:
        changed = visit.state.with_content(visit.state.with_section(visit.part, section))
        prepared = visit.app.data.prepared(changed, visit.part)
        rows = prepared.summary
        if not isinstance(prepared, TableInMemory):
            return Promised(prepared.promise, rows), {}
        rules = prepared.request.rules
        texts = [" ".join((inspect.getdoc(type(rule)) or "").split()) for rule in rules]
        limits = [
            f"Not guaranteed: {found[1].replace('`', '')}" for one in texts if (found := NOT_PROMISED.search(one))
        ]
        resisting = [RESISTING] if prepared.request.resist_downcoding else []
        guarantee = [*(rule.sentence() for rule in rules), *resisting, *prepared.promise.guarantee]
        limits = [*dict.fromkeys(limits), *prepared.promise.limits, OTHER_COLUMNS]
        return Promised(Promise(guarantee, limits), rows), {}
    except CloisterError as error:
        return Promised(problem=in_words(error)), errors_of(error)


def promise(
    visit: RequestContext, errors: Mapping[str, str] | None = None, problem: str = "", status: int = 200
) -> Response:
    """Show the requested settings, and the resulting guarantee."""
    specs = _specs(visit)
    section, shape = _section(visit, specs), visit.state.job.parts[visit.part].shape
    promised, wrong = _describe_promise(visit, section)
    entries = bind_fields(specs, section, errors if errors is not None else wrong)
    first = [one for one in entries if _place(one.spec.key, shape) >= 0]
    first.sort(key=lambda one: _place(one.spec.key, shape))
    rest = [one for one in entries if _place(one.spec.key, shape) < 0]
    sensitive = [str(column) for column in section.get("sensitive", [])] if shape == "table" else []
    rules = section.get("rule", [])
    fears = [(rule.format(column), fear.format(column)) for column in sensitive[:8] for rule, fear in FEARS]
    fears = [(rule, fear) for rule, fear in (*fears, *(AT_ALL if shape == "table" else ())) if rule not in rules]
    called, source, form = source_of(visit.state.job, visit.part)
    try:
        columns = visit.app.data.source(visit.state.path.parent, called, source, form).frame.columns
    except CloisterError:
        columns = []
    return job_page(
        visit, "promise", status, promised=promised, problem=problem, purposes=PURPOSES, fears=fears, columns=columns,
        first=group_fields(first), rest=group_fields(rest), opened=any(one.error for one in rest),
        known=[rule.usage for rule in RULES.values()] if shape == "table" else [],
    )  # fmt: skip


def _place(key: str, shape: str) -> int:
    """Return the position of a setting among the first ones; -1 if it is not one of them."""
    return next((n for n, one in enumerate(FIRST.get(shape, ())) if f"{key}.".startswith(f"{one}.")), -1)


def sentence(visit: RequestContext) -> Response:
    """Return the guarantee of the typed settings in words."""
    promised, _ = _describe_promise(visit, _section(visit, _specs(visit)))
    return visit.shown("promised", promised=promised)


def save_promise(visit: RequestContext) -> Response:
    """Save the settings if the library accepts them; settings of other pages may still be missing."""
    specs = _specs(visit)
    section = _section(visit, specs)
    try:
        wrong = _wrong(visit, section)
        if wrong and (key := _culprit(visit, specs, section, wrong)):
            return promise(visit, {key: in_words(wrong)}, "", 400)
        return save_job(visit, visit.state.with_section(visit.part, section), "release")
    except CloisterError as error:
        status = status_of(error)
        return promise(visit, errors_of(error), in_words(error), status)


def _wrong(visit: RequestContext, section: Given) -> CloisterError | None:
    """What the library says against a section, as far as that is known without protecting."""
    try:
        changed = visit.state.with_content(visit.state.with_section(visit.part, section))
        visit.app.data.check(changed, visit.part)
    except CloisterError as error:
        return error
    return None


def _culprit(visit: RequestContext, specs: Sequence[Spec], section: Given, wrong: CloisterError) -> str:
    """The key that an error is about: the one that it names, or the change without which there is none."""
    earlier = visit.state.section(visit.part)
    named = next(iter(errors_of(wrong)))
    if any(f"{named}.".startswith(f"{spec.key}.") for spec in specs):
        return named
    for key in (key for key in section if section[key] != earlier.get(key)):
        without = {name: value for name, value in section.items() if name != key}
        again = _wrong(visit, without | ({key: earlier[key]} if key in earlier else {}))
        if again is None or again.message != wrong.message:
            return key
    return ""
