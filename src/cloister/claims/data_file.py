"""The form of what stands in the two files of a release of claims."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import model_validator

from cloister.manifest.head import Count, Section, fitting

PATIENTS, CLAIMS = "patients", "claims"
TRUNCATED = "claims_truncated"
"""Column of patients: 1 where claims of the patient were left out."""

SUPPRESSED = "sup_"
"""Beginning of the columns of claims that are 1 where the cell of a quasi-identifier was suppressed."""

NUMBER, HASHED = "number", "hmac"
"""What the ids of patients are: numbers in released order, or keyed hashes."""

IDENTIFIER: Final = "identifier"
QUASI: Final = "quasi-identifier"
KEPT: Final = "keep"
PSEUDONYM: Final = "pseudonym"
FLAG: Final = "flag"
Role = Literal["identifier", "quasi-identifier", "keep", "pseudonym", "flag"]
KEYS = {
    IDENTIFIER: {"role", "ids"},
    QUASI: {"role", "hierarchy", "level", "top"},
    KEPT: {"role"},
    PSEUDONYM: {"role", "numbered_with"},
    FLAG: {"role"},
}
"""What is published of a column, by its role."""


class ReleasedColumn(Section):
    """One column of a released file.

    Attributes
    ----------
    hierarchy, level, top : of a quasi-identifier: its hierarchy, the level released, and the highest there is
    numbered_with : of a pseudonym: columns with the same word share their numbers
    ids : of the identifier
    """

    role: Role
    hierarchy: str | None = None
    level: Count | None = None
    top: Count | None = None
    numbered_with: str | None = None
    ids: Literal["number", "hmac"] | None = None

    @model_validator(mode="after")
    def _fit(self) -> Self:
        has_keys = self.model_fields_set == KEYS[self.role]
        has_keys = has_keys and None not in [getattr(self, name) for name in KEYS[self.role]]
        return fitting(self, {"keys": has_keys, "level": (self.level or 0) <= (self.top or 0)})


class ClaimsForm(Section):
    """The columns of both files, in their order; the id comes first in both."""

    patients: dict[str, ReleasedColumn]
    claims: dict[str, ReleasedColumn]

    @model_validator(mode="after")
    def _fit(self) -> Self:
        flags = [f"{SUPPRESSED}{name}" for name in self.names(CLAIMS, QUASI)]
        patients, claims = ([*self.of(table).values()][:1] for table in (PATIENTS, CLAIMS))
        come_first = all(self.names(table, IDENTIFIER) == self.names(table)[:1] for table in (PATIENTS, CLAIMS))
        fits = {
            "identifiers": bool(patients) and patients == claims and come_first,
            "flags": self.names(PATIENTS, FLAG) == [TRUNCATED] and self.names(CLAIMS, FLAG) == flags,
            "quasi-identifiers": bool(flags),
        }
        return fitting(self, fits)

    @property
    def ids(self) -> str:
        """What the ids of patients are, in both files: number or hmac."""
        return str(next(iter(self.patients.values())).ids)

    def of(self, table: str) -> dict[str, ReleasedColumn]:
        """The columns of one file."""
        return self.patients if table == PATIENTS else self.claims

    def names(self, table: str, *roles: str) -> list[str]:
        """Names of the columns with one of these roles; all if none is given."""
        return [name for name, column in self.of(table).items() if not roles or column.role in roles]

    def levels(self, table: str) -> dict[str, int]:
        """The level of each quasi-identifier of a file."""
        return {name: column.level for name, column in self.of(table).items() if column.level is not None}


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
