"""Pages of an exploration: a grid of settings, the risk and loss of each, and the choice of one."""

import copy
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path

from starlette.responses import Response

from cloister.errors import CloisterError, InputError
from cloister.exploration.comparison import rows_of
from cloister.exploration.results import (
    RULES,
    figures_of_record,
    flat_setting,
    outcome_from_record,
    pictures,
    settings_as_rows,
    word_of,
)
from cloister.exploration.running import JSON
from cloister.exploration.setting_keys import FRONTIER, NOT_IN_A_GRID
from cloister.io import write_private
from cloister.jobs.job import CLAIMS
from cloister.settings.declaration import Given, Keywords
from cloister.shapes.claims.format.plan import ClaimsPlan
from cloister.shapes.protocol import shape_of

from .app import RequestContext, address
from .commands import NOT_EXPLORED, words_of
from .data_pages import job_page, save_job
from .forms import in_words, specs_of_record, specs_of_shape
from .job_state import JobState, toml_of
from .picture_files import file_name, picture_file

USUAL = {
    "table": {"k": "3, 5, 11, 20", "suppression": "0, 0.05"},
    "codes": {"k": "3, 5", "m": "1, 2"},
    "trajectories": {"k": "2, 5, 11"},
    CLAIMS: {"adversary.power": "2, 3", "risk.threshold": "0.05, 0.1"},
}


def explore(visit: RequestContext, problem: str = "", status: int = 200) -> Response:
    """Show the form for a grid of settings; for claims, of plan keys."""
    shape = visit.state.job.parts[visit.part].shape
    specs = specs_of_record(ClaimsPlan) if shape == CLAIMS else specs_of_shape(shape)
    keys = [
        spec for spec in specs if spec.path[0] not in NOT_IN_A_GRID and spec.how not in ("columns", "pairs", "lines")
    ]
    columns = list(visit.state.section(visit.part).get("qi", {})) if shape == "table" else []
    typed = {name.removeprefix("g:"): str(value) for name, value in visit.form.items() if name.startswith("g:")}
    start = f"{visit.state.path.stem}-explored"
    found = [place for place in visit.app.folder.look().explorations if place.rpartition("/")[2].startswith(start)]
    return job_page(
        visit, "explore", status, keys=keys, columns=columns, typed=typed or USUAL.get(shape, {}), rules=RULES,
        problem=problem, found=found, is_table=shape == "table", grid=shape_of(shape).usual_grid,
    )  # fmt: skip


def _grid(visit: RequestContext) -> list[str]:
    """The grid as the command takes it: ``KEY=VALUE,VALUE``, apart by ``;`` where values have commas."""
    words = []
    for name, value in visit.form.items():
        text = " ".join(str(value).split())
        if name.startswith("g:") and text:
            mark = ";" if ";" in text else ","
            words += [
                "--grid",
                f"{name.removeprefix('g:')}={mark.join(word.strip() for word in text.split(mark) if word.strip())}",
            ]
    return words


def start_exploring(visit: RequestContext) -> Response:
    """Try all settings of a grid in a separate process; results remain if the user stops it."""
    state, own = visit.state, visit.state.job.parts[visit.part]
    grid = ["--grid", FRONTIER] if visit.say("frontier") else _grid(visit)
    if not grid:
        return explore(visit, "Give values for at least one setting.", 400)
    skipped = ("levels", "method") if visit.say("frontier") else tuple(word.partition("=")[0] for word in grid[1::2])
    parent = state.path.parent
    numbers = (f"{state.path.stem}-explored-{number}" for number in range(1, 10_000))
    out = next(name for name in numbers if not any((parent / one).exists() for one in (name, f"{name}.plan.toml")))
    visit.app.data.confine(state.job, parent, grid)
    if any(state.job.sources[called].url for called in own.sources.values()):
        return explore(visit, "Comparing settings needs a file. Save the result of the query to a file first.", 400)
    try:
        words = ["explore", own.shape, *words_of(state, visit.part, (*NOT_EXPLORED, *skipped)), *grid, "--out", out]
    except InputError as error:
        return explore(visit, in_words(error), 400)
    if own.shape == CLAIMS:
        words += ["--plan", _plan_file(own.keywords["plan"], parent / f"{out}.plan.toml")]
    words += ["--recommend", visit.say("recommend")] if visit.say("recommend") else []
    words += ["--risk-limit", visit.say("limit")] if visit.say("limit") else []
    then = address("explored", job=visit.say("job"), part=visit.part, folder=visit.app.folder.place(parent / out))
    return visit.working(
        visit.app.works.start(
            [*words, "--json"], parent, what="Trying settings", then=then, back=visit.to("explore", part=visit.part)
        )
    )


def _plan_file(plan: str | Keywords, file: Path) -> str:
    """The name of a file with the plan of a job, which is written where the plan is in the job itself."""
    if isinstance(plan, str):
        return plan
    write_private(file, toml_of(plan).encode())
    return file.name


