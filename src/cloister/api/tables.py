"""Protecting a table from Python."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from cloister.engines.choice import is_spark_frame
from cloister.errors import InputError, as_keyword, worded
from cloister.hierarchy import Hierarchy, parse_hierarchy
from cloister.io import Source, from_native
from cloister.io.columns import check_columns
from cloister.kernels.compiling import say_first_call
from cloister.pipeline.tables import protect_table
from cloister.pipeline.undecided import propose_quasi_identifier, require_decided
from cloister.privacy import PrivacyRule
from cloister.results import Stopwatch
from cloister.search import Report
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.shapes.table.method.encode import with_cut_points
from cloister.shapes.table.method.protect import TableRelease
from cloister.shapes.table.method.roles import decide_columns
from cloister.shapes.table.method.settings import check_kinds, read_rule, requested

if TYPE_CHECKING:
    from cloister.shapes.codes.policy import UtilityPolicy


def anonymize(
    frame: Any,
    *,
    quasi_identifiers: Mapping[str, Hierarchy | str],
    rules: Sequence[PrivacyRule | str],
    id: str | None = None,  # noqa: A002  (the public name of the id column)
    patient: str | None = None,
    sensitive: Sequence[str] = (),
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    undecided: str | Sequence[str] = (),
    default_role: str | None = None,
    accept: Sequence[str] = (),
    accept_empty: bool = False,
    suppression_limit: float | Decimal = 0.05,
    loss: str = "iyengar",
    weights: Mapping[str, float] | None = None,
    search: str | None = None,
    store: str | None = None,
    time_limit: float | None = None,
    levels: Mapping[str, int] | None = None,
    purpose: str = "analysis",
    target: str | None = None,
    method: str | None = None,
    local_recoding: bool = False,
    microaggregate: Mapping[str, str] | None = None,
    codes: str | None = None,
    m: int = 2,
    policy: "UtilityPolicy | str | None" = None,
    max_cluster_size: int | None = None,
    merge_bound: float | None = None,
    level_bounds: Mapping[str, tuple[int, int | None]] | None = None,
    ids: str = "number",
    id_key: bytes | None = None,
    keep_suppressed: bool = False,
    escape_formulas: bool = False,
    seed: int = 0,
    threads: int | None = None,
    progress: Report | None = None,
) -> TableRelease:
    """Return the least lossy safe release of a table, verified; its ``data`` is the kind of dataframe that came in.

    Parameters
    ----------
    frame : pandas, Polars or PyArrow table or DuckDB relation; one row a patient. A pandas index is never kept. A
        dataframe of Spark, classic or by Connect, is counted where it is; methods that need rows are refused then.
    quasi_identifiers : hierarchy of each quasi-identifier, as an object or as on the command line
        (``"interval:5,10,20"``)
    rules : privacy rules, all of which must hold, as objects or as on the command line (``"l-diversity:diagnosis=2"``);
        a column that a rule looks at is sensitive
    id : column that identifies patients; must not repeat; released as numbers (see ``ids``)
    patient : column that says whose record it is, where a patient may have several: k counts patients then, and the
        column is released as numbers that begin anew in each class, or not at all (``ids="drop"``)
    sensitive, keep : columns released as recorded
    drop : columns not released
    undecided : role of the columns that have none: ``"drop"``, ``"sensitive"``, ``"keep"`` or ``"quasi-identifier"``
        (with a hierarchy by its values); ``"COLUMN=drop"`` for one column. An undecided column is an error.
    default_role : what ``undecided`` was called before 0.2
    accept : columns that may be released, or left out, although they undo the protection of others: texts that most
        records have alone, copies of a quasi-identifier, ids that repeat; the report names them
    accept_empty : release although all quasi-identifiers are empty, or the loss is above 0.9
    suppression_limit : share of the records that may be suppressed, in [0, 1]
    loss, weights : what is minimized (``"iyengar"``, ``"arx"``, ``"precision"``, ``"entropy"``, ``"discernibility"``,
        ``"dm_star"``, ``"average_class_size"``, ``"ambiguity"``, ``"kl_divergence"``), and weights of columns, 1 unless
        given
    search, time_limit : ``"optimal"``, as unless given, or the name of a published search
        (``cloister.search.SEARCHES``), and seconds after which the best found so far is returned; not for methods
        that search nothing (``"mondrian"``, ``"cluster"``, ``"top-down"``)
    store : how the searches ``"flash"`` and ``"bfs"`` keep what they know of transformations: ``"list"``,
        ``"antichain-list"``, ``"tree"`` or ``"ranked-tree"``, as unless given; never changes the release
    levels : a fixed transformation instead of a search
    purpose : what the data are for, which chooses the method: ``"analysis"`` keeps most, by ``"mondrian"``, but where
        something is asked that only a search looks at, or an engine counts; ``"counts"`` and ``"one-coding"`` have one
        level for each column. For analyses and counts columns called after age or sex weigh six times unless there
        are weights or a target
    target : column released as recorded that models will predict: quasi-identifiers weigh up to six times by what they
        say about it, where ``"mondrian"`` is the method
    method : ``"full-domain"`` (one level for each column), ``"mondrian"`` or ``"cluster"`` (levels of its own for each
        class, which loses less; labels of one column may then overlap), or ``"top-down"`` (one label for each value,
        at a level of its own)
    local_recoding : after full-domain generalization, release suppressed records at coarser levels of their own
    microaggregate : ``"mean"`` or ``"median"`` by column: a number that is a quasi-identifier is released as that of
        its class, to two decimals
    codes : column with the codes of a patient, separated by spaces, to be protected with the quasi-identifiers together
        ((k, k^m)-anonymity); the release is a `TableWithCodesRelease` then
    m, policy, max_cluster_size : of the codes, as of `disassociate`; a policy may be in words (``"level:1"``)
    merge_bound : merge classes, so that more codes can be counted inside them, up to this loss of the table
    level_bounds : lowest and highest level of a column; None for its top
    ids, id_key : ``"number"``, ``"drop"`` or ``"hmac"`` with a secret of at least 32 bytes
    keep_suppressed : keep suppressed records as rows of ``*``
    escape_formulas : put ``'`` before cells of text that a spreadsheet would run
    seed : written to the manifest; nothing that protects a table is random
    threads : all cores unless given; never changes the answer
    progress : called now and then with the progress of the search

    Returns
    -------
    TableRelease
        Missing values are values of their own: they form classes, and stay missing until the root level.

    Raises
    ------
    NoSafeRelease
        The rules cannot be met.

    Notes
    -----
    *Guarantee*: every rule given holds of the release. With k-anonymity, against an adversary who knows all
    quasi-identifiers of a patient and that the patient is in the data, every released record is one of at least k that
    look the same; what other rules promise stands with them; what is promised of codes stands with
    `cloister.shapes.table_with_codes.method.protect.protect_codes_of`. Proven least loss where ``search.optimal`` of
    the manifest is true. Not promised: what no rule was given for, as that sensitive values differ; anything about
    columns that are kept; anything about several releases together. Cost: see `cloister.search.optimal`.

    Examples
    --------
    >>> import cloister as cl
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [31, 34, 38, 52, 57], "sex": ["F", "F", "F", "M", "M"]})
    >>> release = cl.anonymize(people, quasi_identifiers={"age": cl.intervals(10, 50), "sex": cl.suppress()},
    ...                        rules=[cl.KAnonymity(2)], suppression_limit=0)
    >>> release.data["age"].to_list()
    ['[30-39]', '[30-39]', '[30-39]', '[50-59]', '[50-59]']
    >>> release.verify().holds
    True
    """
    keywords = {name: value for name, value in locals().items() if name not in ("frame", "progress", "default_role")}
    decisions = [undecided] if isinstance(undecided, str) else [*undecided]
    keywords["undecided"] = decisions if default_role in (None, "error") else [*decisions, default_role]
    check_kinds(keywords)
    bounds = level_bounds or {}
    check_columns(list(bounds), list(quasi_identifiers), "the list of quasi-identifiers")
    looked_up = {
        "quasi_identifiers": {
            column: QuasiIdentifier(parse_hierarchy(one) if isinstance(one, str) else one, int(low), high and int(high))
            for column, one in quasi_identifiers.items()
            for low, high in [bounds.get(column, (0, None))]
        },
        "rules": [read_rule(rule) if isinstance(rule, str) else rule for rule in rules],
        "suppression": suppression_limit,
    }
    request = requested(keywords | looked_up, is_counted=is_spark_frame(frame))
    if codes is None and ((policy, max_cluster_size, merge_bound) != (None, None, None) or m != 2):
        raise InputError("m, policy, max_cluster_size and merge_bound are for a column of codes. Name it with codes.")
    say_first_call(request.kernels if codes is None else "disassociation")
    watch = Stopwatch()
    if is_spark_frame(frame):
        return _on_spark(frame, request, codes, seed=int(seed), progress=progress, watch=watch)
    with watch.stage("read"):
        native = from_native(frame)
    source = Source(native.frame, "csv", ",", None, "a dataframe")
    propose, others = partial(propose_quasi_identifier, native.frame), [] if codes is None else [codes]
    request = decide_columns(request, native.frame.columns, source.name, propose, others)
    require_decided(native.frame, request, source.name, others)
    request = with_cut_points(request, native.frame)
    protecting: Callable[..., TableRelease] = protect_table
    if codes is not None:  # what a column of codes takes more is loaded only for that
        from cloister.pipeline.tables_with_codes import protect_table_with_codes
        from cloister.shapes.table_with_codes.format.data import CodesRequested

        asked = CodesRequested(codes, m, policy, max_cluster_size=max_cluster_size)
        protecting = partial(protect_table_with_codes, asked=asked)
    release = protecting(source, request, seed=int(seed), progress=progress, watch=watch)
    notes = tuple(worded(note, as_keyword) for note in release.notes)
    return replace(release, data=native.back(release.frame), notes=notes)


def _on_spark(frame: Any, request: TableRequest, codes: str | None, **keywords: Any) -> TableRelease:
    """Protect a dataframe of Spark, which counts it; what comes back is one of its session."""
    from cloister.engines.spark.tables import back, spark_frame
    from cloister.pipeline.table_engines import protect_counted_table

    if codes is not None:
        raise InputError("A column of codes needs the rows in memory. Give the frame as toArrow() makes it.")
    with spark_frame(frame) as table:
        release = protect_counted_table(table, request, format="csv", delimiter=",", **keywords)
    return replace(release, data=back(frame, release.frame, release.id_column))
