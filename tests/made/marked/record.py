"""Input that holds one recognisable value wherever a patient's values can be, and what may be done with it."""

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl
import pytest

MARKER = "PATIENT-7-SECRET"
CUT = MARKER[:9]
"""A message that cuts a long value short would still show this much of it."""

Words = tuple[str, ...]
Files = Mapping[str, str | bytes]
RAISED: dict[str, BaseException] = {
    "RuntimeError": RuntimeError(MARKER),
    "ValueError": ValueError(f"cannot parse {MARKER!r}"),
    "OSError": OSError(errno.EIO, MARKER),
    "disk full": OSError(errno.ENOSPC, f"No space for {MARKER}"),
    "Polars": pl.exceptions.ComputeError(f"conversion of {MARKER} failed"),
    "memory": MemoryError(MARKER),
    "interruption": KeyboardInterrupt(MARKER),
}
"""What a stage may raise; the system's and other libraries' messages quote values."""


@dataclass(frozen=True)
class Attempt:
    """One run of a command.

    Attributes
    ----------
    more : words behind those of the record
    files : files that are there beside or instead of the usual ones
    words : the whole command, where it is another one
    codes : exit codes that are right
    against : words that compare the release with its original, where they are other ones
    """

    more: Words = ()
    files: Files = field(default_factory=dict)
    words: Words = ()
    codes: tuple[int, ...] = (1, 2)
    against: Words = ()


def with_words(**attempts: Words) -> dict[str, Attempt]:
    """Return attempts that differ in their words alone."""
    return {name.replace("_", " "): Attempt(more) for name, more in attempts.items()}


def with_file(name: str, contents: Files, *words: str) -> dict[str, Attempt]:
    """Return attempts with one file that is another one each time."""
    return {what: Attempt(files={name: content}, words=words) for what, content in contents.items()}


@dataclass(frozen=True)
class Marked:
    """All that the contract of no patient's values needs to know of a form of release.

    Attributes
    ----------
    files : the input; the marker is in it wherever a value can be that is not released
    words : of the command that protects it into ``release``
    kept : further words of it, by which the custodian keeps what a comparison with the original needs
    releases : ways to protect it, each with exit code 0
    against : words of ``verify`` and ``attack`` that compare a release with its original
    asked : further words with which a changed release is verified
    written : files and folders outside the release that the owner asked to hold values
    refusals : what must be refused
    commands : further commands on such data, as ``assess`` and ``init``
    stages : functions that are made to fail: while it is protected, and in further commands by their name
    idle : functions that must do nothing then, since they would call a stage before its time
    changes : file, text and other text: where somebody may write the marker into a release
    grid : of ``explore``, or none
    calls : calls of the library that must be refused
    shown : objects of the library whose ``repr`` must hold no value
    register : enters the form, where it is not one of ours
    """

    files: Files
    words: Words
    releases: Mapping[str, Attempt]
    against: Words
    refusals: Mapping[str, Attempt]
    stages: Mapping[str, Sequence[str]]
    changes: Sequence[tuple[str, str, str]]
    kept: Words = ()
    asked: Sequence[Words] = ()
    written: frozenset[str] = frozenset()
    commands: Mapping[str, Attempt] = field(default_factory=dict)
    idle: Mapping[str, str] = field(default_factory=dict)
    grid: Words = ()
    calls: Callable[[], list[Callable[[], object]]] = list
    shown: Callable[[], list[object]] = list
    register: Callable[[pytest.MonkeyPatch], None] | None = None

    @property
    def explored(self) -> Words:
        """The words of exploring the same data; without k, which the grid has, and with another place."""
        at = self.words.index("-k")
        words = [word for place, word in enumerate(self.words) if place not in (at, at + 1)]
        words[words.index("release")] = "exploration"
        return ("explore", *words[1:], *self.grid)
