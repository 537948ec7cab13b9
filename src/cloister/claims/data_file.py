"""The form of what stands in the two files of a release of claims, and what is promised of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

PATIENTS, CLAIMS = "patients", "claims"
TRUNCATED = "claims_truncated"
"""Column of patients: 1 where claims of the patient were left out."""

SUPPRESSED = "sup_"
"""Beginning of the columns of claims that are 1 where the cell of a quasi-identifier was suppressed."""

NUMBER, HMAC = "number", "hmac"
"""What the ids of patients are: numbers in released order, or keyed hashes."""

IDENTIFIER, QUASI, KEPT, PSEUDONYM, FLAG = "identifier", "quasi-identifier", "keep", "pseudonym", "flag"
KEYS = {
    IDENTIFIER: {"role", "ids"},
    QUASI: {"role", "hierarchy", "level", "top"},
    KEPT: {"role"},
    PSEUDONYM: {"role", "numbered_with"},
    FLAG: {"role"},
}
"""What is told of a column, by its role."""


@dataclass(frozen=True)
class ReleasedColumn:
    """One column of a released file.

    Attributes
    ----------
    role : identifier, quasi-identifier, keep (as recorded), pseudonym or flag
    hierarchy, level, top : of a quasi-identifier: its hierarchy, the level released, and the highest there is
    numbered_with : of a pseudonym: columns with the same word share their numbers
    ids : of the identifier: number or hmac
    """

    name: str
    role: str
    hierarchy: str | None = None
    level: int | None = None
    top: int | None = None
    numbered_with: str | None = None
    ids: str | None = None

    def told(self) -> dict[str, Any]:
        """What the manifest says of it."""
        if self.role == IDENTIFIER:
            return {"role": self.role, "ids": self.ids}
        if self.role == QUASI:
            return {"role": self.role, "hierarchy": self.hierarchy, "level": self.level, "top": self.top}
        return {"role": self.role} | ({"numbered_with": self.numbered_with} if self.role == PSEUDONYM else {})


@dataclass(frozen=True)
class ClaimsForm:
    """The columns of both files, in their order; the id comes first in both."""

    patients: tuple[ReleasedColumn, ...]
    claims: tuple[ReleasedColumn, ...]

    @property
    def ids(self) -> str:
        """What the ids of patients are, in both files."""
        return str(self.patients[0].ids)

    def of(self, table: str) -> tuple[ReleasedColumn, ...]:
        """The columns of one file."""
        return self.patients if table == PATIENTS else self.claims

    def names(self, table: str, *roles: str) -> list[str]:
        """Names of the columns with one of these roles; all if none is given."""
        return [column.name for column in self.of(table) if not roles or column.role in roles]

    def told(self) -> dict[str, dict[str, Any]]:
        """What the manifest says of the columns."""
        return {table: {column.name: column.told() for column in self.of(table)} for table in (PATIENTS, CLAIMS)}

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> "ClaimsForm":
        """Read what a manifest says of the columns.

        Raises
        ------
        AttributeError, KeyError, TypeError, ValueError
            It says something else.
        """
        if told.keys() != {PATIENTS, CLAIMS}:
            raise ValueError("not the columns of two files")
        form = cls(*(tuple(_read(name, part) for name, part in told[table].items()) for table in (PATIENTS, CLAIMS)))
        flags = [f"{SUPPRESSED}{name}" for name in form.names(CLAIMS, QUASI)]
        fits = form.names(PATIENTS, FLAG) == [TRUNCATED] and form.names(CLAIMS, FLAG) == flags
        for table in (PATIENTS, CLAIMS):
            fits &= form.names(table, IDENTIFIER) == form.names(table)[:1] and form.of(table)[0].ids == form.ids
        if not fits or not form.names(CLAIMS, QUASI):
            raise ValueError("not the columns that there must be")
        return form


def _read(name: str, told: Mapping[str, Any]) -> ReleasedColumn:
    if told.keys() != KEYS[told["role"]]:
        raise ValueError("not what is told of such a column")
    level, top = told.get("level"), told.get("top")
    if told["role"] == QUASI and not (type(level) is int and type(top) is int and 0 <= level <= top):
        raise ValueError("not a level")
    texts = [told.get(key) for key in ("hierarchy", "numbered_with", "ids")]
    if any(text is not None and not isinstance(text, str) for text in texts):
        raise TypeError("not a text")
    if told["role"] == IDENTIFIER and texts[2] not in (NUMBER, HMAC):
        raise ValueError("not what ids are")
    return ReleasedColumn(name, told["role"], texts[0], level, top, texts[1], texts[2])


@dataclass(frozen=True, eq=False, repr=False)
class WrittenClaims:
    """What stands in the two files, as text; an empty cell is null."""

    patients: pl.DataFrame
    claims: pl.DataFrame

    def __repr__(self) -> str:
        return f"WrittenClaims({self.patients.height} patients, {self.claims.height} claims)"

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The row of the patient of each claim, (n_claims,), by the ids, which come first in both files; -1 if none."""
        ids, owners = self.patients.to_series(0), self.claims.to_series(0)
        rows = pl.DataFrame({"id": ids, "row": range(ids.len())}, schema={"id": pl.String, "row": pl.Int64})
        found = owners.alias("id").to_frame().join(rows, on="id", how="left", maintain_order="left")["row"]
        return found.fill_null(-1).to_numpy().astype(np.int64)

    def of(self, table: str) -> pl.DataFrame:
        """The rows of one file."""
        return self.patients if table == PATIENTS else self.claims


class Filed(Protocol):
    """Two files and what their columns are, as laid out to be written or as read back."""

    @property
    def files(self) -> WrittenClaims:
        """The two files."""

    @property
    def form(self) -> ClaimsForm:
        """Their columns."""


@dataclass(frozen=True, eq=False, repr=False)
class ReadBack:
    """Two files as read back; see `Filed`."""

    files: WrittenClaims
    form: ClaimsForm


@dataclass(frozen=True)
class Truncated:
    """How claims were cut short.

    Attributes
    ----------
    percentile : of claims, that patients were cut to; 100 where none was
    by_year : whether it is one of patients and years
    loses_more : whether suppression leaves out claims as well
    """

    percentile: float
    by_year: bool
    loses_more: bool


@dataclass(frozen=True)
class ClaimsPromise:
    """What is promised of a release.

    Attributes
    ----------
    form : the columns of the files
    threshold, k : highest risk, and the smallest class that is not flagged
    seed : of the release
    power, rounding, basis : what the adversary knows
    is_bounded : whether the risk for who believes flags is limited as well
    figures : ``mean``, ``interval``, ``flag_rate``, ``flag_interval``, ``missed``, ``draws``; the same under
        ``tolerant`` and ``as_released``, and ``highest`` under ``tolerant``
    attacks : the same figures of other adversaries, by ``adversary``; none before they were measured
    truncation : how claims were cut short; None before that is told
    """

    form: ClaimsForm
    threshold: float
    k: int
    seed: int
    power: int
    rounding: str
    basis: str
    is_bounded: bool
    figures: Mapping[str, Any]
    attacks: Sequence[Mapping[str, Any]] = ()
    truncation: Truncated | None = None
