"""Whether the figures of a simulation can be what they are said to be: by themselves, and beside a simulation anew.

How far two simulations may differ follows from the draws that are stated and from the deviation that is found here,
never from a stated interval: whoever writes a wide one would be believed anything.
"""

import math
from collections.abc import Mapping
from typing import Any

from .verify_simulation import SURE, WIDE, Simulated, share_error

NEAR = 2e-6
"""How far figures with six decimals may be from what they stand for."""

FEWEST = 1_000
"""Draws below which no figure is stated."""


def can_be(figures: Mapping[str, Any], k: int) -> bool:
    """Whether figures fit each other: intervals fit the draws, and the mean risk fits the share of small classes."""
    mean, rate, missed, draws = (figures[name] for name in ("mean", "flag_rate", "missed", "draws"))
    if draws < FEWEST or not 0 <= missed <= 1 - rate + NEAR:
        return False
    low, high = wilson(round(rate * draws) / draws, draws)
    fits = math.isclose(figures["flag_interval"][0], low, abs_tol=NEAR)
    fits &= math.isclose(figures["flag_interval"][1], high, abs_tol=NEAR)
    fits &= rate / k - NEAR <= mean <= rate + (1 - rate - missed) / k + NEAR
    return bool(fits) and _is_interval_of_mean(figures["interval"], mean, draws)


def _is_interval_of_mean(interval: Any, mean: float, draws: int) -> bool:
    """It is around the mean, and no wider than the deviation of risks with this mean allows."""
    low, high = interval
    half = max(high - mean, mean - low)  # cut at 0 and at 1
    if not math.isclose(low, max(0.0, mean - half), abs_tol=NEAR):
        return False
    if not math.isclose(high, min(1.0, mean + half), abs_tol=NEAR):
        return False
    least = half_width(0.0, draws)
    most = half_width(math.sqrt(mean * (1 - mean)), draws)
    return bool(least - NEAR <= half <= most + NEAR or high >= 1)


def half_width(deviation: float, draws: int) -> float:
    """Half a 95 % interval of a mean risk, a little more where few draws bear all the risk."""
    return WIDE * deviation / math.sqrt(draws) + WIDE**2 / (2 * draws)


def wilson(share: float, draws: int) -> tuple[float, float]:
    """A 95 % interval of a share, by Wilson's score (1927, JASA 22:209-212)."""
    middle = share + WIDE**2 / (2 * draws)
    half = WIDE * math.sqrt(share * (1 - share) / draws + WIDE**2 / (4 * draws**2))
    scale = 1 + WIDE**2 / draws
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def agree(found: Simulated, figures: Mapping[str, Any]) -> bool:
    """Whether two simulations of the same differ by no more than chance, in all that is stated of one of them."""
    draws = figures["draws"]
    near = abs(found.mean - figures["mean"]) <= SURE * math.hypot(found.error, found.error_of(draws))
    for own, name in ((found.flag_rate, "flag_rate"), (found.missed, "missed")):
        error = math.hypot(share_error(own, found.draws), share_error(own, draws))
        near &= abs(own - figures[name]) <= SURE * error
    return bool(near) and _is_as_wide(found, figures)


def _is_as_wide(found: Simulated, figures: Mapping[str, Any]) -> bool:
    """Whether the interval of the mean has the width that the deviation found here gives it."""
    draws, (low, high) = figures["draws"], figures["interval"]
    stated = (max(high - figures["mean"], figures["mean"] - low) - WIDE**2 / (2 * draws)) * math.sqrt(draws) / WIDE
    chance = found.spread * math.sqrt(1 / found.draws + 1 / draws) + SURE / min(found.draws, draws)
    return bool(abs(stated**2 - found.deviation**2) <= SURE * chance + NEAR)


def upper(found: Simulated, draws: int) -> float:
    """The upper end of the 95 % interval that so many draws give."""
    return found.mean + half_width(found.deviation, draws)


def is_not_above(found: Simulated, threshold: float) -> bool:
    """Whether the mean risk can be at most the threshold."""
    return found.mean - SURE * found.error <= threshold


def is_below(found: Simulated, threshold: float) -> bool:
    """Whether the mean risk is surely at most the threshold, or surely above it: no more draws are needed."""
    return abs(threshold - found.mean) > SURE * found.error


def is_flag_settled(found: Simulated, threshold: float) -> bool:
    """The same of the flag rate."""
    return abs(threshold - found.flag_rate) > SURE * found.flag_error


def enough_draws(threshold: float) -> int:
    """Draws by which a share a fifth above a threshold is seen, and hardly ever one that is at it.

    Both are ``SURE`` standard errors away from half way.
    """
    share = min(1.2 * threshold, 1.0)
    return min(MOST, math.ceil(4 * SURE**2 * share * (1 - share) / (0.2 * threshold) ** 2))


MOST = 200_000
"""Draws that are never exceeded; from a threshold of 0.01 on they are enough."""
