"""Which points are on the frontier of risk against loss, and which of them to take by a stated rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cloister.errors import InputError, did_you_mean

SAME = 1e-12
"""Distances that differ by no more are equal; the lower risk is taken then."""

Rule = Literal["knee", "best-utility"]
RULES: tuple[Rule, ...] = ("knee", "best-utility")


def rule_named(word: str, risk_limit: float | None) -> Rule:
    """Return the rule of this name."""
    rule = next((rule for rule in RULES if rule == word), None)
    if rule is None:
        raise InputError(f"The rule can be {' or '.join(RULES)}, not {word!r}.{did_you_mean(word, RULES)}")
    if risk_limit is not None and not 0 < risk_limit <= 1:
        raise InputError(f"The risk limit is {risk_limit:g}, but must be above 0 and at most 1.")
    if rule == "best-utility" and risk_limit is None:
        raise InputError("The rule best-utility takes the least loss under a limit. Give one, as 0.09.")
    return rule


@dataclass(frozen=True)
class Point:
    """A setting that has a safe release.

    Attributes
    ----------
    place : which of the settings, from 0
    promise : numbers of the guarantee, better if greater; it decides between points that are alike
    """

    place: int
    risk: float
    loss: float
    promise: tuple[float, ...] = ()


@dataclass(frozen=True)
class Recommendation:
    """What a rule says: the place of the setting that it takes, None if none, and why, in a sentence."""

    rule: Rule
    place: int | None
    why: str


def frontier(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the points that no other beats: none has less risk or less loss and the other of both no greater.

    In order of risk; points that are alike are all there, the one that promises most first.
    """
    found: list[Point] = []
    lowest = float("inf")
    for point in sorted(points, key=_order):
        alike = bool(found) and (found[-1].risk, found[-1].loss) == (point.risk, point.loss)
        if point.loss < lowest or alike:
            found.append(point)
            lowest = point.loss
    return tuple(found)


def _order(point: Point) -> tuple[float, float, tuple[float, ...], int]:
    return point.risk, point.loss, tuple(-number for number in point.promise), point.place


def recommend(points: Sequence[Point], rule: Rule, risk_limit: float | None) -> Recommendation:
    """Return the setting that a rule takes."""
    allowed = [point for point in points if risk_limit is None or point.risk <= risk_limit]
    if not allowed:
        why = "no setting has a risk within the limit" if points else "no setting can be compared"
        return Recommendation(rule, None, why)
    within = "" if risk_limit is None else f" of those with a risk of at most {risk_limit:g}"
    best = frontier(allowed)
    if rule == "best-utility":
        least = min(best, key=lambda point: point.loss)
        return Recommendation(rule, least.place, f"the least loss{within}")
    knee = _knee(best)
    if knee is None:
        return Recommendation(rule, best[0].place, f"the frontier has no knee: the lowest risk{within}")
    return Recommendation(rule, knee.place, f"the knee of the frontier{within}: furthest below the line of its ends")


def _knee(best: Sequence[Point]) -> Point | None:
    """The point of a frontier furthest below the line between its ends; None if none is below it."""
    first, last = best[0], best[-1]
    wide, high = last.risk - first.risk, first.loss - last.loss
    if wide <= 0 or high <= 0:
        return None
    found, furthest = None, SAME
    for point in best:
        # the line goes from (0, 1) to (1, 0); what is lost of 1 on both axes is the distance, times the root of 2
        below = 1 - (point.risk - first.risk) / wide - (point.loss - last.loss) / high
        if below > furthest + SAME:
            found, furthest = point, below
    return found
