"""What ``protect`` can be told whatever the shape, with the defaults of its options."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cloister.io.query import Query


@dataclass(frozen=True)
class ReleaseOptions:
    """The options that all of ``protect`` has, as typed; see its help."""

    data: "Path | Query"
    k: int
    out: Path
    id: str | None = None
    sensitive: list[str] | None = None
    missing: list[str] | None = None
    ids: str = "number"
    crosswalk: Path | None = None
    overwrite: bool = False
    internal: Path | None = None
    delimiter: str | None = None
    encoding: str | None = None
    attack: bool = False
    seed: int = 0
    threads: int | None = None
    engine: str = "auto"
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
