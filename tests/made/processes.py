"""Signals as a process is to be started with."""

import signal
from contextlib import contextmanager


@contextmanager
def handled(number, how=signal.default_int_handler):
    """Handle a signal so here; a process that is started meanwhile ignores it if it is ignored here, and only then.

    The tests may run in the background of a shell, which ignores SIGINT. Code of ours between fork and exec would do as
    well, but libraries with threads then speak on the standard error of the child.
    """
    before = signal.signal(number, how)
    try:
        yield
    finally:
        signal.signal(number, before)
