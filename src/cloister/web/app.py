"""The application: the shared state of its pages, rendering, and error handling."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlencode

from jinja2 import DictLoader, Environment, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, QueryParams
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartParser
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from cloister.errors import CloisterError, InputError
from cloister.results import Figures, Verdict
from cloister.version import __version__

from .folder import Folder
from .forms import in_words
from .glossary import link_terms
from .work import AGAIN, Work, Works

if TYPE_CHECKING:
    from cloister.hierarchy.draft import HierarchyDraft

    from .data_read import DataRead
    from .job_state import JobState

ENDING = ".j2"
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MOST_FIELDS = 20_000
WITH_FILE = ("/hierarchies/file",)
"""Forms that send a file."""

MOST_FILE_BYTES, TOO_LARGE = 32 * 2**20, "too-large"
"""Of what such a form sends, and the field in place of all others if it sends more."""

MultiPartParser.spool_max_size = 2**30  # a file stays in memory: no copy of it is written to a disk
STEPS = {
    "table": ("data", "columns", "hierarchies", "promise", "explore", "release", "utility"),
    "claims": ("data", "columns", "promise", "explore", "release"),
}
OTHER_STEPS = ("data", "promise", "explore", "release")
OF_SHAPES = {"columns": ("table", "claims"), **dict.fromkeys(("hierarchies", "levels", "utility"), ("table",))}
"""Pages that not every shape has: of a part of another shape, the page of the data is shown instead."""


@dataclass(frozen=True)
class RequestContext:
    """A request with everything that a page needs to answer it.

    ``is_partial``: whether a part of the page is asked for, by what it shows live
    """

    app: "Application"
    query: QueryParams
    form: FormData
    is_partial: bool = False

    def say(self, name: str) -> str:
        """Return the value of a field from the form, else from the address; empty if neither has it."""
        return str(self.form.get(name, self.query.get(name, "")))

    def every(self, name: str) -> list[str]:
        """Return all values of a field from the form, else from the address."""
        return [str(one) for one in self.form.getlist(name) or self.query.getlist(name)]

    def exact(self, name: str) -> list[str]:
        """Return all values of a field that holds values or names of the data, which ``urlencode`` wrote into it.

        A browser changes the line breaks of what it sends. So no field holds such a text as it is.
        """
        return [unquote(one) for one in self.every(name)]

    @cached_property
    def state(self) -> "JobState":
        """The job of the page."""
        from .job_state import load_job

        return load_job(self.app.folder.existing(self.say("job")))

    @cached_property
    def part(self) -> str:
        """The part of the job; the first part if none is named."""
        name, parts = self.say("part"), self.state.job.parts
        if name and name not in parts:
            raise InputError(f"{self.state.path.name} has no part of that name any more. Go back to the start.")
        return name or next(iter(parts))

    def to(self, step: str, **more: str | Sequence[str]) -> str:
        """Return the address of a page about the same job."""
        same = {name: self.say(name) for name in ("job", "part") if self.say(name)}
        return address(step, **same | more)

    def shown(self, template: str, status: int = 200, **content: object) -> HTMLResponse:
        """Return a rendered page or a part of a page."""
        filled = {
            "visit": self,
            "folder": self.app.folder.path.name,
            "version": __version__,
            "link": address,
            **content,
        }
        return HTMLResponse(templates().get_template(f"{template}.html").render(filled), status)

    def working(self, work: Work) -> RedirectResponse:
        """Redirect to the progress page of a task."""
        return RedirectResponse(address("work", key=work.key), 303)


Page = Callable[[RequestContext], Response]


@dataclass(frozen=True)
class RunFindings:
    """What a run found: for the custodian only, and no part of the release that it made."""

    notes: Sequence[str] = ()
    before: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # class sizes of the original of each part
    risks: Mapping[str, Figures] = field(default_factory=dict)  # of parts, as `RiskChange` has them


@dataclass
class Application:
    """The shared state of all pages: the folder, running tasks, and data read."""

    folder: Folder
    release: str | None = None  # the release that it was opened for; None where it was opened for a folder of data
    works: Works = field(default_factory=Works)
    # on releases, by the hashes of their files
    verdicts: dict[str, Verdict] = field(default_factory=dict, repr=False)
    # of the runs that made releases, by the same
    runs: dict[str, RunFindings] = field(default_factory=dict, repr=False)
    drafts: dict[str, "HierarchyDraft"] = field(
        default_factory=dict, repr=False
    )  # hierarchies edited and not yet saved

    def keep_draft(self, key: str, draft: "HierarchyDraft", most: int) -> None:
        """Keep the draft of a hierarchy; of more than ``most`` the oldest is forgotten."""
        self.drafts.pop(key, None)
        self.drafts[key] = draft
        while len(self.drafts) > most:
            self.drafts.pop(next(iter(self.drafts)))

    @cached_property
    def data(self) -> "DataRead":
        """The data read; dataframe libraries are loaded when the first page needs them."""
        from .data_read import DataRead

        return DataRead(self.folder.path)


def address(step: str, **query: str | Sequence[str]) -> str:
    """Return the address of a page."""
    return f"/{step}?{urlencode(query, doseq=True)}" if query else f"/{step}"


@cache
def templates() -> Environment:
    """Return the templates of all pages."""
    own, shared = files("cloister.web").joinpath("templates"), files("cloister").joinpath("report", "scatter.svg.j2")
    found = {
        file.name.removesuffix(ENDING): file.read_text(encoding="utf-8")
        for file in [*own.iterdir(), shared]
        if file.name.endswith(ENDING)
    }
    environment = Environment(
        loader=DictLoader(found), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["count"], environment.filters["brief"] = _brief, _brief
    environment.filters["share"], environment.filters["terms"] = _share, link_terms
    return environment


def _share(share: float | None) -> str:
    """A share as a percentage that is zero or one hundred only where it is."""
    if share is None:
        return "-"
    if 0 < share < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if 0.999 < share < 1 else f"{100 * share:.1f} %"


def _brief(number: object) -> str:
    if number is None:
        return "-"
    return f"{number:,}" if isinstance(number, int) else f"{number:.4g}" if isinstance(number, float) else str(number)


PAGES = {
    "GET /": "start_pages.start",
    "GET /new": "start_pages.new",
    "POST /new": "start_pages.make",
    "GET /part": "start_pages.choose",
    "GET /new/database": "start_pages.database",
    "POST /new/database": "start_pages.make_of_database",
    "GET /work": "work_pages.work",
    "GET /work/state": "work_pages.state",
    "POST /work/cancel": "work_pages.cancel",
    "GET /data": "data_pages.data",
    "POST /data": "data_pages.save_data",
    "GET /columns": "column_pages.columns",
    "POST /columns": "column_pages.save_columns",
    "GET /columns/list": "column_pages.columns",
    "POST /columns/list": "column_pages.change_columns",
    "POST /columns/revealed": "column_pages.show_revealed",
    "POST /columns/decide": "column_pages.decide",
    "GET /hierarchies": "hierarchy_pages.hierarchies",
    "POST /hierarchies": "hierarchy_pages.save_hierarchies",
    "POST /hierarchies/preview": "hierarchy_pages.preview_one",
    "GET /hierarchies/edit": "editor_pages.edit",
    "POST /hierarchies/edit": "editor_pages.change_groups",
    "POST /hierarchies/cuts": "editor_pages.change_cuts",
    "GET /hierarchies/builder": "builder_pages.builder",
    "POST /hierarchies/builder": "builder_pages.change_builder",
    "POST /hierarchies/file": "builder_pages.use_file",
    "GET /promise": "promise_pages.promise",
    "POST /promise": "promise_pages.save_promise",
    "POST /promise/sentence": "promise_pages.sentence",
    "GET /explore": "explore_pages.explore",
    "POST /explore": "explore_pages.start_exploring",
    "GET /explored": "explore_pages.show_exploration",
    "POST /explored": "explore_pages.take",
    "GET /explored/picture": "explore_pages.picture",
    "GET /levels": "level_pages.levels",
    "POST /levels": "level_pages.fix_levels",
    "GET /levels/picture": "level_pages.picture",
    "POST /levels/measure": "level_pages.measure",
    "POST /levels/around": "level_pages.around",
    "GET /release": "release_pages.release",
    "POST /release": "release_pages.save_release",
    "POST /release/run": "release_pages.run",
    "GET /utility": "utility_pages.utility",
    "POST /undo": "release_pages.go_back",
    "POST /part/remove": "release_pages.remove_part",
    "GET /job": "release_pages.download",
    "GET /glossary": "start_pages.glossary",
    "GET /check": "check_pages.check",
    "GET /check/state": "check_pages.state",
    "POST /check/decide": "check_pages.decide",
    "POST /check/attack": "check_pages.attack",
    "GET /check/report": "check_pages.report_file",
    "GET /compare": "check_pages.compare",
}
"""Every page, and the function that answers; its module is loaded when the first page of it is asked for."""


def application(app: Application) -> Starlette:
    """Return the application that answers all requests admitted by the guard."""

    async def failed(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        text = "There is no such page." if status == 404 else "This cannot be done here."
        return _visit(app, request, FormData()).shown("problem", status, problem=text)

    routes = [Route("/static/{name}", _static)]
    for name, place in PAGES.items():
        method, path = name.split()
        routes.append(Route(path, _answering(app, place), methods=[method]))
    return Starlette(routes=routes, exception_handlers={404: failed, 405: failed, 400: failed, 500: failed})


def _visit(app: Application, request: Request, form: FormData) -> RequestContext:
    earlier = app.works.get(request.query_params.get(AGAIN, ""))
    if earlier is not None and request.method == "GET" and f"{request.url.path}?{request.url.query}" == earlier.back:
        form = earlier.form  # of no other page
    return RequestContext(app, request.query_params, form, "hx-request" in request.headers)


def _answering(app: Application, place: str) -> Callable[[Request], Awaitable[Response]]:
    module, name = place.split(".")

    async def answer(request: Request) -> Response:
        shapes = OF_SHAPES.get(request.url.path.split("/")[1])
        has_file, form = request.url.path in WITH_FILE, FormData()
        if has_file and int(request.headers["content-length"]) > MOST_FILE_BYTES:
            async for _ in request.stream():  # a browser shows no answer before all is sent
                pass
            form = FormData({TOO_LARGE: "1"})
        if request.method != "POST" or form:
            return await run_in_threadpool(_answer, _visit(app, request, form), module, name, shapes)
        async with request.form(max_files=has_file, max_fields=MOST_FIELDS) as form:
            return await run_in_threadpool(_answer, _visit(app, request, form), module, name, shapes)

    return answer


def status_of(error: CloisterError) -> int:
    """Return the HTTP status of an error: 409 if someone else's work would be lost."""
    return 409 if type(error).__name__ == "Conflict" else 400  # its module loads dataframes


