"""The form of what stands in the data file and the side file of a release of trajectories."""

from dataclasses import dataclass

import polars as pl

ID, CODE, AGE = "id", "code", "age"
COLUMNS = (ID, CODE, AGE)


@dataclass(frozen=True, eq=False, repr=False)
class WrittenTrajectories:
    """What stands in the data file and the side file.

    Attributes
    ----------
    frame : ``id`` (number of the patient from 1), ``code``, ``age`` (text); pairs of a patient one after another
    side : ``id`` and the side columns (text); None where nothing rides along
    """

    frame: pl.DataFrame
    side: pl.DataFrame | None = None

    def __repr__(self) -> str:
        return f"WrittenTrajectories({self.frame.height} rows)"
