"""What ``protect codes`` can be told, with the defaults of its options."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class CodesOptions:
    """The options of ``protect codes``, as typed; see its help."""

    data: Path
    k: int
    out: Path
    m: int = 2
    method: str = "disassociation"
    policy: str | None = None
    max_cluster_size: int | None = None
    refine: str = "tree"
    safe: str = "report"
    safe_threshold: float = 1.0
    sensitive: list[str] | None = None
    diversity: int = 2
    repeats: bool = False
    drop_empty: bool = False
    workload: str | None = None
    id: str | None = None
    codes: str | None = None
    code: str | None = None
    missing: list[str] | None = None
    ids: str = "number"
    crosswalk: Path | None = None
    overwrite: bool = False
    internal: Path | None = None
    delimiter: str | None = None
    encoding: str | None = None
    seed: int = 0
    threads: int | None = None
    engine: str = "auto"
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
