"""A node and its suppression; once more with a lower MaxSup where suppression does not bring its risk down."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.errors import NoSafeRelease

from .choice import Choice
from .plan_sections import lowered
from .risk_settings import RiskSettings
from .suppression import Suppression, suppress


@dataclass(frozen=True, eq=False, repr=False)
class Chosen:
    """A node whose risk suppression brought under the threshold.

    Attributes
    ----------
    choice : truncation level and node
    power : (n_patients, n_columns) of the adversary that the release was made against
    suppression : what is left out, and the risk that is left
    max_sup : by which the node was chosen, at most what was asked
    """

    choice: Choice
    power: NDArray[np.int32]
    suppression: Suppression
    max_sup: float


def choose_and_suppress(
    choose: Callable[[float], Choice],
    power_of: Callable[[Choice], NDArray[np.int32]],
    settings: RiskSettings,
    weights: list[float] | None = None,
) -> Chosen:
    """Choose a node by MaxSup as asked, else by half of it and so on, until suppression suffices.

    A lower MaxSup gives a coarser node, of which less has to be suppressed. A node that was tried is not tried again.

    Parameters
    ----------
    choose : the node for a MaxSup
    power_of : the adversary's power for a choice
    weights : of the columns in the loss

    Raises
    ------
    NoSafeRelease
        There is no node to begin with, or suppression does not suffice for any.
    """
    tried: set[tuple[tuple[int, ...], float]] = set()
    refusal = ""
    for max_sup in lowered(settings.max_sup):
        try:
            choice = choose(max_sup)
        except NoSafeRelease:
            if not tried:
                raise
            break
        if (choice.levels, choice.truncation) in tried:
            continue
        tried.add((choice.levels, choice.truncation))
        power = power_of(choice)
        try:
            suppression = suppress(choice.released, choice.levels, power, settings, weights)
        except NoSafeRelease as found:
            refusal = found.message
            continue
        return Chosen(choice, power, suppression, max_sup)
    raise NoSafeRelease(
        f"{refusal} So it is for each of {len(tried)} choices of levels, with risk.max_suppression from "
        f"{settings.max_sup:g} down to {max_sup:g}. Allow coarser levels, truncate more, or remove columns."
    )
