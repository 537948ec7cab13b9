"""What is asked of the risk of a release of claims, and how it is measured."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError

from .knowledge import REPEAT
from .node_risk import class_limit

PowerAt = Callable[[tuple[int, ...]], NDArray[np.int32]]
"""The adversary's power as computed from the values of a node, (n_patients, n_columns)."""

FEWEST, MOST = 1_000, 1_000_000
"""Draws of a repeat; also most repeats, so that no number of a draw is that of another kind."""


class Treatment(StrEnum):
    """What is suppressed of a patient at risk."""

    PATIENTS = "patients"
    CLAIMS = "claims"
    CELLS = "cells"


@dataclass(frozen=True)
class RiskSettings:
    """Limits, seeds and efforts.

    Attributes
    ----------
    threshold : highest mean risk and flag rate of the release, above 0 and at most 1; k is 1 over it, rounded up
    max_sup : highest flag rate of a node to be chosen, before suppression
    seed : of the draws for choosing; evaluation takes others that follow from it
    search_repeats : repeats of ``draws`` draws after which a node of the search is decided, however near to the limit
    repeats : most repeats of the final figures
    draws : of one repeat
    search_nodes, search_seconds : after so many nodes, or so long, the search takes the best found; None for no bound
    truncation : percentiles of the number of claims to try; 100 is none
    treatment : what is suppressed
    patient_draws : draws of each patient that are looked at before suppressing anything of the patient
    most_treated : share of the patients of whom something may be suppressed in step 11
    most_removed : share of the patients who may be left out whole in step 11
    is_tolerant_waived : whether the adversary who believes flags may be left out of account
    is_likeliest_bounded : whether the risk by who picks the likeliest must be under the threshold too
    threads : that count side by side
    """

    threshold: float = 0.05
    max_sup: float = 0.05
    seed: int = 0
    search_repeats: int = 1
    repeats: int = 100
    draws: int = REPEAT
    search_nodes: int | None = None
    search_seconds: float | None = None
    truncation: tuple[float, ...] = (100.0, 99.0, 97.5, 95.0, 90.0)
    treatment: Treatment = Treatment.CELLS
    patient_draws: int = 200
    most_treated: float = 0.5
    most_removed: float = 0.1
    is_tolerant_waived: bool = False
    is_likeliest_bounded: bool = False
    threads: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be meant.

        Raises
        ------
        InputError
            A setting is out of range.
        """
        shares = {"threshold": self.threshold, "max_sup": self.max_sup}
        for name, share in shares.items():
            if not 0 < share <= 1:
                raise InputError(f"{name} must be above 0 and at most 1.")
        for name, share in {"most_treated": self.most_treated, "most_removed": self.most_removed}.items():
            if not 0 <= share <= 1:
                raise InputError(f"{name} must be from 0 to 1.")
        if not self.truncation or not all(0 < level <= 100 for level in self.truncation):
            raise InputError("truncation must be percentiles above 0, at most 100, at least one of them.")
        if self.search_repeats < 1 or self.repeats < 1 or self.threads < 1 or self.patient_draws < 200:
            raise InputError("repeats and threads must be at least 1, draws of each patient at least 200.")
        if not FEWEST <= self.draws <= MOST or self.repeats > MOST:
            raise InputError(f"draws must be from {FEWEST:,} to {MOST:,}, repeats at most {MOST:,}.")
        nodes, seconds = self.search_nodes, self.search_seconds
        if (nodes is not None and nodes < 1) or not (seconds is None or seconds > 0):
            raise InputError("The nodes of the search must be at least 1, its seconds above 0.")
        if not 0 <= self.seed < 2**32:
            raise InputError("seed must be from 0 to below 2**32.")

    @property
    def k(self) -> int:
        """Classes below it are flagged."""
        return class_limit(self.threshold)

    def seed_of(self, purpose: int) -> int:
        """A seed for another purpose than choosing: 1, 2, ... for evaluation after evaluation."""
        return self.seed + (purpose << 32)
