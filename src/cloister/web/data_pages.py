"""Pages on the data of a part: reading settings, and the role of each column."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from starlette.responses import RedirectResponse, Response

from cloister.errors import CloisterError, InputError
from cloister.jobs.job import CLAIMS, FileSource, Job
from cloister.settings.declaration import Given, Keywords, settings_of
from cloister.settings.run_options import RunOptions
from cloister.sources import Form, form_of

from .app import OTHER_STEPS, TABLE_STEPS, RequestContext, status_of
from .data_read import FirstRecords
from .forms import Spec, bind_fields, errors_of, fill_section, in_words, only, specs_of_record, specs_of_shape
from .job_state import Conflict, JobState

ROLES = {
    "": "undecided",
    "quasi-identifier": "quasi-identifier",
    "sensitive": "sensitive",
    "keep": "kept as recorded",
    "drop": "not released",
    "id": "id of the patient",
    "patient": "id, several rows each",
    "codes": "codes, protected too",
}
LISTS = ("sensitive", "keep", "drop")
BULK = {
    "": "stop with an error (default)",
    "drop": "drop",
    "sensitive": "release as recorded (sensitive)",
    "keep": "release as recorded",
    "quasi-identifier": "treat as quasi-identifiers",
}
"""What becomes of the undecided columns of a part, by the word of the setting."""


def reading_specs(shape: str = "table") -> list[Spec]:
    """Return a form field for each reading setting."""
    helps = {one.name: one.help.text.replace(" Repeatable.", "") for one in settings_of(RunOptions) if one.help}
    every = specs_of_record(FileSource, (), {**helps, "id": "Column that identifies patients."})
    hidden = {"file", "url", "query"} | ({"id"} if shape in ("table", CLAIMS) else set())
    return [spec for spec in every if spec.path[0] not in hidden]


def job_page(
    visit: RequestContext, template: str, status: int = 200, *, problem: str = "", **content: object
) -> Response:
    """Return a page about a part of a job: with its steps, the job file and the equivalent command."""
    from .commands import command_of

    state, part = visit.state, visit.part
    shape = state.job.parts[part].shape
    steps = TABLE_STEPS if shape == "table" else OTHER_STEPS
    step = "explore" if template in ("levels", "explored") else template.removesuffix("_edit")
    after = "release" if step == "promise" else next(iter(steps[steps.index(step) + 1 :]), "")
    return visit.shown(
        template, status, state=state, part=part, shape=shape, steps=steps, step=step, problem=problem,
        after=after, parts=list(state.job.parts),
        command=command_of(state, part), **content,
    )  # fmt: skip


def _sources(job: Job, part: str) -> dict[str, Form]:
    """The sources that a part is read from, and in which form each is."""
    own = job.parts[part]
    if own.shape == CLAIMS:
        return {own.keywords["patients"]: "patients", own.keywords["claims"]: "claims"}
    return {own.keywords["source"]: form_of(own.shape)}


def source_of(job: Job, part: str) -> tuple[str, FileSource, Form]:
    """Return the name of the first source of a part, the source, and its form."""
    called, form = next(iter(_sources(job, part).items()))
    return called, job.sources[called], form


def sample_of(
    visit: RequestContext, folder: Path, called: str, source: Keywords, *, values: bool = False
) -> FirstRecords:
    """Return the first records of a file that belongs to no job yet."""
    from cloister.jobs.job_file import job_of

    part = {"shape": "table", "source": called}
    job = job_of({"name": "new", "output": "new", "k": 5, "sources": {called: source}, "protect": [part]}, "the form")
    return visit.app.data.sample(folder, called, job.sources[called], values=values, figures=False)


def read_part(visit: RequestContext, *, values: bool = False) -> FirstRecords:
    """Return figures about the columns of the page's part."""
    called, source, form = source_of(visit.state.job, visit.part)
    return visit.app.data.sample(visit.state.path.parent, called, source, form, values=values)


