"""What releases of code sets are checked against besides their own manifests: expectations, and the original."""

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
