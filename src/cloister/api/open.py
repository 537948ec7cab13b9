"""Opening a release from Python, as whoever got it does, and handing its table on as a file of another program."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from cloister.errors import InputError
from cloister.io import Place, appearing, is_taken
from cloister.io.other_files import check_writable, typed_texts, write_other
from cloister.jobs.manifest import part_names
from cloister.manifest.head import CODEBOOK
from cloister.manifests import AnyManifest, typed
from cloister.release import in_rows
from cloister.release_folder import any_manifest, read_data, read_manifest, release_around
from cloister.verification import verify_folder


@dataclass(frozen=True, repr=False)
class ReleasedData:
    """A release as its recipient reads it.

    Attributes
    ----------
    tables : by the name of each data file without its ending (``data``; of claims ``patients`` and ``claims``):
        numbers, booleans and days where all values of a column are released as recorded, else labels, in their order
        where they have one (a Polars ``Enum``, in pandas an ordered ``Categorical``); null is a missing value
    codebook : meaning, type, order and bounds of columns and labels, as text
    manifest : what ``release.json`` says
    """

    tables: Mapping[str, pl.DataFrame] = field(repr=False)
    codebook: pl.DataFrame = field(repr=False)
    manifest: AnyManifest = field(repr=False)

    def __repr__(self) -> str:
        """Return what it is, in four lines."""
        rows = [
            *in_rows(self.manifest),
            ("next", f"{', '.join(f'tables[{name!r}]' for name in self.tables)}, codebook"),
        ]
        return "\n".join(f"{name:<10} {text}" for name, text in rows)

    @property
    def data(self) -> pl.DataFrame:
        """The table of the records; of claims, the claims."""
        return self.tables["claims" if self.manifest.form == "claims" else "data"]


def open(folder: str | Path, *, verify: bool = True) -> ReleasedData:  # noqa: A001  (the public name)
    """Return a release folder, verified, with its columns in the types that they have.

    Parameters
    ----------
    verify : check all that is promised first, as `verify_folder` does; the whole takes as long as that

    Raises
    ------
    GuaranteeViolation
        The folder does not hold what it promises.

    Examples
    --------
    >>> import cloister as cl  # doctest: +SKIP
    >>> cl.open("out").data.group_by("age").len()  # doctest: +SKIP
    """
    folder = Path(folder)
    if verify:
        verify_folder(folder)
    if parts := part_names(any_manifest(folder)):
        raise InputError(f"{folder.name} is of a job. Open one of its parts, as {folder.name}/{parts[0]}.")
    manifest = typed(any_manifest(folder))
    names = [name for name in manifest.files if name != CODEBOOK and not name.endswith(".json")]
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
    return ReleasedData(tables, codebook, manifest)


def _in_type(series: pl.Series, rows: pl.DataFrame) -> pl.Series:
    """A column in the type that the codebook says, as far as its labels are single values; else labels in order."""
    if series.dtype != pl.String or not rows.height:
        return series
    kind, labels = rows["type"][0], rows.filter(pl.col("label").is_not_null())
    if kind == "boolean" and "*" not in labels["label"]:
        return series.str.to_lowercase() == "true"
    is_of_values = (labels["lower"] == labels["upper"]).fill_null(False).all()  # none of an interval, nor of any value
    if kind in ("number", "date") and is_of_values:
        return typed_texts(series)
    in_order = labels.sort(pl.col("order").cast(pl.Int64), nulls_last=True)["label"]
    return series.cast(pl.Enum(in_order)) if labels["order"].is_not_null().any() else series


def export(folder: str | Path, out: str | Path) -> None:
    """Verify a released table, and write it as a file of another program; the same as ``cloister export``.

    Parameters
    ----------
    folder : a release of a table
    out : ends in .xlsx, .dta or .sav, and must not exist

    Raises
    ------
    InputError
        It is no release of a table, the extra ``files`` is not installed, or the file cannot hold a column.
    GuaranteeViolation
        The release does not hold.

    Notes
    -----
    *Guarantee*: that of the release, as the file holds its table and nothing else but the roles and labels of the
    codebook. It is read back and compared before it appears. What tells that it was not changed since, the hashes of
    the manifest, stays in the folder. Equal releases give equal files.
    """
    place, target = Path(folder).absolute(), Path(out)
    manifest = typed(read_manifest(place))
    files = [name for name in manifest.files if name != CODEBOOK]
    if manifest.shape != "table" or len(files) != 1:
        raise InputError(f"{place.name} is no release of one table in a file, and no other can be exported.")
    if is_taken(target):
        raise InputError(f"{target.name} exists already. Give another name, or remove it.", file=target.name)
    if release_around(target) is not None:
        raise InputError(f"{target.name} would lie inside a release, which then holds a foreign file. Name another.")
    frame = read_data(place / files[0], manifest.settings.delimiter)
    codebook = read_data(place / CODEBOOK, ",")
    check_writable(target, frame.columns)
    verify_folder(place)
    listed = codebook.drop_nulls("label").sort(pl.col("order").cast(pl.Int64), "label", nulls_last=True)
    labels = dict(listed.group_by("column", maintain_order=True).agg("label").iter_rows())
    role = pl.concat_str("role", "hierarchy", separator=", ", ignore_nulls=True)
    roles = dict(codebook.select("column", role).unique(maintain_order=True).iter_rows())
    with appearing(Place(target, is_file=True)) as (partial,):
        write_other(frame, partial, labels, roles)
