"""Settings of a manifest of code sets that follow from nothing released: what they may say at all."""

import re
from collections.abc import Mapping
from typing import Any

INPUT = frozenset({"source", "repeats", "drop_empty", "workload", "ids", "input_columns", "not_released", "delimiter"})
"""Settings that do not depend on the method."""

COLUMNS = frozenset({"id", "codes", "code"})
IDS = ("number", "drop")
WORKLOAD = re.compile(r"frequent:[0-9.]+(e[+-]?[0-9]+)?|random:[0-9]+")


def input_agreements(settings: Mapping[str, Any]) -> dict[str, bool]:
    """Return sentences about the settings of any method, each with whether it is false.

    Raises
    ------
    AttributeError, KeyError, TypeError
        A setting is missing, or has something else in its place.
    """
    columns, rest, delimiter = settings["input_columns"], settings["not_released"], settings["delimiter"]
    named = [name for name in columns.values() if name is not None]
    return {
        "settings.repeats or settings.drop_empty are neither true nor false": isinstance(settings["repeats"], bool)
        and isinstance(settings["drop_empty"], bool),
        "settings.ids are unknown": settings["ids"] in IDS,
        "settings.input_columns are not those of a file of codes": columns.keys() == COLUMNS
        and all(isinstance(name, str) for name in named)
        and len(set(named)) == len(named),
        "settings.not_released are not other columns": isinstance(rest, list)
        and all(isinstance(name, str) for name in rest)
        and not {*rest} & {*named},
        "settings.workload is unknown": settings["workload"] is None
        or WORKLOAD.fullmatch(settings["workload"]) is not None,
        "settings.delimiter is no single character": isinstance(delimiter, str) and len(delimiter) == 1,
    }
