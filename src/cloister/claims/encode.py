"""Patients and claims as numbers, sorted by content: the border between steps on frames and those that judge risk."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, InternalError
from cloister.hierarchy import BoundHierarchy
from cloister.io import as_text

from .data import PATIENT, Claims
from .hierarchies import BoundedHierarchy, hierarchy_named
from .plan_sections import NEVER_RELEASED, PSEUDONYMS
from .prepare import years_of

MISSING = -1
"""Number of a missing value. Among patients it is a value like others; among claims nobody is taken to know it."""

RowNumbers = NDArray[np.int64]


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


@dataclass(frozen=True, eq=False, repr=False)
class Encoding:
    """Numbers, and where they come from.

    Attributes
    ----------
    claims : patients and claims as numbers, sorted by content
    patient_rows, claim_rows : (n_patients,), (n_claims,) the row of each in the frames that were encoded
    lowest, highest : levels that a node may have, for patients' and then claims' columns
    kept_of_patients, kept_of_claims : columns that are released as they are; those of pseudonyms still to be numbered
    """

    claims: EncodedClaims
    patient_rows: RowNumbers
    claim_rows: RowNumbers
    lowest: tuple[int, ...]
    highest: tuple[int, ...]
    kept_of_patients: tuple[str, ...]
    kept_of_claims: tuple[str, ...]

    @property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """Lowest and highest level of each column."""
        return tuple(zip(self.lowest, self.highest, strict=True))


def encode(data: Claims) -> Encoding:
    """Number the values of all quasi-identifiers, and sort patients and claims by what they hold.

    Claims are in the order of their quasi-identifiers and then of the columns kept as they are; patients in the order
    of their own, and then of their claims. So the order of the input never matters; pseudonyms take no part, as they
    are numbered by this order.
    """
    if not data.n_patients:
        raise InputError("No patients are left to be released. See what the steps before left out.")
    plan = data.plan
    patients = _encoded(data.patients, plan.patients.qi, plan.grouping.tables)
    claims = _encoded(data.claims, plan.claims.qi, plan.grouping.tables)
    kept_patients, kept_claims = kept_columns(data)
    rows = pl.Series("row", range(data.n_patients), dtype=pl.Int64)
    known = data.patients.select(PATIENT).with_columns(rows)
    # the row of the patient of each claim
    owners = data.claims.select(PATIENT).join(known, on=PATIENT, how="left", maintain_order="left")["row"].to_numpy()
    content = _content(claims, data.claims, _without_pseudonyms(kept_claims, plan.claims.roles))
    by_owner = np.lexsort((content, owners))
    counts = np.bincount(owners, minlength=data.n_patients)
    own = _without_pseudonyms(kept_patients, plan.patients.roles)
    order = _patient_order(patients, data.patients, own, content[by_owner], counts)
    claim_rows = by_owner[_runs(order, counts)]
    years = years_of(data).fill_null(0).to_numpy().astype(np.int32) if plan.truncation.per == "patient-year" else None
    both = [*patients, *claims]
    return Encoding(
        EncodedClaims(
            tuple(_taken(one.column, order) for one in patients),
            tuple(_taken(one.column, claim_rows) for one in claims),
            np.concatenate(([0], np.cumsum(counts[order]))).astype(np.int64),
            None if years is None else years[claim_rows],
        ),
        order,
        claim_rows,
        tuple(one.lowest for one in both),
        tuple(one.highest for one in both),
        kept_patients,
        kept_claims,
    )


def kept_columns(data: Claims) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns of patients and of claims that are released as they are: no quasi-identifiers, nothing that is hidden."""
    plan = data.plan
    kept = []
    for frame, section in ((data.patients, plan.patients), (data.claims, plan.claims)):
        hidden = {column for column, role in section.roles.items() if role in NEVER_RELEASED or role in ("id", "drop")}
        kept.append(tuple(column for column in frame.columns if column not in {*hidden, *section.qi, PATIENT}))
    return kept[0], kept[1]


def _without_pseudonyms(kept: Sequence[str], roles: Mapping[str, str]) -> list[str]:
    return [column for column in kept if roles.get(column) not in PSEUDONYMS]


@dataclass(frozen=True, eq=False, repr=False)
class _Column:
    column: EncodedColumn
    lowest: int
    highest: int


