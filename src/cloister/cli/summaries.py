"""The summary of a release on the screen."""

from pathlib import Path

from rich.console import Console

from cloister.cli.output import facts, grid
from cloister.manifests import codes_of, typed
from cloister.release_folder import REPORT
from cloister.report import summary_rows
from cloister.results import Manifest
from cloister.tabular.manifest import QuasiIdentifierColumn, TableManifest


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
