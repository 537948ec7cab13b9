"""A standalone cluster of Spark of the tests' own: a master and two workers of one core, gone afterwards."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cloister

# Ends with whoever started it: the pipe to its standard input closes then, and the whole group is killed.
_UNTIL_INPUT_ENDS = '"$@" </dev/null & read -r _; kill -KILL 0'
PATIENCE_S = 60


@dataclass(frozen=True)
class Cluster:
    """A running cluster.

    Attributes
    ----------
    url : of its master
    groups : of the processes of each worker
    environment : of a program that uses it
    """

    url: str
    groups: tuple[int, ...]
    environment: dict[str, str]


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Cluster]:
    """A cluster that is stopped afterwards, whatever happened; pyspark and Java must be there."""
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder),
        "SPARK_LOCAL_DIRS": str(folder),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(cloister.__file__).parents[1]),
        "PYSPARK_SUBMIT_ARGS": "--conf spark.sql.shuffle.partitions=4 --conf spark.sql.codegen.wholeStage=false "
        "--driver-memory 512m pyspark-shell",
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    url, log = f"spark://127.0.0.1:{port}", folder / "log"
    words = ["--host", "127.0.0.1", "--webui-port", "0"]
    with contextlib.ExitStack() as stack:

        def run(kind: str, *more: str) -> subprocess.Popen:
            command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", *words, *more]
            return stack.enter_context(_running(command, environment, log))

        run("master.Master", "--port", str(port))
        _wait(lambda: _answers(port), log)
        workers = [run("worker.Worker", "--cores", "1", "--memory", "1g", url) for _ in range(2)]
        _wait(lambda: log.read_text().count("Registering worker 127.0.0.1") == len(workers), log)
        yield Cluster(url, tuple(worker.pid for worker in workers), environment)


@contextlib.contextmanager
def _running(command: list, environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen]:
    with log.open("ab") as written:
        process = subprocess.Popen(
            ["sh", "-c", _UNTIL_INPUT_ENDS, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=written,
            stderr=written,
            env=environment,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.stdin.close()
        process.wait(timeout=30)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _wait(is_so, log: Path) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.1)
