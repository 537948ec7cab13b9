"""Dates named by ever longer periods: day, week, month, quarter, year, decade."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from cloister.errors import InputError
from cloister.hierarchy.ladder import Ladder, group_sizes, make_ladder, require_cover, texts_in_order

ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?", re.ASCII)


UNITS: dict[str, Callable[[date], str]] = {
    "day": date.isoformat,
    "week": lambda day: "{:04d}-W{:02d}".format(*day.isocalendar()[:2]),
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
}
"""How a day is named by each unit."""

CHAINS = (("day", "month", "quarter", "year", "decade"), ("day", "week"))
"""Units that nest, from fine to coarse. Weeks straddle months and years, so only the root is above them."""


@dataclass(frozen=True)
class DateHierarchy:
    """Levels of dates: as recorded, one for each unit (`2024-05`, `2024-Q2`, `2024`, `2020s`, `2024-W07`), then `*`.

    Values are ISO dates, `YYYY-MM-DD`, with or without a time after `T` or a space; the time and its zone are dropped
    from the first level on, and the date is taken as written. Weeks are ISO weeks. The domain is the distinct values
    present.

    Parameters
    ----------
    units : a chain from fine to coarse out of day, month, quarter, year, decade; or out of day, week
    """

    units: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.units or not all(unit in UNITS for unit in self.units):
            raise InputError(
                f"date takes units among {', '.join(UNITS)}, from fine to coarse, such as date:month,quarter,year."
            )
        if not any(self.units == tuple(unit for unit in chain if unit in self.units) for chain in CHAINS):
            raise InputError(
                "date needs units that nest, each once, from fine to coarse: out of day, month, quarter, year, decade; "
                "or out of day, week (a week straddles months and years, so nothing but * is above it)."
            )

    @property
    def kind(self) -> str:
        """`date`."""
        return "date"

    @property
    def spec(self) -> str:
        """As on the command line: `date:month,quarter,year`."""
        return f"date:{','.join(self.units)}"

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Those of the distinct values that are not ISO dates of the calendar."""
        return [value for value in values if value is not None and _read_day(value) is None]

    def bind(self, column: str, values: Sequence[str | None]) -> Ladder:
        """Return the ladder of these distinct values."""
        texts, missing = texts_in_order(values)
        days = [day for text in texts if (day := _read_day(text)) is not None]
        require_cover(
            column,
            len(texts) - len(days),
            len(texts),
            "are not dates as YYYY-MM-DD (a time may follow)",
            "Write them so, or use suppress or a hierarchy file.",
        )
        labels = [[UNITS[unit](day) for day in days] for unit in self.units]
        return make_ladder(column, texts, missing, labels, [group_sizes(level) for level in labels], len(texts))


def _read_day(text: str) -> date | None:
    """Return the day of an ISO date or time stamp, None of anything else."""
    stamp = text.strip()
    if not ISO_DATE.fullmatch(stamp):
        return None
    try:
        return datetime.fromisoformat(stamp).date()
    except ValueError:
        return None
