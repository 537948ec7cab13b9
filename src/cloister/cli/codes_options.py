"""What ``protect codes`` can be told, with the defaults of its options."""

from dataclasses import dataclass

from cloister.cli.release_options import ReleaseOptions


@dataclass(frozen=True)
class CodesOptions(ReleaseOptions):
    """The options of ``protect codes``, as typed; see its help."""

    m: int = 2
    method: str = "disassociation"
    policy: str | None = None
    max_cluster_size: int | None = None
    refine: str = "tree"
    safe: str = "report"
    safe_threshold: float = 1.0
    diversity: int = 2
    repeats: bool = False
    drop_empty: bool = False
    workload: str | None = None
    codes: str | None = None
    code: str | None = None