def _answer(visit: RequestContext, module: str, name: str, shapes: Sequence[str] | None) -> Response:
    """Return the response of a page; report an error in the library's words, others by type and location."""
    try:
        if shapes is not None and visit.state.job.parts[visit.part].shape not in shapes:
            return RedirectResponse(visit.to("data", part=visit.part), 303)
        page: Page = getattr(import_module(f"cloister.web.{module}"), name)
        return page(visit)
    except CloisterError as error:
        problem, status = in_words(error), status_of(error)
    except OSError as error:
        problem, status = f"The system refused to read or write ({type(error).__name__}). Check disk and rights.", 400
    except Exception as error:
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_next is not None:
            traceback = traceback.tb_next
        where = "" if traceback is None else f" at {traceback.tb_frame.f_code.co_name}:{traceback.tb_lineno}"
        problem, status = f"An unexpected {type(error).__name__} occurred{where}. This is a defect of cloister.", 500
    if not visit.is_partial:
        return visit.shown("problem", status, problem=problem)
    shown = visit.shown("problem_part", problem=problem)
    shown.headers.update({"HX-Retarget": "#problem", "HX-Reswap": "innerHTML"})  # what is on the page stays there
    return shown


def load_pages() -> None:
    """Load the modules of later pages while the user reads the first page."""
    for module in dict.fromkeys(place.split(".")[0] for place in PAGES.values()):
        import_module(f"cloister.web.{module}")


@cache
def _statics() -> Mapping[str, tuple[str, bytes]]:
    """What pages look like, and their scripts, by name; nothing else of the package is given out."""
    folder = files("cloister.web").joinpath("static")
    found = {
        file.name: (KINDS[suffix], file.read_bytes())
        for file in folder.iterdir()
        if (suffix := f".{file.name.rpartition('.')[2]}") in KINDS
    }
    report = files("cloister").joinpath("report", "style.css.j2").read_bytes()
    widths = "".join(f".w{n}{{width:{n}%}}" for n in range(101)).encode()
    return {**found, "report.css": ("text/css", report + widths)}


def style_alone() -> str:
    """Return the style sheet, for a page that may load nothing."""
    return "".join(_statics()[name][1].decode() for name in ("report.css", "app.css"))


async def _static(request: Request) -> Response:
    kind, content = _statics().get(request.path_params["name"], ("", b""))
    if not kind:
        raise HTTPException(404)
    return Response(content, media_type=kind)
