"""What became of each setting, and what all of them say together."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from cloister.errors import NoSafeRelease

from .figures import PLAIN, Figures
from .frontier import Point, Recommendation, Rule, frontier, recommend

Setting = Mapping[str, Any]
"""Values by key; may be written as JSON."""


@dataclass(frozen=True)
class Outcome:
    """What became of one setting.

    Attributes
    ----------
    figures : of the release; None where there is no safe one
    reason : why there is none; None where there is one
    """

    setting: Setting
    figures: Figures | None
    reason: str | None
    seconds: float

    def told(self) -> dict[str, Any]:
        """Return the outcome as an object of JSON."""
        return asdict(self)


def outcome_told(told: Mapping[str, Any]) -> Outcome:
    """Return the outcome that an object of JSON states."""
    found = told["figures"]
    figures = None if found is None else Figures(**(found | {"promise": tuple(found["promise"])}))
    return Outcome(dict(told["setting"]), figures, told["reason"], float(told["seconds"]))


def outcome_of(setting: Setting, attempt: Callable[[], Figures]) -> Outcome:
    """Try a setting: protect, verify and measure, or say why no safe release exists."""
    started = time.perf_counter()
    figures, reason = None, None
    try:
        figures = attempt()
    except NoSafeRelease as error:
        reason = error.message
    return Outcome(setting, figures, reason, round(time.perf_counter() - started, 3))


@dataclass(frozen=True)
class Exploration:
    """All settings of a grid, what they risk and lose, and which of them to take.

    Attributes
    ----------
    losses : what each is compared by; None where there is no release, or losses cannot be compared
    """

    outcomes: tuple[Outcome, ...]
    losses: tuple[float | None, ...]
    measure: str | None
    on_frontier: frozenset[int]
    recommendation: Recommendation

    @property
    def safe(self) -> int:
        """How many settings have a safe release."""
        return sum(one.figures is not None for one in self.outcomes)

    @property
    def recommended(self) -> Outcome | None:
        """The setting to take; None if there is none."""
        place = self.recommendation.place
        return None if place is None else self.outcomes[place]

    def told(self) -> dict[str, Any]:
        """Return all of it as an object of JSON."""
        settings = [
            {"number": place + 1, **one.told(), "compared_by": loss, "on_frontier": place in self.on_frontier}
            for place, (one, loss) in enumerate(zip(self.outcomes, self.losses, strict=True))
        ]
        place = self.recommendation.place
        return {
            "settings": settings,
            "measure": self.measure,
            "recommendation": {
                "rule": self.recommendation.rule,
                "number": None if place is None else place + 1,
                "why": self.recommendation.why,
            },
        }


def summed_up(outcomes: Sequence[Outcome], rule: Rule, risk_limit: float | None) -> Exploration:
    """Return what the outcomes say together."""
    told = [one.figures for one in outcomes]
    losses, measure = comparable(told)
    points = points_of(told, losses)
    recommendation = recommend(points, rule, risk_limit)
    if not points and any(told):
        recommendation = Recommendation(rule, None, "the losses of these settings cannot be compared")
    best = frozenset(point.place for point in frontier(points))
    return Exploration(tuple(outcomes), losses, measure, best, recommendation)


def comparable(figures: Sequence[Figures | None]) -> tuple[tuple[float | None, ...], str | None]:
    """Return the losses by one measure, and the measure; no losses and None where there is no such measure."""
    there = [one for one in figures if one is not None]
    if len({one.measure for one in there}) == 1:
        return tuple(None if one is None else one.loss for one in figures), there[0].measure
    kinds = {(one.shape, one.measure.startswith("half")) for one in there}
    if len(kinds) == 1 and all(one.plain_loss is not None for one in there):
        return tuple(None if one is None else one.plain_loss for one in figures), PLAIN
    return (None,) * len(figures), None


def points_of(figures: Sequence[Figures | None], losses: Sequence[float | None]) -> list[Point]:
    """Return the points of those that have both a risk and a loss."""
    return [
        Point(place, one.risk, loss, one.promise)
        for place, (one, loss) in enumerate(zip(figures, losses, strict=True))
        if one is not None and one.risk is not None and loss is not None
    ]


@dataclass(frozen=True)
class Identity:
    """What must be the same for an exploration to be gone on with: settings asked for, and hashes of the files."""

    asked: Mapping[str, Any]
    files: Mapping[str, str] = field(repr=False)
