"""What ``protect trajectories`` can be told, with the defaults of its options."""

from dataclasses import dataclass
from pathlib import Path

from cloister.cli.release_options import ReleaseOptions


@dataclass(frozen=True)
class TrajectoriesOptions(ReleaseOptions):
    """The options of ``protect trajectories``, as typed; see its help. What is None was not said."""

    method: str = "a-gs"
    weights: str = "0.5,0.5"
    cost: str = "paper"
    code_hierarchy: str | None = None
    age_hierarchy: str | None = None
    side: Path | None = None
    block: str = "auto"
    drop_empty_pairs: bool = False
    on_unknown_code: str = "error"
    sensitive_codes: list[str] | None = None
    diversity: int | None = None
    policy: str | None = None
    workload: str | None = None
    code: str | None = None
    age: str | None = None
    date: str | None = None
    anchor: str | None = None
    age_unit: str = "years"
