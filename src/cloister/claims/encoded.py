"""Patients and their claims as numbers: the border between the steps that prepare frames and those that judge risk."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InternalError

MISSING = -1
"""Number of a missing value. Among patients it is a value like others; among claims nobody is taken to know it."""


@dataclass(frozen=True, eq=False, repr=False)
class EncodedColumn:
    """One quasi-identifier of patients (level 1) or of claims (level 2), and its hierarchy.

    Attributes
    ----------
    name : column
    values : (n_rows,) int32, number of the base value of each row, -1 where it is missing
    levels : (n_levels, n_values) int32, number of the label of each base value at each level; level 0 is the
        identity, the last level has one label for all, and each level is nested in the next
    labels : the texts of the labels, by level
    losses : (n_levels, n_values) float64, loss of a cell in [0, 1]; 0 at level 0, 1 at the last level
    """

    name: str
    values: NDArray[np.int32]
    levels: NDArray[np.int32]
    labels: tuple[tuple[str, ...], ...]
    losses: NDArray[np.float64]

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

    def text_at(self, level: int) -> list[str | None]:
        """Label of each row at a level, None where the value is missing."""
        texts = self.labels[level]
        return [None if number == MISSING else texts[number] for number in self.at(level).tolist()]


@dataclass(frozen=True, eq=False, repr=False)
class EncodedClaims:
    """Patients and claims, sorted by content, so that the order of the input never matters.

    Attributes
    ----------
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
