"""What is promised of a release of claims, as its verifier takes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .data_file import ClaimsForm


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
class Promise:
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
