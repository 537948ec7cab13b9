"""Trajectories as numbered events, the form that every method starts from: pairs of a patient by age, then by code."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.hierarchy.bound import ROOT
from cloister.io import EventColumns, EventSource, as_text
from cloister.reading import HowRead
from cloister.sources import read_code_events

Integers = NDArray[np.int64]
Numbers = NDArray[np.int32]
BEYOND_AGES = Decimal(10**9)
FINEST = -400
"""Places after the point at which the first digit of an age may stand: enough for every floating-point number."""

Number = str | int | float | Decimal | Fraction

ODD_CODE = f"no text, empty, {ROOT} alone, which stands for any code in a release, or with a NUL character"
"""What cannot be a code."""


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories:
    """One sequence of (code, age) pairs a patient: a multiset, in the order of age, then of code.

    Attributes
    ----------
    vocabulary : the codes of the domain, without repetition, in the order of their UTF-8 bytes
    age_values : the ages of the domain as they are written, without repetition, ascending as numbers
    offsets : (n_patients + 1,) int64, where each patient's pairs begin
    codes : (n_pairs,) int32, positions in the vocabulary
    ages : (n_pairs,) int32, positions in ``age_values``
    ids : (n_patients,) the patients' ids, if there are any; never released

    Examples
    --------
    >>> jane = Trajectories.from_records([[("401.1", 40), ("401.1", 38)]])
    >>> jane.age_values, jane.codes.tolist(), jane.ages.tolist()
    (('38', '40'), [0, 0], [0, 1])
    """

    vocabulary: tuple[str, ...]
    age_values: tuple[str, ...]
    offsets: Integers
    codes: Numbers
    ages: Numbers
    ids: pl.Series | None = None

    def __repr__(self) -> str:
        return f"Trajectories({self.n_patients} patients, {self.n_pairs} pairs)"

    @classmethod
    def from_records(
        cls,
        records: Sequence[Iterable[tuple[str, Number]]],
        ids: pl.Series | Sequence[str | int] | None = None,
        *,
        vocabulary: Iterable[str] = (),
        age_values: Iterable[Number] = (),
    ) -> "Trajectories":
        """Make trajectories of lists of pairs; pairs are put in order.

        Parameters
        ----------
        records : the (code, age) pairs of each patient, in any order; a repeated pair is kept; codes are text, without
            spaces around
        ids : one a record, none missing or twice; spaces around them do not count
        vocabulary, age_values : codes and ages that are in the domain whether they occur or not
        """
        rows = []
        for row, record in enumerate(records, start=1):
            try:
                given = [(code, age) for code, age in record]
            except (TypeError, ValueError):
                message = f"Patient {row} is no list of pairs of a code and an age. Give one."
                raise InputError(message, row=row) from None
            if not given:
                raise InputError(f"Patient {row} has no pairs. Leave such patients out.", row=row)
            rows.append([(_code(code, row), age_text(age, row)) for code, age in given])
        names = None if ids is None else _one_each(ids, len(rows))
        codes = sorted({*map(_code, vocabulary), *(code for pairs in rows for code, _ in pairs)})
        ages = sorted({*map(age_text, age_values), *(age for pairs in rows for _, age in pairs)}, key=Decimal)
        code_at = {code: number for number, code in enumerate(codes)}
        age_at = {age: number for number, age in enumerate(ages)}
        numbered = [sorted((age_at[age], code_at[code]) for code, age in pairs) for pairs in rows]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(pairs) for pairs in numbered], out=offsets[1:])
        flat = np.array([pair for pairs in numbered for pair in pairs], dtype=np.int32).reshape(-1, 2)
        return cls(tuple(codes), tuple(ages), offsets, flat[:, 1].copy(), flat[:, 0].copy(), names)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        id: str | None = None,  # noqa: A002  (as the option is called)
        code: str | None = None,
        age: str | None = None,
        date: str | None = None,
        anchor: str | None = None,
        age_unit: Literal["years", "days"] = "years",
        **how: Unpack[HowRead],
    ) -> "Trajectories":
        """Read trajectories from CSV (also gzip'd) or Parquet, one pair a line; codes are text always.

        Parameters
        ----------
        path : columns ``id,code,age``, in any order; others are passed over
        id, code, age : names of the columns; without, the first of the usual names is taken
        date, anchor, age_unit : in place of ``age``: a column of dates, the column of the date to count from
            (``"first"``: each patient's first date), and what to count, completed ``"years"`` or ``"days"``
        how : encoding, delimiter, texts that stand for a missing value and more; see `cloister.reading.ReadingWords`
        """
        columns = EventColumns(id, code, age, date, anchor, age_unit)
        source = read_code_events(path, columns=columns, **how)
        return encode(source)

    @property
    def n_patients(self) -> int:
        """How many patients there are."""
        return self.offsets.size - 1

    @property
    def n_pairs(self) -> int:
        """How many pairs all patients have together."""
        return self.codes.size


def _code(code: object, row: int | None = None) -> str:
    text = code.strip() if isinstance(code, str) else ""
    if not is_code(text):
        where = "The vocabulary" if row is None else f"Patient {row}"
        raise InputError(f"{where} has a code that is {ODD_CODE}. Correct or remove it.", row=row)
    return text


def _one_each(ids: pl.Series | Sequence[str | int], n_patients: int) -> pl.Series:
    try:
        names = as_text(ids if isinstance(ids, pl.Series) else pl.Series("id", list(ids))).str.strip_chars()
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise InputError("Ids are texts or whole numbers, and all of one kind. Give them so.") from None
    if len(names) != n_patients:
        raise InputError(f"There are {len(names)} ids for {n_patients} patients. Give one a patient.")
    lacking = int((names.is_null() | (names == "")).sum())
    if lacking:
        raise InputError(f"{lacking} of {n_patients} patients have no id. Give one each.")
    if names.n_unique() != n_patients:
        raise InputError(
            f"{n_patients} patients have {names.n_unique()} different ids. Put the pairs of a patient into one record."
        )
    return names


def age_text(age: Number, row: int | None = None) -> str:
    """Return an age as it is written: `33` for 33 and 33.0, `33.5`.

    Examples
    --------
    >>> age_text("033.50"), age_text(40.0), age_text("0.0")
    ('33.5', '40', '0')
    """
    try:
        number = Decimal(str(age).strip())
    except (InvalidOperation, ValueError):
        number = Decimal("NaN")
    if not number.is_finite() or number < 0 or number >= BEYOND_AGES or number.adjusted() < FINEST:
        raise InputError("An age is not a number from 0 on. Correct it, or leave the pair out.", row=row)
    text = format(number, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text).lstrip("0").replace("-", "") or "0"


def is_code(code: object) -> bool:
    """Return whether a code can be written, read and told from the root of a hierarchy."""
    if not isinstance(code, str) or not code or code == ROOT or "\0" in code:
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in code)


def encode(source: EventSource) -> Trajectories:
    """Number the events of every patient; patients stand in the order of their ids."""
    odd = source.codes.is_in([code for code in source.codes.unique() if not is_code(code)])
    source.refuse(
        odd,
        f"{{count}} of {len(odd)} lines of {source.name} have a code that is {ODD_CODE} ({{place}} is the first). "
        "Correct "
        "or remove them.",
        source.columns.code,
    )
    vocabulary = [str(code) for code in source.codes.unique().sort()]
    age_values = sorted(source.ages.unique().to_list(), key=Decimal)
    ids = source.ids.unique().sort()
    patients = (source.ids.rank("dense") - 1).to_numpy().astype(np.int64)
    codes = _numbers(source.codes, vocabulary)
    ages = _numbers(source.ages, age_values)
    order = np.lexsort((codes, ages, patients))
    offsets = np.zeros(len(ids) + 1, dtype=np.int64)
    np.cumsum(np.bincount(patients, minlength=len(ids)), out=offsets[1:])
    return Trajectories(tuple(vocabulary), tuple(age_values), offsets, codes[order], ages[order], ids)


def _numbers(texts: pl.Series, known: list[str]) -> NDArray[np.int32]:
    found: NDArray[np.int32] = texts.cast(pl.Enum(known)).to_physical().to_numpy().astype(np.int32)
    return found
