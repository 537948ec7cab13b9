"""``--grid KEY=VALUE,VALUE`` -> every setting, in order."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TypeVar

from cloister.errors import InputError

T = TypeVar("T")
MOST_SETTINGS = 10_000


def parse_grid(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of each key as words; they stand apart by commas, or by ``;`` where values have commas.

    Raises
    ------
    InputError
        A text is not of that form, or names a key or a value twice.

    Examples
    --------
    >>> parse_grid(["k=2,5", "qi.age=interval:5,10;interval:10"])
    {'k': ('2', '5'), 'qi.age': ('interval:5,10', 'interval:10')}
    """
    grid: dict[str, tuple[str, ...]] = {}
    for text in texts:
        key, equals, rest = text.partition("=")
        key = key.strip()
        if not (key and equals):
            raise InputError("--grid takes KEY=VALUE,VALUE, as in --grid k=2,5,11.")
        if key in grid:
            raise InputError(f"--grid names {key} twice. Give all of its values at once.")
        values = [word.strip() for word in rest.split(";" if ";" in rest else ",")]
        values = values[:-1] if ";" in rest and not values[-1] else values
        if not all(values) or not values:
            raise InputError(f"--grid {key} has an empty value. Give values apart by commas, as in --grid k=2,5,11.")
        if len(set(values)) < len(values):
            raise InputError(f"--grid {key} has a value twice. Give each once.")
        grid[key] = tuple(values)
    return grid


def settings_in(grid: Mapping[str, Sequence[T]]) -> list[dict[str, T]]:
    """Return every combination of the values, the last key changing fastest.

    Raises
    ------
    InputError
        There is no value, or there are too many combinations.
    """
    count = 1
    for values in grid.values():
        count *= len(values)
    if not grid or not count:
        raise InputError("A grid of settings is needed, as --grid k=2,5,11.")
    if count > MOST_SETTINGS:
        raise InputError(f"The grid has {count:,} settings, more than {MOST_SETTINGS:,}. Give fewer values.")
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
