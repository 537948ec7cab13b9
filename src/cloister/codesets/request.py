"""What is asked of code sets, and what is asked about: settings, and the code sets with where they came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np

from cloister.errors import InputError
from cloister.io import CodeColumns, Query
from cloister.sources import read_code_lists

from .data import CodeSets, Integers
from .encode import encode, occurrence
from .policy import UtilityPolicy
from .workload import Workload

FIRST, NO_PLACE = -1, -2
"""In place of the item of the occurrence before: the first has none; it is missing."""


class Asked(Protocol):
    """What is asked of a method, as far as all methods go."""

    @property
    def k(self) -> int:
        """Patients that whoever knows codes of one must be left with."""


Method = TypeVar("Method", bound=Asked, covariant=True)


@dataclass(frozen=True)
class GivenCodes:
    """Code sets as they were given.

    Attributes
    ----------
    codes : one set a patient
    name : name of the file, or what else it was
    columns : which column of the file is what
    not_released : other columns of the file
    delimiter : of the file, else a comma
    format : of the file, else csv
    n_empty : patients without codes that were left out
    lines : (n_records,) position of each record in the file, from 0; None where there is no file; never released
    notes : what a user should know about how they were read
    """

    codes: CodeSets
    name: str = "code sets"
    columns: CodeColumns = CodeColumns()  # noqa: RUF009  (frozen)
    not_released: tuple[str, ...] = ()
    delimiter: str = ","
    format: Literal["csv", "parquet"] = "csv"
    n_empty: int = 0
    lines: Integers | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CodesRequest(Generic[Method]):
    """What is asked of code sets.

    Attributes
    ----------
    method : what the method is asked for
    policy : the utility policy of ``method``, with its names
    workload : case counts whose error is to be told
    numbered : whether the records of the data file are numbered
    drop_empty : whether patients without codes were to be left out
    accuracy : whether answers that the release gives are to be compared with the original
    """

    method: Method
    policy: UtilityPolicy | None = None
    workload: Workload | None = None
    numbered: bool = True
    drop_empty: bool = False
    accuracy: bool = False

    def __post_init__(self) -> None:
        if self.policy is not None and self.policy.support is not None:
            self.policy.support.check(self.method.k)


def read_given(
    path: str | Path | Query,
    columns: CodeColumns,
    *,
    repeats: bool = False,
    drop_empty: bool = False,
    encoding: str | None = None,
    delimiter: str | None = None,
    missing: tuple[str, ...] = (),
    usual_delimiter: str | None = None,
) -> GivenCodes:
    """Read code sets with where they came from.

    Parameters
    ----------
    usual_delimiter : taken where none can be detected; the rest as of `CodeSets.read`

    Raises
    ------
    InputError
        As of `CodeSets.read`.
    """
    source = read_code_lists(
        path,
        columns=columns,
        encoding=encoding,
        delimiter=delimiter,
        missing=missing,
        usual_delimiter=usual_delimiter,
    )
    encoded = encode(source, repeats=repeats, drop_empty=drop_empty)
    return GivenCodes(
        codes=CodeSets.of(encoded, repeats=repeats),
        name=source.name,
        columns=source.columns,
        not_released=source.not_released,
        delimiter=source.delimiter or ",",
        format=source.format,
        n_empty=encoded.n_empty,
        lines=encoded.lines,
        notes=(*source.notes, *encoded.notes),
    )


def check_seed(seed: int) -> int:
    """Return the seed of reconstructions if it is one.

    Raises
    ------
    InputError
        It is no whole number from 0 on.
    """
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise InputError(f"The seed is {seed!r}, but must be a whole number from 0 on.")
    return int(seed)


def check_codes(codes: CodeSets) -> CodeSets:
    """Return code sets if they can be used.

    Raises
    ------
    InputError
        There are none, a record has no codes, or occurrences of codes are not numbered from 1 without gaps.
    """
    if not isinstance(codes, CodeSets):
        raise InputError("Code sets are needed, as CodeSets.read or CodeSets.from_records return them.")
    if not codes.n_records:
        raise InputError("There are no records, so there is nothing to release.")
    if codes.repeats and not _is_numbered(codes):
        raise InputError(
            "The codes are said to be numbered occurrences, but are not numbered from 1 without gaps in each record, "
            "as 401.9#1, 401.9#2. Make them by CodeSets.read or CodeSets.from_records with repeats=True."
        )
    return codes


def _is_numbered(codes: CodeSets) -> bool:
    """Whether each record that has an occurrence of a code has all earlier ones."""
    named = [occurrence(name) for name in codes.vocabulary]
    place = {found: item for item, found in enumerate(named) if found is not None}
    before = np.array([_before(found, place) for found in named], dtype=np.int64)
    owner = np.repeat(np.arange(codes.n_records), np.diff(codes.offsets)) * codes.n_codes
    earlier = before[codes.items]
    later = earlier != FIRST
    return bool(np.all(earlier != NO_PLACE) and np.isin((owner + earlier)[later], owner + codes.items).all())


def _before(found: tuple[str, int] | None, place: Mapping[tuple[str, int], int]) -> int:
    """The item of the occurrence before, or that there is none."""
    if found is None:
        return NO_PLACE
    return FIRST if found[1] == 1 else place.get((found[0], found[1] - 1), NO_PLACE)