def _encoded(frame: pl.DataFrame, qi: Mapping[str, str], tables: Mapping[str, str]) -> list[_Column]:
    return [_column(as_text(frame[name]), hierarchy_named(words, tables)) for name, words in qi.items()]


def _column(text: pl.Series, bounded: BoundedHierarchy) -> _Column:
    distinct = text.drop_nulls().unique().sort().to_list()
    bound = bounded.hierarchy.bind(text.name, distinct)
    highest = bound.n_levels - 1 if bounded.highest is None else bounded.highest
    if highest >= bound.n_levels:
        raise InputError(
            f"Column {text.name!r} is to have levels up to {highest}, but the highest of its hierarchy is "
            f"{bound.n_levels - 1}.",
            column=text.name,
        )
    values = text.cast(pl.Enum(distinct)).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
    numbers = [_numbered(labels) for labels in bound.labels]
    levels = np.array([codes for codes, _ in numbers], dtype=np.int32).reshape(bound.n_levels, len(distinct))
    names = tuple(texts for _, texts in numbers)
    return _Column(EncodedColumn(text.name, values, levels, names, _losses(bound)), bounded.lowest, highest)


def _numbered(labels: Sequence[str | None]) -> tuple[list[int], tuple[str, ...]]:
    """Numbers of labels in the order of their first values, and their texts; an empty label is an empty text."""
    texts = [label or "" for label in labels]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(texts))}
    return [numbers[label] for label in texts], tuple(numbers)


def _losses(bound: BoundHierarchy) -> NDArray[np.float64]:
    """(Leaves covered - 1) / (leaves of the domain - 1); the whole of a cell at the root, whatever the domain."""
    losses = (bound.leaves - 1) / max(bound.n_leaves - 1, 1)
    losses[0] = 0.0
    losses[-1] = 1.0
    clipped: NDArray[np.float64] = np.clip(losses, 0.0, 1.0)
    return clipped


def _content(columns: Sequence[_Column], frame: pl.DataFrame, kept: Sequence[str]) -> RowNumbers:
    """Number of each row by its content: equal rows have one number, and numbers are in the order of the content."""
    numbers_of = [pl.Series(f"{place}", one.column.values) for place, one in enumerate(columns)]
    texts_of = [as_text(frame[column]).alias(f"kept {place}") for place, column in enumerate(kept)]
    keys = pl.DataFrame([*numbers_of, *texts_of])
    names = keys.columns
    ordered = keys.with_row_index("row").sort(names, nulls_last=False)
    changed = pl.any_horizontal([pl.col(name).ne_missing(pl.col(name).shift()) for name in names])
    numbers = ordered.select("row", changed.fill_null(True).cum_sum().alias("number"))
    content = np.empty(frame.height, dtype=np.int64)
    content[numbers["row"].to_numpy()] = numbers["number"].to_numpy()
    return content


def _patient_order(
    columns: Sequence[_Column], frame: pl.DataFrame, kept: Sequence[str], content: RowNumbers, counts: NDArray[np.int64]
) -> RowNumbers:
    """Rows of patients, by their own content and then by that of their claims, which ``content`` has in runs."""
    own = _content(columns, frame, kept) if columns or kept else np.zeros(frame.height, dtype=np.int64)
    numbers = content.astype(">u4").tobytes()
    ends = np.cumsum(counts) * 4
    starts = ends - counts * 4
    keys = [
        (first, numbers[start:end])
        for first, start, end in zip(own.tolist(), starts.tolist(), ends.tolist(), strict=True)
    ]
    return np.array(sorted(range(frame.height), key=keys.__getitem__), dtype=np.int64)


def _runs(order: RowNumbers, counts: NDArray[np.int64]) -> RowNumbers:
    """Positions of the runs of claims of patients, when patients are put in this order."""
    starts = np.cumsum(counts) - counts
    sizes = counts[order]
    ends = np.cumsum(sizes)
    shift = np.repeat(starts[order] - (ends - sizes), sizes)
    positions: RowNumbers = np.arange(shift.size, dtype=np.int64) + shift
    return positions


def _taken(column: EncodedColumn, rows: RowNumbers) -> EncodedColumn:
    return EncodedColumn(column.name, column.values[rows], column.levels, column.labels, column.losses)