def seen_or_refuse(visit: RequestContext, stamp: str) -> None:
    """Refuse a form if its file has changed since the form was created."""
    if visit.say("stamp") and visit.say("stamp") != stamp:
        raise Conflict("The data file changed after this page was opened. It was read again: check it, and save again.")


def save_job(visit: RequestContext, content: Keywords, step: str) -> Response:
    """Save a job, and redirect to a page."""
    visit.state.with_content(content).save(visit.say("version"))
    following = visit.say("go") or step
    return RedirectResponse(visit.to(following, part=visit.part), 303)


def data(
    visit: RequestContext, errors: Mapping[str, str] | None = None, problem: str = "", status: int = 200
) -> Response:
    """Show the reading settings, and the data read."""
    job, own, wrong = visit.state.job, visit.state.job.parts[visit.part], dict(errors or {})
    samples, entries, specs = {}, {}, reading_specs(own.shape)
    is_shown, folder = bool(visit.say("values")), visit.state.path.parent
    for called, form in _sources(job, visit.part).items():
        try:
            samples[called] = visit.app.data.sample(folder, called, job.sources[called], form, values=is_shown)
        except CloisterError as error:
            wrong = {**errors_of(error), **wrong}
        section = visit.state.content["sources"][called]
        entries[called] = bind_fields(specs, fill_section(specs, section, visit.form) if visit.form else section, wrong)
    return job_page(
        visit, "data", status, samples=samples, sections=entries, problem=problem or wrong.get("", ""),
        sources=job.sources, values=is_shown,
    )  # fmt: skip


def save_data(visit: RequestContext) -> Response:
    """Save the reading settings if the data can be read with them."""
    state, shape = visit.state, visit.state.job.parts[visit.part].shape
    forms = _sources(state.job, visit.part)
    called = visit.say("source") if visit.say("source") in forms else next(iter(forms))
    section = fill_section(reading_specs(shape), state.content["sources"][called], visit.form)
    content = state.with_section(visit.part, state.section(visit.part), {called: section})
    try:
        changed = state.with_content(content)
        visit.app.data.source(state.path.parent, called, changed.job.sources[called], forms[called])
        return save_job(visit, content, "data")
    except CloisterError as error:
        status = status_of(error)
        return data(visit, errors_of(error), "" if status == 400 else in_words(error), status)


def role_of(state: JobState, part: str, column: str, guess: str) -> str:
    """Return the role of a column in a job, or the suggested role if the job has none."""
    section = state.section(part)
    source = state.content["sources"][section["source"]]
    if column == source.get("id"):
        return "id"
    for key, role in (("patient", "patient"), ("codes", "codes")):
        if column == section.get(key):
            return role
    for key in LISTS:
        if column in section.get(key, []):
            return key
    if column in section.get("qi", {}):
        return "quasi-identifier"
    is_new = not any(section.get(key) for key in ("qi", *LISTS))
    return guess if is_new else ""


def roles(
    visit: RequestContext, errors: Mapping[str, str] | None = None, problem: str = "", status: int = 200
) -> Response:
    """Show every column with its suggested and its chosen role."""
    sample, state = read_part(visit), visit.state
    chosen = [
        visit.say(f"role-{place}")
        if visit.form
        else role_of(state, visit.part, one.name, one.guess.role if one.guess and one.guess.role in ROLES else "")
        for place, one in enumerate(sample.columns)
    ]
    specs = only(specs_of_shape("table"), ("accept",))
    section = fill_section(specs, state.section(visit.part), visit.form) if visit.form else state.section(visit.part)
    undecided = [one for one, role in zip(sample.columns, chosen, strict=True) if not role]
    return job_page(
        visit, "roles", status, sample=sample, chosen=chosen, roles=ROLES, entries=bind_fields(specs, section, errors),
        wrong=errors or {}, problem=problem or sample.problem, together=_together(visit, sample, chosen),
        undecided=undecided, bulk=BULK, bulk_chosen=bulk_of(section),
    )  # fmt: skip


