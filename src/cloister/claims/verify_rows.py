"""Released claims looked for among those of the original, one way of suppressing cells after the other."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .data_file import CLAIMS, KEPT, QUASI, SUPPRESSED, ClaimsForm, WrittenClaims
from .verify_pseudonyms import ID, KEY, SHOWN, Pair

Numbers = NDArray[np.int64]
PATIENT = "\0patient"
"""Number of the released patient, from 0."""


@dataclass(frozen=True, eq=False, repr=False)
class ClaimRows:
    """Claims of the released patients, as released and as recoded again.

    Attributes
    ----------
    form : what the columns are
    n_patients : released
    here : released claims, one row each, with the flags of suppressed cells
    there : the original's claims of these patients at the levels of the release, with the ids that pseudonyms stand for

    Notes
    -----
    Texts are numbers here, the same in both frames: tens of millions of cells are compared once for each way of
    suppressing cells.
    """

    form: ClaimsForm
    n_patients: int
    here: pl.DataFrame
    there: pl.DataFrame

    @staticmethod
    def of(
        files: WrittenClaims, form: ClaimsForm, claims: pl.DataFrame, owners: Numbers, origin: Numbers
    ) -> "ClaimRows":
        """Take the claims of released patients.

        Parameters
        ----------
        claims : of the original, at the levels of the release
        owners : (n_claims,) row of the patient of each
        origin : (n_released,) row of each released patient in the original
        """
        number = np.full(max(owners.max(initial=-1), origin.max(initial=-1)) + 1, -1, dtype=np.int64)
        number[origin] = np.arange(origin.size)
        is_of_released = number[owners] >= 0
        here = files.claims.drop(form.names(CLAIMS)[0]).with_columns(pl.Series(PATIENT, files.owners, pl.UInt32))
        there = claims.filter(is_of_released).with_columns(
            pl.Series(PATIENT, number[owners[is_of_released]], pl.UInt32)
        )
        for name in form.names(CLAIMS, QUASI, KEPT):
            one, other = _numbered(here[name], there[name])
            here, there = here.with_columns(one), there.with_columns(other)
        return ClaimRows(form, origin.size, here, there)

    def are_own(self) -> bool:
        """Whether each patient has at least as many claims in the original that look like a released one."""
        return all(
            own.group_by(KEY)
            .len()
            .join(other.group_by(KEY).len("there"), on=KEY, how="left")
            .select((pl.col("len") <= pl.col("there").fill_null(0)).all())
            .item()
            for own, other in self._alike([], [])
        )

    def miss_as_flagged(self, is_flagged: NDArray[np.bool_]) -> bool:
        """Whether flagged patients have fewer claims than in the original, and all others as many."""
        here, there = (
            np.bincount(frame[PATIENT].to_numpy(), minlength=self.n_patients) for frame in (self.here, self.there)
        )
        return bool(np.all((here < there) == is_flagged) and np.all(here <= there))

    def pseudonyms(self, name: str) -> Iterator[Pair]:
        """Rows that can be each other, with the numbers and the ids of a column."""
        for own, other in self._alike([name], [f"{ID}{name}"]):
            yield own.rename({name: SHOWN}), other.rename({f"{ID}{name}": ID})

    def _alike(self, shown: list[str], ids: list[str]) -> Iterator[Pair]:
        """Released claims by which of their cells are suppressed, and claims that look alike; with these columns."""
        quasi, kept = self.form.names(CLAIMS, QUASI), self.form.names(CLAIMS, KEPT)
        flags = [f"{SUPPRESSED}{name}" for name in quasi]
        for pattern, some in self.here.partition_by(flags, as_dict=True, maintain_order=True).items():
            by = [PATIENT, *(name for name, flag in zip(quasi, pattern, strict=True) if flag == "0"), *kept]
            kinds = some.select(by).unique().with_row_index(KEY)
            yield (
                some.select(*by, *shown).join(kinds, on=by, nulls_equal=True).select(KEY, *shown),
                self.there.select(*by, *ids).join(kinds, on=by, nulls_equal=True).select(KEY, *ids),
            )


def _numbered(one: pl.Series, other: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Texts of two columns as numbers, the same for the same; missing stays missing."""
    texts = pl.Enum(pl.concat([one, other]).drop_nulls().unique())
    return one.cast(texts).to_physical(), other.cast(texts).to_physical()
