"""What ``protect claims`` can be told, with the defaults of its options."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cloister.io.query import Query


@dataclass(frozen=True)
class ClaimsOptions:
    """The options of ``protect claims``, as typed; see its help. What is None was not said."""

    patients: "Path | Query"
    claims: "Path | Query"
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