def _content(visit: RequestContext) -> Given:
    path = visit.app.folder.existing(visit.say("folder")) / JSON
    with suppress(OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        content: Given = json.loads(path.read_bytes())
        rows = [(outcome_from_record(row), row["number"], row["on_frontier"]) for row in content["settings"]]
        pictures(content)
        if rows and isinstance(content["recommendation"]["why"], str) and "measure" in content:
            return content
    raise InputError("This exploration has no result yet, or cannot be read. Start it again with the same settings.")


def show_exploration(visit: RequestContext) -> Response:
    """Show the risk and loss of each setting."""
    content = _content(visit)
    rows: Sequence[Given] = content["settings"]
    recommended = content["recommendation"]["number"]
    keys = list(rows[0]["setting"]) if rows else []
    words = [{key: word_of(value) for key, value in row["setting"].items()} for row in rows]
    same: dict[str, str | list[str]] = {key: visit.say(key) for key in ("job", "part", "folder") if visit.say(key)}
    same |= {"pin": visit.every("pin")} if visit.every("pin") else {}
    links = {
        number: f"{address('explored', **same, number=number)}#map" for number in map(str, range(1, len(rows) + 1))
    }
    number = visit.say("number") or str(recommended or "")
    shown = next((row for row in rows if str(row["number"]) == number and row["figures"]), None)
    filled = {
        "content": content, "rows": rows, "keys": keys, "words": words, "taken": recommended,
        "place": visit.say("folder"),
        "pictures": {file_name(title): (title, one) for title, one in pictures(content).items()}, "links": links,
        "pinned": _side_by_side(content, visit.every("pin")), "shown": shown, "changes": [],
    }  # fmt: skip
    if not visit.say("job"):
        return visit.shown("explored_alone", **filled)
    if shown is not None:
        filled["changes"] = changes_of(visit, shown["setting"])
    return job_page(visit, "explored", **filled)


def changes_of(visit: RequestContext, setting: Given) -> list[tuple[str, str, str]]:
    """Return what a setting would change in the job: each key with its value now, and then; equal ones are omitted.

    Keys without a value in the job show what is usual.
    """
    own, shape = visit.state.job.parts[visit.part], visit.state.job.parts[visit.part].shape
    usual = {
        spec.key: spec.hint for spec in (specs_of_record(ClaimsPlan) if shape == CLAIMS else specs_of_shape(shape))
    }
    plan = own.keywords.get("plan")
    now = dict(own.keywords)
    if isinstance(plan, Mapping):
        now |= {f"{head}.{key}": value for head, inside in plan.items() if isinstance(inside, Mapping)
                for key, value in inside.items()}  # fmt: skip
    before, after = flat_setting(now), flat_setting(setting)
    rows = [(key, before.get(key) or usual.get(key) or "not set", then) for key, then in after.items()]
    return [row for row in rows if row[1] != row[2]]


def picture(visit: RequestContext) -> Response:
    """Return a picture of an exploration as a file, or its settings as CSV."""
    content = _content(visit)
    found = {file_name(title): (title, one) for title, one in pictures(content).items()}
    if visit.say("name") not in found:
        raise InputError("This exploration has no such picture.")
    return picture_file(visit, visit.say("name"), *found[visit.say("name")], settings_as_rows(content))


def _side_by_side(content: Given, pins: Sequence[str]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The numbers of the settings that are pinned, and rows of what each is, promises, risks and loses."""
    rows = {str(row["number"]): row for row in content["settings"] if row["figures"]}
    pinned = [pin for pin in dict.fromkeys(pins) if pin in rows]
    figures = {pin: figures_of_record(rows[pin]["figures"]) for pin in pinned}
    settings = [
        (key, [word_of(rows[pin]["setting"][key]) for pin in pinned]) for key in content["settings"][0]["setting"]
    ]
    return pinned, [*settings, *rows_of(figures)] if pinned else []


def take(visit: RequestContext) -> Response:
    """Write the values of a setting into the job."""
    rows = {str(row["number"]): row["setting"] for row in _content(visit)["settings"]}
    if visit.say("number") not in rows:
        raise InputError("There is no such setting in this exploration.")
    try:
        return save_job(visit, _with(visit.state, visit.part, rows[visit.say("number")]), "promise")
    except CloisterError as error:
        return explore(visit, in_words(error), 409)


def _with(state: JobState, part: str, setting: Given) -> Given:
    section = state.section(part)
    if state.job.parts[part].shape == CLAIMS:
        if isinstance(section["plan"], str):
            raise InputError(f"The plan is in {section['plan']}. Change it there.")
        plan = section["plan"] = copy.deepcopy(section["plan"])
        for key, value in setting.items():
            *heads, last = key.split(".")
            reduce(lambda inside, head: inside.setdefault(head, {}), heads, plan)[last] = value
        return state.with_section(part, section)
    for key, value in setting.items():
        head, _, column = key.partition(".")
        section[head] = {**section.get(head, {}), column: value} if column else value
    return state.with_section(part, section)
