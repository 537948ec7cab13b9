"""Read files of Stata, SPSS and SAS in a separate process.

Their reader is written in C, and a damaged or hostile file can crash the process that reads it. The separate process
protects the one that serves pages or contains other data.
"""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

Labels = Mapping[str, Mapping[object, str]]


@dataclass(frozen=True)
class StatisticsFile:
    """The content of such a file."""

    frame: pl.DataFrame
    labels: Mapping[str, str]  # of columns
    value_labels: Labels  # by column, of values


def read_apart(reader: str, path: str, encoding: str | None) -> StatisticsFile:
    """Return the content of a file; raises CalledProcessError if its reader fails or ends.

    ``reader``: a function of pyreadstat
    """
    words = [sys.executable, "-m", __name__, reader, path, encoding or ""]
    there = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    quiet = subprocess.DEVNULL
    head, _, table = subprocess.check_output(words, env=there, stdin=quiet, stderr=quiet).partition(b"\n")  # noqa: S603
    labels, value_labels = json.loads(head)
    return StatisticsFile(pl.read_ipc(io.BytesIO(table)), labels, {name: dict(one) for name, one in value_labels})


def _read_here(reader: str, path: str, encoding: str) -> None:
    """Read a file, and write what it holds on standard output: a line of JSON, and the table as Arrow."""
    import pyreadstat

    how = {"encoding": encoding} if encoding else {}
    frame, facts = getattr(pyreadstat, reader)(path, output_format="polars", **how)
    value_labels = [
        (name, [(getattr(value, "item", lambda one=value: one)(), str(label)) for value, label in labels.items()])
        for name, labels in facts.variable_value_labels.items()
    ]
    labels = {name: label for name, label in facts.column_names_to_labels.items() if label}
    with open(1, "wb") as out:
        out.write(json.dumps([labels, value_labels]).encode() + b"\n")
        frame.write_ipc(out)


if __name__ == "__main__":
    _read_here(*sys.argv[1:])
