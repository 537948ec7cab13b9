"""What ``protect``, ``explore`` and jobs do for each shape: the same steps, of which one shape is loaded."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from cloister.cli.clock import STARTED
from cloister.cli.output import StoppedLate, Terminated, after_writing, console, note, print_json
from cloister.cli.places import check_places
from cloister.cli.prepared import Prepared, Work
from cloister.jobs.changes import changes, earlier_release
from cloister.release import Release
from cloister.release_folder import read_figures
from cloister.results import Manifest
from cloister.settings import RunOptions
from cloister.stopwatch import Stopwatch


def work_of(shape: str) -> Work[Any, Any]:
    """Return the work of a shape."""
    if shape == "table":
        from cloister.cli.table_job import TABLE

        return TABLE
    if shape == "codes":
        from cloister.cli.codes_job import CODES

        return CODES
    if shape == "trajectories":
        from cloister.cli.trajectories_job import TRAJECTORIES

        return TRAJECTORIES
    from cloister.cli.claims_job import CLAIMS

    return CLAIMS


def run_protect(shape: str, options: Any) -> None:
    """Read, protect, write, and say what was done."""
    work, watch = work_of(shape), Stopwatch({"start": time.perf_counter() - STARTED})
    work.check(options)
    values = getattr(options, "values_to", None)
    check_places(
        options.out, overwrite=options.overwrite, internal=options.internal, crosswalk=options.crosswalk, values=values
    )
    with ExitStack() as engines:
        prepared = work.prepare(options, watch, engines, None)
        finish(prepared.protect(), prepared, options, work.summary)


Summary = Callable[[Console, Manifest, Path], None]


def finish(release: Release, prepared: Prepared, options: RunOptions, print_summary: Summary) -> None:
    """Write a release to the places that the options name, and say what was released."""
    earlier = earlier_release(options.out) if options.overwrite else None
    with late_stops_told(options.out):
        manifest = release.write(
            options.out, overwrite=options.overwrite, internal=options.internal, crosswalk=options.crosswalk
        )
    changed = [] if earlier is None else changes(earlier, manifest, options.out.name)
    notes = [*prepared.notes(release, manifest), *formula_notes(options.out), *changed]
    _tell(manifest, notes, options, print_summary)


def formula_notes(folder: Path) -> list[str]:
    """Return a note on each file of a release of which a spreadsheet would run cells."""
    return [
        f"a spreadsheet would run cells of {', '.join(columns)} as formulas (they begin with =, +, - or @): read "
        f"{file} as text, or protect a table with --escape-formulas"
        for file, columns in read_figures(folder)["formulas"].items()
    ]


@contextmanager
def late_stops_told(out: Path) -> Iterator[None]:
    """Say of a stop that came after the folder was in its place that it was written."""
    before = _identity(out)
    try:
        yield
    except (KeyboardInterrupt, Terminated) as stop:
        if _identity(out) in (None, before):
            raise
        raise StoppedLate(out.name, stop) from None


def _identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from another one of its name."""
    if not os.path.lexists(folder):
        return None
    found = folder.lstat()
    return found.st_dev, found.st_ino


def _tell(manifest: Manifest, notes: Sequence[str], options: RunOptions, print_summary: Summary) -> None:
    """Say what was released: notes and a summary, or one JSON object."""
    with after_writing(options.out.name):
        if options.as_json:
            print_json(manifest | {"out": str(options.out), "notes": list(notes)})
            return
        for line in notes:
            note(f"Note: {line}.", quiet=options.quiet)
        if not options.quiet:
            print_summary(console(), manifest, options.out)
