"""The shapes that there are, a line each in `SHAPES`; what a shape does is loaded when it is first run.

`register` adds one; nothing else in cloister names a shape in order to run it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from cloister.jobs.job import SHAPES as DECLARED
from cloister.jobs.job import Declared

if TYPE_CHECKING:
    from cloister.shape import AnyShape


def _table() -> "AnyShape":
    from cloister.pipeline.table_shape import TableShape

    return TableShape()


def _codes() -> "AnyShape":
    from cloister.pipeline.codes_shape import CodesShape

    return CodesShape()


def _trajectories() -> "AnyShape":
    from cloister.pipeline.trajectories_shape import TrajectoriesShape

    return TrajectoriesShape()


def _claims() -> "AnyShape":
    from cloister.pipeline.claims_shape import ClaimsShape

    return ClaimsShape()


SHAPES: dict[str, "Callable[[], AnyShape]"] = {
    "table": _table,
    "codes": _codes,
    "trajectories": _trajectories,
    "claims": _claims,
}


def shape_of(name: str) -> "AnyShape":
    """Return what a shape does."""
    return SHAPES[name]()


def register(name: str, declared: Declared, load: "Callable[[], AnyShape]") -> None:
    """Add a shape, by what it can be told and by what loads what it does."""
    DECLARED[name], SHAPES[name] = declared, load
