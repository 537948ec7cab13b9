"""The shapes that there are, a line each in `SHAPES`; what a shape does is loaded when it is first run.

`register` adds one; nothing else in cloister names a shape in order to run it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cloister.claims.options import ClaimsOptions
from cloister.codesets.options import CodesOptions
from cloister.tabular.options import TableOptions
from cloister.trajectories.options import TrajectoriesOptions

if TYPE_CHECKING:
    from cloister.shape import Shape


def _table() -> "Shape[Any, Any]":
    from cloister.flow.table_shape import TableShape

    return TableShape()


def _codes() -> "Shape[Any, Any]":
    from cloister.flow.codes_shape import CodesShape

    return CodesShape()


def _trajectories() -> "Shape[Any, Any]":
    from cloister.flow.trajectories_shape import TrajectoriesShape

    return TrajectoriesShape()


def _claims() -> "Shape[Any, Any]":
    from cloister.flow.claims_shape import ClaimsShape

    return ClaimsShape()


@dataclass(frozen=True)
class Registered:
    """A shape that is known.

    Attributes
    ----------
    options : what can be told to protect it, a record of declared settings
    load : loads what it does
    sources : keys of a job that name what it is read from
    """

    options: type
    load: Callable[[], "Shape[Any, Any]"]
    sources: tuple[str, ...] = ("source",)


SHAPES: dict[str, Registered] = {
    "table": Registered(TableOptions, _table),
    "codes": Registered(CodesOptions, _codes),
    "trajectories": Registered(TrajectoriesOptions, _trajectories),
    "claims": Registered(ClaimsOptions, _claims, ("patients", "claims")),
}


def shape_of(name: str) -> "Shape[Any, Any]":
    """Return what a shape does."""
    return SHAPES[name].load()


def register(name: str, shape: Registered) -> None:
    """Add a shape; in its place, one of the same name goes."""
    SHAPES[name] = shape
