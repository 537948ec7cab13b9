"""What a release is to promise: k by its purpose, rules by what is feared, and everything else that may be set."""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from starlette.responses import Response

from cloister.errors import CloisterError
from cloister.jobs.job import CLAIMS
from cloister.pipeline.table_shape import PreparedTable
from cloister.privacy import PrivacyRule
from cloister.privacy.parse import RULES
from cloister.settings import Given

from .app import Visit
from .data_pages import job_page, saved, source_of
from .forms import Spec, asked, errors_of, filled, grouped, in_words, specs_of_shape
from .job_state import Conflict

ELSEWHERE = ("qi", "drop", "sensitive", "keep", "patient", "default_role", "accept", "hierarchies", "missing_as")
"""Settings of a table that other pages ask for."""

FIRST = {
    "table": ("k", "suppression", "purpose", "target", "loss", "weight", "rules"),
    "codes": ("k", "m", "method", "policy", "privacy", "codes", "code"),
    "trajectories": ("k", "method", "code", "age", "date", "anchor", "age_unit", "code_hierarchy", "age_hierarchy"),
    CLAIMS: ("plan.risk", "plan.adversary", "plan.patients", "plan.claims"),
}
"""Settings that stand first, by shape; all others follow under a heading of their own."""

UNDER = {
    **dict.fromkeys(("purpose", "target", "loss", "weight"), "What is kept best"),
    "rules": "What else must not be found out",
}
"""Headings of settings of a table."""

PURPOSES = (
    (5, "researchers under contract, in a secured room", "a risk of at most 0.20"),
    (11, "a register of users, by the usual reading of the European Medicines Agency", "a risk of at most 0.091"),
    (12, "the same, with a risk of 0.09 met exactly", "a risk of at most 0.084"),
    (20, "anybody", "a risk of at most 0.05"),
)
"""k, to whom a release goes, and the highest risk then; see docs/how-to/choose-k.md."""

FEARS = (
    ("l-diversity:{}=2", "somebody is sure of the {} of a patient whose record they cannot find"),
    ("t-closeness:{}=0.2", "somebody learns much about the {} of a patient from the group alone"),
)
AT_ALL = (
    ("average-risk=0.05", "records are linked at random: how often that is right on average"),
    ("sample-uniqueness=0.01", "many records are unique in the release"),
)
NOT_PROMISED = re.compile(r"Not promised: (.+?)\.(?: Cost:|\s+Cost:|$)", re.DOTALL)


@dataclass(frozen=True)
class Promised:
    """What a part is about to promise, in words; what it does not; and why it cannot be said."""

    sentences: Sequence[str] = ()
    not_promised: Sequence[str] = ()
    asked: Sequence[tuple[str, str]] = ()
    problem: str = ""


def _specs(visit: Visit) -> list[Spec]:
    shape = visit.state.job.parts[visit.part].shape
    columns = list(visit.state.section(visit.part).get("qi", {}))
    if shape != "table":
        return specs_of_shape(shape)
    every = (spec for spec in specs_of_shape(shape, columns) if spec.path[0] not in ELSEWHERE)
    return [replace(spec, group=UNDER.get(spec.key, "")) for spec in every]


def _section(visit: Visit, specs: Sequence[Spec]) -> Given:
    """The section with what the form says; k of the whole job stands in it as well."""
    section = visit.state.section(visit.part)
    if "k" not in section and "k" in visit.state.content:
        section["k"] = visit.state.content["k"]
    if not visit.form:
        return section
    section = filled(specs, section, visit.form)
    rules = [*section.get("rules", []), *(str(rule) for rule in visit.form.getlist("fear"))]
    if rules:
        section["rules"] = list(dict.fromkeys(rules))
    return section


def _promised(visit: Visit, section: Given) -> tuple[Promised, dict[str, str]]:
    """What is about to be promised, and what is wrong, by key."""
    shape = visit.state.job.parts[visit.part].shape
    try:
        changed = visit.state.changed(visit.state.with_section(visit.part, section))
        prepared = visit.app.data.prepared(changed, visit.part)
        rows = prepared.request_in_words()
        if not isinstance(prepared, PreparedTable):
            return Promised(asked=rows), {}
        rules = prepared.request.rules
        return Promised([rule.sentence() for rule in rules], _not_promised(rules), rows), {}
    except CloisterError as error:
        return Promised(problem=in_words(error, shape)), errors_of(error, shape)


def _not_promised(rules: Sequence[PrivacyRule]) -> list[str]:
    """What rules do not promise, as each of them says of itself."""
    found = (NOT_PROMISED.search(" ".join((inspect.getdoc(type(rule)) or "").split())) for rule in rules)
    return list(dict.fromkeys(one[1].replace("``", "").replace("*", "") for one in found if one))


def promise(visit: Visit, errors: Mapping[str, str] | None = None, problem: str = "", status: int = 200) -> Response:
    """Show what is asked, and what that promises."""
    specs = _specs(visit)
    section, shape = _section(visit, specs), visit.state.job.parts[visit.part].shape
    told, wrong = _promised(visit, section)
    entries = asked(specs, section, errors if errors is not None else wrong)
    first = [one for one in entries if _place(one.spec.key, shape) >= 0]
    first.sort(key=lambda one: _place(one.spec.key, shape))
    rest = [one for one in entries if _place(one.spec.key, shape) < 0]
    sensitive = [str(column) for column in section.get("sensitive", [])] if shape == "table" else []
    rules = section.get("rules", [])
    fears = [(rule.format(column), fear.format(column)) for column in sensitive[:8] for rule, fear in FEARS]
    fears = [(rule, fear) for rule, fear in (*fears, *(AT_ALL if shape == "table" else ())) if rule not in rules]
    called, source, form = source_of(visit.state.job, visit.part)
    try:
        columns = visit.app.data.source(visit.state.path.parent, called, source, form).frame.columns
    except CloisterError:
        columns = []
    return job_page(
        visit, "promise", status, promised=told, problem=problem, purposes=PURPOSES, fears=fears, columns=columns,
        first=grouped(first), rest=grouped(rest), opened=any(one.error for one in rest),
        known=[rule.usage for rule in RULES.values()] if shape == "table" else [],
    )  # fmt: skip


def _place(key: str, shape: str) -> int:
    """Where a setting stands among the first ones; -1 if it is none of them."""
    return next((n for n, one in enumerate(FIRST.get(shape, ())) if f"{key}.".startswith(f"{one}.")), -1)


def sentence(visit: Visit) -> Response:
    """Return what would be promised, as typed."""
    told, _ = _promised(visit, _section(visit, _specs(visit)))
    return visit.shown("promised", promised=told)


def save_promise(visit: Visit) -> Response:
    """Save what is asked, if the library takes it; what other pages ask for may still be missing."""
    specs, shape = _specs(visit), visit.state.job.parts[visit.part].shape
    section = _section(visit, specs)
    try:
        _, wrong = _promised(visit, section)
        here = {key: text for key, text in wrong.items() if any(f"{key}.".startswith(f"{spec.key}.") for spec in specs)}
        if here:
            return promise(visit, here, "", 400)
        return saved(visit, visit.state.with_section(visit.part, section), "release")
    except CloisterError as error:
        return promise(
            visit, errors_of(error, shape), in_words(error, shape), 409 if isinstance(error, Conflict) else 400
        )
