"""The Spark session of an engine word: an existing session stays unchanged; ours is silent and ends with its block.

A classic session has a Java process of its own: silent, on this machine's loopback if local, gone at the end.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from cloister.engines.choice import SPARK, is_spark
from cloister.errors import InputError

from .tasks import call_spark, interruptible_wait, quiet, without_warnings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REMOTE, MASTER = "sc://", "spark://"
WAIT_S = 10.0  # Seconds until a server that does not answer is given up
PATIENCE_S = 60.0  # Seconds until work is ended for which a cluster gives no worker
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105  (the name of a variable)
MISSING = 'Spark is not installed here. Install it: pip install "cloister[spark]", and Java 17 or later.'
NO_JAVA = "Spark needs Java, which was not found. Install Java 17 or later, or say where it is with JAVA_HOME."
SHARE_OF_MEMORY = 6  # Which part of the machine's memory Java gets: the workers of Python need more
MEMORY_MIB = (1024, 8192)
Handler = Callable[[int, FrameType | None], object] | int | None


@contextmanager
def spark_session(word: str = SPARK) -> Iterator["SparkSession"]:
    """Yield the session of an engine word, classic or of Spark Connect.

    ``spark`` is the session that is active, else one on all cores of this machine; see `is_spark` for the others.
    """
    if not is_spark(word):
        raise InputError(f"{word!r} is no engine of Spark. Give spark, local[2], spark://host:port or sc://host:port.")
    _check_address(word)
    _need_pyspark(word)
    active = active_session()
    found: AbstractContextManager[SparkSession]
    if active is not None and _is_meant(active, word):
        found = nullcontext(active)
    else:
        found = _remote(word) if word.startswith(REMOTE) else _classic("local[*]" if word == SPARK else word)
    with quiet(), found as session:
        yield session


@contextmanager
def session_of(frame: "DataFrame") -> Iterator["SparkSession"]:
    """Yield the session of a Spark frame, which stays unchanged."""
    with quiet():
        yield frame.sparkSession


def active_session() -> "SparkSession | None":
    """Return the active session of this process, classic or of Spark Connect, or None; requires pyspark."""
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None:
        from pyspark.sql import SparkSession

        return SparkSession(SparkContext._active_spark_context)
    if "pyspark.sql.connect.session" in sys.modules:  # else nobody can have begun one
        from pyspark.sql.connect.session import SparkSession as Remote

        return cast("SparkSession | None", Remote.getActiveSession() or Remote._default_session)
    return None


def _need_pyspark(word: str) -> None:
    try:
        with without_warnings():
            import pyspark

            if word.startswith(REMOTE):
                import pyspark.sql.connect.session
    except ImportError:
        raise InputError(MISSING) from None
    del pyspark
    if find_spec("pandas") is None or find_spec("pyarrow") is None:  # pyspark alone does not bring them
        raise InputError(MISSING)


def _is_meant(active: "SparkSession", word: str) -> bool:
    """Whether the active session is the one that a word names."""
    if word == SPARK:
        return True
    if type(active).__module__.startswith("pyspark.sql.connect") or word.startswith(REMOTE):
        return False
    if active.sparkContext.master != word:
        raise InputError(
            "Another Spark session is active in this process. Stop it, or give the engine spark to have it used."
        )
    return True


@contextmanager
def _remote(url: str) -> Iterator["SparkSession"]:
    from pyspark.sql.connect.session import SparkSession as Remote

    refusal = "The Spark Connect server cannot be used. See whether it runs, and whether its version fits pyspark's."

    def begin() -> "SparkSession":
        session = Remote.builder.remote(url).create()
        session.range(1).collect()
        return cast("SparkSession", session)

    session = call_spark(begin, refusal)
    try:
        yield session
    finally:
        with suppress(Exception):
            session.stop()


def _check_address(word: str) -> None:
    """Refuse an address that holds a secret, or where nobody answers at once; Spark itself would try for minutes."""
    secrets = ("@", "token=", "password=", "secret=")
    if any(secret in word.lower() for secret in secrets):
        raise InputError(f"The address of an engine must not contain a secret. Give the token in the variable {TOKEN}.")
    if not word.startswith((REMOTE, MASTER)):
        return
    try:
        place = urlsplit(word.split(",")[0])
        host, port = place.hostname, place.port or (15002 if word.startswith(REMOTE) else 7077)
    except ValueError:
        host = None
    if not host:
        raise InputError("The engine names no host. Give it as sc://host:port or spark://host:port.")
    try:
        socket.create_connection((host, port), timeout=WAIT_S).close()
    except OSError:
        message = f"No Spark answers at port {port} of the engine's host. See whether it runs there."
        raise InputError(message) from None


@contextmanager
def _classic(master: str) -> Iterator["SparkSession"]:
    """A classic session of ours, with a Java process of its own that ends with it."""
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise InputError(NO_JAVA)
    folder = Path(tempfile.mkdtemp(prefix="cloister-spark-"))  # 0700; what Spark sets aside on disk lies here
    handler = signal.getsignal(signal.SIGINT)
    try:
        session = call_spark(
            lambda: open_gateway(master, folder),
            "Spark could not be started. See whether Java 17 or later runs, and whether there is memory and disk.",
        )
        _handle_stop(handler)  # Spark has put one of its own there, which calls Java while it is called
        with nullcontext() if master.startswith("local") else interruptible_wait(session, PATIENCE_S):
            yield session
    finally:
        close_gateway()
        _handle_stop(handler)
        shutil.rmtree(folder, ignore_errors=True)


def _handle_stop(handler: Handler) -> None:
    if threading.current_thread() is threading.main_thread() and handler is not None:
        signal.signal(signal.SIGINT, handler)


def open_gateway(master: str, folder: Path) -> "SparkSession":
    """Start Java and a session in it."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAll(list(_settings(master, folder).items()))
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    gateway = None
    if SparkContext._gateway is None:
        launch: Any = launch_gateway  # has no types
        gateway = launch(conf, {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL})
    context = SparkContext(conf=conf, gateway=gateway)
    server = getattr(context, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None  # it writes a traceback when Java is gone
    return SparkSession(context)


def close_gateway() -> None:
    """Stop the session and end its Java process, as far as possible."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context, gateway = SparkContext._active_spark_context, SparkContext._gateway
    with suppress(Exception):
        if context is not None:
            SparkSession(context).stop()
    if gateway is None:
        return
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    with suppress(Exception):
        gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    with suppress(Exception):
        process.stdin.close()  # Java ends when nobody can write to it any more
        process.wait(timeout=15)
    if process.poll() is None:
        process.kill()
        process.wait()


def _settings(master: str, folder: Path) -> dict[str, str]:
    log = folder / "log4j2.properties"
    log.write_text("rootLogger.level = off\n")
    settings = {
        "spark.master": master,
        "spark.app.name": "cloister",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log.as_uri()}",
        "spark.sql.session.timeZone": "UTC",
        "spark.task.maxFailures": "2",
    }
    if re.match(r"local\b", master):
        memory_mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20)
        given_mib = min(MEMORY_MIB[1], max(MEMORY_MIB[0], memory_mib // SHARE_OF_MEMORY))
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        settings |= {
            "spark.local.dir": str(folder),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": f"{given_mib}m",
            "spark.sql.shuffle.partitions": str(2 * cores),
        }
    return settings
