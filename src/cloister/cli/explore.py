"""``cloister explore`` tries settings, and ``cloister compare`` compares releases; the library does both."""

import math
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from cloister.cli.options import CompareOptions, ExploreOptions
from cloister.cli.output import Screen, StoppedLate, Terminated, console, grid, note, print_json
from cloister.errors import Message, NoSafeRelease, setting
from cloister.exploration.comparison import compare_manifests, comparison_page, manifests_in, rows_of
from cloister.exploration.results import RECORD, Exploration, Outcome, Setting, in_words, word_of
from cloister.exploration.running import PAGE, ExploreRequest, explore_settings
from cloister.exploration.setting_keys import parse_grid
from cloister.io import write_private
from cloister.pipeline.output_paths import remove_remains
from cloister.release.folder import check_new
from cloister.results import STARTED
from cloister.settings.declaration import Keywords, command_words
from cloister.settings.run_options import RunOptions
from cloister.shapes.registry import SHAPES

OF_THE_ADVERSARY = {"m", "privacy", "rules", "sensitive", "sensitive_codes", "diversity"}
OF_THE_ADVERSARY |= {"codes", "drop", "undecided", "keep"}
"""Keys that change what someone may know, or what is protected, and not only how well."""


NOT_REPEATED = ("out", "quiet", "as_json", "verbose")  # options of the exploration, not of the release


def run_explore(shape: str, options: RunOptions, typed: ExploreOptions, words: Keywords) -> None:
    """Try every setting that was not tried before, and print the results; ``words``: the typed words."""
    quiet = options.quiet or options.as_json
    asked = ExploreRequest(parse_grid(typed.grid), typed.out, typed.recommend, typed.risk_limit, typed.keep_releases)
    with _stops_reported(typed.out):
        found = explore_settings(shape, options, asked, Screen(quiet=quiet))
    exploration, settings = found.exploration, [one.setting for one in found.exploration.outcomes]
    if not exploration.safe:
        raise NoSafeRelease(
            f"None of {len(settings)} settings gives a safe release; {PAGE} in {typed.out.name} lists the reasons. "
            "Allow more suppression or coarser hierarchies, or weaken the guarantee."
        )
    for text in notes_on(settings):
        note(Message("Note: ", text, "."), quiet=quiet)
    if options.as_json:
        print_json({**found.content, "out": str(typed.out)})
    elif not options.quiet:
        recommended = exploration.recommended
        command = None if recommended is None else protect_command(shape, words, recommended.setting)
        _print_results(exploration, typed.out, found.earlier, command)


def notes_on(settings: Sequence[Setting]) -> list[str]:
    """Return notes on settings with different guarantees."""
    keys = list(settings[0])
    adversary = [key for key in keys if key in OF_THE_ADVERSARY or key.startswith("adversary.")]
    if not adversary:
        return []
    return [f"settings assume different adversaries ({', '.join(adversary)}), so their risks cannot be compared"]


@contextmanager
def _stops_reported(out: Path) -> Iterator[None]:
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


def _print_results(exploration: Exploration, out: Path, earlier: int, command: str | None) -> None:
    there = [one.figures.more for one in exploration.outcomes if one.figures is not None]
    more = exploration.known_of_analyses
    rows = []
    for place, (one, loss) in enumerate(zip(exploration.outcomes, exploration.losses, strict=True)):
        marks = "*" if place in exploration.on_frontier else ""
        marks += " best" if exploration.recommendation.place == place else ""
        known = [None if one.figures is None else one.figures.more.get(name) for name in more.values()]
        useful = [f"{value:.3f}" if isinstance(value, float) else str(value or "") for value in known]
        rows.append([str(place + 1), *map(word_of, one.setting.values()), *_figures(one, loss), *useful, marks])
    screen = console()
    head = ["no.", *exploration.outcomes[0].setting, "risk", "loss", "suppressed", *more, ""]
    screen.print(grid("Settings", head, rows))
    before = f"{earlier} of {len(rows)} were there already. " if earlier else ""
    seconds = f"{time.perf_counter() - STARTED:.2f} s"
    screen.print(f"{before}Every release was verified. {seconds}", soft_wrap=True)
    if exploration.measure is not None:
        screen.print(f"Loss: {exploration.measure}. (*) frontier: no other setting has both lower risk and lower loss.")
    if "AUC" in more:
        recorded = there[0].get("auc_as_recorded", 0.0)
        screen.print(f"AUC: prediction of the target; {recorded:.3f} with the original data.", soft_wrap=True)
    if "age x sex" in more:
        screen.print("age x sex: share of records with age to ten years and sex.", soft_wrap=True)
    best, why = exploration.recommended, exploration.recommendation.why
    words = "none" if best is None else f"{exploration.outcomes.index(best) + 1} ({in_words(best.setting)})"
    screen.print(f"Recommended: {words}, {why}.", soft_wrap=True)
    if best is not None and command is not None:
        screen.print(f"To release it: {command}", soft_wrap=True, highlight=False)
    screen.print(f"Confidential: {out / PAGE}", soft_wrap=True)


def protect_command(shape: str, typed: Keywords, setting: Setting) -> str | None:
    """Return the command that releases a setting, from the words typed to explore; None for settings of a plan."""
    if shape == "claims":
        return None
    own, words = dict(typed), ["cloister", "protect", shape]
    for key, value in setting.items():
        head, _, column = key.partition(".")
        kept = [word for word in own.get(head) or [] if word.partition("=")[0] != column] if column else []
        whole = [f"{name}={level}" for name, level in value.items()] if isinstance(value, Mapping) else value
        own[head] = [*kept, f"{column}={word_of(value)}"] if column else whole
    words += command_words(SHAPES[shape].options, own, NOT_REPEATED)
    return shlex.join([*words, "--out", "release"])


def _figures(one: Outcome, loss: float | None) -> list[str]:
    if one.figures is None:
        return ["no safe release", "", ""]
    known = [one.figures.risk, one.figures.loss if loss is None else loss]
    shown = [f"{value:.4f}" if value is not None and math.isfinite(value) else "withheld" for value in known]
    count = one.figures.suppressed
    return [*shown, f"{count:,}" if isinstance(count, int) else count]


def run_compare(options: CompareOptions) -> None:
    """Compare releases, write the page, and print the result."""
    out = options.out
    if out is not None:
        check_new(out, setting("out"))
    for folder in options.folders:
        remove_remains(folder, Screen(quiet=True))
    found = compare_manifests(manifests_in(options.folders))
    if out is not None:
        write_private(out, comparison_page(found).encode())
    if options.as_json:
        print_json(found.as_record())
    if options.as_json or options.quiet:
        return
    screen, names = console(), list(found.figures)
    rows = [[what, *cells] for what, cells in rows_of(found.figures)]
    if found.measure is not None:
        rows.append(["on the frontier", *("yes" if name in found.on_frontier else "no" for name in names)])
    screen.print(grid("Releases, as their manifests state", ["", *names], rows))
    differing = [[key, *(values[name] or "-" for name in names)] for key, values in found.settings.items()]
    if differing:
        screen.print(grid("Settings that differ", ["", *names], differing))
    if found.measure is None:
        screen.print("The losses of these releases are not of one measure, and cannot be compared.", soft_wrap=True)
    if out is not None:
        screen.print(f"Page: {out}", soft_wrap=True)
