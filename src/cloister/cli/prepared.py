"""Data that were read and settings that were taken, before anything is protected: the same for all shapes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cloister.hierarchy import Hierarchy
from cloister.release import Release
from cloister.results import Manifest

Rows = list[tuple[str, str]]


@dataclass(frozen=True)
class Original:
    """What a release is made from, as an attack on it must know it.

    Attributes
    ----------
    data : as read
    hierarchies : by column
    privacy : of generalized code sets, the privacy policy
    missing : texts that stand for a missing value
    """

    data: Any = field(repr=False)
    hierarchies: Mapping[str, Hierarchy] | None = field(default=None, repr=False)
    privacy: Any = field(default=None, repr=False)
    missing: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Prepared:
    """What a run of ``protect`` is about to do.

    Attributes
    ----------
    protect : takes the data through the stages; called once
    check : everything else that can be found out without protecting; raises what protecting would raise
    notes : what a user should know of the release, without the stop at the end
    asked : what would be done, in words, by subject; holds no value of the data
    original : what is protected
    recorded : columns that are released as recorded, one row a patient
    """

    protect: Callable[[], Release] = field(repr=False)
    check: Callable[[], object] = field(repr=False)
    notes: Callable[[Release, Manifest], list[str]] = field(repr=False)
    asked: Rows
    original: Original
    recorded: tuple[str, ...] = ()
