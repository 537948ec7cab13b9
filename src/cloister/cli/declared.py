"""A command from a declaration: its options are the settings of a record, and what was typed becomes that record."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ForwardRef, TypeVar, get_args

from typer import Argument, Option

from cloister.cli.output import speak_of
from cloister.errors import InputError, setting
from cloister.settings import CLEANING, Setting, Words, settings_of

if TYPE_CHECKING:
    from cloister.io.query import Query

Options = TypeVar("Options")
CALLED = "the database"
OF_ALL = ("missing", "delimiter", "encoding", *CLEANING, "as_json", "quiet", "verbose")
"""Settings that many commands have, which stand last where a record places nothing."""
OF_FILES = ("encoding", "delimiter", "bad_lines")


def command(options: type[Options], run: Callable[[Options], None], text: str) -> Callable[..., None]:
    """Return a command that runs with the settings of a record."""

    def typed(**told: Any) -> None:
        speak_of(options)
        run(record(options, told))

    settings = settings_of(options)
    if not hasattr(options, "placed"):
        settings.sort(key=lambda one: one.name in OF_ALL)
    return described(typed, map(parameter, settings), text)


def described(function: Any, parameters: Iterable[inspect.Parameter], text: str) -> Callable[..., None]:
    """Return a function that Typer takes to have these parameters, and this help."""
    signature = inspect.Signature([*parameters])
    function.__signature__ = signature
    function.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
    function.__doc__ = text
    made: Callable[..., None] = function
    return made


def parameter(one: Setting, *, needed: bool = True) -> inspect.Parameter:
    """Return the parameter of a command that a setting is.

    ``needed``: whether one without a default must be given
    """
    assert one.help is not None
    kind, default = one.typed, one.default
    told: dict[str, Any] = {"metavar": one.help.metavar, "help": one.help.text}
    if isinstance(kind, ForwardRef):  # a place, of which a query is made later
        kind = Path
    if one.is_list or one.by_column:
        kind = list[Path] if Path in get_args(kind) else list[str]
        if default is not MISSING:
            kind, default = kind | None, None
    if default is MISSING:
        default = inspect.Parameter.empty
        if not needed:
            kind, default = kind | None, None
    if one.help.shown is not None:
        told["show_default"] = one.help.shown
    if one.option.startswith("-"):
        info: Any = Option(*one.option.split(), **told)
    else:
        info = Argument(**told | {"metavar": one.option, "parser": data_word if one.name == "data" else None})
    return inspect.Parameter(
        one.word, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def record(options: type[Options], told: Mapping[str, Any]) -> Options:
    """Return what was typed, as the record that declares it; DATA and its query become one."""
    made = {}
    for one in settings_of(options):
        if one.word in told:
            typed = told[one.word]
            if one.by_column:
                typed = Words(tuple(typed)) if typed else one.default
            elif one.is_list:
                typed = tuple(typed) if typed else one.default
            made[one.name] = typed
    if "data" in made:
        of_files = {name: made.get(name) for name in OF_FILES}
        made["data"] = data_of(made["data"], made.pop("query", None), **of_files)
    return options(**made)


class Address(str):
    """A word that says where a database is, as typed: a path would lose a stroke of ``//``."""

    __slots__ = ()


def data_word(text: str) -> Path | Address:
    """Return what DATA is, by how it is written."""
    from cloister.io.query import is_address  # loaded once a command runs

    return Address(text) if is_address(text) else Path(text)


def data_of(data: Path | Address, query: str | None, **of_files: str | None) -> "Path | Query":
    """Return the file, or the query to the database."""
    if not isinstance(data, Address):
        if query is not None:
            raise InputError("--query is for databases, but DATA is a file. Leave it out, or name a database.")
        return data
    if query is None:
        raise InputError("DATA is the address of a database. Say with --query what is to be read of it.")
    told = [setting(name) for name, value in of_files.items() if value not in (None, "error")]
    if told:
        raise InputError(f"{' and '.join(told)}: for files alone, but DATA is in a database. Leave it out.")
    from cloister.io.query import Query, is_file_of_sql, query_text

    return Query(data, query_text(query), Path(query).stem if is_file_of_sql(query) else CALLED)
