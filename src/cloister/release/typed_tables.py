"""The tables of a release as recipients read them: columns in their types, labels in their order."""

from pathlib import Path

import polars as pl

from cloister.errors import InputError
from cloister.io.other_files import typed_texts

from .folder import read_data
from .head import CODEBOOK
from .manifest import AnyManifest


def read_tables(folder: Path, manifest: AnyManifest) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Return the codebook of a release as text, and its tables by the name of each file without its ending."""
    names = [name for name in manifest.with_records if not name.endswith(".json")]
    if not names:
        raise InputError(f"{folder.name} has no data file: its records are in a database.", file=folder.name)
    codebook = read_data(folder / CODEBOOK, ",").cast(pl.String)
    tables = {}
    for name in names:
        frame = read_data(folder / name, manifest.settings.delimiter)
        about = f"{Path(name).stem}." if manifest.form == "claims" else ""
        tables[Path(name).stem] = frame.with_columns(
            _in_type(series, codebook.filter(pl.col("column") == about + series.name)) for series in frame
        )
    return codebook, tables


def _in_type(series: pl.Series, rows: pl.DataFrame) -> pl.Series:
    """Return a column in the type of the codebook if all its labels are single values, else as ordered labels."""
    if series.dtype != pl.String or not rows.height:
        return series
    kind, labels = rows["type"][0], rows.filter(pl.col("label").is_not_null())
    if kind == "boolean" and labels["label"].is_in(["true", "false"]).all():
        return series.str.to_lowercase() == "true"
    is_of_values = (labels["lower"] == labels["upper"]).fill_null(False).all()  # none of an interval, nor of any value
    if kind in ("number", "date") and is_of_values:
        return typed_texts(series)
    in_order = labels.sort(pl.col("order").cast(pl.Int64), nulls_last=True)["label"]
    return series.cast(pl.Enum(in_order)) if labels["order"].is_not_null().any() else series


def with_bounds(frame: pl.DataFrame, codebook: pl.DataFrame, about: str = "") -> pl.DataFrame:
    """Return a table with the bounds of labels of numbers and dates after their columns; ``about``: as in codebooks."""
    columns: list[pl.Series] = []
    for series in frame:
        columns.append(series)
        rows = codebook.filter((pl.col("column") == about + series.name) & pl.col("label").is_not_null())
        kind = rows["type"][0] if rows.height and series.dtype in (pl.String, pl.Enum) else None
        if kind in ("number", "date"):
            labels = series.cast(pl.String).alias("label").to_frame()
            known = labels.join(rows.unique("label"), on="label", how="left", maintain_order="left")
            for end in ("lower", "upper"):
                ends = known[end].str.to_date() if kind == "date" else known[end].cast(pl.Float64)
                columns.append(ends.alias(f"{series.name}_{end}"))
    names = [series.name for series in columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"The bounds of a label need a column {twice[0]!r}, and the release has one of that name.")
    return pl.DataFrame(columns)
