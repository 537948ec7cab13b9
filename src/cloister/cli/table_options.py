"""What ``protect table`` can be told, with the defaults of its options."""

from dataclasses import dataclass
from pathlib import Path

from cloister.cli.release_options import ReleaseOptions


@dataclass(frozen=True)
class TableOptions(ReleaseOptions):
    """The options of ``protect table``, as typed; see its help."""

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
    codes: str | None = None
    m: int | None = None
    policy: str | None = None
    max_cluster_size: int | None = None
    merge_classes: float | None = None
    method: str = "full-domain"
    local_recoding: bool = False
    microaggregate: list[str] | None = None
    drop: list[str] | None = None
    keep: list[str] | None = None
    rest: str = "error"
    missing_as: str | None = None
    keep_suppressed: bool = False
    escape_formulas: bool = False
    values_to: Path | None = None
    table: str | None = None

    def needs_rows(self) -> str | None:
        """Return what was asked for that needs the rows of the table in memory; None if nothing was."""
        asked = {
            f"--method {self.method}": self.method != "full-domain",
            "--local-recoding": self.local_recoding,
            "--microaggregate": bool(self.microaggregate),
            "--codes": self.codes is not None,
            "--escape-formulas": self.escape_formulas,
            "--crosswalk": self.crosswalk is not None,
            "--attack": self.attack,
            "--ids hmac": self.ids.startswith("hmac"),
        }
        return next((option for option, is_asked in asked.items() if is_asked), None)
