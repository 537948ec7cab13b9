"""Pages on the complete job: review it, try it, and release."""

from collections.abc import Mapping
from contextlib import suppress

from starlette.responses import RedirectResponse, Response

from cloister.errors import CloisterError, InputError
from cloister.jobs.job import Written
from cloister.pipeline.tables import TableInMemory
from cloister.shapes.protocol import Rows

from .app import RequestContext, RunFindings, address, status_of
from .check_pages import key_of
from .column_pages import BULK
from .data_pages import job_page, save_job
from .forms import Spec, bind_fields, errors_of, fill_section, in_words, specs_of_record
from .job_state import Conflict, load_job, undo, without_part
from .work import Work

HELPS = {
    "name": "Title of the release in its report.",
    "output": "Folder for the release, in the folder of the job.",
    "attack": "Simulate attacks before the release is saved: adversaries of growing knowledge try to find patients.",
    "k": "Default k of all parts.",
    "seed": "Seed of random numbers. Protection does not depend on it.",
    "threads": "Number of threads (default: all cores). The result does not depend on it.",
}


def _specs() -> list[Spec]:
    return [spec for spec in specs_of_record(Written, (), HELPS) if spec.path[0] not in ("sources", "protect", "link")]


def release(
    visit: RequestContext, errors: Mapping[str, str] | None = None, problem: str = "", status: int = 200
) -> Response:
    """Show the complete job, and describe its run."""
    state, specs = visit.state, _specs()
    asked_for: Rows = ()
    undecided: dict[str, str] = {}
    section = fill_section(specs, state.content, visit.form) if visit.form else state.content
    try:
        prepared = visit.app.data.prepared(state, visit.part)
        asked_for = visit.app.data.announce(state, visit.part, prepared)
        if isinstance(prepared, TableInMemory):
            undecided = prepared.undecided
    except CloisterError as error:
        problem = problem or in_words(error)
    out = state.path.parent / state.job.output
    there = visit.app.folder.place(out) if out.exists() and out.is_relative_to(visit.app.folder.path) else ""
    return job_page(
        visit,
        "release",
        status,
        entries=bind_fields(specs, section, errors),
        asked_for=asked_for,
        there=there,
        problem=problem,
        undecided=undecided,
        bulk=BULK,
    )


def save_release(visit: RequestContext) -> Response:
    """Save the settings of the complete job."""
    try:
        return save_job(visit, fill_section(_specs(), visit.state.content, visit.form), "release")
    except CloisterError as error:
        return release(visit, errors_of(error), in_words(error), status_of(error))


def run(visit: RequestContext) -> Response:
    """Try or run the job in a separate process."""
    state = visit.state
    if visit.say("version") != state.version:
        raise Conflict(
            f"{state.path.name} was changed after this page was opened. Nothing was started: look at it first."
        )
    visit.app.data.confine(state.job, state.path.parent)
    words = ["run", state.path.name, "--json"]
    out = state.path.parent / state.job.output
    if not out.resolve().is_relative_to(visit.app.folder.path):
        raise InputError(
            f"The release would be outside this folder. Give another name for output in {state.path.name}."
        )
    back = visit.to("release", part=visit.part)
    if visit.say("dry"):
        work = visit.app.works.start(
            [*words, "--dry-run"], state.path.parent, what=f"Trying {state.path.name}", then="", back=back
        )
        return visit.working(work)
    words += ["--overwrite"] if visit.say("overwrite") else []
    if visit.say("custodian"):
        words += ["--custodian-dir", visit.app.folder.inside(visit.say("custodian")).name]
    then = address("check", release=visit.app.folder.place(out), job=visit.say("job"))

    def sizes(part: str) -> tuple[str, Mapping[str, int]] | None:
        with suppress(CloisterError, OSError):  # the run itself reports what cannot be read
            return visit.app.data.class_sizes(state, part)
        return None

    original = {part: found for part in state.job.parts if (found := sizes(part)) is not None}

    def keep_findings(work: Work) -> None:
        # of parts whose file is as it was when the run began
        before = {part: found[1] for part, found in original.items() if found == sizes(part)}
        notes, risks = work.answer.get("notes", []), work.answer.get("risks", {})
        visit.app.runs[key_of(out)] = RunFindings([*map(str, notes)], before, risks)

    what = f"Protecting {state.job.name}"
    return visit.working(
        visit.app.works.start(words, state.path.parent, what=what, then=then, back=back, after=keep_findings)
    )


def go_back(visit: RequestContext) -> Response:
    """Undo the last change of the job."""
    undo(visit.state.path, visit.say("version"))
    step = visit.say("step") if visit.say("step").isalpha() else "release"
    is_there = visit.say("part") in load_job(visit.state.path).job.parts
    return RedirectResponse(visit.to(step) if is_there else address("release", job=visit.say("job")), 303)


def remove_part(visit: RequestContext) -> Response:
    """Remove a part from the job; *Undo* restores it."""
    state = visit.state
    state.with_content(without_part(state, visit.part)).save(visit.say("version"))
    return RedirectResponse(address("release", job=visit.say("job")), 303)


def download(visit: RequestContext) -> Response:
    """Return the job as a file."""
    name = visit.state.path.name.encode("ascii", "replace").decode().replace('"', "'")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(visit.state.text, media_type="text/plain; charset=utf-8", headers=headers)
