"""What ``protect claims`` can be told, with the defaults of its options."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ClaimsOptions:
    """The options of ``protect claims``, as typed; see its help. What is None was not said."""

    patients: Path
    claims: Path
    plan: Path
    out: Path
    missing: list[str] | None = None
    crosswalk: Path | None = None
    overwrite: bool = False
    internal: Path | None = None
    delimiter: str | None = None
    encoding: str | None = None
    attack: bool = False
    seed: int | None = None
    threads: int | None = None
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
