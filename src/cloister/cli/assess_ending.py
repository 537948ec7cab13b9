"""The end of every ``assess``: what was found is said, and written where that was asked for."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from cloister.cli.output import console, note, print_json
from cloister.errors import InputError
from cloister.io import Query, write_private
from cloister.release_folder import MANIFEST

if TYPE_CHECKING:
    from cloister.risk.histories import Attackers

COMPILING = "Compiling the counting for this machine, once (some ten seconds)."
FOR_THE_CUSTODIAN = "For the custodian alone: small counts are shown as they are."

Summary = dict[str, Any]


def announce(*, as_json: bool, quiet: bool) -> None:
    """Say beforehand where the first run on a machine takes longer."""
    from cloister.risk.assessment import must_compile

    if must_compile():
        note(COMPILING, quiet=as_json or quiet)


def check_whether_released(path: Path | Query, *, released: bool) -> None:
    """Refuse files of a release that are taken for data as recorded.

    Raises
    ------
    InputError
        They lie beside the manifest of a release.
    """
    if isinstance(path, Path) and not released and (path.parent / MANIFEST).exists():
        raise InputError(f"{path.name} lies in the folder of a release. Add --released to look at it as it is.")


def attackers_of(m: Sequence[str] | None, k: int, seed: int, *, repeats: bool) -> "Attackers":
    """Return what attackers may know, as typed.

    Raises
    ------
    InputError
        Something is no whole number, or the seed is below 0.
    """
    from cloister.cli.assess_summary import whole_numbers
    from cloister.codesets.request import check_seed
    from cloister.risk.histories import Attackers
    from cloister.verbs.assess import USUAL_KNOWN

    return Attackers(whole_numbers(m, "-m") if m else USUAL_KNOWN, k, check_seed(seed), repeats)


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
