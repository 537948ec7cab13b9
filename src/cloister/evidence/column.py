"""A column under examination: its distinct values with their numbers of records, its name and its label."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy import icd9, icd10
from cloister.risk.column_names import words_of
from cloister.risk.identifiers import is_named_patient
from cloister.risk.safe_harbor import IdentifierSign
from cloister.risk.values import Values

Sureness = Literal["sure", "likely", "not sure"]
IDS = ("id", "patient_id", "person_id", "subject_id", "participant_id", "client_id", "member_id", "memberid", "patient",
       "patientid", "patient_no", "patient_nr", "patient_nbr", "patient_number", "person", "member", "beneficiary",
       "beneficiary_id", "bene_id", "desynpuf_id", "mrn", "pid", "eid", "seqn", "fallnummer")  # fmt: skip
ENDS_OF_IDS = re.compile(
    r"(patient|person|subject|member|beneficiary|uniquep)\w*"
    r"(id|identifier|nr|no|num|number|nummer|key|ref|hash|token|pseudonym)$"
)
WORDS_OF_CODES = re.compile(r"code|icd|diag|(^|_)dx|concept")
NEARLY_ALL = 0.98  # share of the records that decides what a column holds
UNIQUE_SHARE = 0.05  # categories are kinds of people if no more of the values than this occur in one record alone
FEW, MANY_KINDS = 12, 60
MOST_BARS = 12  # of a small picture of a column
NUMBER = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$"
DATE = r"[0-9]{4}-[0-9]{2}(-[0-9]{2}([ T].*)?)?"  # a day, with a time or without; or a month
MOST_CODES = 10_000  # distinct values that are looked up in a classification


@dataclass(frozen=True)
class Guess:
    """The suggested role of a column, and the reason, in a few words without values.

    `sure` where name and content agree, `likely` by one of them, `not sure` where neither gives evidence.
    """

    column: str
    role: str
    sureness: Sureness
    why: str
    hierarchy: str | None = None  # of a quasi-identifier

    @property
    def finding(self) -> str:
        """The first finding, without the number of values if there is another."""
        findings = self.why.split("; ")
        return next((one for one in findings if not one[:1].isdigit()), findings[0])


@dataclass(frozen=True)
class Column:
    """A column under examination."""

    name: str
    label: str  # as Stata, SPSS and REDCap have it; "" where there is none
    counted: Values = field(repr=False)  # the distinct values that are not missing, sorted
    n_rows: int
    findings: tuple[IdentifierSign, ...] = field(repr=False)  # signs of identifiers

    @classmethod
    def of(cls, text: pl.Series, label: str, findings: tuple[IdentifierSign, ...] = ()) -> "Column":
        """Count the values of a column of text."""
        return cls(text.name, label, Values.of(text).in_order(), len(text), findings)

    @property
    def values(self) -> pl.Series:
        """The distinct values."""
        return self.counted.texts

    @cached_property
    def records(self) -> NDArray[np.int64]:
        """How many records have each value."""
        return self.counted.records.to_numpy()

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the column's name and label."""
        return frozenset(words_of(self.name)) | frozenset(words_of(self.label))

    @property
    def n_values(self) -> int:
        """The number of distinct values."""
        return len(self.values)

    @cached_property
    def n_present(self) -> int:
        """The number of records with a value."""
        return int(self.records.sum())

    @property
    def is_key(self) -> bool:
        """Whether every record has a value, and no two records share one."""
        return self.n_values == self.n_rows

    @cached_property
    def alone(self) -> float:
        """The share of records with a unique value."""
        return float((self.records == 1).sum()) / max(1, self.n_present)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The values as numbers; NaN if not a number."""
        return _as_numbers(self.values)

    def share(self, chosen: NDArray[np.bool_]) -> float:
        """Return the share of the records with a value whose value is selected."""
        return float(self.records[chosen].sum()) / max(1, self.n_present)

    def share_like(self, pattern: str) -> float:
        """Return the share of the records with a value whose complete value has this form."""
        return self.shares_like([pattern])[0]

    def shares_like(self, patterns: Iterable[str]) -> list[float]:
        """Return `share_like` of each pattern; all are looked for at once."""
        return [n / max(1, self.n_present) for n in self.counted.count_like(*map(complete, patterns))]

    def mostly(self, pattern: str) -> bool:
        """Whether nearly all records have a value of this form."""
        return self.share_like(pattern) >= NEARLY_ALL

    def speaks_of(self, is_named: Callable[[str], bool]) -> bool:
        """Whether name or label passes a test of names."""
        return is_named(self.name) or (bool(self.label) and is_named(self.label))

    @cached_property
    def are_numbers(self) -> bool:
        """Whether nearly all records have a number."""
        return self.share(~np.isnan(self.numbers)) >= NEARLY_ALL

    @cached_property
    def is_whole(self) -> bool:
        """Whether all numbers are whole."""
        found = self.numbers[~np.isnan(self.numbers)]
        return bool(found.size) and bool((found == np.floor(found)).all())

    @cached_property
    def numbers_rows(self) -> bool:
        """Whether the column has each number from 0 or 1 on once, as a data frame of R or pandas has them."""
        if not self.is_key or self.n_rows <= MANY_KINDS:
            return False
        numbers = np.sort(self.numbers)
        return numbers[0] in (0, 1) and np.array_equal(numbers, numbers[0] + np.arange(self.n_rows))

    @cached_property
    def is_measured(self) -> bool:
        """Whether the column has numbers with decimals, which no register assigns to a person."""
        numbers = self.numbers
        with np.errstate(invalid="ignore"):
            return self.are_numbers and self.share(numbers != np.floor(numbers)) > UNIQUE_SHARE

    def share_between(self, low: float, high: float) -> float:
        """Return the share of the records with a number from ``low`` to ``high``."""
        with np.errstate(invalid="ignore"):
            return self.share((self.numbers >= low) & (self.numbers <= high))

    @cached_property
    def are_kinds(self) -> bool:
        """Whether the column has few values, or a moderate number that each occur in several records."""
        return self.n_values <= FEW or (self.n_values <= MANY_KINDS and self.alone <= UNIQUE_SHARE)

    @property
    def kind(self) -> str:
        """What the values are, in a word or two."""
        if not self.n_values:
            return "empty"
        if self.are_numbers:
            return "integers" if self.is_whole else "numbers"
        return "dates" if self.mostly(DATE) else "categories" if self.n_values <= MANY_KINDS else "text"

    def distribution(self, like: "Column | None" = None) -> list[int]:
        """Return records by values of equal width for numbers and days, else of the most frequent values.

        ``like``: the column whose values define the axis, if not this one
        """
        whole = like or self
        scale, known = whole._scale(), np.isfinite(whole._scale())
        if known.sum() > 1 and np.ptp(scale[known]) > 0:
            low, wide = scale[known].min(), np.ptp(scale[known])
            bars = min(MOST_BARS, int(known.sum()))
            own = self._scale()
            place = np.floor((own - low) / wide * bars)
            heights = np.bincount(
                np.clip(place[np.isfinite(own)], 0, bars - 1).astype(int), self.records[np.isfinite(own)], bars
            )
            return [int(one) for one in heights]
        counts = dict(zip(self.values.to_list(), self.records.tolist(), strict=True))
        frequent = sorted(zip(whole.records.tolist(), whole.values.to_list(), strict=True), reverse=True)[:MOST_BARS]
        return [counts.get(value, 0) for _, value in frequent]

    def _scale(self) -> NDArray[np.float64]:
        """The values as numbers or days; NaN for all else."""
        if self.kind == "dates":
            days = self.values.str.head(10).str.to_date(strict=False).to_physical()
            return days.cast(pl.Float64).to_numpy().astype(np.float64)
        return self.numbers if self.are_numbers else np.full(self.n_values, np.nan)

    @cached_property
    def holds_codes(self) -> bool:
        """Whether the column contains diagnosis codes, by form and name: years and other numbers look like codes."""
        if WORDS_OF_CODES.search(plain_name(self.name)) is None or self.mostly(r"(18|19|20)[0-9]{2}"):
            return False
        return are_codes(self.values.head(MOST_CODES).to_list())


def _as_numbers(values: pl.Series) -> NDArray[np.float64]:
    plain = values.str.strip_chars()
    found = plain.cast(pl.Float64, strict=False).set(~plain.str.contains(NUMBER), None)
    return found.to_numpy().astype(np.float64)


def read_numbers(columns: Sequence[Column]) -> None:
    """Read the values of columns as numbers together, which each column does else when it is asked."""
    if columns:
        numbers = _as_numbers(pl.concat([one.values.rename("text") for one in columns]))
        ends = np.cumsum([one.n_values for one in columns])
        for column, own in zip(columns, np.split(numbers, ends[:-1]), strict=True):
            vars(column)["numbers"] = own


def complete(pattern: str) -> str:
    """Return the form of a complete value."""
    return f"^(?:{pattern})$"


def plain_name(column: str) -> str:
    """Return a name in lower case, `AgeAtFirst` as `age_at_first`, with `_` for all but letters and digits."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column)
    return re.sub(r"[^a-z0-9]+", "_", parted.lower()).strip("_")


def is_id_by_name(column: str) -> bool:
    """Return whether a column has a usual name of ids of patients."""
    return plain_name(column) in IDS or is_named_patient(column)


def may_be_id_by_name(column: str) -> bool:
    """Return whether a column has such a name, or one that is made like it.

    Examples
    --------
    >>> [may_be_id_by_name(name) for name in ("ID", "USUBJID", "Patientennummer", "patient_ref", "patient_age")]
    [True, True, True, True, False]
    """
    return is_id_by_name(column) or ENDS_OF_IDS.search(plain_name(column)) is not None


def are_codes(values: list[str]) -> bool:
    """Whether nearly all are codes of ICD-9-CM, or all of ICD-10-CM."""
    n_wrong = len(icd9().outside(values))
    return bool(values) and (n_wrong <= 0.05 * len(values) or not icd10().outside(values))
