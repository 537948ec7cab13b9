"""A Java process for a classic session: silent, on this machine's loopback if local, gone at the end."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

LOG4J = """rootLogger.level = off
"""
SHARE_OF_MEMORY = 6
"""Which part of the machine's memory Java gets: the workers of Python need more."""

MEMORY_MIB = (1024, 8192)


def open_gateway(master: str, folder: Path) -> Any:
    """Start Java and a session in it.

    Parameters
    ----------
    master : as Spark names it
    folder : private; what Spark sets aside on disk goes there
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False)
    for key, value in _settings(master, folder).items():
        conf.set(key, value)
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    gateway = None
    if SparkContext._gateway is None:
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        start: Any = launch_gateway
        gateway = start(conf, popen_kwargs=silent)
    context = SparkContext(conf=conf, gateway=gateway)
    server: Any = getattr(context, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = _say_nothing
    return SparkSession(context)


def _say_nothing(*_: object) -> None:
    """Take the place of what writes a traceback when Java is gone."""


def close_gateway() -> None:
    """Stop the session and end its Java process, as far as that goes."""
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
    log.write_text(LOG4J)
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
        settings |= {
            "spark.local.dir": str(folder),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": f"{_memory_mib()}m",
            "spark.sql.shuffle.partitions": str(2 * _cores()),
        }
    return settings


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory_mib() -> int:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20)
    low, high = MEMORY_MIB
    return min(high, max(low, total // SHARE_OF_MEMORY))
