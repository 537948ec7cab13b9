"""The first page, and the page that creates a job from a file."""

import secrets
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response

from .app import OTHER_STEPS, STEPS, RequestContext, address
from .folder import Contents
from .glossary import sections

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cloister.settings.declaration import Given

    from .forms import BoundField
    from .work import Work

SHAPES = {
    "table": "One row per patient: age, sex, ZIP code and so on, with a diagnosis or other results.",
    "codes": "One set of codes per patient, for example all diagnoses, without times.",
    "trajectories": "Codes with the age or the date at which each was recorded.",
    "claims": "Two files: patients, and any number of claims per patient.",
}
NAMED = {"codes": ("id", "codes", "code"), "trajectories": ("id", "code", "age", "date")}
"""Columns that the first job of a shape can be given by name; without, they are detected."""

PROFILES = {
    "": "a single table",
    "omop": "OMOP common data model",
    "fhir": "FHIR, as NDJSON",
    "synthea": "Synthea, as CSV",
    "synpuf": "CMS SynPUF",
}


def start(visit: RequestContext) -> Response:
    """Show the content of the folder, or the check page if a release was opened."""
    if visit.app.release is not None:
        return RedirectResponse(address("check", release=visit.app.release), 303)
    found = visit.app.folder.look()
    return visit.shown("start", found=found, works=visit.app.works.running)


def glossary(visit: RequestContext) -> Response:
    """Show every term of the glossary with its meaning."""
    return visit.shown("glossary", sections=sections())


def choose(visit: RequestContext) -> Response:
    """Show the possible sources of a part that is added to a job."""
    folder = visit.app.folder.existing(visit.say("into")).parent
    return visit.shown("choose", into=visit.say("into"), files=_list_files(visit.app.folder.look(), folder, visit))


def _list_files(found: Contents, folder: Path, visit: RequestContext) -> list[str]:
    return [place for place, _ in found.data if (visit.app.folder.path / place).parent == folder]


def new(visit: RequestContext, problem: str = "", status: int = 200) -> Response:
    """Show a file to protect, and the shapes that it can be read as."""
    from cloister.errors import CloisterError
    from cloister.jobs.first_jobs import guess_shape

    from .data_pages import reading_specs, sample_of
    from .forms import bind_fields, errors_of, fill_section, in_words

    place, found = visit.say("file"), visit.app.folder.look()
    path, specs, wrong = visit.app.folder.existing(place), reading_specs(), {}
    usual = {".zip": "omop", ".ndjson": "fhir"}.get(PurePath(place.lower().removesuffix(".gz")).suffix, "")
    profile = visit.say("profile") or ("" if visit.form else usual)
    source = fill_section(specs, {"file": f"{profile}:{path.name}" if profile else path.name}, visit.form)
    sample = None
    if not profile:
        try:
            sample = sample_of(visit, path.parent, "data", source, values=bool(visit.say("values")))
        except CloisterError as error:
            wrong, problem, status = errors_of(error), problem or in_words(error), 400
    columns = [] if sample is None else [column.name for column in sample.columns]
    shape = visit.say("shape") or guess_shape(columns)
    others = [one for one in _list_files(found, path.parent, visit) if one != place]
    named_so = (one for one in others if "claim" in PurePath(one).name.casefold())
    return visit.shown(
        "new", status, file=place, sample=sample, shapes=SHAPES, profiles=PROFILES, profile=profile,
        others=others, claims=visit.say("claims") or next(named_so, ""),
        shape=shape, problem=problem, reading=bind_fields(specs, source, wrong), columns=columns,
        named=_named(visit), is_named=visit.say("shape") in NAMED,
        into=visit.say("into"), jobs=[one for one in found.jobs if Path(one).parent == Path(place).parent],
    )  # fmt: skip


def _named(visit: RequestContext) -> "list[BoundField]":
    """The fields for columns that are named."""
    from .data_pages import reading_specs
    from .forms import BoundField, only, specs_of_shape

    fields = {one.key: one for shape, names in NAMED.items() for one in only(specs_of_shape(shape), names)}
    return [BoundField(one, visit.say(one.name)) for one in (*only(reading_specs("codes"), ("id",)), *fields.values())]


