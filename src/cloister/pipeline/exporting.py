"""A release, verified -> its table as a file of Excel, Stata or SPSS, for a recipient."""

from pathlib import Path

import polars as pl

from cloister.errors import InputError
from cloister.io import Place, appearing, is_taken
from cloister.io.other_files import check_writable, write_other
from cloister.manifests import typed
from cloister.release_folder import CODEBOOK, read_data, read_manifest, release_around
from cloister.verification import verify_folder


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