def bulk_of(section: Keywords) -> str:
    """Return the decision on all undecided columns in a section of a job; "" if it has none."""
    return next((word for word in reversed(section.get("undecided", ())) if word in BULK), "")


def decide(visit: RequestContext) -> Response:
    """Save the decision on undecided columns, and go back to the page that asked for it."""
    return save_job(visit, visit.state.with_section(visit.part, _with_bulk(visit)), "release")


def _with_bulk(visit: RequestContext) -> Given:
    section, word = dict(visit.state.section(visit.part)), visit.say("undecided")
    if word not in BULK:
        raise InputError("Undecided columns can be dropped, sensitive, kept or quasi-identifiers.")
    of_columns = [one for one in section.get("undecided", ()) if one not in BULK]
    section["undecided"] = [*of_columns, *([word] if word else [])]
    return {key: value for key, value in section.items() if key != "undecided" or value}


def _together(visit: RequestContext, sample: FirstRecords, chosen: Sequence[str]) -> object:
    columns = [one.name for one, role in zip(sample.columns, chosen, strict=True) if role == "quasi-identifier"]
    called, source, _ = source_of(visit.state.job, visit.part)
    return visit.app.data.together(visit.state.path.parent, called, source, columns)


def together(visit: RequestContext) -> Response:
    """Return how well the selected columns distinguish records."""
    sample = read_part(visit)
    chosen = [visit.say(f"role-{place}") for place in range(len(sample.columns))]
    return visit.shown("together", together=_together(visit, sample, chosen), sample=sample)


def save_roles(visit: RequestContext) -> Response:
    """Save the role of each column."""
    sample, state = read_part(visit), visit.state
    try:
        seen_or_refuse(visit, sample.stamp)
        chosen = {one.name: visit.say(f"role-{place}") for place, one in enumerate(sample.columns)}
        for role in ("id", "patient", "codes"):
            if (several := [column for column, one in chosen.items() if one == role])[1:]:
                raise InputError(f"{len(several)} columns are the {ROLES[role]}. Take one.", column=several[1])
        if strange := {*chosen.values()} - ROLES.keys():
            raise InputError(f"{len(strange)} columns have an unknown role.")
        return save_job(visit, _with_roles(state, visit.part, chosen, sample, visit), "hierarchies")
    except CloisterError as error:
        where = {error.column: in_words(error)} if error.column else {}
        return roles(visit, {**errors_of(error), **where}, in_words(error), status_of(error))


def _with_roles(
    state: JobState, part: str, chosen: Mapping[str, str], sample: FirstRecords, visit: RequestContext
) -> Given:
    """The content of a job with these roles; hierarchies that were chosen stay, others are those that were guessed."""
    section = fill_section(only(specs_of_shape("table"), ("accept",)), _with_bulk(visit), visit.form)
    earlier = section.get("qi", {})
    guessed = {one.name: one.guess.hierarchy for one in sample.columns if one.guess and one.guess.hierarchy}
    by_role = {role: [column for column, one in chosen.items() if one == role] for role in ROLES}
    section["qi"] = {
        column: earlier.get(column) or guessed.get(column) or "suppress" for column in by_role["quasi-identifier"]
    }
    for key in LISTS:
        section[key] = by_role[key]
    for key in ("patient", "codes"):
        section.pop(key, None)
        section |= {key: by_role[key][0]} if by_role[key] else {}
    if not by_role["codes"]:
        for key in ("m", "codes_method", "policy", "max_cluster_size", "merge_classes"):
            section.pop(key, None)
    source = {key: value for key, value in state.content["sources"][section["source"]].items() if key != "id"}
    source |= {"id": by_role["id"][0]} if by_role["id"] else {}
    empty = [key for key in ("qi", *LISTS) if not section[key]]
    section = {key: value for key, value in section.items() if key not in empty}
    return state.with_section(part, section, {section["source"]: source})
