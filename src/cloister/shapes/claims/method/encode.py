"""Encode patients and claims as numbers, sorted by content: the interface between frames and risk measures.

The loss of a cell's label is non-uniform entropy, leaves (Iyengar), or the height of its level (precision).

References
----------
Gionis, Tassa (2009), "k-anonymization with minimal loss of information" (non-uniform entropy, which El Emam et al.
recommend with OLA); Iyengar (2002), "Transforming data to satisfy privacy constraints"; Sweeney (2002), "Achieving
k-anonymity privacy protection using generalization and suppression".
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, InternalError
from cloister.hierarchy import BoundHierarchy
from cloister.io.columns import code_texts, pack_text
from cloister.shapes.claims.format.data import (
    Claims,
    RowNumbers,
    numbers_by_content,
    rank_pairs,
    sort_numbers,
    years_of,
)
from cloister.shapes.claims.format.hierarchies import bounds_of, hierarchy_named
from cloister.shapes.claims.format.released_columns import CLAIMS, KEPT, PATIENTS, TABLES, kept_columns

LossName = Literal["entropy", "iyengar", "precision"]

Losses = NDArray[np.float64]

MISSING = -1
"""Number of a missing value. For patients it is a value like others. For claims no adversary is assumed to know it."""


@dataclass(frozen=True, eq=False, repr=False)
class EncodedColumn:
    """One quasi-identifier of patients (level 1) or of claims (level 2), and its hierarchy.

    values : (n_rows,) integers as small as will do, number of the base value of each row, -1 where it is missing
    levels : (n_levels, n_values) int32, number of the label of each base value at each level; level 0 is the
        identity, the last level has one label for all, and each level is nested in the next
    labels : the texts of the labels, by level
    losses : (n_levels, n_values) float64, loss of a cell, 0 at level 0 and never falling with the level; over all rows
        the mean is at most 1 (`cell_losses`)
    """

    name: str
    values: NDArray[np.signedinteger]
    levels: NDArray[np.int32]
    labels: tuple[tuple[str, ...], ...]
    losses: NDArray[np.float64]

    @classmethod
    def flat(cls, name: str, values: NDArray[np.int32], texts: Sequence[str]) -> "EncodedColumn":
        """A column with nothing between its values and the root."""
        levels = np.stack([np.arange(len(texts)), np.zeros(len(texts), dtype=np.int64)]).astype(np.int32)
        return cls(name, values, levels, (tuple(texts), ("*",)), np.repeat([[0.0], [1.0]], len(texts), axis=1))

    @property
    def n_levels(self) -> int:
        """Number of levels; the highest is one less."""
        return int(self.levels.shape[0])

    @property
    def n_values(self) -> int:
        """Number of base values, the missing one not among them."""
        return int(self.levels.shape[1])

    def at(self, level: int) -> NDArray[np.int32]:
        """Number of the label of each row at a level, -1 where the value is missing."""
        numbers: NDArray[np.int32] = np.append(self.levels[level], np.int32(MISSING))[self.values].astype(np.int32)
        return numbers


def neighbours(column: EncodedColumn) -> NDArray[np.int32]:
    """New number of each base value, (n_values,): levels are nested, so sorting by the highest levels first does it."""
    order = np.lexsort(column.levels)
    number = np.empty(order.size, dtype=np.int32)
    number[order] = np.arange(order.size, dtype=np.int32)
    return number


class SortedValues(NamedTuple):
    """The values of a column of claims that are not missing, patient by patient, those of one label side by side.

    numbers : (n_values,) int32, `neighbours` of the column: a base value's new number
    starts : (n_patients + 1,) int64; values of patient i are ``values[starts[i]:starts[i + 1]]``, rising
    values : int32, renumbered
    rows : int32, the claim of each value
    """

    numbers: NDArray[np.int32]
    starts: NDArray[np.int64]
    values: NDArray[np.int32]
    rows: NDArray[np.int32]

    @classmethod
    def of(cls, column: EncodedColumn, offsets: NDArray[np.int64]) -> "SortedValues":
        """The values of a column; ``offsets`` of the claims of each patient."""
        numbers = neighbours(column)
        rows = np.flatnonzero(column.values != MISSING).astype(np.int32)
        values = numbers[column.values[rows]]
        starts = np.searchsorted(rows, offsets).astype(np.int64)
        owners = np.repeat(np.arange(offsets.size - 1), np.diff(starts))
        order = np.argsort(owners * max(1, numbers.size) + values)
        return cls(numbers, starts, values[order], rows[order])

    def only(self, claims: NDArray[np.bool_]) -> "SortedValues":
        """Those of some claims, (n_claims,)."""
        kept = claims[self.rows]
        before = np.append(np.int32(0), np.cumsum(kept, dtype=np.int32))
        return SortedValues(self.numbers, before[self.starts].astype(np.int64), self.values[kept], self.rows[kept])


@dataclass(frozen=True, eq=False, repr=False)
class EncodedClaims:
    """Patients and claims, sorted by content, so that the order of the input never matters.

    patients : level-1 quasi-identifiers, (n_patients,) values each
    claims : level-2 quasi-identifiers, (n_claims,) values each
    offsets : (n_patients + 1,) int64; the claims of patient i are the rows ``offsets[i]:offsets[i + 1]``
    years : (n_claims,) int32 for truncation per year of a patient, or None
    """

    patients: tuple[EncodedColumn, ...]
    claims: tuple[EncodedColumn, ...]
    offsets: NDArray[np.int64]
    years: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together: an error of ours, since values were checked when they were read."""
        if self.offsets.size == 0 or self.offsets[0] != 0 or bool(np.any(np.diff(self.offsets) < 0)):
            raise InternalError("The claims of patients are not one run of rows each.")
        _check(self.patients, self.n_patients)
        _check(self.claims, self.n_claims)
        if self.years is not None and self.years.size != self.n_claims:
            raise InternalError("The years of claims are not one for each claim.")

    @property
    def n_patients(self) -> int:
        """Number of patients."""
        return int(self.offsets.size - 1)

    @property
    def n_claims(self) -> int:
        """Number of claims of all patients."""
        return int(self.offsets[-1])

    @property
    def columns(self) -> tuple[EncodedColumn, ...]:
        """All quasi-identifiers, those of patients first: the order of levels in a node."""
        return (*self.patients, *self.claims)

    @cached_property
    def sorted_values(self) -> tuple[SortedValues, ...]:
        """The values of each column of claims, sorted once for all that is asked of them."""
        return tuple(SortedValues.of(column, self.offsets) for column in self.claims)

    @property
    def owners(self) -> NDArray[np.int64]:
        """Patient of each claim, (n_claims,)."""
        return np.repeat(np.arange(self.n_patients), np.diff(self.offsets))


