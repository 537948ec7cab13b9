"""Geometry of charts: positions of bars and points, and the order of labels. No figures are computed here."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from cloister.results import Figures

WIDTH, LABELS, BARS = 340, 100, 168
"""Of the whole chart, of the labels at its left, and of the longest bar."""

ROW, THICK = 24, 15
"""Height of a row, and of its bar."""

UNNAMED = (None, "*")
"""Labels that name no value: missing, and any."""

BEGINS_WITH_A_NUMBER = re.compile(r"(?P<less><)?[\[>=]*(?P<number>\d+)")


@dataclass(frozen=True)
class Bar:
    """One row of a chart."""

    label: str
    count: int
    y: int
    width: float
    before: int | None
    width_before: float | None


@dataclass(frozen=True)
class Chart:
    """Bars, and the size of the picture."""

    bars: tuple[Bar, ...]
    width: int
    height: int


def class_size_chart(sizes: Figures) -> Chart:
    """Return the histogram of class sizes, with the positions of its bars."""
    after, before = sizes["bands"], sizes["before"]
    longest = max(1, *after.values(), *(before or {}).values())
    bars = tuple(
        Bar(
            band,
            count,
            ROW * place + (ROW - THICK) // 2,
            _length(count, longest),
            None if before is None else before[band],
            None if before is None else _length(before[band], longest),
        )
        for place, (band, count) in enumerate(after.items())
    )
    return Chart(bars, WIDTH, ROW * len(bars))


def _length(count: int, longest: int) -> float:
    """Return the length of a bar; nonzero counts are always visible."""
    return 0.0 if not count else round(max(1.5, BARS * count / longest), 1)


CURVE_LEFT, CURVE_TOP, CURVE_WIDE, CURVE_HIGH = 40, 24, 270, 110
"""Of the field of a risk curve: its place in the picture, and its size."""

REGIMES = (0.2, 0.09)
"""Highest risks that are often asked for: a group of 5, and the limit of EMA policy 0070 and of Health Canada."""


@dataclass(frozen=True)
class RiskCurve:
    """How many have a risk above each limit, before and after: paths, marks (label, position) and a description."""

    after: str
    before: str | None
    across: tuple[tuple[str, float], ...]
    upwards: tuple[tuple[str, float], ...]
    limits: tuple[tuple[str, float], ...]
    says: str
    left: int = CURVE_LEFT
    right: int = CURVE_LEFT + CURVE_WIDE
    top: int = CURVE_TOP
    bottom: int = CURVE_TOP + CURVE_HIGH
    width: int = CURVE_LEFT + CURVE_WIDE + 16
    height: int = CURVE_TOP + CURVE_HIGH + 36


def risk_curve(sizes: Figures, smallest: int = 1) -> RiskCurve:
    """Return the share of members of groups smaller than each size: their risk is above one divided by it.

    Exact where the bands of sizes begin; straight lines join these points.

    ``sizes``: the class sizes of a report, with those of the original where they are known
    ``smallest``: the size of the smallest released group, below which there is none
    """
    begins = [int(band.split("-")[0].split()[0]) for band in sizes["bands"]]
    widest = math.log(begins[-1])

    def x(size: float) -> float:
        return round(CURVE_LEFT + CURVE_WIDE * math.log(size) / widest, 1)

    def y(share: float) -> float:
        return round(CURVE_TOP + CURVE_HIGH * (1 - share), 1)

    def path(counts: Sequence[int], none_below: int = 1) -> str:
        spots = sorted(
            {**dict(zip(begins, _shares_below(counts), strict=True)), min(none_below, begins[-1]): 0.0}.items()
        )
        return " ".join(f"{'L' if size > 1 else 'M'}{x(size)} {y(share)}" for size, share in spots)

    after, before = list(sizes["bands"].values()), sizes["before"] and list(sizes["before"].values())
    below = zip(begins, _shares_below(after), strict=True)
    says = [f"{share:.1%} in groups smaller than {size:,}" for size, share in below]
    return RiskCurve(
        path(after, smallest),
        path(before) if before else None,
        tuple((f"{size:,}", x(size)) for size in begins if size not in (2, 500)),
        tuple((f"{share:.0%}", y(share)) for share in (0, 0.5, 1)),
        tuple((f"risk {limit:g}", x(1 / limit)) for limit in REGIMES),
        "; ".join(says[1:]),
    )


@dataclass(frozen=True)
class RiskRow:
    """A row of the chart of risks by knowledge: lines of words with their places, and where its two points are."""

    lines: tuple[tuple[str, int], ...]
    y: int
    before: float
    after: float
    says: str


@dataclass(frozen=True)
class RiskRows:
    """The risk of a guess before and after, a row for all that may be known."""

    rows: tuple[RiskRow, ...]
    across: tuple[tuple[str, float], ...]
    limit: tuple[str, float]
    bottom: int
    top: int = CURVE_TOP
    width: int = CURVE_WIDE + 50


LEAST_RISK, LETTERS, BELOW = 0.001, 50, 60
"""Where the axis of risks begins; letters in a line of the chart; how far to the left lower risks are drawn."""


def risk_rows(steps: Sequence[Figures]) -> RiskRows:
    """Return the chart of the risk before and after, by the attacker's knowledge, on a logarithmic axis.

    Risks lower than its first mark share a place left of it.

    ``steps``: as `RiskStep` has them
    """

    def x(risk: float) -> float:
        if risk < LEAST_RISK:
            return 24.0  # half of its label
        return round(20 + BELOW + (CURVE_WIDE - BELOW) * (1 - math.log(risk) / math.log(LEAST_RISK)), 1)

    def word(risk: float) -> str:
        return f"{risk:.1%}" if risk >= LEAST_RISK else f"< {LEAST_RISK:.1%}"

    rows, bottom = list[RiskRow](), CURVE_TOP
    for step in steps:
        known = str(step["known"]) + ("" if step["is_covered"] else " (not covered by the guarantee)")
        lines = tuple((line, bottom + 13 * place) for place, line in enumerate(wrap(known, LETTERS), 1))
        before, after, y = float(step["before"]), float(step["after"]), lines[-1][1] + 9
        rows.append(RiskRow(lines, y, x(before), x(after), f"{known}: {word(before)} before, {word(after)} after"))
        bottom = y + 8
    ticks = ((f"{risk:.0%}" if risk >= 0.01 else word(risk), x(risk)) for risk in (0.0, LEAST_RISK, 0.01, 0.1, 1.0))
    limit = REGIMES[-1]
    return RiskRows(tuple(rows), tuple(ticks), (f"risk {limit:g}", x(limit)), bottom)


def _shares_below(counts: Sequence[int]) -> list[float]:
    """Return the share of all in the bands before each."""
    total = sum(counts) or 1
    return [sum(counts[:place]) / total for place in range(len(counts))]


def in_order(labels: Sequence[Figures]) -> list[Figures]:
    """Return labels in reading order: by leading numbers if all have one, else unchanged."""
    found = [BEGINS_WITH_A_NUMBER.match(str(cell["label"])) for cell in labels if cell["label"] not in UNNAMED]
    if not found or not all(found):
        return list(labels)

    def place(cell: Figures) -> tuple[bool, int, bool, str]:
        text = str(cell["label"])
        matched = BEGINS_WITH_A_NUMBER.match(text)
        number = int(matched["number"]) if matched else 0
        return cell["label"] in UNNAMED, number, not (matched and matched["less"]), text

    return sorted(labels, key=place)


LEFT, TOP, WIDE, HIGH = 76, 24, 400, 260
"""Of the field in which points stand: its place in the picture, and its size."""

PICTURE_WIDTH, PICTURE_HEIGHT = LEFT + WIDE + 24, TOP + HIGH + 44
STEPS = tuple(digit * 10.0**power for power in range(-2, 9) for digit in (1, 2, 5))
LONGEST, LETTER, CLOSE = 30, 6, 10
"""The most letters of a name next to a point, the width of one, and the distance within which points share a name."""

MOST_NAMES = 40
"""Pictures of more points name those of the frontier only."""


@dataclass(frozen=True)
class Dot:
    """A point of the picture: its name, description, position and printed label."""

    name: str
    says: str
    x: float
    y: float
    on_frontier: bool
    recommended: bool
    written: str


@dataclass(frozen=True)
class Scatter:
    """A scatter plot: names of both axes, points, the frontier as a path, marks (label, position), filled areas."""

    names: tuple[str, str]
    dots: tuple[Dot, ...]
    path: str
    across: tuple[tuple[str, float], ...]
    upwards: tuple[tuple[str, float], ...]
    left: int = LEFT
    right: int = LEFT + WIDE
    top: int = TOP
    bottom: int = TOP + HIGH
    width: int = PICTURE_WIDTH
    height: int = PICTURE_HEIGHT
    areas: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placed:
    """A release or a setting in the plot: two nonnegative figures."""

    label: str
    across: float
    upwards: float
    on_frontier: bool
    recommended: bool = False
    words: str = ""  # what it is, besides its label


def scatter(rows: Sequence[Placed], across: str, upwards: str, *, is_named: bool = True) -> Scatter:
    """Return a scatter plot of releases or settings, with these names of the axes.

    ``is_named``: write names next to points, and join those of the frontier
    """
    along, high = _marks([row.across for row in rows]), _marks([row.upwards for row in rows])

    def x(value: float) -> float:
        return round(LEFT + WIDE * value / along[-1], 1)

    def y(value: float) -> float:
        return round(TOP + HIGH * (1 - value / high[-1]), 1)

    spots = [(x(row.across), y(row.upwards)) for row in rows]
    here = Counter([] if is_named else spots)
    if not is_named:  # of points in one place only the topmost is seen, and can be reached
        order = sorted(range(len(rows)), key=lambda place: (rows[place].recommended, rows[place].on_frontier, place))
        top = sorted({spots[place]: place for place in order}.values())
        rows, spots = [rows[place] for place in top], [spots[place] for place in top]
    names = _label_points(rows, spots) if is_named else [""] * len(rows)
    dots = []
    for row, spot, written in zip(rows, spots, names, strict=True):
        more = f"{here[spot] - 1:,} more in the same place" if here[spot] > 1 else ""
        says = [row.words, more, f"{across} {row.across:.4g}, {upwards} {row.upwards:.4g}"]
        dots.append(Dot(row.label, "; ".join(filter(None, says)), *spot, row.on_frontier, row.recommended, written))
    best = sorted((dot.x, dot.y) for dot in dots if dot.on_frontier and is_named)
    path = " ".join(f"{'L' if place else 'M'}{x} {y}" for place, (x, y) in enumerate(best))
    marks = tuple((f"{mark:,g}", x(mark)) for mark in along), tuple((f"{mark:,g}", y(mark)) for mark in high)
    return Scatter((across, upwards), tuple(dots), path, *marks)


def with_areas(picture: Scatter) -> Scatter:
    """Return a scatter plot with the areas below the highest and below the lowest points, as both go across."""
    areas = []
    for furthest in (min, max):  # y is measured from above
        edge = {dot.x: furthest(one.y for one in picture.dots if one.x == dot.x) for dot in picture.dots}
        line = " ".join(f"L{x} {y}" for x, y in sorted(edge.items()))
        areas.append(f"M{min(edge)} {picture.bottom} {line} L{max(edge)} {picture.bottom} Z")
    return replace(picture, areas=tuple(areas))


AXIS_GAP, AXIS_SIDE, AXES_WIDE, MOST_AXES, MOST_MARKS, AXIS_LETTERS = 112, 64, 600, 9, 12, 16
"""Of parallel coordinates: how far axes are apart, at least, the room outside and between the outer ones, and how
much they show."""


@dataclass(frozen=True)
class Axis:
    """An axis of parallel coordinates: its name, place and marks (label, position)."""

    name: str
    x: float
    marks: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Course:
    """A line across all axes."""

    name: str
    says: str
    path: str
    on_frontier: bool
    recommended: bool


@dataclass(frozen=True)
class Parallel:
    """A picture of settings with more than two figures: each is a line across parallel axes."""

    axes: tuple[Axis, ...]
    lines: tuple[Course, ...]
    width: int
    top: int = TOP + 14
    bottom: int = TOP + HIGH
    height: int = TOP + HIGH + 20


def parallel(rows: Sequence[tuple[Placed, Sequence[str]]], names: Sequence[str]) -> Parallel | None:
    """Return settings as lines: an axis for each value that differs, and for both figures of `Placed`.

    ``rows``: each with its values, in the order of their ``names``; ``Placed`` has risk and loss
    Returns None where fewer than two values differ.
    """
    differing = [place for place in range(len(names)) if len({values[place] for _, values in rows}) > 1][:MOST_AXES]
    if len(differing) < 2:
        return None
    drawn = [(names[place], *along_words([values[place] for _, values in rows])) for place in differing]
    drawn.append(("highest risk", *along_figures([row.across for row, _ in rows])))
    drawn.append(("information loss", *along_figures([row.upwards for row, _ in rows])))
    gap = max(AXIS_GAP, AXES_WIDE // (len(drawn) - 1))
    axes = tuple(
        Axis(abbreviate(name), AXIS_SIDE + gap * number, marks) for number, (name, marks, _) in enumerate(drawn)
    )
    lines = [
        Course(
            row.label,
            "; ".join(f"{names[place]} {values[place]}" for place in differing)
            + f"; highest risk {row.across:.4g}; information loss {row.upwards:.4g}",
            "M" + " L".join(f"{axis.x} {heights[number]}" for axis, (_, _, heights) in zip(axes, drawn, strict=True)),
            row.on_frontier,
            row.recommended,
        )
        for number, (row, values) in enumerate(rows)
    ]
    lines.sort(key=lambda line: (line.recommended, line.on_frontier))  # what matters is drawn last, on top
    return Parallel(axes, tuple(lines), 2 * AXIS_SIDE + gap * (len(axes) - 1))


def along_words(words: Sequence[str]) -> tuple[tuple[tuple[str, float], ...], list[float]]:
    """Return the marks of an axis with a place for each word, in order, and where each of these words is."""
    order = sorted({*words}, key=by_number)
    height = (Parallel.bottom - Parallel.top) / (len(order) - 1)
    at = {word: round(Parallel.bottom - height * place, 1) for place, word in enumerate(order)}
    shown = order if len(order) <= MOST_MARKS else [order[0], order[-1]]
    return tuple((abbreviate(word), at[word]) for word in shown), [at[word] for word in words]


def along_figures(figures: Sequence[float]) -> tuple[tuple[tuple[str, float], ...], list[float]]:
    """Return the round marks of an axis of figures, and where each of these is."""
    scale = _marks(figures)
    height = (Parallel.bottom - Parallel.top) / scale[-1]
    at = [round(Parallel.bottom - height * one, 1) for one in (*scale, *figures)]
    return tuple(zip((f"{mark:,g}" for mark in scale), at, strict=False)), at[len(scale) :]


def by_number(word: str) -> tuple[float, str]:
    """Return the place of a word in an order: numbers first, by size."""
    try:
        return float(word), word
    except ValueError:
        return math.inf, word


def abbreviate(word: str) -> str:
    """Return a word that fits next to an axis."""
    return word if len(word) <= AXIS_LETTERS else f"{word[: AXIS_LETTERS - 1]}\u2026"


def _label_points(rows: Sequence[Placed], spots: Sequence[tuple[float, float]]) -> list[str]:
    """Return the printed label of each point: its name, with the names of later points that are too near."""
    names: dict[int, list[str]] = {}
    for place, row in enumerate(rows):
        if row.on_frontier or len(rows) <= MOST_NAMES:
            x, y = spots[place]
            wide = {own: CLOSE + LETTER * len(", ".join(named)) for own, named in names.items()}
            near = (own for own in names if abs(spots[own][0] - x) < wide[own] and abs(spots[own][1] - y) < CLOSE)
            names.setdefault(next(near, place), []).append(row.label)
    whole = [", ".join(names.get(place, ())) for place in range(len(rows))]
    return [text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}\u2026" for text in whole]


def _marks(values: Sequence[float]) -> list[float]:
    """Return at most six round numbers from 0 to at least the highest value."""
    highest = max(values, default=0.0)
    step = next((step for step in STEPS if 5 * step >= highest), STEPS[-1])
    count = max(1, -int(-(highest / step) // 1))
    return [round(step * number, 10) for number in range(count + 1)]