def _words_of_named(visit: RequestContext, shape: str) -> list[str]:
    """The options of ``cloister init`` for the columns that are named, which do not contradict each other."""
    from cloister.errors import InputError
    from cloister.jobs.guessing_codes import NamedColumns

    named = {one.spec.key: one.text.strip() for one in _named(visit) if one.text.strip()}
    if strange := [name for name in named if name not in NAMED.get(shape, ())]:
        raise InputError(f"{strange[0].capitalize()} is not read of {shape}. Leave it empty.")
    NamedColumns(**named).check_roles()
    return [word for name, column in named.items() for word in (f"--{name}", column)]


def database(visit: RequestContext, problem: str = "", status: int = 200) -> Response:
    """Show the form for a database and its query."""
    shapes = {word: text for word, text in SHAPES.items() if word != "claims"}
    return visit.shown(
        "database", status, shapes=shapes, shape=visit.say("shape") or "table", problem=problem, named=_named(visit),
        is_named=visit.say("shape") in NAMED, columns=(),
    )  # fmt: skip


def make_of_database(visit: RequestContext) -> Response:
    """Create a first job from a database query, next to the job that it will be a part of, or in the folder itself."""
    from cloister.errors import InputError
    from cloister.io import write_private
    from cloister.io.query import Query
    from cloister.jobs.first_jobs import name_of

    from .data_read import confine_address
    from .forms import in_words

    shape, top = visit.say("shape"), visit.app.folder.path
    folder = visit.app.folder.existing(visit.say("into")).parent if visit.say("into") else top
    if shape not in SHAPES or shape == "claims":
        return database(visit, "Choose what the query returns.", 400)
    try:
        query = Query(visit.say("url").strip(), visit.say("query").strip(), "the database")
        confine_address(query.url, folder, top)
        named = _words_of_named(visit, shape)
    except InputError as error:
        return database(visit, in_words(error), 400)
    target = _free(folder / name_of(visit.say("name") or shape))
    # A query may hold values of patients: it is no argument of a process, nor of the page that shows the command.
    text = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.sql")
    write_private(text, query.query.encode())
    back = address("new/database", into=visit.say("into"))
    return _first(visit, [*named, "--query", text.name, "--", query.url], target, shape, back, passing=[text])


def make(visit: RequestContext) -> Response:
    """Create a first job from a file by ``cloister init``; an empty job without suggestions on request."""
    from cloister.errors import InputError
    from cloister.settings.declaration import command_words
    from cloister.settings.run_options import RunOptions

    from .data_pages import reading_specs
    from .forms import fill_section, in_words

    if visit.say("look"):
        return new(visit)
    path, shape = visit.app.folder.existing(visit.say("file")), visit.say("shape")
    if shape not in SHAPES:
        return new(visit, "Say what the file holds.", 400)
    if shape == "claims" and not visit.say("claims"):
        return new(visit, "Claims are in two files. Choose the file with the claims.", 400)
    second = visit.app.folder.existing(visit.say("claims")) if shape == "claims" else None
    into = visit.app.folder.existing(visit.say("into")) if visit.say("into") else None
    if any(one is not None and one.parent != path.parent for one in (second, into)):
        raise InputError("The job and all its files must be in one folder. Move one of them.")
    try:
        named = _words_of_named(visit, shape)
    except InputError as error:
        return new(visit, in_words(error), 400)
    called = f"{visit.say('profile')}:{path.name}" if visit.say("profile") else path.name
    target = _free(path)
    if visit.say("empty") and into is not None:
        return new(visit, "A new part starts with suggested settings. Choose them, and change them later.", 400)
    if visit.say("empty") and shape != "claims":
        return _start_job(visit, target, shape, called)
    source = fill_section(reading_specs(), {}, visit.form)
    words = [*named, *command_words(RunOptions, source), "--", called]
    back = address("new", file=visit.say("file"), into=visit.say("into"))
    if second is None:
        return _first(visit, words, target, shape, back)
    files = {"file": called, **source}, {"file": second.name, **source}
    return _first(visit, [*words, second.name], target, shape, back, files)


