"""What the numbers and names of rules may be, how they are written, and what rules say of a population table."""

import math
from collections.abc import Callable
from typing import Any

from cloister.errors import InputError

MOST_RECORDS = 2**62
"""No table has more, and counts stay exact."""


def whole_number(name: str, value: object, least: int) -> int:
    """Return ``value`` if it is a whole number from ``least`` on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} is {_shown(value)}, but it must be a whole number from {least} on.")
    if value > MOST_RECORDS:
        raise InputError(f"{name} is more than {MOST_RECORDS}, but no table has as many records. Give a smaller one.")
    return value


def real_number(name: str, value: object, wanted: str, is_fit: Callable[[float], bool]) -> float:
    """Return ``value`` as a float if it is a finite number of the range that ``wanted`` puts into words."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or abs(value) > MOST_RECORDS
        or not math.isfinite(value)
        or not is_fit(float(value))
    ):
        raise InputError(f"{name} is {_shown(value)}, but it must be a number {wanted}.")
    return float(value)


def name_of(what: str, value: object) -> str:
    """Return ``value`` if it is a text that can name something."""
    if not isinstance(value, str) or not value:
        raise InputError(f"{what} must be named by a text that is not empty.")
    return value


def written(number: float) -> str:
    """Return a number as on the command line, in as few digits as give it back exactly.

    Examples
    --------
    >>> written(2.0), written(0.05)
    ('2', '0.05')
    """
    return str(int(number)) if number == int(number) else repr(number)


def _shown(value: object) -> str:
    """A number as it is; anything else might hold data and is told by its type."""
    if isinstance(value, int | float) and abs(value) <= MOST_RECORDS:
        return repr(value)
    return "not finite or too large" if isinstance(value, int | float) else f"of the type {type(value).__name__}"


def checked_name(population: Any, name: str | None, model: str) -> str:
    """Return the name under which a population table is shown; one that is given without a name is ``population``."""
    if population is None and name is None:
        raise InputError(f"{model} needs a population: a table of all people that the patients may be among.")
    return name_of("The population", "population" if name is None else name)
