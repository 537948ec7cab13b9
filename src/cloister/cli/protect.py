"""``cloister protect``: a release is written by the library, and said what was done."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from cloister.cli.output import (
    WRITTEN,
    StoppedLate,
    Terminated,
    after_writing,
    console,
    facts,
    grid,
    in_options,
    note,
    print_json,
)
from cloister.io.folder import identity
from cloister.manifests import codes_of, typed
from cloister.pipeline.releasing import write_release
from cloister.release_folder import REPORT
from cloister.report import summary_rows
from cloister.results import STARTED, Manifest, Stopwatch
from cloister.settings import RunOptions
from cloister.shape import Run
from cloister.tabular.manifest import QuasiIdentifierColumn, TableManifest

from .output import Screen


def print_summary(screen: Console, manifest: Manifest, out: Path) -> None:
    """Print what was released, under which guarantee, at what loss."""
    read = typed(manifest)
    screen.print(facts("Release", summary_rows(read)))
    if read.form == "table" or read.form == "table_with_codes":
        screen.print(grid("Columns", ["column", "role", "level", "loss"], _columns(read)))
    if read.form == "claims":
        rows = [
            [name, table, f"{column.level} of {column.top}", column.hierarchy or ""]
            for table, columns in (("patients", read.columns.patients), ("claims", read.columns.claims))
            for name, column in columns.items()
            if column.level is not None
        ]
        screen.print(grid("Quasi-identifiers", ["column", "file", "level", "hierarchy"], rows))
    screen.print(f"Report: {out / REPORT}", soft_wrap=True)


def _columns(read: TableManifest) -> list[list[str]]:
    """Role, level and loss of each column; of a level that differs between classes, the lowest and highest."""
    rows, codes = [], codes_of(read)
    for name, column in read.columns.items():
        if codes is not None and name == codes.column:
            rows.append([name, "codes", "", ""])
        elif isinstance(column, QuasiIdentifierColumn) and name in read.utility.columns:
            lost, levels = read.utility.columns[name], column.used_levels
            level = str(column.level) if column.level is not None else f"{levels[0]}-{levels[-1]}"
            rows.append([name, column.role, f"{level} of {lost.top}", f"{lost.loss:.3f}"])
        else:
            rows.append([name, column.role, "", ""])
    return rows


def run_protect(shape: str, options: RunOptions) -> None:
    """Read, protect, write, and say what was done."""
    run = Run(Stopwatch({"start": time.perf_counter() - STARTED}), Screen(quiet=options.quiet or options.as_json))
    with late_stops_reported(options.out):
        written = write_release(shape, options, run)
    with after_writing(options.out.name):
        if options.as_json:
            print_json(
                written.manifest | {"out": str(options.out), "notes": [in_options(line) for line in written.notes]}
            )
            return
        for line in written.notes:
            note(f"Note: {line}.", quiet=options.quiet)
        if not options.quiet:
            print_summary(console(), written.manifest, options.out)
            if written.attack_seconds is not None:
                console().print(f"The release held against an attack: {written.attack_seconds:.2f} s.")


@contextmanager
def late_stops_reported(out: Path) -> Iterator[None]:
    """Say of a stop that came after the folder was in its place that it was written."""
    before = identity(out)
    try:
        yield
        WRITTEN.append(out.name)
    except (KeyboardInterrupt, Terminated) as stop:
        if identity(out) in (None, before):
            raise
        raise StoppedLate(out.name, stop) from None