def _first(
    visit: RequestContext,
    words: "Sequence[str]",
    target: Path,
    shape: str,
    back: str,
    files: "Sequence[Given]" = (),
    passing: "Sequence[Path]" = (),
) -> Response:
    """Have ``cloister init`` guess, and go to the pages of the job, or of the part that was added to one.

    ``files``: of claims, of which it writes a plan
    """
    from .job_state import release_to

    into = visit.app.folder.existing(visit.say("into")) if visit.say("into") else None
    own = secrets.token_hex(4)
    made = target if into is None else target.with_name(f".{target.stem}.{own}.part.toml")
    out = target.with_name(f".{target.stem}.{own}.plan.toml") if files else made
    step = STEPS.get(shape, OTHER_STEPS)[1]

    def after(work: "Work") -> None:
        if files:
            _of_claims(made, out, target.stem, *files)
        elif into is None:
            release_to(target, f"{target.stem}-release", target.stem if passing else "")
        if shape == "table":
            work.doing = "looking at the columns"
            _look(visit, made)
        if into is not None:
            work.then = address(step, job=visit.app.folder.place(into), part=_add_part(into, made))

    work = visit.app.works.start(
        ["init", shape, "--out", out.name, "--json", *words], target.parent, what=f"Looking at {target.stem}",
        then=address(step, job=visit.app.folder.place(target)), back=back, after=after,
        passing=(*passing, *(path for path in {made, out} if path != target)), form=visit.form,
    )  # fmt: skip
    return visit.working(work)


def _add_part(into: Path, made: Path) -> str:
    """Add the part of a job to another one, whatever another window does to that meanwhile; return its name."""
    from .job_state import Conflict, add_part, load_job

    while True:
        state = load_job(into)
        content, part = add_part(state, load_job(made))
        try:
            state.with_content(content).save(state.version)
        except Conflict:
            continue
        return part


def _look(visit: RequestContext, job: Path) -> None:
    """Look at the columns once, for the page that follows."""
    from .data_pages import source_of
    from .job_state import load_job

    made = load_job(job).job
    called, source, form = source_of(made, next(iter(made.parts)))
    visit.app.data.sample(job.parent, called, source, form)


def _free(path: Path) -> Path:
    """A name for the job of a file that nothing has yet, neither it nor its release."""
    from cloister.jobs.first_jobs import name_of

    usual = path.with_name(f"{name_of(path.name)}.toml")
    names = [usual, *(usual.with_stem(f"{usual.stem}-{number}") for number in range(2, 1000))]
    return next(one for one in names if not one.exists() and not one.with_name(f"{one.stem}-release").exists())


def _start_job(visit: RequestContext, target: Path, shape: str, called: str) -> Response:
    """A job without guesses: every column that is not named, and every code, is still to be decided."""
    from cloister.io.codes import FIRST

    from .data_pages import reading_specs
    from .forms import fill_section, only, specs_of_shape
    from .job_state import new_job

    name = target.stem
    source = {"file": called, **fill_section(reading_specs(shape), {}, visit.form)}
    named = fill_section(only(specs_of_shape(shape), NAMED.get(shape, ())), {}, visit.form)
    named |= {"anchor": FIRST} if "date" in named else {}  # until the reference date is named
    part: Given = {"shape": shape, "source": name, **named} | ({"m": 2} if shape == "codes" else {})
    new_job(target, {"name": name, "output": f"{name}-release", "k": 5, "sources": {name: source}, "protect": [part]})
    step = STEPS.get(shape, OTHER_STEPS)[1]
    return RedirectResponse(address(step, job=visit.app.folder.place(target), part=name), 303)


def _of_claims(target: Path, plan: Path, name: str, patients: "Given", claims: "Given") -> None:
    """The job of a plan that was written for two files."""
    from cloister.io.csv import load_text
    from cloister.settings.toml import read_toml

    from .job_state import new_job

    content = read_toml(load_text(plan).data.decode(), plan.name, "cloister init")
    part = {"shape": "claims", "name": "claims", "patients": "patients", "claims": "claims", "plan": content}
    sources = {"patients": patients, "claims": claims}
    head = {"name": name, "output": f"{name}-release", "attack": True}
    new_job(target, {**head, "sources": sources, "protect": [part]})
