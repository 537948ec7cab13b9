"""Word messages for the command line: settings appear as options."""

import shlex
from collections.abc import Mapping
from functools import cache

from cloister.errors import NamedSetting, word_settings
from cloister.settings.declaration import settings_of
from cloister.shapes.registry import SHAPES


@cache
def _options() -> dict[str, str]:
    """How the command line calls settings, by their names; two shapes may call one differently."""
    return {one.word: one.option.split()[0] for shape in SHAPES.values() for one in settings_of(shape.options)}


def use_option_names(record: type) -> None:
    """Use the option names of the current command for its settings."""
    _options().update({one.word: one.option.split()[0] for one in settings_of(record)})


def in_options(text: str) -> str:
    """Return a text with its settings written as options."""
    return word_settings(text, _option)


def _option(one: NamedSetting) -> str:
    """Return what is typed: an option takes one value, and is typed again for each of several.

    Examples
    --------
    >>> _option(NamedSetting("accept", ["Tumor Size", "bmi"])), _option(NamedSetting("weight", {"age": 5.0}))
    ("--accept 'Tumor Size' --accept bmi", '--weight age=5')
    """
    if one.section is not None:
        return one.key
    called = _options().get(one.name, f"-{one.name}" if len(one.name) == 1 else f"--{one.name.replace('_', '-')}")
    value = one.value
    if isinstance(value, Mapping):
        words = [f"{key}={_word(each)}" for key, each in value.items()]
    else:
        words = [_word(each) for each in (value if isinstance(value, list) else [value])]
    return called if value is None or value is True else " ".join(f"{called} {shlex.quote(word)}" for word in words)


def _word(value: object) -> str:
    """Return a value as it is typed; a pair is a range."""
    if isinstance(value, tuple):
        return "..".join(map(_word, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
