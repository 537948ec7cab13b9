"""From columns of values to the arrays that the search works on."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, InternalError
from cloister.hierarchy import Ladder
from cloister.io import as_text, distinct_values
from cloister.kernels.classes import distinct_rows
from cloister.kernels.layout import CODE, Costs, Ladders, Threshold, key_strides, make_task
from cloister.search.problem import Problem

from .data import EncodedTable, QuasiIdentifier, Role, TableRequest
from .roles import resolve_roles

MOST_LEAVES = 2**62
"""Sums of leaves over all records must fit into 64 bits."""


def encode(frame: pl.DataFrame, request: TableRequest, file: str = "the table") -> EncodedTable:
    """Bind hierarchies to the values of a table and number everything.

    Parameters
    ----------
    frame : one row a patient
    file : name of the source, for messages

    Raises
    ------
    InputError
        Columns, roles, values or settings do not fit together.
    """
    if frame.height == 0:
        raise InputError(f"{file} has no records.", file=file)
    roles = resolve_roles(frame, request, file)
    _check_ids(frame, request.id, file)
    columns = [column for column, role in roles.items() if role is Role.QUASI_IDENTIFIER]
    texts = {column: as_text(frame[column]) for column in columns}
    ladders = {
        column: request.quasi_identifiers[column].hierarchy.bind(column, distinct_values(texts[column]))
        for column in columns
    }
    return EncodedTable(frame, roles, ladders, _problem(texts, ladders, request))


def _check_ids(frame: pl.DataFrame, column: str | None, file: str) -> None:
    if column is None:
        return
    if frame[column].null_count():
        raise InputError(
            f"Column {column!r} identifies patients, but {frame[column].null_count()} records of {file} have none.",
            file=file,
            column=column,
        )
    distinct = frame[column].n_unique()
    if distinct != frame.height:
        raise InputError(
            f"A table has one row a patient, but {file} has {frame.height} rows and {distinct} distinct values of "
            f"{column!r}. Reduce it to one row a patient, or protect it as claims or trajectories.",
            file=file,
            column=column,
        )


def suppression_limit(share: Decimal, n_records: int) -> int:
    """Records that may be suppressed: the share of the records, rounded down; exact however many digits it has."""
    numerator, denominator = share.as_integer_ratio()
    return numerator * n_records // denominator


def _problem(texts: Mapping[str, pl.Series], ladders: Mapping[str, Ladder], request: TableRequest) -> Problem:
    names = tuple(sorted(texts, key=lambda name: name.encode()))
    in_order = [ladders[name] for name in names]
    coded = [_Coded(ladder) for ladder in in_order]
    kernel_ladders = _kernel_ladders(coded)
    codes = np.stack([c.rows(texts[name]).astype(CODE) for name, c in zip(names, coded, strict=True)])
    n_records = codes.shape[1]
    distinct = distinct_rows(codes, kernel_ladders)
    weights = [float(request.weights.get(name, 1.0)) for name in names]
    costs = _costs(coded, codes, weights, request.loss.geometric)
    threshold = Threshold(request.k, n_records, suppression_limit(request.suppression, n_records))
    lowest, highest = _level_bounds(names, in_order, request.quasi_identifiers)
    return Problem(
        names=names,
        task=make_task(distinct.rows, kernel_ladders, costs, threshold),
        aggregate=lambda losses: request.loss.aggregate(losses, weights),
        lowest=lowest,
        highest=highest,
        row_of_record=distinct.labels,
    )


class _Coded:
    """A ladder with numbers for labels: at each level, the codes of its values and the leaves of its codes."""

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self.codes: list[NDArray[np.int64]] = []
        self.leaves: list[NDArray[np.int64]] = []
        for labels, leaves in zip(ladder.labels, ladder.leaves, strict=True):
            number: dict[str | None, int] = {}
            codes = np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.int64)
            covered = np.zeros(len(number), dtype=np.int64)
            covered[codes] = leaves
            if not np.array_equal(covered[codes], leaves):
                raise InternalError(f"Column {ladder.column!r}: one label covers different numbers of leaves.")
            self.codes.append(codes)
            self.leaves.append(covered)

    def rows(self, text: pl.Series) -> NDArray[np.int64]:
        """Code at level 0 of each record."""
        present = [value for value in self.ladder.values if value is not None]
        position = text.cast(pl.Enum(present)).to_physical().cast(pl.Int64).fill_null(len(present)).to_numpy()
        codes: NDArray[np.int64] = self.codes[0][position]
        return codes

    def rise(self, low: int, high: int) -> NDArray[np.int64]:
        """Code at level ``high`` of each code at level ``low``."""
        up = np.zeros(self.leaves[low].size, dtype=np.int64)
        up[self.codes[low]] = self.codes[high]
        if not np.array_equal(up[self.codes[low]], self.codes[high]):
            raise InternalError(f"Column {self.ladder.column!r}: levels {low} and {high} are not nested.")
        return up


def _kernel_ladders(coded: Sequence[_Coded]) -> Ladders:
    n_levels = max(len(c.codes) for c in coded)
    start = np.zeros((len(coded), n_levels, n_levels), dtype=np.int64)
    sizes = np.zeros((len(coded), n_levels), dtype=np.int64)
    tables: list[NDArray[np.int64]] = []
    length = 0
    for j, one in enumerate(coded):
        for low in range(len(one.codes)):
            sizes[j, low] = one.leaves[low].size
            for high in range(low, len(one.codes)):
                start[j, low, high] = length
                tables.append(one.rise(low, high))
                length += tables[-1].size
    stride, exact = key_strides(sizes[:, 0])
    return Ladders(
        up=np.concatenate(tables).astype(CODE),
        start=start,
        sizes=sizes,
        heights=np.array([len(c.codes) for c in coded], dtype=np.int64),
        number=np.tile(np.arange(n_levels, dtype=np.int64), (len(coded), 1)),
        stride=stride,
        exact=exact,
    )


def _costs(coded: Sequence[_Coded], codes: NDArray[np.uint32], weights: Sequence[float], geometric: bool) -> Costs:
    n_records = codes.shape[1]
    n_levels = max(len(c.codes) for c in coded)
    shape = (len(coded), n_levels)
    start, mean, worst = np.zeros(shape, dtype=np.int64), np.zeros(shape), np.ones(shape)
    domain = np.array([max(1, c.ladder.n_leaves - 1) for c in coded], dtype=np.int64)
    tables: list[NDArray[np.int64]] = []
    length = 0
    for one, leaves in zip(coded, domain.tolist(), strict=True):
        if n_records * leaves > MOST_LEAVES:
            raise InputError(
                f"The hierarchy of column {one.ladder.column!r} spans {leaves + 1} values, too many to add up over "
                f"{n_records} records. Bound it, as in interval:5,10/top=90/bottom=0, or correct extreme values.",
                column=one.ladder.column,
            )
    for j, one in enumerate(coded):
        records = np.bincount(codes[j], minlength=one.leaves[0].size)
        for level, leaves in enumerate(one.leaves):
            lost = leaves - 1
            start[j, level] = length
            tables.append(lost)
            length += lost.size
            mean[j, level] = int(records @ lost[one.rise(0, level)]) / (n_records * int(domain[j]))
            worst[j, level] = int(lost.max()) / int(domain[j])
    whole = sum(weights)
    weight = np.array([w / whole for w in weights], dtype=np.float64)
    return Costs(np.concatenate(tables), start, domain, mean, worst, weight, geometric)


def _level_bounds(
    names: Sequence[str], ladders: Sequence[Ladder], quasi_identifiers: Mapping[str, QuasiIdentifier]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    lowest, highest = [], []
    for name, ladder in zip(names, ladders, strict=True):
        wanted = quasi_identifiers[name]
        top = ladder.n_levels - 1
        high = top if wanted.highest is None else wanted.highest
        if not 0 <= wanted.lowest <= high <= top:
            raise InputError(
                f"Levels {wanted.lowest} to {high} of column {name!r} were asked for, but its hierarchy has levels "
                f"0 to {top}.",
                column=name,
            )
        lowest.append(wanted.lowest)
        highest.append(high)
    return np.array(lowest, dtype=np.int64), np.array(highest, dtype=np.int64)
