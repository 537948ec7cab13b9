"""One run of ``explore``: every setting protected, verified and measured, a line on file each; a page at the end."""

import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloister.cli.clock import STARTED
from cloister.cli.explore_grounds import Ground, ground_of
from cloister.cli.output import StoppedLate, Terminated, console, grid, note, print_json
from cloister.cli.places import tidy_beside
from cloister.cli.progress import working
from cloister.errors import CloisterError, InputError, NoSafeRelease
from cloister.exploration.figures import Figures, exact_figures_of
from cloister.exploration.frontier import rule_named
from cloister.exploration.grid import parse_grid, settings_in
from cloister.exploration.outcome import Exploration, Identity, Outcome, outcome_of, summed_up
from cloister.exploration.pages import exploration_page
from cloister.exploration.record import FOR_THE_CUSTODIAN, Record, recorded
from cloister.io import sha256, write_private
from cloister.release_folder import is_release
from cloister.version import __version__

JSON, PAGE, RELEASES = "exploration.json", "exploration.html", "releases"
OF_THE_ADVERSARY = {
    "m",
    "privacy",
    "rules",
    "sensitive",
    "sensitive_codes",
    "diversity",
    "codes",
    "drop",
    "rest",
    "keep",
}
"""Keys that change what somebody may know, or what is protected, and not only how well."""

Setting = Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """What exploring is told beside the options of ``protect``; see its help."""

    grid: list[str]
    out: Path
    recommend: str = "knee"
    risk_limit: float | None = None
    keep_releases: bool = False


def run_explore(shape: str, told: dict[str, Any], asked: Asked) -> None:
    """Try every setting that was not tried before, and say what was found."""
    rule = rule_named(asked.recommend, asked.risk_limit)
    _check_out(asked.out)
    ground = ground_of(shape, told, parse_grid(asked.grid), asked.out)
    settings = settings_in(ground.grid)
    quiet = bool(told["quiet"] or told["as_json"])
    identity = Identity(
        {"shape": shape, "options": ground.asked, "grid": ground.grid, "keep_releases": asked.keep_releases},
        {str(path): f"sha256:{sha256(path)}" for path in ground.files},
    )
    for setting in settings:
        _of_setting(setting, lambda setting=setting: ground.prepare(setting))
    with recorded(asked.out, identity, settings) as record:
        earlier = len(record.done)
        with _stops_told(record, asked.out.name):
            for number in range(earlier, len(settings)):
                words = f"setting {number + 1} of {len(settings)}: {in_words(settings[number])}"
                with working(words, quiet=quiet):
                    record.add(_tried(ground, settings[number], asked, number))
        exploration = summed_up(record.done, rule, asked.risk_limit)
        content = {
            "for": FOR_THE_CUSTODIAN, "cloister": __version__, "shape": shape, "source": ground.source,
            "risk_limit": asked.risk_limit, **exploration.told(),
        }  # fmt: skip
        _replace(asked.out / JSON, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
        _replace(asked.out / PAGE, exploration_page(exploration, ground.source))
    if not exploration.safe:
        raise NoSafeRelease(
            f"None of {len(settings)} settings gives a safe release; why stands in {PAGE} of {asked.out.name}. Allow "
            "more suppression or coarser hierarchies, or ask for less."
        )
    for text in notes_on(settings):
        note(f"Note: {text}.", quiet=quiet)
    if told["as_json"]:
        print_json(content | {"out": str(asked.out)})
    elif not told["quiet"]:
        _tell(exploration, asked.out, earlier)


def notes_on(settings: Sequence[Setting]) -> list[str]:
    """Return what should be known of settings that do not promise the same."""
    keys = list(settings[0])
    adversary = [key for key in keys if key in OF_THE_ADVERSARY or key.startswith("adversary.")]
    if not adversary:
        return []
    return [f"risk is against whom each setting assumes, which {', '.join(adversary)} changes: lower is not safer then"]


def _check_out(out: Path) -> None:
    """Refuse a place inside a release, or a release itself."""
    from cloister.release_folder import release_around

    tidy_beside(out)
    around = release_around(out)
    if around is not None:
        raise InputError(f"An exploration is for the custodian alone, but {around.name} around it is a release.")
    if out.is_dir() and is_release(out):
        raise InputError(f"{out.name} is a release. Take another folder for --out.")


def _of_setting(setting: Setting, run: Any) -> Any:
    """Say of a refusal which setting it is about."""
    problem: CloisterError
    try:
        return run()
    except InputError as error:
        problem = error
    raise InputError(
        f"Setting {in_words(setting)}: {problem.message}",
        file=problem.file,
        row=problem.row,
        line=problem.line,
        column=problem.column,
    )


def _tried(ground: Ground, setting: Setting, asked: Asked, number: int) -> Outcome:
    def attempt() -> Figures:
        release = ground.prepare(setting).protect()
        if asked.keep_releases:
            (asked.out / RELEASES).mkdir(mode=0o700, exist_ok=True)
            release.write(asked.out / RELEASES / f"{number + 1:03d}", overwrite=True)
        return exact_figures_of(release)

    outcome: Outcome = _of_setting(setting, lambda: outcome_of(setting, attempt))
    return outcome


@contextmanager
def _stops_told(record: Record, name: str) -> Iterator[None]:
    """Say of an interruption that what was found is kept."""
    try:
        yield
    except (KeyboardInterrupt, Terminated) as stop:
        count = len(record.done)
        what = f"{count} setting{'' if count == 1 else 's'} stand in {name}, and the same command goes on"
        raise StoppedLate(name, stop, what) from None


def _replace(path: Path, text: str) -> None:
    """Write a file whole, in place of what was there."""
    aside = path.with_name(f".{path.name}.new")
    aside.unlink(missing_ok=True)
    write_private(aside, text.encode())
    os.replace(aside, path)


def in_words(setting: Setting) -> str:
    """Return a setting as it was typed."""
    return " ".join(f"{key}={_word(value)}" for key, value in setting.items())


def _word(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_word, value))
    return value if isinstance(value, str) else json.dumps(value)


