"""What labels reveal to somebody who knows the method, by file, method and k.

python -m benchmarks.attacks.refinement DATA [--k 2 3 5] [--files adult fars]

DATA is that of `benchmarks.usefulness.tables`. Printed are the coarser labels of classes, how many of them have finer
counts that follow exactly, the records of these classes, the bits of a label in the mean, and the attack's seconds.
"""

import argparse
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

import cloister as cl
from benchmarks.usefulness.tables import File, files, settings_of

ASKED = ("default", "cluster", "mondrian", "local recoding")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--k", type=int, nargs="+", default=[2, 3, 5])
    parser.add_argument("--files", nargs="+", default=["adult", "fars"])
    asked = parser.parse_args()
    table = Table("file", "method", "k", "labels", "determined", "share", "records", "bits", "attack, s")
    for file in (file for file in files(asked.data) if file.name in asked.files):
        for method, k in ((method, k) for method in ASKED for k in asked.k):
            table.add_row(file.name, method, str(k), *_attack_file(file, method, k))
    Console(width=120).print(table)


def _attack_file(file: File, method: str, k: int) -> list[str]:
    """Protect a file, and return what the attack finds."""
    with tempfile.TemporaryDirectory() as place:
        release = cl.protect_table(
            file.frame, k=k, qi=file.hierarchies, sensitive=["outcome"], accept=["outcome"], **settings_of(file, method)
        )
        release.write(Path(place) / "release")
        began = time.perf_counter()
        given = {"original": file.frame, "hierarchies": file.hierarchies}
        found = cl.attack(Path(place) / "release", **given).refinement
        seconds = time.perf_counter() - began
    assert found is not None
    share = f"{found.determined / max(1, found.labels):.1%}"
    counts = [f"{found.labels:,}", f"{found.determined:,}", share, f"{found.records:,}"]
    return [*counts, f"{found.bits:.2f}", f"{seconds:.1f}"]


if __name__ == "__main__":
    main()
