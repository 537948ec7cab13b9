"""One run of ``compare``: manifests -> a table on the screen, and a page where one is asked for."""

from pathlib import Path

from cloister.cli.output import console, grid, print_json
from cloister.cli.progress import Screen
from cloister.errors import InputError
from cloister.exploration.comparison import Comparison, compared, manifests_in
from cloister.exploration.pages import comparison_page, rows_of
from cloister.flow.places import tidy_beside
from cloister.io import write_private
from cloister.release_folder import release_around

MANIFESTS = "as their manifests state"


def run_compare(folders: list[Path], out: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Compare, write the page, and print."""
    if out is not None and release_around(out) is not None:
        raise InputError(f"{out.name} would lie inside a release, which then holds a foreign file. Name another place.")
    for folder in folders:
        tidy_beside(folder, Screen(quiet=True))
    comparison = compared(manifests_in(folders))
    if out is not None:
        write_private(out, comparison_page(comparison).encode())
    if as_json:
        print_json(comparison.told())
    elif not quiet:
        _tell(comparison, out)


def _tell(comparison: Comparison, out: Path | None) -> None:
    screen, names = console(), list(comparison.figures)
    rows = [[what, *cells] for what, cells in rows_of(comparison.figures)]
    if comparison.measure is not None:
        rows.append(["on the frontier", *("yes" if name in comparison.on_frontier else "no" for name in names)])
    screen.print(grid(f"Releases, {MANIFESTS}", ["", *names], rows))
    differing = [[key, *(values[name] or "-" for name in names)] for key, values in comparison.settings.items()]
    if differing:
        screen.print(grid("Settings that differ", ["", *names], differing))
    if comparison.measure is None:
        screen.print("The losses of these releases are not of one measure, and cannot be compared.", soft_wrap=True)
    if out is not None:
        screen.print(f"Page: {out}", soft_wrap=True)
