"""Python interface for protecting a table."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Annotated, Any

from cloister.engines.choice import is_spark_frame
from cloister.errors import InputError
from cloister.hierarchy import parse_hierarchy
from cloister.io import Source, from_native
from cloister.io.columns import check_columns
from cloister.pipeline.protecting import protect
from cloister.pipeline.table_request import request_of
from cloister.pipeline.table_shape import TableShape, prepare_table
from cloister.settings.declaration import Help
from cloister.settings.run_options import K
from cloister.shapes.protocol import Run
from cloister.shapes.table.format.options import TableOptions
from cloister.shapes.table.method.data import QuasiIdentifier
from cloister.shapes.table.method.protect import TableRelease, TalliedRelease

from .keywords import NOWHERE, options_of, run_of, takes_settings

VERB, SOURCE = "protect_table", "a dataframe"
WITHOUT = ("engine",)
"""A dataframe is protected where it is."""

LEVEL_BOUNDS = 'level_bounds takes the lowest and the highest level of each column, such as {"age": (0, 2)}.'


@dataclass(frozen=True, kw_only=True)
class TableKeywords(TableOptions):
    """The settings of a table as Python takes them: rules alone may say what is promised."""

    k: Annotated[
        int | None, Help("Minimum number of records (with ``patient``: patients) that share each combination."), K
    ] = None


@takes_settings(TableKeywords, WITHOUT, more={"id_key": None, "level_bounds": None, "progress": None})
def protect_table(frame: Any, **keywords: Any) -> TableRelease:
    """Return the verified release of a table with the least information loss.

    Parameters
    ----------
    frame : one row a patient: pandas, Polars or PyArrow table, DuckDB relation, other frame that narwhals supports, or
        object with ``__arrow_c_stream__``. A pandas index is never kept. A dataframe of Spark, classic or by Connect,
        is counted where it is; methods that need rows are refused then.
    **keywords : id_key : a secret of at least 32 bytes, for ``ids="hmac"``
    level_bounds : lowest and highest level of a column; None for its top; as ``"interval:5,10@0-1"`` in ``qi``
    progress : called now and then with the progress of the search

    Returns
    -------
    TableRelease
        Its ``data`` is a dataframe of the kind that came in; Polars for other frames. Missing values are values of
        their own: they form classes, and stay missing until the root level.

    Raises
    ------
    InputError
        A setting is unknown or wrong, or a column is undecided.
    NoSafeRelease
        The rules cannot be met.

    Notes
    -----
    *Guarantee*: every rule given holds of the release. With k-anonymity, against an adversary who knows all
    quasi-identifiers of a patient and that the patient is in the data, every released record is one of at least k that
    look the same; the docstrings of other rules state their guarantees; for the guarantee of codes see
    `cloister.shapes.table_with_codes.method.protect.protect_codes_of` and, for ``codes_method`` other than
    disassociation, with `cloister.shapes.table_with_codes.method.terms.protect_terms_of`. Proven least loss where
    ``search.optimal`` of the manifest is true. Not promised: what no rule was given for, as that sensitive values
    differ; anything about columns that are kept; anything about several releases together. Cost: see
    `cloister.search.optimal`.

    Examples
    --------
    >>> import cloister as cl
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [31, 34, 38, 52, 57], "sex": ["F", "F", "F", "M", "M"]})
    >>> release = cl.protect_table(people, k=2, qi={"age": cl.intervals(10, 50), "sex": "suppress"}, suppression=0)
    >>> release.data["age"].to_list()
    ['[30-39]', '[30-39]', '[30-39]', '[50-59]', '[50-59]']
    >>> release.verify().holds
    True
    """
    id_key, bounds = keywords.pop("id_key", None), keywords.pop("level_bounds", None)
    run = run_of(keywords.pop("progress", None))
    keywords["qi"] = _with_bounds(keywords.get("qi"), {} if bounds is None else bounds)
    if isinstance(decision := keywords.get("undecided"), str):
        keywords["undecided"] = (decision,)
    options = options_of(VERB, TableKeywords, keywords, WITHOUT, data=NOWHERE, out=NOWHERE)
    if id_key is not None and not isinstance(id_key, bytes):
        raise InputError("id_key must be bytes, at least 32 of them.")
    TableShape().check(options)
    if is_spark_frame(frame):
        return _on_spark(frame, options, run, id_key)
    with run.watch.stage("read"):
        native = from_native(frame)
    table = prepare_table(options, Source(native.frame, "csv", ",", None, SOURCE), id_key=id_key)
    release = protect(table, run)
    assert isinstance(release, TableRelease)
    notes = tuple(map(str, table.notes(release, release.manifest)))
    return replace(release, data=native.back(release.frame), notes=notes)


def _with_bounds(wanted: object, bounds: object) -> object:
    """Return quasi-identifiers with the bounds of their levels; a list of names means columns without a hierarchy."""
    if isinstance(wanted, list | tuple) and all(isinstance(name, str) for name in wanted):
        wanted = dict.fromkeys(wanted)
    if not isinstance(wanted, Mapping):
        return wanted
    if not isinstance(bounds, Mapping) or not all(isinstance(name, str) for name in bounds):
        raise InputError(LEVEL_BOUNDS)
    check_columns(list(bounds), list(wanted), "the list of quasi-identifiers")
    found = dict(wanted)
    for column, bound in bounds.items():
        low, high = _levels_of(column, bound)
        hierarchy = found[column]
        one = parse_hierarchy(hierarchy) if isinstance(hierarchy, str) else hierarchy
        if hasattr(one, "bind") and not isinstance(one, type):
            found[column] = QuasiIdentifier(one, low, high)
    return found


def _levels_of(column: str, bound: object) -> tuple[int, int | None]:
    if isinstance(bound, tuple | list) and len(bound) == 2:
        low, high = bound
        if isinstance(low, Integral) and (high is None or isinstance(high, Integral)):
            return int(low), None if high is None else int(high)
    raise InputError(LEVEL_BOUNDS, column=column)


def _on_spark(frame: Any, options: TableOptions, run: Run, id_key: bytes | None) -> TableRelease:
    """Protect a dataframe of Spark, which counts its records; the release is a dataframe of the same session."""
    from cloister.engines.spark.tables import back, spark_frame
    from cloister.pipeline.table_engines import CountedProtection, OpenedTable

    if options.codes is not None:
        raise InputError("A column of codes needs the rows in memory. Give the frame as toArrow() makes it.")
    with spark_frame(frame) as table:
        columns = [column.name for column in table.columns]
        request, _ = request_of(options, columns, is_counted=True, id_key=id_key)
        release = protect(CountedProtection(OpenedTable(table), request, seed=options.seed), run)
    assert isinstance(release, TalliedRelease)
    return replace(release, data=back(frame, release.tally, release.id_column))
