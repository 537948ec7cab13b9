"""The sections of a plan: what may be asked of a release of patients and their claims, part by part."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from cloister.typed_toml import STRICT, key

PatientRole = Literal["id", "birth-date", "birth-year", "age", "sex", "pcp", "quasi-identifier", "keep", "drop"]
ClaimRole = Literal[
    "id",
    "date",
    "end-date",
    "paid-date",
    "diagnosis",
    "diagnoses",
    "procedure",
    "procedures",
    "place",
    "specialty",
    "length-of-stay",
    "days-since-first-claim",
    "pay-delay",
    "provider",
    "vendor",
    "pcp",
    "quasi-identifier",
    "keep",
    "drop",
]
SEVERAL = frozenset({"quasi-identifier", "keep", "drop", "diagnoses", "procedures", "provider", "vendor", "pcp"})
"""Roles that several columns may have."""

NEVER_RELEASED = frozenset({"birth-date", "birth-year", "date", "end-date", "paid-date", "diagnoses", "procedures"})
"""Roles of columns that steps read and that no release holds."""

HMAC = "hmac:"
"""Stands before the file of the key, where ids are keyed hashes."""

PSEUDONYMS = frozenset({"provider", "vendor", "pcp"})

AGE, DAYS_IN_HOSPITAL = "age", "days_in_hospital"
DAYS_SINCE_FIRST, LENGTH_OF_STAY, PAY_DELAY, YEAR = "days_since_first_claim", "length_of_stay", "pay_delay", "year"
DerivedOfPatients = Literal["age", "days_in_hospital"]
DerivedOfClaims = Literal["days_since_first_claim", "length_of_stay", "pay_delay", "year"]


@dataclass(frozen=True)
class PatientsPlan:
    """Columns of the patients' file.

    Attributes
    ----------
    roles : by column; every column of the file has one
    qi : the hierarchy of each quasi-identifier, by column or name of a derived column, as in ``age = "age@1-3"``
    derived : columns that are computed: age at first claim (years), days in hospital (15 and more are ``15+``)
    without_claims : whether patients without claims are released
    """

    __pydantic_config__: ClassVar = STRICT
    roles: Mapping[str, PatientRole] = field(metadata={"allowed": "a role for each column"})
    qi: Mapping[str, str] = field(metadata={"allowed": "a hierarchy for each quasi-identifier"})
    derived: tuple[DerivedOfPatients, ...] = key((), "a list among age, days_in_hospital")
    without_claims: Literal["keep", "drop"] = key("drop", "keep or drop")


@dataclass(frozen=True)
class ClaimsTablePlan:
    """Columns of the claims' file.

    Attributes
    ----------
    roles, qi : as for patients
    derived : columns that are computed: days since the patient's first claim, length of stay (days, at least 1),
        pay delay (days), year
    """

    __pydantic_config__: ClassVar = STRICT
    roles: Mapping[str, ClaimRole] = field(metadata={"allowed": "a role for each column"})
    qi: Mapping[str, str] = field(metadata={"allowed": "a hierarchy for each quasi-identifier"})
    derived: tuple[DerivedOfClaims, ...] = key(
        (), "a list among days_since_first_claim, length_of_stay, pay_delay, year"
    )


@dataclass(frozen=True)
class ExclusionsPlan:
    """High-risk patients: rules of the shipped list by name (None: all), and a file of the same form with more."""

    __pydantic_config__: ClassVar = STRICT
    rules: tuple[str, ...] | None = key(None, "a list of names of rules")
    file: str | None = key(None, "the name of a CSV file with the columns rule, kind, first, last")


@dataclass(frozen=True)
class RemovalsPlan:
    """Claims that are removed."""

    __pydantic_config__: ClassVar = STRICT
    newborns: bool = key(True, "true or false")
    letter_procedures: bool = key(True, "true or false")
    revenue_codes: bool = key(True, "true or false")


GroupedRole = Literal["diagnosis", "procedure", "place", "specialty"]


@dataclass(frozen=True)
class GroupingPlan:
    """Columns replaced by their groups from the start, by role; and tables of one's own, by role."""

    __pydantic_config__: ClassVar = STRICT
    columns: tuple[GroupedRole, ...] = key(
        ("place", "specialty"), "a list among diagnosis, procedure, place, specialty"
    )
    tables: Mapping[str, str] = field(
        default_factory=dict, metadata={"allowed": "names of CSV files, by role (diagnosis, procedure, ...)"}
    )


@dataclass(frozen=True)
class TopCoding:
    """One column in which all values from a quantile on get one label, such as ``162+``."""

    __pydantic_config__: ClassVar = STRICT
    column: str = field(metadata={"allowed": "the name of a column"})
    quantile: float = key(0.95, "a number above 0 and below 1")
    exclude_zero: bool = key(False, "true or false")


