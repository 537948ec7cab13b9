"""The settings of ``protect claims`` that are not part of the plan."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from cloister.settings.constraints import Described
from cloister.settings.declaration import Help, Key
from cloister.settings.run_options import RunOptions

if TYPE_CHECKING:
    from cloister.io.query import Query


@dataclass(frozen=True, kw_only=True)
class ClaimsOptions(RunOptions):
    """Protect patients and their claims together, by a plan.

    All rows have the same generalization. The risk is measured by simulating an adversary who knows a few values of a
    patient.
    """

    examples: ClassVar[tuple[str, str]] = (
        "cloister protect claims patients.csv claims.csv --plan plan.toml --out release",
        "cloister explore claims patients.csv claims.csv --plan plan.toml --grid risk.threshold=0.05,0.1 "
        "--out exploration",
    )

    patients: Annotated["Path | Query", Help("CSV (also gzip'd) or Parquet, one row per patient.", option="PATIENTS")]
    claims: Annotated[
        "Path | Query", Help("CSV (also gzip'd) or Parquet, any number of rows per patient.", option="CLAIMS")
    ]
    plan: Annotated[Path, Help("Plan in TOML; cloister init claims writes a first one.", "PLAN")]
    levels_from: Annotated[
        Path | None,
        Help("Use the levels of an earlier release.", "DIR"),
        Described("the folder of an earlier release"),
        Key(),
    ] = None
    placed: ClassVar[Mapping[str, str]] = dict.fromkeys(("patients", "claims", "plan", "levels_from"), "out")
