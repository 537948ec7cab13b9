"""The shapes that there are; what a shape does is loaded when it is first run.

`register` adds one; nothing else in cloister names a shape in order to run it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from cloister.jobs.job import SHAPES as DECLARED
from cloister.jobs.job import Declared

if TYPE_CHECKING:
    from cloister.shape import AnyShape

SHAPES: dict[str, "Callable[[], AnyShape]"] = {}
"""What loads each shape that was added to those of ours."""


def shape_of(name: str) -> "AnyShape":
    """Return what a shape does."""
    if name == "table":
        from cloister.pipeline.table_shape import TableShape

        return TableShape()
    if name == "codes":
        from cloister.pipeline.codes_shape import CodesShape

        return CodesShape()
    if name == "trajectories":
        from cloister.pipeline.trajectories_shape import TrajectoriesShape

        return TrajectoriesShape()
    if name == "claims":
        from cloister.pipeline.claims_shape import ClaimsShape

        return ClaimsShape()
    return SHAPES[name]()


def register(name: str, declared: Declared, load: "Callable[[], AnyShape]") -> None:
    """Add a shape, by what it can be told and by what loads what it does."""
    DECLARED[name], SHAPES[name] = declared, load
