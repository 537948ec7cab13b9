"""What ``protect claims`` can be told beside its plan."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from cloister.settings import Help, RunOptions

if TYPE_CHECKING:
    from cloister.io.query import Query


@dataclass(frozen=True, kw_only=True)
class ClaimsOptions(RunOptions):
    """Two files, the plan, and the run."""

    patients: Annotated["Path | Query", Help("CSV (also gzip'd) or Parquet, one row a patient.", option="PATIENTS")]
    claims: Annotated["Path | Query", Help("The same, any number of rows a patient.", option="CLAIMS")]
    plan: Annotated[Path, Help("What is asked, in TOML; cloister init claims writes a first one.", "PLAN")]
    placed: ClassVar[Mapping[str, str]] = dict.fromkeys(("patients", "claims", "plan"), "out")
