"""What compiling costs: specialisations and processor seconds of first commands, each with an empty cache of kernels.

Run ``python -m benchmarks.development.first_run [demo|table|codes|trajectories ...]``; ``--each`` lists every
kernel compiled.
``python -m benchmarks.development.first_run clone`` measures what a newcomer waits for, in a fresh clone with
an empty home.
"""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from cloister.testing.hospitals import hospital as made_up

PROGRAM = """
import os, sys, time
from numba.core import event

compiled, open_s = [], []

class Compiles(event.Listener):
    def on_start(self, event):
        open_s.append([time.process_time(), 0.0])

    def on_end(self, event):
        begin, inside = open_s.pop()
        took = time.process_time() - begin
        if open_s:
            open_s[-1][1] += took
        function = event.data["dispatcher"].py_func
        compiled.append((f"{function.__module__}.{function.__qualname__}", took - inside, str(event.data["args"])))

event.register("numba:compile", Compiles())
from cloister.cli.main import main

log, sys.argv = sys.argv[1], ["cloister", *sys.argv[2:]]
leave = os._exit

def written_and_left(code):
    with open(log, "w") as file:
        for name, took, arguments in compiled:
            print(name, f"{took:.3f}", arguments, sep="\\t", file=file)
        print("all", f"{time.process_time():.3f}", "", sep="\\t", file=file)
    leave(code)

os._exit = written_and_left  # a command takes no Python apart
main()
"""


TABLE = shlex.split(
    "--qi age=interval:5,10,20/top=90/bottom=0 --qi sex=suppress --qi zip=prefix:5 --sensitive diagnosis --id mrn"
    " --drop name --drop ethnicity --drop admitted --suppression 0.05"
)
TRAJECTORIES = shlex.split(
    "--id patient_id --code code --age age --code-hierarchy icd9 --age-hierarchy interval:5,10,20,40/top=100"
)


def commands(folder: Path, hospital: Path) -> dict[str, list[str]]:
    """The commands that are measured, by what they protect."""
    protect = {
        "table": [f"{hospital}/patients.csv", *TABLE],
        "codes": [f"{hospital}/codes.csv", "--id", "patient_id", "--codes", "codes", "-m", "2"],
        "trajectories": [f"{hospital}/trajectories.csv", *TRAJECTORIES],
    }
    return {"demo": ["demo", f"{folder}/demo"]} | {
        name: ["protect", name, *words, "-k", "5", "--out", f"{folder}/release"] for name, words in protect.items()
    }


def measured(words: list[str], folder: Path) -> tuple[list[list[str]], float]:
    """The kernels that a command compiles with an empty cache, and its processor seconds with what it warms up."""
    log = folder / "log"
    environment = os.environ | {"NUMBA_CACHE_DIR": f"{folder}/kernels"}
    subprocess.run([sys.executable, "-c", PROGRAM, str(log), *words], env=environment, check=True, capture_output=True)
    rows = [line.split("\t") for line in log.read_text().splitlines()]
    return rows[:-1], float(rows[-1][1])


def per_kernel(rows: list[list[str]]) -> list[tuple[float, str, set[str]]]:
    """Seconds and argument types of each kernel, the slowest first; a kernel has one set of types at best."""
    seconds: dict[str, float] = defaultdict(float)
    types: dict[str, set[str]] = defaultdict(set)
    for name, took, arguments in rows:
        seconds[name] += float(took)
        types[name].add(arguments)
    return sorted(((seconds[name], name, types[name]) for name in seconds), reverse=True)


def seconds_until(words: list[str], folder: Path, environment: dict[str, str], shown: str) -> tuple[float, float]:
    """Seconds until a command says something, and until it ends."""
    began, first = time.perf_counter(), 0.0
    with subprocess.Popen(
        words, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as running:
        for line in running.stdout or ():
            if shown in line and not first:
                first = time.perf_counter() - began
    if running.returncode:
        raise SystemExit(f"{shlex.join(words)} ended with exit code {running.returncode}")
    return first, time.perf_counter() - began


def clone() -> None:
    """Measure a fresh clone of what is committed here, with an empty home."""
    with tempfile.TemporaryDirectory() as place:
        folder, home = Path(place, "cloister"), Path(place, "home")
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", str(Path(__file__).parents[2]), str(folder)], check=True)
        kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "PYTHONPATH")}
        environment = kept | {"HOME": str(home)}
        made_up(0, 1000).write(folder / "hospital")
        command = [str(folder / ".venv/bin/cloister")]
        protect = [*command, "protect", "codes", "hospital/codes.csv", "--id", "patient_id", "--codes", "codes"]
        cases: list[tuple[str, list[str], float]] = [
            ("make demo, from nothing", ["make", "demo"], 120),
            ("protect codes after it", [*protect, "-k", "5", "-m", "2", "--out", "released"], 5),
            ("make demo again", ["make", "demo"], 120),
            ("cloister --help", [*command, "--help"], 0.1),
        ]
        print(f"{'newcomer':26} {'first part, s':>14} {'all, s':>8} {'bar, s':>8}")
        for what, words, bar in cases:
            first, whole = seconds_until(words, folder, environment, "protected and verified")
            print(f"{what:26} {first or whole:14.1f} {whole:8.1f} {bar:8.1f}", flush=True)


def main(wanted: list[str], *, each: bool) -> None:
    """Measure the commands wanted and print a table."""
    print(f"{'command':14} {'kernels':>8} {'specialisations':>16} {'compiling, s':>13} {'all, s':>8} {'cache, MB':>10}")
    with tempfile.TemporaryDirectory() as hospital:
        made_up(0, 1000).write(hospital)
        for name in wanted or ["demo", "table", "codes", "trajectories"]:
            with tempfile.TemporaryDirectory() as folder:
                rows, seconds = measured(commands(Path(folder), Path(hospital))[name], Path(folder))
                size = sum(file.stat().st_size for file in Path(folder, "kernels").rglob("*") if file.is_file())
            kernels = per_kernel(rows)
            own = [(name, types) for _, name, types in kernels if name.startswith("cloister.")]
            times = sum(len(types) for _, types in own)
            compiling = sum(took for took, _, _ in kernels)
            print(f"{name:14} {len(own):8} {times:16} {compiling:13.1f} {seconds:8.1f} {size / 1e6:10.1f}", flush=True)
            for took, kernel, types in kernels if each else []:
                print(f"    {took:7.2f} {len(types):4} {kernel}")
                for arguments in sorted(types) if len(types) > 1 else []:
                    print(f"                 {arguments}")


if __name__ == "__main__":
    if sys.argv[1:] == ["clone"]:
        clone()
    else:
        main([word for word in sys.argv[1:] if word != "--each"], each="--each" in sys.argv)
