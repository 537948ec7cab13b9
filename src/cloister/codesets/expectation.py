"""What a release of code sets is checked against, besides its own manifest."""

from dataclasses import dataclass

import polars as pl

from .request import GivenCodes


@dataclass(frozen=True)
class CodesExpectation:
    """What the recipient expects, whatever the manifest says."""

    k: int | None = None
    m: int | None = None


@dataclass(frozen=True)
class CodesOriginal:
    """What only the custodian has: the code sets, and the crosswalk that was written with the release."""

    given: GivenCodes
    crosswalk: pl.DataFrame
