"""The frontier of risk against loss and its knee, by their definitions: every pair of points is compared."""

import math
from collections import Counter
from itertools import product


def beats(one, other):
    """Whether a point has less of one of risk and loss, and no more of the other."""
    (risk, loss), (other_risk, other_loss) = one, other
    return risk <= other_risk and loss <= other_loss and (risk < other_risk or loss < other_loss)


def on_frontier(points):
    """Places of the points that no other beats."""
    return {place for place, point in enumerate(points) if not any(beats(other, point) for other in points)}


def risk_frontier(records, hierarchies, loss):
    """Highest risks and losses of the transformations that no other beats, nothing suppressed, by trying all.

    ``hierarchies``: of each column, rows of a value and its labels; ``loss``: of a vector of levels
    """
    points = []
    for levels in product(*(range(len(hierarchy[0])) for hierarchy in hierarchies)):
        label = [{row[0]: row[level] for row in own} for own, level in zip(hierarchies, levels, strict=True)]
        sizes = Counter(tuple(own[value] for own, value in zip(label, record, strict=True)) for record in records)
        points.append((1 / min(sizes.values()), round(loss(levels), 12)))
    return {points[place] for place in on_frontier(points)}


def distances(points):
    """How far each point of the frontier is below the line between its ends, both axes drawn from 0 to 1, by place.

    By the formula for the distance of a point from the line through two others; empty where the ends are one point.
    """
    best = {place: points[place] for place in on_frontier(points)}
    risks, losses = [risk for risk, _ in best.values()], [loss for _, loss in best.values()]
    wide, high = max(risks) - min(risks), max(losses) - min(losses)
    if not wide or not high:
        return {}
    drawn = {place: ((risk - min(risks)) / wide, (loss - min(losses)) / high) for place, (risk, loss) in best.items()}
    (x1, y1), (x2, y2) = (0.0, 1.0), (1.0, 0.0)
    return {
        place: -((x2 - x1) * (y - y1) - (x - x1) * (y2 - y1)) / math.hypot(x2 - x1, y2 - y1)
        for place, (x, y) in drawn.items()
    }
