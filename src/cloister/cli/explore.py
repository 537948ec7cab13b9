"""``cloister explore``: settings are tried by the library, and said what was found."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cloister.cli.declared import record
from cloister.cli.options import ExploreOptions
from cloister.cli.output import StoppedLate, Terminated, console, grid, note, print_json
from cloister.cli.progress import Screen
from cloister.errors import NoSafeRelease
from cloister.exploration.outcome import Exploration, Outcome, Setting
from cloister.exploration.record import RECORD
from cloister.jobs.job import SHAPES
from cloister.pipeline.exploring import PAGE, Asked, explored, in_words
from cloister.pipeline.grids import parse_grid
from cloister.settings import RunOptions
from cloister.stopwatch import STARTED

OF_THE_ADVERSARY = {"m", "privacy", "rules", "sensitive", "sensitive_codes", "diversity"}
OF_THE_ADVERSARY |= {"codes", "drop", "default_role", "keep"}
"""Keys that change what somebody may know, or what is protected, and not only how well."""


def run_explore(shape: str, told: dict[str, Any], typed: ExploreOptions) -> None:
    """Try every setting that was not tried before, and say what was found."""
    quiet = bool(told["quiet"] or told["as_json"])
    own = {"k": told["k"] or 0} if "k" in told else {}
    options: RunOptions = record(SHAPES[shape].options, {**told, **own, "out": typed.out})
    asked = Asked(parse_grid(typed.grid), typed.out, typed.recommend, typed.risk_limit, typed.keep_releases)
    with _stops_told(typed.out):
        found = explored(shape, options, asked, Screen(quiet=quiet))
    exploration, settings = found.exploration, [one.setting for one in found.exploration.outcomes]
    if not exploration.safe:
        raise NoSafeRelease(
            f"None of {len(settings)} settings gives a safe release; why stands in {PAGE} of {typed.out.name}. Allow "
            "more suppression or coarser hierarchies, or ask for less."
        )
    for text in notes_on(settings):
        note(f"Note: {text}.", quiet=quiet)
    if told["as_json"]:
        print_json({**found.content, "out": str(typed.out)})
    elif not told["quiet"]:
        _tell(exploration, typed.out, found.earlier)


def notes_on(settings: Sequence[Setting]) -> list[str]:
    """Return what should be known of settings that do not promise the same."""
    keys = list(settings[0])
    adversary = [key for key in keys if key in OF_THE_ADVERSARY or key.startswith("adversary.")]
    if not adversary:
        return []
    return [f"risk is against whom each setting assumes, which {', '.join(adversary)} changes: lower is not safer then"]


@contextmanager
def _stops_told(out: Path) -> Iterator[None]:
    """Say of an interruption that what was found is kept."""
    try:
        yield
    except (KeyboardInterrupt, Terminated) as stop:
        path = out / RECORD
        if not path.is_file():
            raise
        count = path.read_bytes().count(b"\n") - 1
        what = f"{count} setting{'' if count == 1 else 's'} stand in {out.name}, and the same command goes on"
        raise StoppedLate(out.name, stop, what) from None


def _tell(exploration: Exploration, out: Path, earlier: int) -> None:
    rows = []
    for place, (one, loss) in enumerate(zip(exploration.outcomes, exploration.losses, strict=True)):
        marks = "*" if place in exploration.on_frontier else ""
        marks += " recommended" if exploration.recommendation.place == place else ""
        rows.append([str(place + 1), in_words(one.setting), *_figures(one, loss), marks])
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