def _tell(exploration: Exploration, out: Path, earlier: int) -> None:
    rows = [
        [str(place + 1), in_words(one.setting), *_figures(one, loss), _marks(exploration, place)]
        for place, (one, loss) in enumerate(zip(exploration.outcomes, exploration.losses, strict=True))
    ]
    screen = console()
    head = ["no.", "setting", "risk", "loss", "suppressed", ""]
    screen.print(grid("Settings", head, rows))
    before = f"{earlier} of {len(rows)} were there already. " if earlier else ""
    seconds = f"{time.perf_counter() - STARTED:.2f} s"
    screen.print(f"{before}Every release was verified. {seconds}", soft_wrap=True)
    if exploration.measure is not None:
        screen.print(f"Loss: {exploration.measure}. On the frontier (*), no other setting beats one in both.")
    taken, why = exploration.recommended, exploration.recommendation.why
    words = "none" if taken is None else f"{exploration.outcomes.index(taken) + 1} ({in_words(taken.setting)})"
    screen.print(f"Recommended: {words}, {why}.", soft_wrap=True)
    screen.print(f"For the custodian alone: {out / PAGE}", soft_wrap=True)


def _figures(one: Outcome, loss: float | None) -> list[str]:
    if one.figures is None:
        return ["no safe release", "", ""]
    told = [one.figures.risk, one.figures.loss if loss is None else loss]
    shown = [f"{value:.4f}" if value is not None and math.isfinite(value) else "withheld" for value in told]
    count = one.figures.suppressed
    return [*shown, f"{count:,}" if isinstance(count, int) else count]


def _marks(exploration: Exploration, place: int) -> str:
    taken = " recommended" if exploration.recommendation.place == place else ""
    return f"{'*' if place in exploration.on_frontier else ''}{taken}"