def _check(columns: Sequence[EncodedColumn], n_rows: int) -> None:
    for column in columns:
        levels, values = column.levels, column.values
        fits = values.size == n_rows and levels.shape == column.losses.shape and levels.shape[0] == len(column.labels)
        if not fits or (n_rows and not (values.min() >= MISSING and values.max() < column.n_values)):
            raise InternalError(f"Column {column.name!r}: numbers and hierarchy do not fit together.")
        for low, high in itertools.pairwise(levels):
            above = np.full(int(low.max(initial=0)) + 1, MISSING)
            above[low] = high
            if not np.array_equal(above[low], high):
                raise InternalError(f"Column {column.name!r}: its levels are not nested.")


@dataclass(frozen=True, eq=False, repr=False)
class Encoding:
    """Numbers, and where they come from.

    claims : patients and claims as numbers, sorted by content
    patient_rows, claim_rows : (n_patients,), (n_claims,) the row of each in the frames that were encoded
    bounds : lowest and highest level that a node may have, for patients' and then claims' columns
    """

    claims: EncodedClaims
    patient_rows: RowNumbers
    claim_rows: RowNumbers
    bounds: tuple[tuple[int, int], ...]


def encode(data: Claims) -> Encoding:
    """Number the values of all quasi-identifiers, and sort patients and claims by content.

    Claims are in the order of their quasi-identifiers and then of the columns kept as they are; patients in the order
    of their own, and then of their claims. So the order of the input never matters; pseudonyms take no part, as they
    are numbered by this order.
    """
    if not data.n_patients:
        raise InputError("No patients remain. The preceding steps removed all of them.")
    plan = data.plan
    patients, claims = ([*_encode_file(data, table)] for table in TABLES)
    owners, content = data.owners, _content(claims, data, CLAIMS)
    counts = np.bincount(owners, minlength=data.n_patients)
    sequences = sort_numbers(owners, content, data.n_patients)
    order = np.argsort(rank_pairs(_content(patients, data, PATIENTS), sequences), kind="stable").astype(np.int64)
    claim_rows = np.lexsort((content, owners))[_runs(order, counts)]
    years = years_of(data).fill_null(0).to_numpy().astype(np.int32) if plan.truncation.per == "patient-year" else None
    encoded = EncodedClaims(
        tuple(replace(column, values=column.values[order]) for column, _ in patients),
        tuple(replace(column, values=column.values[claim_rows]) for column, _ in claims),
        np.concatenate(([0], np.cumsum(counts[order]))).astype(np.int64),
        None if years is None else years[claim_rows],
    )
    return Encoding(encoded, order, claim_rows, tuple(bounds for _, bounds in (*patients, *claims)))


