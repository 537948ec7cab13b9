"""The records of a released table as they are read back: whole, as runs, or counted in a database."""

import os
from pathlib import Path

import polars as pl

from cloister.errors import InputError
from cloister.io.tally import is_large, read_runs
from cloister.release_folder import TABLE, data_file, read_data, stated
from cloister.results import Manifest

from .verification.promise import Promise


def data_file_of(folder: Path, manifest: Manifest) -> Path | None:
    """Return where the data file is; None if it is not there."""
    name = data_file(manifest)
    return None if name is None or not os.path.isfile(folder / name) else folder / name


def read_released(folder: Path, manifest: Manifest, promise: Promise, read: pl.DataFrame | None) -> pl.DataFrame:
    """Return the records of a release, or their tally.

    Parameters
    ----------
    read : the data file where it was read before, or the tally of a table in a database

    Raises
    ------
    InputError
        The file cannot be read, or the records are in a database and were not counted there.
    """
    if TABLE in manifest:
        return _in_database(manifest, read)
    path = data_file_of(folder, manifest)
    assert path is not None
    delimiter = delimiter_of(manifest, path.name)
    if read is None and is_large(path):
        read = read_runs(path, delimiter, promise.id if promise.numbered else None)
    return read_data(path, delimiter) if read is None else read


def columns_that_stayed(manifest: Manifest) -> list[str]:
    """Return the columns of a table in a database that were not counted; their values never left it."""
    if TABLE not in manifest:
        return []
    return stated(lambda: [str(column) for column in manifest[TABLE]["not_counted"]], "a table")


def said_of_database(how: str) -> str:
    """Return how a release was verified, in the words for one whose records are in a database."""
    return how.replace("from the released file", "from counts of the protected table in its database")


def _in_database(manifest: Manifest, read: pl.DataFrame | None) -> pl.DataFrame:
    if read is None:
        name = stated(lambda: str(manifest[TABLE]["name"]), "a table")
        raise InputError(
            f"The records of this release are in the table {name} of a database. Name the database with --engine, to "
            "have them counted there."
        )
    return read


def delimiter_of(manifest: Manifest, name: str) -> str | None:
    """Return what separates the cells of a data file; None where it is not CSV.

    Raises
    ------
    InputError
        The manifest does not say.
    """
    if not name.endswith(".csv"):
        return None
    delimiter = stated(lambda: manifest["settings"]["delimiter"], "a table")
    if not isinstance(delimiter, str):
        raise InputError("The manifest release.json does not name the delimiter of the data.", file="release.json")
    return delimiter
