"""Values of a grid, as typed -> values of the keys of a part, and the options of ``protect`` that they stand for."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from cloister.cli.claims_options import ClaimsOptions
from cloister.cli.job_parts import CALLED_ELSE, as_option
from cloister.cli.release_options import ReleaseOptions
from cloister.errors import InputError, did_you_mean
from cloister.jobs.job import PARTS, FileSource, Part
from cloister.jobs.job_checks import check_part

GRID = "--grid"
NOT_IN_A_GRID = {"shape", "source", "name", "crosswalk", "values_to", "ids"}
Options = TypeVar("Options", bound=ReleaseOptions | ClaimsOptions)


def candidates(text: str) -> Iterator[Any]:
    """Return what a word may stand for: a number, true or false, numbers apart by commas, itself, a list of itself."""
    for form in (text, f"[{text}]"):
        try:
            yield json.loads(form)
        except (ValueError, RecursionError):
            continue
    yield text
    yield [text]


def typed_values(shape: str, grid: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[Any, ...]]:
    """Return the values of each key, as a job would have them.

    Raises
    ------
    InputError
        A key is unknown, or a value is not what it may be.
    """
    return {key: tuple(_typed(shape, key, text) for text in texts) for key, texts in grid.items()}


def _typed(shape: str, key: str, text: str) -> Any:
    head, column = _split(shape, key)
    problem = InputError(f"{GRID}: {key} has no such value.")
    for value in candidates(text):
        try:
            part = _part(shape, {head: {column: value} if column else value})
        except InputError as error:
            problem = error
            continue
        for sentence in check_part(part, GRID, {"data": FileSource("data")}):
            raise InputError(sentence.replace(f"{GRID}.", f"{GRID}: "))
        return value
    raise problem


def _part(shape: str, told: Mapping[str, Any]) -> Part:
    from cloister.typed_toml import typed

    kind: type[Part] = PARTS[shape]
    return typed({"shape": shape, "source": "data", **told}, kind, GRID)


def _split(shape: str, key: str) -> tuple[str, str]:
    """The key of the part, and the column where there is a value for each."""
    head, dot, column = key.partition(".")
    of_columns = {field.name: isinstance(field.default_factory, type) for field in fields(PARTS[shape])}
    known = [name for name in of_columns if name not in NOT_IN_A_GRID]
    if head not in known or (column and not of_columns[head]):
        whole = head if head not in known else key
        raise InputError(
            f"{GRID} names the key {whole}, which a {shape} has not.{did_you_mean(head, known)} Keys: "
            f"{', '.join(known)}."
        )
    if of_columns[head] and not column:
        raise InputError(f"{GRID} {head} has a value for each column. Name one, as in {GRID} {head}.age=...")
    if dot and not column:
        raise InputError(f"{GRID} names no column after {head}.")
    return head, column


def check_apart(options: Options, grid: Mapping[str, Any]) -> None:
    """Refuse options that the grid changes as well, and a k that nobody gives.

    Raises
    ------
    InputError
        There is one.
    """
    usual = {field.name: field.default for field in fields(options)}
    for key in grid:
        name = CALLED_ELSE.get(key, key)
        if name in usual and (getattr(options, name) or None) != (usual[name] or None) and getattr(options, name):
            raise InputError(f"{key} is an option and in the grid as well. Leave one of them out.")
    if "k" not in grid and not getattr(options, "k", 1):
        raise InputError("k is needed. Give -k, or --grid k=2,5,11.")


def with_setting(options: Options, shape: str, setting: Mapping[str, Any]) -> Options:
    """Return the options with the values of a setting."""
    for key, value in setting.items():
        head, column = _split(shape, key)
        part = _part(shape, {head: {column: value} if column else value})
        name, word = CALLED_ELSE.get(head, head), as_option(head, getattr(part, head))
        if column:
            word = [*_others(getattr(options, name) or [], column), *word]
        options = replace(options, **{name: word})
    return options


def _others(texts: list[str], column: str) -> Iterator[str]:
    """Options COLUMN=..., those of a column left out; several may stand in one, unless a hierarchy has the commas."""
    for text in texts:
        if text == column or text.startswith((f"{column}=", f"{column}@")):
            continue
        parts = text.split(",")
        if all("=" in part for part in parts) and len(parts) > 1:
            yield from (part for part in parts if not part.startswith(f"{column}="))
        else:
            yield text
