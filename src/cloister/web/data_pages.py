"""The page on the data of a part: how its files are read, and what their columns hold."""

from collections.abc import Mapping
from pathlib import Path

from starlette.responses import RedirectResponse, Response

from cloister.errors import CloisterError
from cloister.jobs.job import CLAIMS, FileSource, Job
from cloister.settings.declaration import Keywords, settings_of
from cloister.settings.run_options import RunOptions
from cloister.sources import Form, form_of

from .app import OTHER_STEPS, STEPS, RequestContext, status_of
from .data_read import FirstRecords
from .forms import Spec, bind_fields, errors_of, fill_section, in_words, specs_of_record
from .job_state import Conflict


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
    steps = STEPS.get(shape, OTHER_STEPS)
    step = "explore" if template in ("levels", "explored") else template.removeprefix("plan_").partition("_")[0]
    after = "release" if step == "promise" else next(iter(steps[steps.index(step) + 1 :]), "")
    return visit.shown(
        template, status, state=state, part=part, shape=shape, steps=steps, step=step, problem=problem,
        after=after, parts=list(state.job.parts),
        command=command_of(state, part), **content,
    )  # fmt: skip


def sources_of(job: Job, part: str) -> dict[str, Form]:
    """Return the sources that a part is read from, each with its form."""
    own = job.parts[part]
    if own.shape == CLAIMS:
        return {own.keywords["patients"]: "patients", own.keywords["claims"]: "claims"}
    return {own.keywords["source"]: form_of(own.shape)}


def source_of(job: Job, part: str) -> tuple[str, FileSource, Form]:
    """Return the name of the first source of a part, the source, and its form."""
    called, form = next(iter(sources_of(job, part).items()))
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


def suggest_hierarchy(visit: RequestContext, column: str) -> str:
    """Return the hierarchy that name and content of a column suggest, else its content alone."""
    guess = next((one.guess for one in read_part(visit).columns if one.name == column), None)
    if guess is not None and guess.hierarchy:
        return guess.hierarchy
    called, source, _ = source_of(visit.state.job, visit.part)
    return visit.app.data.propose(visit.state.path.parent, called, source, column)


def seen_or_refuse(visit: RequestContext, stamp: str, field: str = "stamp") -> None:
    """Refuse a form if its file has changed since the form was created."""
    if visit.say(field) and visit.say(field) != stamp:
        raise Conflict("The data file changed after this page was opened. It was read again: check it, and save again.")


def read_places(visit: RequestContext, prefix: str = "") -> dict[str, str]:
    """Return the place of each column in the form, by name; ``prefix``: of the fields of one of several files."""
    start = f"{prefix}name-"
    return {name: key.removeprefix(start) for key in visit.form if key.startswith(start) for name in visit.exact(key)}


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
    for called, form in sources_of(job, visit.part).items():
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
    forms = sources_of(state.job, visit.part)
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