def _encode_file(data: Claims, table: str) -> Iterator[tuple[EncodedColumn, tuple[int, int]]]:
    """The quasi-identifiers of a file, each with the lowest and the highest level that the plan allows."""
    for name, words in data.plan.of(table).qi.items():
        (distinct, values), (low, high) = code_texts(data.of(table)[name]), bounds_of(words)
        bound = hierarchy_named(words, data.plan.grouping.tables).bind(name, distinct)
        highest = bound.n_levels - 1 if high is None else high
        if highest >= bound.n_levels:
            raise InputError(
                f"Column {name!r} is to have levels up to {highest}, but the highest of its hierarchy is "
                f"{bound.n_levels - 1}.",
                column=name,
            )
        # labels are numbered in the order of their first values; an empty label is an empty text
        labels = [[label or "" for label in own] for own in bound.labels]
        numbers = [{text: number for number, text in enumerate(dict.fromkeys(own))} for own in labels]
        codes = [[of[text] for text in own] for of, own in zip(numbers, labels, strict=True)]
        levels, texts = np.array(codes, dtype=np.int32).reshape(bound.n_levels, len(distinct)), map(tuple, numbers)
        losses = cell_losses(data.plan.search.loss, bound, levels, values)
        small = values.astype(np.min_scalar_type(-1 - len(distinct)))
        yield EncodedColumn(name, small, levels, tuple(texts), losses), (low, highest)


def _content(columns: Sequence[tuple[EncodedColumn, object]], data: Claims, table: str) -> RowNumbers:
    """Number of each row by its quasi-identifiers, and then by what is released as recorded."""
    kept = [name for name, one in kept_columns(data.plan, table).items() if one.role == KEPT]
    frame = data.of(table)
    keys = [pl.Series(f"{place}", column.values) for place, (column, _) in enumerate(columns)]
    keys += [pack_text(frame[name]).alias(f"kept {name}") for name in kept]
    return numbers_by_content(pl.DataFrame(keys)) if keys else np.zeros(frame.height, dtype=np.int64)


def _runs(order: RowNumbers, counts: NDArray[np.int64]) -> RowNumbers:
    """Positions of the runs of claims of patients, when patients are put in this order."""
    starts = np.cumsum(counts) - counts
    sizes = counts[order]
    shift = np.repeat(starts[order] - (np.cumsum(sizes) - sizes), sizes)
    positions: RowNumbers = np.arange(shift.size, dtype=np.int64) + shift
    return positions


def cell_losses(
    name: LossName, bound: BoundHierarchy, levels: NDArray[np.int32], values: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the loss of a cell, by level and base value, (n_levels, n_values); 0 at level 0, never falling with it.

    ``entropy`` weighs cells by what they say: of one of a rare value more is lost than of a common one, so that losses
    of cells may exceed 1; their mean over the values is at most 1. The others lose 1 at the root in every cell.

    levels : (n_levels, n_values) number of the label of each base value
    values : base value of each row, -1 where it is missing
    """
    if name == "entropy":
        return entropy_losses(levels, np.bincount(values[values >= 0], minlength=levels.shape[1]))
    if name == "precision":
        heights = np.arange(levels.shape[0]) / max(levels.shape[0] - 1, 1)
        return np.repeat(heights[:, None], levels.shape[1], axis=1)
    losses = (bound.leaves - 1) / max(bound.n_leaves - 1, 1)
    losses[0], losses[-1] = 0.0, 1.0
    clipped: Losses = np.clip(losses, 0.0, 1.0)
    return clipped


def entropy_losses(levels: NDArray[np.int32], counts: NDArray[np.int64]) -> Losses:
    """Return -log2 of the share of a value among its label's, over the entropy of the column; all 0 if that is 0.

    counts : (n_values,) rows with each base value
    """
    losses = np.zeros(levels.shape)
    # a value that no row has loses nothing in any row
    own = np.log2(np.maximum(counts, 1))
    for level, labels in enumerate(levels):
        sums = np.bincount(labels, weights=counts)[labels]
        losses[level] = np.where(counts > 0, np.log2(np.maximum(sums, 1)) - own, 0.0)
    total, entropy = int(counts.sum()), float(losses[-1] @ counts) if losses.size else 0.0
    return losses * (total / entropy) if entropy > 0 else losses * 0.0


def distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different ones of some numbers from 0 on, in order; np.unique hashes, which of millions takes longer."""
    found = np.sort(numbers)
    first: NDArray[np.int64] = found[np.diff(found, prepend=-1) != 0]
    return first
