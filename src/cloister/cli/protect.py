"""``cloister protect``: the library writes a release, and the command prints a summary."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from cloister.cli.output import WRITTEN, Screen, StoppedLate, Terminated, after_writing, console, note, print_json, show
from cloister.cli.wording import in_options
from cloister.errors import Message
from cloister.io.folder import identity
from cloister.pipeline.releasing import WrittenRelease, write_release
from cloister.release.head import REPORT
from cloister.release.manifest import parse_manifest
from cloister.results import STARTED, Stopwatch
from cloister.settings.run_options import RunOptions
from cloister.shapes.protocol import Run
from cloister.shapes.registry import FORMS


def run_protect(shape: str, options: RunOptions) -> None:
    """Read data, protect them, write the release, and print a summary."""
    screen = Screen(quiet=options.quiet or options.as_json)
    run = Run(Stopwatch({"start": time.perf_counter() - STARTED}, screen.phase), screen)
    with screen, late_stops_reported(options.out):
        written = write_release(shape, options, run)
    with after_writing(options.out.name):
        if options.as_json:
            print_json(as_json(written, options.out))
            return
        print_summary(written, quiet=options.quiet)
        if not options.quiet:
            manifest = parse_manifest(written.manifest)
            show(
                FORMS[manifest.form].words, base="summary", m=manifest, exact=written.exact, report=options.out / REPORT
            )
            if written.attack_seconds is not None:
                console().print(f"The release held against an attack: {written.attack_seconds:.2f} s.")


def as_json(written: WrittenRelease, out: Path) -> dict[str, object]:
    """Return a release as one object: its warnings, its manifest, its place, notes, and the risks of parts."""
    notes = [in_options(line) for line in written.notes]
    risks = {"risks": {name: asdict(one) for name, one in written.risks.items()}} if written.risks else {}
    return {"warnings": [*written.warnings], **written.manifest, "out": str(out), "notes": notes, **risks}


def print_summary(written: WrittenRelease, *, quiet: bool) -> None:
    """Print the warnings of a release, then its notes."""
    for line in written.warnings:
        note(Message("Warning: ", line, "."), quiet=quiet)
    for line in written.notes:
        note(Message("Note: ", line, "."), quiet=quiet)


@contextmanager
def late_stops_reported(out: Path) -> Iterator[None]:
    """Report that the release was written when the user stopped after the final rename."""
    before = identity(out)
    try:
        yield
        WRITTEN.append(out.name)
    except (KeyboardInterrupt, Terminated) as stop:
        if identity(out) in (None, before):
            raise
        raise StoppedLate(out.name, stop) from None
