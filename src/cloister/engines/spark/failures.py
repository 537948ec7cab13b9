"""Failures of Spark: its messages quote rows and Java and are never shown; a cluster without workers is given up."""

import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from cloister.errors import CloisterError, InputError

Result = TypeVar("Result")

FAILED = (
    "Spark could not finish the work: a worker died or failed, memory or disk was full, or the cluster gave no worker "
    "for a minute. Nothing was released. See the logs of the cluster; give the workers more memory or disk."
)
WITH_HANDLERS_OF_OTHERS = ("py4j", "pyspark")
WITH_HANDLERS_OF_THEIR_OWN = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

LOOK_S = 1.0
"""Seconds between two looks at the cluster."""


def call_spark(action: Callable[[], Result], refusal: str = FAILED) -> Result:
    """What ``action`` returns; whatever Spark raises is forgotten, and ``refusal`` raised in its place."""
    try:
        return action()
    except (CloisterError, MemoryError):
        raise
    except Exception:  # noqa: S110 (it would be the context of ours)
        pass
    raise InputError(refusal)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep pyspark, py4j and gRPC from writing to standard error, where they quote queries and rows."""
    from pyspark.logger import PySparkLogger

    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    loggers = [logging.getLogger(name) for name in WITH_HANDLERS_OF_OTHERS]
    loggers += [PySparkLogger.getLogger(name) for name in WITH_HANDLERS_OF_THEIR_OWN]
    before = [(logger, logger.propagate, logger.disabled) for logger in loggers]
    silent, root, others = logging.NullHandler(), logging.getLogger(), partial(_is_of_others)
    root.addFilter(others)  # py4j writes to the root itself
    root.addHandler(silent)
    for logger in loggers:
        logger.propagate = False
        logger.disabled = logger.name in WITH_HANDLERS_OF_THEIR_OWN
        logger.addHandler(silent)
    try:
        with unwarned():
            yield
    finally:
        for logger, propagate, disabled in before:
            logger.propagate, logger.disabled = propagate, disabled
            logger.removeHandler(silent)
        root.removeHandler(silent)
        root.removeFilter(others)


def _is_of_others(record: logging.LogRecord) -> bool:
    """Whether a line of a log comes from anything but Spark and what it is reached by."""
    return not {"py4j", "pyspark"} & set(Path(record.pathname).parts)


@contextmanager
def unwarned() -> Iterator[None]:
    """Pass over warnings that pyspark gives: of pandas' version, mostly, which does not matter to us."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"pyspark(\.|$)")
        yield


@contextmanager
def impatient(session: Any, patience_s: float) -> Iterator[None]:
    """For as long as the block lasts, end jobs of a classic session that had no worker for so many seconds.

    The job then fails where it was asked for, as any job that Spark ends.
    """
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(session.sparkContext, patience_s, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _watch(context: Any, patience_s: float, over: threading.Event) -> None:
    waited = 0.0
    with suppress(Exception):  # Java is gone, and so is what waited for it
        while not over.wait(LOOK_S):
            has_worker = context._jsc.sc().getExecutorMemoryStatus().size() > 1  # the driver counts as one
            has_work = bool(context.statusTracker().getActiveJobsIds())
            waited = waited + LOOK_S if has_work and not has_worker else 0.0
            if waited >= patience_s:
                context.cancelAllJobs()
