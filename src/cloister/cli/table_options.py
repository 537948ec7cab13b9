"""What ``protect table`` can be told, with the defaults of its options."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TableOptions:
    """The options of ``protect table``, as typed; see its help."""

    data: Path
    k: int
    out: Path
    qi: list[str] | None = None
    hierarchies: Path | None = None
    rule: list[str] | None = None
    suppression: str = "0.05"
    loss: str = "iyengar"
    weight: list[str] | None = None
    search: str | None = None
    time_limit: float | None = None
    levels: list[str] | None = None
    like: Path | None = None
    method: str = "full-domain"
    local_recoding: bool = False
    microaggregate: list[str] | None = None
    id: str | None = None
    drop: list[str] | None = None
    sensitive: list[str] | None = None
    keep: list[str] | None = None
    rest: str = "error"
    missing: list[str] | None = None
    missing_as: str | None = None
    ids: str = "number"
    crosswalk: Path | None = None
    keep_suppressed: bool = False
    overwrite: bool = False
    internal: Path | None = None
    values_to: Path | None = None
    delimiter: str | None = None
    encoding: str | None = None
    seed: int = 0
    threads: int | None = None
    engine: str = "auto"
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
