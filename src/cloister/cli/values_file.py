"""Values that their hierarchies do not hold, listed where the owner of the data asked for it."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from cloister.io import write_csv


def write_values(outside: Sequence[tuple[str, str]], path: Path) -> None:
    """Write columns and values into a new file that its owner alone may read; none where there are none."""
    if outside:
        write_csv(pl.DataFrame(outside, schema={"column": pl.String, "value": pl.String}, orient="row"), path)
