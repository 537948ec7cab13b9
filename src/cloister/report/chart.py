"""Where the bars of a chart stand, and in which order labels are shown; nothing here is counted."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, LABELS, BARS = 340, 100, 168
"""Of the whole chart, of the labels at its left, and of the longest bar."""

ROW, THICK = 24, 15
"""Height of a row, and of its bar."""

UNNAMED = (None, "*")
"""Labels that name no value: missing, and any."""

BEGINS_WITH_A_NUMBER = re.compile(r"(?P<less><)?[\[>=]*(?P<number>\d+)")


@dataclass(frozen=True)
class Bar:
    """One row of a chart.

    Attributes
    ----------
    width, width_before : of the bars of counts after and before; None where the latter is not told
    """

    label: str
    count: int
    y: int
    width: float
    width_before: float | None


@dataclass(frozen=True)
class Chart:
    """Bars, and how large the picture is."""

    bars: tuple[Bar, ...]
    width: int
    height: int


def class_size_chart(sizes: Mapping[str, Any]) -> Chart:
    """Return where the bars of a histogram of class sizes stand."""
    after, before = sizes["bands"], sizes["before"]
    longest = max(1, *after.values(), *(before or {}).values())
    bars = tuple(
        Bar(
            band,
            count,
            ROW * place + (ROW - THICK) // 2,
            _length(count, longest),
            None if before is None else _length(before[band], longest),
        )
        for place, (band, count) in enumerate(after.items())
    )
    return Chart(bars, WIDTH, ROW * len(bars))


def _length(count: int, longest: int) -> float:
    """The length of a bar; what is not zero can be seen."""
    return 0.0 if not count else round(max(1.5, BARS * count / longest), 1)


def in_order(labels: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return labels as they are read: those that begin with numbers by these, others as they come."""
    found = [BEGINS_WITH_A_NUMBER.match(str(cell["label"])) for cell in labels if cell["label"] not in UNNAMED]
    if not found or not all(found):
        return list(labels)

    def place(cell: Mapping[str, Any]) -> tuple[bool, int, bool, str]:
        text = str(cell["label"])
        matched = BEGINS_WITH_A_NUMBER.match(text)
        number = int(matched["number"]) if matched else 0
        return cell["label"] in UNNAMED, number, not (matched and matched["less"]), text

    return sorted(labels, key=place)
