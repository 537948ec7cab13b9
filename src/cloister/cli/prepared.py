"""Data that were read and settings that were taken, before anything is protected: the same for all shapes."""

from collections.abc import Callable
from dataclasses import dataclass, field

from cloister.release import Release
from cloister.results import Manifest

Rows = list[tuple[str, str]]


@dataclass(frozen=True)
class Prepared:
    """What a run of ``protect`` is about to do.

    Attributes
    ----------
    protect : takes the data through the stages; called once
    check : everything else that can be found out without protecting; raises what protecting would raise
    notes : what a user should know of the release, without the stop at the end
    asked : what would be done, in words, by subject; holds no value of the data
    recorded : columns that are released as recorded, one row a patient
    """

    protect: Callable[[], Release] = field(repr=False)
    check: Callable[[], object] = field(repr=False)
    notes: Callable[[Release, Manifest], list[str]] = field(repr=False)
    asked: Rows
    recorded: tuple[str, ...] = ()
