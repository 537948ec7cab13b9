"""A command from a declaration: its options are the settings of a record, and what was typed becomes that record."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Any, ForwardRef, TypeVar, get_args

from typer import Argument, Option

from cloister.cli.data_argument import data_of, data_word
from cloister.settings import Setting, Words, settings_of

Options = TypeVar("Options")


def command(options: type[Options], run: Callable[[Options], None], text: str) -> Callable[..., None]:
    """Return a command that runs with the settings of a record."""

    def typed(**told: Any) -> None:
        run(record(options, told))

    return described(typed, [parameter(one) for one in settings_of(options)], text)


def described(function: Any, parameters: list[inspect.Parameter], text: str) -> Callable[..., None]:
    """Return a function that Typer takes to have these parameters, and this help."""
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {one.name: one.annotation for one in parameters}
    function.__doc__ = text
    made: Callable[..., None] = function
    return made


def parameter(one: Setting, *, needed: bool = True) -> inspect.Parameter:
    """Return the parameter of a command that a setting is.

    Parameters
    ----------
    needed : whether one without a default must be given
    """
    assert one.help is not None
    kind, default = one.typed, one.default
    if isinstance(kind, ForwardRef):  # a place, of which a query is made later
        kind = Path
    if one.is_list or one.by_column:
        kind, default = list[_part(kind)] | None, None  # type: ignore[misc]
    if default is MISSING:
        default = inspect.Parameter.empty
        if not needed:
            kind, default = kind | None, None
    if one.option.startswith("-"):
        info: Any = Option(*one.option.split(), metavar=one.help.metavar, help=one.help.text, **_shown(one))
    elif one.name == "data":
        info = Argument(metavar=one.option, parser=data_word, help=one.help.text)
    else:
        info = Argument(metavar=one.option, help=one.help.text)
    return inspect.Parameter(
        one.word, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def _part(kind: Any) -> Any:
    """What each value of a list is read as."""
    return Path if Path in get_args(kind) else str


def _shown(one: Setting) -> dict[str, Any]:
    return {} if one.help is None or one.help.shown is None else {"show_default": one.help.shown}


def record(options: type[Options], told: Mapping[str, Any]) -> Options:
    """Return what was typed, as the record that declares it; DATA and its query become one."""
    made = {one.name: _value(one, told[one.word]) for one in settings_of(options) if one.word in told}
    if "data" in made:
        of_files = {name: made[name] for name in ("encoding", "delimiter")}
        made["data"] = data_of(made["data"], made.pop("query", None), **of_files)
    return options(**made)


def _value(one: Setting, typed: Any) -> Any:
    if one.by_column:
        return Words(tuple(typed)) if typed else one.default
    return tuple(typed) if one.is_list and typed else one.default if one.is_list else typed
