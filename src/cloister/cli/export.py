"""``cloister export``: a released table as a file of another program."""

from cloister.cli.options import ExportOptions
from cloister.cli.output import say
from cloister.pipeline.exporting import export


def run_export(options: ExportOptions) -> None:
    """Verify, write, and say so."""
    export(options.folder, options.out)
    if not options.quiet:
        say(f"{options.out.name} was written from {options.folder.name}, which holds.")
