"""Coded events -> numbered trajectories: vocabularies in order, and the pairs of each patient by age, then by code."""

from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy.ladder import ROOT
from cloister.io import EventSource


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTrajectories:
    """Trajectories as numbers; the fields are those of `Trajectories`."""

    vocabulary: tuple[str, ...] = field(repr=False)
    age_values: tuple[str, ...] = field(repr=False)
    offsets: NDArray[np.int64]
    codes: NDArray[np.int32]
    ages: NDArray[np.int32]
    ids: pl.Series

    def __repr__(self) -> str:
        return f"EncodedTrajectories({len(self.ids)} patients, {self.codes.size} pairs)"


ODD_CODE = f"no text, empty, {ROOT} alone, which stands for any code in a release, or with a NUL character"
"""What cannot be a code."""


def is_code(code: object) -> bool:
    """Return whether a code can be written, read and told from the root of a hierarchy."""
    if not isinstance(code, str) or not code or code == ROOT or "\0" in code:
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in code)


def encode(source: EventSource) -> EncodedTrajectories:
    """Number the events of every patient; patients stand in the order of their ids."""
    _check_codes(source)
    vocabulary = [str(code) for code in source.codes.unique().sort()]
    age_values = sorted(source.ages.unique().to_list(), key=Decimal)
    ids = source.ids.unique().sort()
    patients = (source.ids.rank("dense") - 1).to_numpy().astype(np.int64)
    codes = _numbers(source.codes, vocabulary)
    ages = _numbers(source.ages, age_values)
    order = np.lexsort((codes, ages, patients))
    offsets = np.zeros(len(ids) + 1, dtype=np.int64)
    np.cumsum(np.bincount(patients, minlength=len(ids)), out=offsets[1:])
    return EncodedTrajectories(tuple(vocabulary), tuple(age_values), offsets, codes[order], ages[order], ids)


def _numbers(texts: pl.Series, known: list[str]) -> NDArray[np.int32]:
    found: NDArray[np.int32] = texts.cast(pl.Enum(known)).to_physical().to_numpy().astype(np.int32)
    return found


def _check_codes(source: EventSource) -> None:
    odd = source.codes.is_in([code for code in source.codes.unique() if not is_code(code)])
    if odd.any():
        raise source.refusal(
            f"{int(odd.sum())} of {len(odd)} lines of {source.name} have a code that is {ODD_CODE} ({{place}} is the "
            "first). Correct or remove them.",
            int(odd.arg_true()[0]) + 1,
            source.columns.code,
        )