@dataclass(frozen=True)
class TruncationPlan:
    """Percentiles of claims per patient to which claims may be truncated; the search takes one of them."""

    __pydantic_config__: ClassVar = STRICT
    percentiles: tuple[Literal["none"] | float, ...] = key(
        ("none", 99.0, 97.5, 95.0, 90.0),
        'a list of "none" and numbers from 50 to below 100, so that most patients keep all of their claims',
    )
    per: Literal["patient", "patient-year"] = key("patient", "patient or patient-year")

    @property
    def levels(self) -> tuple[float, ...]:
        """The percentiles as numbers; ``none`` is 100."""
        return tuple(100.0 if level == "none" else float(level) for level in self.percentiles)


@dataclass(frozen=True)
class AdversaryPlan:
    """What the adversary knows: at most ``power`` values of each quasi-identifier of claims.

    Attributes
    ----------
    power, rounding : most values known, and how the formula's numbers become whole
    basis : ``raw``: the power is the higher of those by recorded values and by the levels chosen; ``node``: the latter
    tolerant : whether the risk by who believes flags is limited
    likeliest : whether the risk by who picks the likeliest of those who fit is limited, or told alone
    """

    __pydantic_config__: ClassVar = STRICT
    power: int = key(5, "a whole number from 1 to 1000")
    rounding: Literal["ceil", "floor", "round"] = key("ceil", "ceil, floor or round")
    basis: Literal["raw", "node"] = key("raw", "raw or node")
    tolerant: Literal["bounded", "waived"] = key("bounded", "bounded or waived")
    likeliest: Literal["told", "bounded"] = key("told", "told or bounded")


@dataclass(frozen=True)
class RiskPlan:
    """The risk that is accepted, and how it is estimated.

    Attributes
    ----------
    threshold : highest risk of a patient, in (0, 1]; classes need ``ceil(1 / threshold)`` patients
    max_flag_rate : highest share of flagged patients, in (0, 1); halved, up to four times, where suppression does
        not bring the risk of the levels chosen by it under the threshold
    seed : of the simulation
    repeats, draws : at most so many repeats of so many drawn patients, in the figures that are limited
    """

    __pydantic_config__: ClassVar = STRICT
    threshold: float = key(0.05, "a number above 0 and at most 0.5")
    max_flag_rate: float = key(0.05, "a number above 0 and below 1")
    seed: int = key(0, "a whole number from 0 to below 2^32")
    repeats: int = key(1000, "a whole number from 1 to 1,000,000")
    draws: int = key(10_000, "a whole number from 1,000 to 1,000,000")


HALVINGS = 4
"""How often ``max_flag_rate`` is halved where suppression does not suffice."""


def lowered(max_flag_rate: float) -> tuple[float, ...]:
    """Return what ``max_flag_rate`` can come to: as asked first, the lowest last.

    Examples
    --------
    >>> lowered(0.16)
    (0.16, 0.08, 0.04, 0.02, 0.01)
    """
    return tuple(max_flag_rate / 2**times for times in range(HALVINGS + 1))


@dataclass(frozen=True)
class SuppressionPlan:
    """What is suppressed of a flagged patient, and of how many.

    Attributes
    ----------
    most_treated : share of the patients of whom something may be suppressed
    most_removed : share of the patients who may be left out whole, in this step
    """

    __pydantic_config__: ClassVar = STRICT
    treatment: Literal["patients", "claims", "cells"] = key("cells", "patients, claims or cells")
    most_treated: float = key(0.5, "a number above 0 and at most 1")
    most_removed: float = key(0.1, "a number above 0 and at most 1")


@dataclass(frozen=True)
class IdsPlan:
    """What replaces the ids: of patients ``number`` or ``hmac:KEYFILE``; of the others see step 1."""

    __pydantic_config__: ClassVar = STRICT
    patients: str = key("number", "number or hmac:KEYFILE")
    provider: Literal["drop", "number", "per-table"] = key("number", "drop, number or per-table")
    vendor: Literal["drop", "number", "per-table"] = key("number", "drop, number or per-table")
    pcp: Literal["drop", "number", "per-table"] = key("number", "drop, number or per-table")


@dataclass(frozen=True)
class SearchPlan:
    """Bounds of the search; None for no bound. What is found by then is released, and that it may not be the best said.

    Attributes
    ----------
    nodes : most nodes that are measured, over all truncation levels
    time_limit_s : seconds after which no other node is measured
    """

    __pydantic_config__: ClassVar = STRICT
    nodes: int | None = key(None, "a whole number from 1")
    time_limit_s: float | None = key(None, "a number above 0")


@dataclass(frozen=True)
class PopulationPlan:
    """A register of the population that the patients come from: one row a person, quasi-identifiers of patients."""

    __pydantic_config__: ClassVar = STRICT
    patients: str | None = key(None, "the name of a CSV or Parquet file")
