"""Steps of every pipeline, whatever the shape: require a passed verification, and complete the manifest."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version

from cloister.errors import InternalError, NoSafeRelease, setting
from cloister.release.derived import Derived
from cloister.release.head import MOST_LOST, SCHEMA
from cloister.release.manifest import AnyManifest, parse_manifest
from cloister.results import Manifest, Stopwatch, Verdict


def require_verified(verdict: Verdict) -> Verdict:
    """Return the verdict on our own output if the guarantee holds, else raise an error."""
    if not verdict.holds:
        raise InternalError(f"The release did not pass verification: {verdict.problem()}.")
    return verdict


def check_useful(loss: float, *, accept_empty: bool) -> None:
    """Reject a release that loses nearly all information, unless the user accepted this."""
    if loss > MOST_LOST and not accept_empty:
        raise NoSafeRelease(
            f"The release would be useless: it would lose {loss:.0%} of what the data say. Ask for a "
            "smaller k or a weaker adversary. To release all the same: ",
            setting("accept_empty"),
        )


def add_provenance(
    particular: Manifest, derived: Derived, *, source: str, seed: int, watch: Stopwatch, written: tuple[str, str]
) -> AnyManifest:
    """Return the complete manifest of a release whose files are not written yet.

    ``particular``: what is particular to the release, but for what follows from its files
    ``written``: the format of its files, and their delimiter, which CSV states as some are never detected
    """
    own = {"delimiter": written[1]} if written[0] == "csv" else {}
    head = {
        "schema": SCHEMA,
        "cloister": version("cloister"),
        "seed": seed,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            "system": platform.system(),
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "numba", "polars")},
        },
        "settings": {"source": source} | particular["settings"] | own,
        "seconds": watch.table(),
        "files": {},
    }
    return parse_manifest(derived.add_to(particular | head))
