"""Encode columns of values as arrays for the search."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, setting
from cloister.hierarchy import BoundHierarchy, QuantileHierarchy, RareHierarchy, SimilarHierarchy, suppress
from cloister.io import Tally, as_text, distinct_values, without_formulas
from cloister.io.columns import as_held, check_columns, map_columns, pack_text
from cloister.kernels.classes import distinct_rows
from cloister.kernels.layout import CODE, FEW_ROWS, Threshold, make_task
from cloister.search.problem import SearchProblem
from cloister.shapes.table.format.options import FULL_DOMAIN, MDAV, MEAN, MODE
from cloister.utility import IYENGAR, AttributeLoss

from .coding import Coded, costs_of, level_maps, population_texts, populations_in
from .data import EncodedTable, QuasiIdentifier, Role, TableRequest
from .measure import count_non_numbers
from .roles import resolve_roles
from .transformation_checker import RuleChecker, TransformationEvaluator


def encode(frame: pl.DataFrame, request: TableRequest, file: str = "the table") -> EncodedTable:
    """Bind hierarchies to the values of a table, and number everything.

    ``frame``: one row a patient.
    """
    if frame.height == 0:
        raise InputError(f"{file} has no records.", file=file)
    if request.escape_formulas:
        frame = without_formulas(frame)

    def unique_share(column: str) -> float:
        return float(frame[column].is_unique().sum()) / frame.height

    roles = resolve_roles(frame.columns, request, file, unique_share)
    if request.id is not None:
        ids = frame[request.id]
        distinct = frame.height if request.patients else ids.n_unique()
        check_ids(request.id, file, records=frame.height, missing=ids.null_count(), distinct=distinct)
    return encode_columns(Tally(frame), roles, request)


def with_averages(request: TableRequest, frame: pl.DataFrame) -> TableRequest:
    """Return a request in which all quasi-identifiers are averaged, and none has a hierarchy.

    Where nothing was asked for, numbers get the mean, other columns and digits that begin with 0 (02139) the mode.
    """
    usual = {}
    for name in request.quasi_identifiers:
        text = as_text(frame[name]) if name in frame.columns else pl.Series([], dtype=pl.String)
        is_number = count_non_numbers(text) == 0 and not text.str.contains(r"^0\d").any()
        usual[name] = MEAN if is_number else MODE
    asked = {name: QuasiIdentifier(suppress()) for name in request.quasi_identifiers}
    return replace(request, quasi_identifiers=asked, microaggregate=usual | dict(request.microaggregate))


def with_cut_points(request: TableRequest, frame: pl.DataFrame) -> TableRequest:
    """Return a request with quantiles, and rare or similar categories, computed from the records of a table.

    For MDAV see `with_averages`.
    """
    if request.method == MDAV:
        return with_averages(request, frame)
    wanted = dict(request.quasi_identifiers)
    for column, one in request.quasi_identifiers.items():
        if isinstance(one.hierarchy, QuantileHierarchy | RareHierarchy) and column in frame.columns:
            texts = _of_patients(frame, [column], request, each=isinstance(one.hierarchy, RareHierarchy))[column]
            wanted[column] = replace(one, hierarchy=one.hierarchy.cut(column, texts.to_list(), request.k))
        elif isinstance(one.hierarchy, SimilarHierarchy) and column in frame.columns:
            check_columns([other := one.hierarchy.other], frame.columns, "the header")
            if other == column:
                raise InputError(f"{one.hierarchy.spec} must name another column than {column!r}.", column=column)
            pairs = list(_of_patients(frame, [column, other], request, each=True).iter_rows())
            wanted[column] = replace(one, hierarchy=one.hierarchy.cut(column, pairs, request.k))
    return replace(request, quasi_identifiers=wanted)


def _of_patients(frame: pl.DataFrame, columns: list[str], request: TableRequest, *, each: bool) -> pl.DataFrame:
    """Texts of columns, the first not missing, of records; of patients with several, one of each, or of each value.

    What is published of a column is of k of these at least: where patients are counted, it must be of k patients.
    """
    texts = pl.DataFrame([as_text(frame[column]).alias(column) for column in columns])
    texts = texts.with_columns(pl.col(columns[1:]).fill_null("")) if columns[1:] else texts
    if request.patients is None:
        return texts.drop_nulls(columns[0])
    texts = texts.with_columns(as_text(frame[request.patients.column]).alias(" patient")).drop_nulls(columns[0])
    by = [" patient", columns[0]] if each else [" patient"]
    rest = [column for column in columns if column not in by]
    return texts.sort(columns).group_by(by).agg(pl.col(rest).get(pl.len() // 2)).select(columns).sort(columns)


def with_packed(frame: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
    """Return a table with the text of these columns packed, if present; see `pack_text`."""
    wanted = {*columns}
    texts = (column for column in frame if column.dtype == pl.String and column.name in wanted)
    return frame.with_columns(map_columns(pack_text, texts, frame.height))


def encode_columns(table: Tally, roles: Mapping[str, Role], request: TableRequest) -> EncodedTable:
    """Return a table with known roles, bound and numbered.

    ``table``: the quasi-identifiers and sensitive columns at least.
    """
    frame = table.frame
    columns = [column for column, role in roles.items() if role is Role.QUASI_IDENTIFIER]
    # Rules look at the values of sensitive columns, and at whose records they are.
    looked_at = (Role.SENSITIVE, Role.IDENTIFIER) if request.patients else (Role.SENSITIVE,)
    sensitive = [column for column in frame.columns if roles.get(column) in looked_at]
    packed_columns = with_packed(frame.select(*columns, *sensitive), [*columns, *sensitive])
    frame = frame.with_columns(packed_columns.select(columns))
    texts = {column: as_held(frame[column]) for column in columns}
    hierarchies = {column: request.bind(column, distinct_values(texts[column])) for column in columns}
    request = replace(request, rules=tuple(rule.in_sample(table.n_records) for rule in request.rules))
    names = sorted(columns, key=lambda name: name.encode())
    populations = {str(rule.name): population_texts(rule, names) for rule in populations_in(request.rules)}
    coded = {
        name: _code_column(
            hierarchies[name], request, texts[name], {file: people[name] for file, people in populations.items()}
        )
        for name in names
    }
    records = table.weights.to_numpy()
    problem = _problem(texts, records, coded, request)
    checker = RuleChecker(request.rules, problem.task, coded, problem.row_of_record, records, packed_columns)
    if not request.is_plain:
        weights = np.array(request.weights_of(problem.names))
        evaluator = TransformationEvaluator(
            problem.task, list(coded.values()), checker, request.loss, problem.aggregate, weights
        )
        problem = replace(
            problem,
            evaluator=evaluator,
            is_monotone=all(rule.is_monotone or (problem.limit == 0 and rule.is_closed) for rule in request.rules),
            is_nested=not checker.has_table_rules,
            is_mean_loss=isinstance(request.loss, AttributeLoss),
            ignores_suppression=request.loss.ignores_suppression and request.is_by_size,
        )
    return EncodedTable(table.replace_rows(frame), roles, hierarchies, problem, tuple(coded.values()), checker)


def _problem(
    texts: Mapping[str, pl.Series], records: NDArray[np.int64], coded: Mapping[str, Coded], request: TableRequest
) -> SearchProblem:
    """The problem as class sizes and a mean of attribute losses put it."""
    names = tuple(coded)
    kernels = level_maps(list(coded.values()))
    codes = np.stack([one.rows(texts[name]).astype(CODE) for name, one in coded.items()])
    n = int(records.sum())
    # A search needs the compiler in any case.
    distinct = distinct_rows(codes, kernels, records, 0 if request.chosen_method == FULL_DOMAIN else FEW_ROWS)
    weights = request.weights_of(names)
    loss = request.loss if isinstance(request.loss, AttributeLoss) else IYENGAR
    costs = costs_of(list(coded.values()), distinct.rows, weights, loss)
    limit = suppression_limit(request.suppression, n)
    task = make_task(distinct.rows, kernels, costs, Threshold(request.class_size, n, limit))
    lowest, highest = _level_bounds([one.hierarchy for one in coded.values()], request.quasi_identifiers)
    return SearchProblem(
        names=names,
        task=task,
        aggregate=lambda losses: loss.aggregate(losses, weights),
        lowest=lowest,
        highest=highest,
        row_of_record=distinct.labels,
        requirement="; ".join(rule.sentence() for rule in request.rules),
    )


def check_ids(column: str, file: str, *, records: int, missing: int, distinct: int) -> None:
    """Reject a table with several rows for a patient, or with rows without an id."""
    if missing:
        raise InputError(
            f"Column {column!r} identifies patients, but {missing:,} records of {file} have none. Remove these "
            "records, or give each an id; or drop the column: ",
            setting("drop", [column]),
            " ",
            setting("accept", [column]),
            file=file,
            column=column,
        )
    if distinct != records:
        raise InputError(
            f"A table has one row a patient, but {file} has {records} rows and {distinct} distinct values of "
            f"{column!r}. If these are patients with several rows each, name it as ",
            setting("patient"),
            ", and k counts patients. Or reduce the table to one row a patient, or protect it as claims or "
            "trajectories.",
            file=file,
            column=column,
        )


def suppression_limit(share: Decimal, n_records: int) -> int:
    """Return the number of records that may be suppressed: the exact share of the records, rounded down."""
    numerator, denominator = share.as_integer_ratio()
    return numerator * n_records // denominator


def _code_column(
    bound: BoundHierarchy, request: TableRequest, text: pl.Series, populations: Mapping[str, pl.Series]
) -> Coded:
    if not populations:
        return Coded(bound, bound)
    hierarchy = request.quasi_identifiers[bound.column].hierarchy
    for file, people in populations.items():
        values = distinct_values(people)
        outside = len(hierarchy.outside(values))
        if outside:
            raise InputError(
                f"{outside} of {len(values)} distinct values of column {bound.column!r} of the population {file} are "
                f"not covered by {hierarchy.spec}. Correct them, leave these people out, or take another hierarchy.",
                file=file,
                column=bound.column,
            )
    every = distinct_values(pl.concat([as_text(text), *populations.values()]))
    return Coded(bound, hierarchy.bind(bound.column, every))


def _level_bounds(
    hierarchies: Sequence[BoundHierarchy], quasi_identifiers: Mapping[str, QuasiIdentifier]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    lowest, highest = [], []
    for hierarchy in hierarchies:
        wanted, top = quasi_identifiers[hierarchy.column], hierarchy.n_levels - 1
        high = top if wanted.highest is None else wanted.highest
        if not 0 <= wanted.lowest <= high <= top:
            raise InputError(
                f"Levels {wanted.lowest} to {high} of column {hierarchy.column!r} were asked for, but its hierarchy "
                f"has levels 0 to {top}.",
                column=hierarchy.column,
            )
        lowest.append(wanted.lowest)
        highest.append(high)
    return np.array(lowest, dtype=np.int64), np.array(highest, dtype=np.int64)
