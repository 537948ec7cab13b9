"""The states of trajectories: numbered events, the request, and the written files.

Every method starts from the same form: pairs of a patient by age, then by code.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.hierarchy.bound import ROOT, Hierarchy
from cloister.io import EventColumns, EventSource, as_text
from cloister.kernels.ragged import owners, starts_of, take_runs
from cloister.settings.constraints import Interval, OneOf, check_value
from cloister.settings.reading import HowRead
from cloister.sources import read_code_events

Integers = NDArray[np.int64]
Numbers = NDArray[np.int32]
Number = str | int | float | Decimal | Fraction

BEYOND_AGES = Decimal(10**9)
FINEST = -400  # Places after the point of the first digit of an age, at most: enough for every floating-point number
ODD_CODE = f"no text, empty, {ROOT} alone, which stands for any value in a release, or with a NUL character"
LARGEST = 2**31 - 1  # The largest number that a request may state
# A weight as it may be typed, or as Python writes a small number
WEIGHT = re.compile(
    r"[0-9]{1,18}/(?!0+$)[0-9]{1,18}|[0-9]{1,18}\.?|[0-9]{0,18}\.[0-9]{1,18}|[0-9](?:\.[0-9]{1,18})?e-[0-9]{2}"
)
WORKLOAD = re.compile(r"frequent:([0-9]{1,3}(?:\.[0-9]{1,9})?)")  # How a workload is written
ID, CODE, AGE, DETAIL = "id", "code", "age", "detail"
COLUMNS = (ID, CODE, AGE)
Column = tuple[str, tuple[str, ...], Numbers]
"""An attribute of pairs: its name, the values of its domain, and the place of the value of each pair among them."""


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories:
    """One sequence of (code, age) pairs per patient: a multiset, in the order of age, then of code.

    Examples
    --------
    >>> jane = Trajectories.from_records([[("401.1", 40), ("401.1", 38)]])
    >>> jane.age_values, jane.codes.tolist(), jane.ages.tolist()
    (('38', '40'), [0, 0], [0, 1])
    """

    vocabulary: tuple[str, ...]  # the codes of the domain, each once, in the order of their UTF-8 bytes
    age_values: tuple[str, ...]  # the ages of the domain as they are written, each once, ascending as numbers
    offsets: Integers  # (n_patients + 1,) int64, where each patient's pairs begin
    codes: Numbers  # (n_pairs,) int32, positions in the vocabulary
    ages: Numbers  # (n_pairs,) int32, positions in ``age_values``
    ids: pl.Series | None = None  # (n_patients,) the patients' ids, if there are any; never released
    # detail_values, details: the same for a further attribute of the pairs, which are sorted by it last; None: there is
    # none
    detail_values: tuple[str, ...] = ()
    details: Numbers | None = None

    def __repr__(self) -> str:
        return f"Trajectories({self.n_patients} patients, {self.n_pairs} pairs)"

    @classmethod
    def from_records(
        cls,
        records: Sequence[Iterable[tuple[str, Number] | tuple[str, Number, str]]],
        ids: pl.Series | Sequence[str | int] | None = None,
        *,
        vocabulary: Iterable[str] = (),
        age_values: Iterable[Number] = (),
        detail_values: Iterable[str] = (),
    ) -> "Trajectories":
        """Make trajectories from lists of pairs; pairs are sorted.

        Parameters
        ----------
        records : the (code, age) pairs of each patient, in any order, or (code, age, detail) where each has a further
            attribute; a repeated pair is kept; codes and details are text, without spaces around
        ids : one a record, none missing or twice; spaces around them do not count
        vocabulary, age_values, detail_values : codes, ages and details that are in the domain whether they occur or not
        """
        rows: list[list[tuple[str, ...]]] = []
        for row, record in enumerate(records, start=1):
            try:
                given = [(pair[0], pair[1], [*pair[2:]]) for pair in record]
            except (TypeError, IndexError, KeyError):
                message = f"Patient {row} is no list of pairs of a code and an age. Give one."
                raise InputError(message, row=row) from None
            if not given:
                raise InputError(f"Patient {row} has no pairs. Leave such patients out.", row=row)
            rows.append(
                [(_code(code, row), age_text(age, row), *(_code(d, row) for d in rest)) for code, age, rest in given]
            )
        if {len(pair) for pairs in rows for pair in pairs} not in (set(), {2}, {3}):
            raise InputError("Some pairs have a detail and others none, or more than one. Give each pair one or none.")
        names = None if ids is None else _one_each(ids, len(rows))
        codes = sorted({*map(_code, vocabulary), *(pair[0] for pairs in rows for pair in pairs)})
        ages = sorted({*map(age_text, age_values), *(pair[1] for pairs in rows for pair in pairs)}, key=Decimal)
        details = sorted({*map(_code, detail_values), *(pair[2] for pairs in rows for pair in pairs if len(pair) > 2)})
        at = [{value: number for number, value in enumerate(values)} for values in (codes, ages, details)]
        sizes, n_columns = [len(pairs) for pairs in rows], 3 if details else 2
        flat = np.array(
            [[known[value] for known, value in zip(at, pair, strict=False)] for pairs in rows for pair in pairs],
            dtype=np.int32,
        ).reshape(-1, n_columns)
        whose = np.repeat(np.arange(len(rows)), sizes)
        found = flat[np.lexsort((*flat.T[2:], flat[:, 0], flat[:, 1], whose))].T.copy()
        return cls(tuple(codes), tuple(ages), starts_of(sizes), found[0], found[1], names, tuple(details), *found[2:])

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
        detail: str | None = None,
        **how: Unpack[HowRead],
    ) -> "Trajectories":
        """Read trajectories from CSV (also gzip'd) or Parquet, one pair per line; codes are always text.

        Parameters
        ----------
        path : columns ``id,code,age``, in any order; others are passed over
        id, code, age : names of the columns; if None, the first column with a usual name
        date, anchor, age_unit : in place of ``age``: a column of dates, the column of the date to count from
            (``"first"``: each patient's first date), and what to count, completed ``"years"`` or ``"days"``
        detail : a column with a further attribute of each pair, such as the department
        how : encoding, delimiter, texts that represent a missing value and more; see
            `cloister.settings.reading.ReadingWords`
        """
        return encode(
            read_code_events(path, columns=EventColumns(id, code, age, date, anchor, age_unit, detail), **how)
        )

    def only(self, patients: Integers) -> "Trajectories":
        """Return the trajectories of some patients, with the same codes and ages; ``patients``: their places."""
        offsets, places = take_runs(self.offsets, patients)
        ids = None if self.ids is None else self.ids.gather(patients)
        return replace(self.at(places), offsets=offsets, ids=ids)

    def at(self, places: NDArray[np.integer] | NDArray[np.bool_]) -> "Trajectories":
        """Return the same with the pairs at these places alone; the caller sees to where patients begin."""
        details = None if self.details is None else self.details[places]
        return replace(self, codes=self.codes[places], ages=self.ages[places], details=details)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Codes, ages, and details if there are any."""
        pairs: tuple[Column, ...] = (CODE, self.vocabulary, self.codes), (AGE, self.age_values, self.ages)
        return pairs if self.details is None else (*pairs, (DETAIL, self.detail_values, self.details))

    @property
    def n_patients(self) -> int:
        """The number of patients."""
        return self.offsets.size - 1

    @property
    def n_pairs(self) -> int:
        """The number of pairs of all patients."""
        return self.codes.size

    @property
    def owner(self) -> Integers:
        """The patient of each pair: (n_pairs,) int64."""
        return owners(self.offsets)


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


def is_code(code: str) -> bool:
    """Return whether a code can be written, read back and distinguished from the root of a hierarchy."""
    is_text = code not in ("", ROOT) and "\0" not in code
    return is_text and not any("\ud800" <= letter <= "\udfff" for letter in code)


def encode(source: EventSource) -> Trajectories:
    """Number the events of every patient; patients are in the order of their ids."""
    odd = source.codes.is_in([code for code in source.codes.unique() if not is_code(code)])
    what = f"lines of {source.name} have a code that is {ODD_CODE}"
    source.refuse(odd, what, "Correct or remove them.", source.columns.code)
    vocabulary = [str(code) for code in source.codes.unique().sort()]
    age_values = sorted(source.ages.unique().to_list(), key=Decimal)
    texts = ((source.codes, vocabulary), (source.ages, age_values))
    codes, ages = (text.cast(pl.Enum(known)).to_physical().to_numpy().astype(np.int32) for text, known in texts)
    ids = source.ids.unique().sort()
    patients = (source.ids.rank("dense") - 1).to_numpy().astype(np.int64)
    offsets, known = starts_of(np.bincount(patients, minlength=len(ids))), list[str]()
    details = None
    if source.details is not None:
        odd = source.details.is_in([text for text in source.details.unique() if not is_code(text)])
        source.refuse(
            odd, f"lines of {source.name} have a detail that is {ODD_CODE}", "Correct them.", source.columns.detail
        )
        known = [str(text) for text in source.details.unique().sort()]
        details = source.details.cast(pl.Enum(known)).to_physical().to_numpy().astype(np.int32)
    order = np.lexsort((*(() if details is None else (details,)), codes, ages, patients))
    trajectories = Trajectories(tuple(vocabulary), tuple(age_values), offsets, codes, ages, ids, tuple(known), details)
    return trajectories.at(order)


class Method(StrEnum):
    """How two trajectories are aligned."""

    A_GS = "a-gs"
    BASELINE = "baseline"


class Cost(StrEnum):
    """What a pair that stands for several patients loses: once (as the paper counts), or for each of them."""

    PAPER = "paper"
    EXACT = "exact"


class Unknown(StrEnum):
    """What becomes of codes that the hierarchy does not have."""

    ERROR = "error"
    ROOT = "root"
    DROP = "drop"


@dataclass(frozen=True)
class CodeSetConstraint:
    """A set of codes that must not be generalized with others."""

    name: str
    codes: frozenset[str]  # the codes; those that do not occur change nothing


@dataclass(frozen=True)
class Diversity:
    """The requirement that protects sensitive values of the patients of a cluster."""

    # at least 2; no sensitive value may be that of more than one in l patients of a cluster; of sensitive codes: no
    # more than one in l patients of a cluster may have a sensitive code behind a released one
    l: int  # noqa: E741  (as the model is called)
    codes: frozenset[str] = frozenset()  # the sensitive codes; or
    column: str | None = None  # the sensitive column of the attributes table; missing values never count as sensitive

    def __post_init__(self) -> None:
        check_value("diversity", self.l, Interval(int, 2, LARGEST))
        if bool(self.codes) == (self.column is not None):
            raise InputError(
                "A diversity is asked over sensitive codes or over one auxiliary column. Give one of them."
            )


@dataclass(frozen=True)
class TrajectoriesRequest:
    """The request for anonymizing trajectories."""

    k: int  # patients that share every released trajectory, at least 1
    # code_hierarchy, age_hierarchy: what codes and ages are generalized to
    code_hierarchy: Hierarchy
    age_hierarchy: Hierarchy
    method: Method = Method.A_GS  # how two trajectories are aligned
    # of codes, of ages and of details, if there are any, in the loss, each from 0 on, together 1
    weights: tuple[Fraction, ...] = (Fraction(1, 2), Fraction(1, 2))
    cost: Cost = Cost.PAPER  # whether the loss of a merged pair counts once or for each of its patients
    # most distinct trajectories that are compared with each other; "off": all; "auto": all where that is feasible
    block: int | Literal["auto", "off"] = "auto"
    max_loss: float | None = None  # clusters that lose more in the mean of their pairs are omitted
    drop_empty_pairs: bool = False  # omit pairs of which all is suppressed (`*`)
    diversity: Diversity | None = None  # what is asked of sensitive codes or a sensitive auxiliary column
    constraints: tuple[CodeSetConstraint, ...] = ()  # disjoint sets of codes that must not be generalized with others
    policy: str | None = None  # where these sets came from
    on_unknown_code: Unknown = Unknown.ERROR
    # pairs, and sets of pairs, whose counts are measured for the custodian: ``frequent:1``, of percent of the patients
    workload: str | None = None
    accept_empty: bool = False  # release although nearly everything is lost
    detail_hierarchy: Hierarchy | None = None  # what details are generalized to; None: pairs have none

    def __post_init__(self) -> None:
        check_value("k", self.k, Interval(int, 1, LARGEST))
        weights = weights_of(*self.weights, of=2 if self.detail_hierarchy is None else 3)
        object.__setattr__(self, "weights", weights)
        if self.max_loss is not None:
            check_value("max_loss", self.max_loss, Interval(float, 0, 1))
        if self.workload is not None:
            percent_of(self.workload)
        if isinstance(self.block, str):
            check_value("block", self.block, OneOf("auto", "off", "a number of patients"))
        else:
            limit = Interval(int, 3 * self.k, LARGEST, what="a number of patients (3 k or more)")
            check_value("block", self.block, limit)
        named = [code for constraint in self.constraints for code in constraint.codes]
        if len(named) != len(set(named)):
            raise InputError("A code stands in two sets of the utility policy. Leave it in one.")


def percent_of(workload: str) -> float:
    """Return the percentage in a workload's text."""
    found = WORKLOAD.fullmatch(workload)
    percent = float(found[1]) if found else 0.0
    if not 0 < percent <= 100:
        raise InputError(
            "A workload is written as frequent:1: pairs of code and age, and sets of them, that at least 1 percent of "
            "the patients have."
        )
    return percent


def weights_of(*weights: Number, of: int = 2) -> tuple[Fraction, ...]:
    """Return the weights of codes and ages, and of details if ``of`` is 3, as exact ratios.

    Examples
    --------
    >>> weights_of("0.3", 0.7)
    (Fraction(3, 10), Fraction(7, 10))
    """
    texts = [str(weight).strip() for weight in weights] if len(weights) == of else []
    found = [Fraction(text) for text in texts if WEIGHT.fullmatch(text)]
    if len(found) != of or sum(found) != 1:
        raise InputError(
            "Weights are two numbers from 0 on that add up to 1, of codes and of ages, as in 0.5,0.5 or 1/3,2/3."
            if of == 2
            else "Weights are three numbers from 0 on that add up to 1, of codes, ages and details, as in 0.5,0.3,0.2."
        )
    return tuple(found)


@dataclass(frozen=True, eq=False, repr=False)
class Attributes:
    """The auxiliary attributes of the patients, as the methods see them."""

    # (n_patients,) int64, rank of each patient's row of attributes by content, equal for equal rows;
    # distinguishes patients with equal trajectories, so that the order of the input never matters
    rank: Integers
    # (n_patients,) int32, number of the sensitive value, -1 where it is missing; None: no sensitive column
    sensitive: Numbers | None = None


@dataclass(frozen=True, eq=False, repr=False)
class WrittenTrajectories:
    """The contents of the data file and the attributes file."""

    # ``id`` (number of the patient from 1), ``code``, ``age``, perhaps ``detail`` (text); pairs of a patient together
    frame: pl.DataFrame
    attributes: pl.DataFrame | None = None  # ``id`` and the auxiliary columns (text); None where there are none

    @property
    def columns(self) -> list[str]:
        """The names of the attributes of pairs."""
        return [name for name in self.frame.columns if name != ID]
