"""The summary of a release on the screen, by its shape; of any other shape what every manifest has."""

from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from cloister.cli.codes_summary import codes_rows
from cloister.cli.histories_summary import claims_columns, claims_rows, trajectories_rows
from cloister.cli.output import facts
from cloister.cli.table_summary import table_columns, table_rows
from cloister.release_folder import REPORT
from cloister.results import Manifest
from cloister.shape import Rows

ROWS: dict[str, Callable[[Manifest], Rows]] = {
    "table": table_rows,
    "codes": codes_rows,
    "trajectories": trajectories_rows,
    "claims": claims_rows,
}
COLUMNS: dict[str, Callable[[Manifest], Table]] = {"table": table_columns, "claims": claims_columns}


def print_summary(screen: Console, manifest: Manifest, out: Path) -> None:
    """Print what was released, under which guarantee, at what loss."""
    shape = manifest["shape"]
    screen.print(facts("Release", ROWS.get(shape, _usual_rows)(manifest)))
    if shape in COLUMNS:
        screen.print(COLUMNS[shape](manifest))
    screen.print(f"Report: {out / REPORT}", soft_wrap=True)


def _usual_rows(manifest: Manifest) -> Rows:
    counts = [f"{count:,}" if isinstance(count, int) else count for count in manifest["records"].values()]
    return [
        ("source", manifest["settings"]["source"]),
        ("records", ", ".join(f"{name} {count}" for name, count in zip(manifest["records"], counts, strict=True))),
        ("time", f"{manifest['seconds']['total']:.2f} s"),
    ]
