"""One session of Spark for a process of tests, reached as classic Spark and through Spark Connect."""

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.made.patients_with_codes import RECORDS, ids_of

from cloister.shapes.codes.data import CodeSets
from cloister.shapes.disassociation.format.data import DisassociationRequest


@dataclass(frozen=True)
class Reached:
    """A session and the engine word that leads to it."""

    word: str
    session: Any


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture(scope="session")
def sessions() -> Iterator[dict[str, Reached]]:
    """Classic Spark on two cores, and a server of Spark Connect in the same Java process; skips where none can run."""
    pytest.importorskip("pyspark.sql.connect.session", reason="pyspark is not installed")
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        pytest.skip("Java is not here")
    from cloister.engines.spark.session import spark_session

    port = _free_port()
    settings = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.memory": "1g",
        "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than the work of tests
    }
    words = " ".join(f"--conf {key}={value}" for key, value in settings.items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"{words} pyspark-shell")
        patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        with spark_session("local[2]") as session, spark_session(f"sc://localhost:{port}") as remote:
            yield {"classic": Reached("local[2]", session), "connect": Reached(f"sc://localhost:{port}", remote)}


@pytest.fixture(params=["classic", "connect"])
def spark(request, sessions) -> Reached:
    """Both ways to reach Spark, one after the other."""
    return sessions[request.param]


@pytest.fixture
def classic(sessions) -> Reached:
    """Classic Spark."""
    return sessions["classic"]


@pytest.fixture
def codes() -> CodeSets:
    """The code sets of some patients, with ids."""
    return CodeSets.from_records(RECORDS, ids_of(RECORDS))


@pytest.fixture
def ask() -> Callable[[Any], DisassociationRequest]:
    """What is asked of them: k = 3, m = 2, records numbered."""
    return lambda _: DisassociationRequest(3, 2)
