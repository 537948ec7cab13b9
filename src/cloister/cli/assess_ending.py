"""The end of every ``assess``: what was found is said, and written where that was asked for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from cloister.cli.output import console, note, print_json
from cloister.io import write_private

COMPILING = "Compiling the counting for this machine, once (some ten seconds)."
FOR_THE_CUSTODIAN = "For the custodian alone: small counts are shown as they are."

Summary = dict[str, Any]


def announce(*, as_json: bool, quiet: bool) -> None:
    """Say beforehand where the first run on a machine takes longer."""
    from cloister.risk.warm import must_compile

    if must_compile():
        note(COMPILING, quiet=as_json or quiet)


def tell(
    summary: Summary, out: Path | None, show: Callable[[Console, Summary], None], *, as_json: bool, quiet: bool
) -> None:
    """Write the numbers where asked, and print them as a table or as one JSON object."""
    if out is not None:
        write_private(out, (json.dumps(summary, ensure_ascii=False, indent=1) + "\n").encode())
    if as_json:
        print_json(summary)
        return
    for line in summary["notes"]:
        note(f"Note: {line}.", quiet=quiet)
    if not quiet:
        screen = console()
        show(screen, summary)
        screen.print(FOR_THE_CUSTODIAN, soft_wrap=True)
