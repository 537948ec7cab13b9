"""JSON as a tree: its leaves, and one of them changed."""

import copy
from collections.abc import Iterator
from typing import Any

Place = tuple[Any, ...]


def leaves(tree: Any, place: Place = ()) -> Iterator[Place]:
    """Places of all leaves, and of all lists and objects, as something may be added to them."""
    if place:
        yield place
    within = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, part in within:
        yield from leaves(part, (*place, key))


def at(tree: Any, place: Place) -> Any:
    """What stands at a place."""
    for key in place:
        tree = tree[key]
    return tree


def changed(tree: Any, place: Place, draw: Any) -> Any:
    """A copy with one change at a place: another value, a value more, or nothing there."""
    other = copy.deepcopy(tree)
    around, key = at(other, place[:-1]), place[-1]
    if draw.random() < 0.15:
        del around[key]
        return other
    around[key] = _another(around[key], draw)
    return other


def _another(value: Any, draw: Any) -> Any:
    """A value of the same kind, mostly, that is not the same."""
    if draw.random() < 0.1:
        return draw.choice([each for each in (None, "x", 7, [], {}, True) if each != value])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + draw.choice((-1, 1, 1000))
    if isinstance(value, float):
        return draw.choice((value + 0.25, value * 1.5 + 1e-3, -1.0))
    if isinstance(value, str):
        return draw.choice((value + "x", value[:-1] if value else "y", f"Told {value}", "M0001", value + " "))
    if isinstance(value, list):
        return [*value, "Maria"] if draw.random() < 0.5 or not value else value[::-1] if len(value) > 1 else []
    if isinstance(value, dict):
        return {**value, "note": "Maria"}
    return "Maria"


def named(place: Place) -> str:
    """A place in one word, as ``records.released``; numbers in lists, and names of columns, as they are."""
    return ".".join(str(key) for key in place)
