"""What releases of code sets are checked against besides their own manifests, whatever the method.

That is what a recipient expects, what the custodian has, and what settings may say that follow from nothing released.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from cloister.codesets.generalization.data import VisitsFile

from .policy import UtilityPolicy
from .request import GivenCodes


@dataclass(frozen=True)
class CodesExpectation:
    """What the recipient expects, whatever the manifest says.

    Attributes
    ----------
    k, m : patients that must be left to whoever knows codes of one, and how many codes that may be
    privacy, policy : of generalized code sets, the policies that the release names: objects, or their words
    visits : how a file of visits is read, if the words for the privacy policy name one
    """

    k: int | None = None
    m: int | None = None
    privacy: Any = None
    policy: str | Path | UtilityPolicy | None = None
    visits: VisitsFile | None = None


@dataclass(frozen=True)
class CodesOriginal:
    """What only the custodian has: the code sets, and the crosswalk written with the release, if it is given."""

    given: GivenCodes
    crosswalk: pl.DataFrame | None


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
