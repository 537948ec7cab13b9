"""Messages for jobs: settings are worded as keys of TOML."""

from collections.abc import Mapping

from cloister.errors import NamedSetting, word_settings
from cloister.settings.toml import toml_text


def in_keys(text: str) -> str:
    """Return a text with its settings worded as keys of a job."""
    return word_settings(text, as_key)


def as_key(one: NamedSetting) -> str:
    """Return a key in TOML, with its value if it has one.

    Examples
    --------
    >>> as_key(NamedSetting("accept", ["bmi"])), as_key(NamedSetting("weight", {"age": 5}))
    ('accept = ["bmi"]', 'weight = {"age" = 5}')
    """
    return one.key if one.value is None else f"{one.key} = {_toml(one.value)}"


def _toml(value: object) -> str:
    """Return a value in TOML."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{toml_text(key)} = {_toml(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return toml_text(value)
    return f"{value:g}" if isinstance(value, float) else str(value).lower()  # true and false
