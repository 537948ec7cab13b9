"""The end of every ``protect``: the release is written, and what was done is said."""

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from cloister.cli.output import after_writing, console, note, print_json
from cloister.cli.release_options import ReleaseOptions
from cloister.release import Release
from cloister.results import Manifest

Summary = Callable[[Console, Manifest, Path], None]


def write(release: Release, options: ReleaseOptions) -> Manifest:
    """Write a release to the places that the options name, and return its manifest."""
    return release.write(
        options.out, overwrite=options.overwrite, internal=options.internal, crosswalk=options.crosswalk
    )


def tell(manifest: Manifest, notes: Sequence[str], options: ReleaseOptions, print_summary: Summary) -> None:
    """Say what was released: notes and a summary, or one JSON object."""
    with after_writing(options.out.name):
        if options.as_json:
            print_json(manifest | {"out": str(options.out), "notes": list(notes)})
            return
        for line in notes:
            note(f"Note: {line}.", quiet=options.quiet)
        if not options.quiet:
            print_summary(console(), manifest, options.out)
