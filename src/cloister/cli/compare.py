"""``cloister compare``: manifests -> a table on the screen, and a page where one is asked for."""

from cloister.cli.options import CompareOptions
from cloister.cli.output import Screen, console, grid, print_json
from cloister.errors import InputError
from cloister.exploration.comparison import compared, comparison_page, manifests_in, rows_of
from cloister.io import write_private
from cloister.pipeline.places import tidy_beside
from cloister.release_folder import release_around


def run_compare(options: CompareOptions) -> None:
    """Compare, write the page, and print."""
    out = options.out
    if out is not None and release_around(out) is not None:
        raise InputError(f"{out.name} would lie inside a release, which then holds a foreign file. Name another place.")
    for folder in options.folders:
        tidy_beside(folder, Screen(quiet=True))
    found = compared(manifests_in(options.folders))
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
