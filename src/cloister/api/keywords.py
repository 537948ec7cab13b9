"""Settings as keywords of Python functions: the settings of a shape, named as in jobs and on the command line."""

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING
from logging import getLogger
from pathlib import Path
from textwrap import fill
from typing import TypeVar

from cloister.errors import InputError, did_you_mean, join_parts, setting
from cloister.search import Report
from cloister.settings.checking import check_kind, plain
from cloister.settings.declaration import ColumnAssignments, Keywords, Setting, settings_of
from cloister.settings.reading import KEYS
from cloister.shapes.protocol import ProgressListener, Run

Options = TypeVar("Options")
Verb = TypeVar("Verb", bound=Callable[..., object])

OF_FILES = frozenset(
    (
        *KEYS, "data", "out", "query", "crosswalk", "overwrite", "custodian_dir", "attack", "unmatched_values",
        "hierarchies", "levels_from", "table", "missing_as", "as_json", "quiet", "verbose", "visit",
    )
)  # fmt: skip
"""Settings of commands that Python has no use for: where files are, how they are read, what is printed."""

NOWHERE = Path("a dataframe")
"""In place of the files that options of a command name."""


class LoggedRun(ProgressListener):
    """Write the progress of a run to the log of cloister, which Python shows by default."""

    def __init__(self, progress: Report | None = None) -> None:
        self.progress = progress

    def note(self, text: str, *, always: bool = False) -> None:  # noqa: ARG002  (of the protocol)
        """Log a note."""
        getLogger("cloister").warning(text)

    @contextmanager
    def searching(self) -> Iterator[Report | None]:
        """Yield the function to which a search reports its progress."""
        yield self.progress


def run_of(progress: Report | None = None) -> Run:
    """Return the run of a Python function."""
    return Run(voice=LoggedRun(progress))


def keywords_of(record: type, without: Collection[str] = ()) -> dict[str, Setting]:
    """Return the settings of a record that Python functions accept, by name, except those named in ``without``."""
    return {one.word: one for one in settings_of(record) if one.word not in OF_FILES and one.word not in without}


def options_of(
    verb: str, record: type[Options], given: Keywords, without: Collection[str] = (), **fixed: object
) -> Options:
    """Return the options that the keywords state.

    Parameters
    ----------
    verb : name of the function, for messages
    without : see `keywords_of`
    fixed : values of other fields

    Raises
    ------
    InputError
        A keyword is unknown, or its value is not of the right kind.
    """
    known = keywords_of(record, without)
    for name, value in given.items():
        if name not in known:
            hint = did_you_mean(name, known) or f" It has {', '.join(known)}."
            raise InputError(f"{verb} has no setting {name}.{hint}")
        check_kind(known[name], value)
    needed = [name for name, one in known.items() if one.default is MISSING and name not in given]
    if needed:
        raise InputError(f"{verb} needs ", join_parts(" and ", (setting(name) for name in needed)), ".")
    return record(**fixed, **{known[name].name: plain(value, known[name]) for name, value in given.items()})


def takes_settings(
    record: type, without: Collection[str] = (), more: Mapping[str, object] | None = None
) -> Callable[[Verb], Verb]:
    """Give a function the signature of the settings that it accepts, and document them in its docstring.

    ``more``: keywords that are no settings, and their defaults
    """

    def document(verb: Verb) -> Verb:
        known = keywords_of(record, without)
        own = [one for one in inspect.signature(verb).parameters.values() if one.kind is not one.VAR_KEYWORD]
        keywords = [_parameter(name, one) for name, one in known.items()]
        extra = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in (more or {}).items()
        ]
        signature = inspect.signature(verb).replace(parameters=[*own, *keywords, *extra])
        vars(verb).update(__signature__=signature, settings=known)
        lines = "\n".join(
            fill(f"{name} : {_meaning(one)}", 112, initial_indent=" " * 4, subsequent_indent=" " * 8)
            for name, one in known.items()
        )
        verb.__doc__ = re.sub(
            r"    \*\*keywords(?: : (?=\w))?", lambda _: lines + "\n    ", verb.__doc__ or "", count=1
        )
        return verb

    return document


def _parameter(name: str, one: Setting) -> inspect.Parameter:
    default = inspect.Parameter.empty if one.default is MISSING else one.default
    if isinstance(default, ColumnAssignments) or (one.by_column and not default):
        default = None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)


def _meaning(one: Setting) -> str:
    """Return the help of a setting for Python readers: without advice on typing it, and with options as keywords."""
    text = (one.help.text if one.help else one.allowed).replace(" Repeatable.", "").replace(" *", " ``*``")
    return re.sub(r"--([a-z][a-z-]*)", lambda found: f"``{found[1].replace('-', '_')}``", text)
