"""The entry point: runs a command and turns any outcome into an exit code and one clear message.

Where the shell limits memory (``ulimit -v``), the command runs in a child that this process watches: libraries end
their process at once where memory cannot be had, and nothing inside it could say so, or clean up.
"""

import ctypes
import gc
import os
import re
import resource
import shlex
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from typer.exceptions import Abort, Exit, TyperException

from cloister.cli.commands import command_tree
from cloister.cli.output import (
    WRITTEN,
    StoppedLate,
    Terminated,
    complain,
    note,
    refused_by_system,
    say,
    wrap_unexpected,
)
from cloister.errors import CloisterError, InputError
from cloister.kernels.compiling import compiles_only_ours
from cloister.results import STARTED  # noqa: F401  (the clock starts before other imports)
from cloister.shapes.registry import SHAPES
from cloister.version import __version__

LEAST = 2 * 2**30
"""Bytes of address space that the libraries need; with less they fail in any way, also by blaming the data."""
TOO_LITTLE = "Memory is limited to less than 2 GiB (ulimit -v), which is not enough for any data; nothing was done."
TOO_LARGE = "There is not enough memory for these data. Use a larger machine or fewer columns; nothing was written."
M_MMAP_THRESHOLD, OF_ITS_OWN = -3, 1 << 22
"""Arrays of so many bytes have memory of their own, which goes back when they do; the C library's threshold grows."""

SHORTAGES = ("can't start new thread", "Cannot allocate memory", "failed to map segment")
"""How Python and the system's loader say that there is no memory, for the stack of a thread or a library."""


def watched_child() -> int | None:
    """Return the exit code of the child that did the work; None without a memory limit, and in the child itself."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    if limit < LEAST:
        return complain(InputError(TOO_LITTLE), as_json=False, verbose=False)
    from cloister.io import folder, remove_dead_partials  # the help page needs none of it

    begun, watcher = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(begun)
        folder.watcher = watcher
        return None
    os.close(watcher)

    def pass_on(number: int, _frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    signal.signal(signal.SIGINT, signal.SIG_IGN if os.isatty(0) else pass_on)  # a terminal signals the child, too
    with os.fdopen(begun, "rb") as pipe:
        folders = pipe.read().split(b"\0")[:-1]  # until the child ends
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code >= 0:
        return code
    for place in set(folders):
        remove_dead_partials(Path(os.fsdecode(place)))
    return complain(InputError(TOO_LARGE), as_json=False, verbose=False) if code != -signal.SIGKILL else 128 - code


LARGEST_ANSWER = 3
"""Exit codes above it are those of a stop."""

INTERRUPTED = 130
PANIC = "PanicException"
"""What Polars raises where it has a defect; no `Exception`, and known by name as Polars is loaded only when needed."""


STOPPED_BY: list[int] = []
"""Signals that asked this process to end. A library may take the exception of one for a wrong value, and say so."""


def _terminate(number: int, _frame: object) -> None:
    STOPPED_BY.append(number)
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cloister {__version__}")
        raise Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Release patient-level health data with a guarantee that can be proved and the least possible loss."""


@lru_cache(16)
def command(*typed: str) -> Callable[..., object]:
    """Return the command of these words, or all commands, with options; Typer takes a while to create them."""
    tree = command_tree(*typed)
    tree.callback()(_root)
    return typer.main.get_command(tree)


def run(arguments: list[str]) -> int:
    """Run one command; return its exit code (0 done, 1 no safe release, 2 bad input, 3 our bug, 128 and a signal)."""
    WRITTEN.clear()
    as_json, verbose = "--json" in arguments, "-v" in arguments or "--verbose" in arguments
    quiet = "-q" in arguments or "--quiet" in arguments
    try:
        arguments = _with_shape(arguments, quiet=quiet or as_json)
        result = command(*arguments[:2])(arguments, prog_name="cloister", standalone_mode=False)
    except CloisterError as error:
        if STOPPED_BY:
            return _report_stop(
                KeyboardInterrupt() if signal.SIGINT in STOPPED_BY else Terminated(STOPPED_BY[0]), as_json
            )
        return complain(error, as_json=as_json, verbose=verbose, quiet=quiet)
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # nothing was asked, which is no mistake
            context = getattr(error, "ctx", None)
            for line in (str(context.get_help()) if arguments and context else START).split("\n"):
                say(line)
            return 0
        return complain(InputError(_as_grid(error, arguments) or _usage(error)), as_json=as_json, verbose=False)
    except Exit as leaving:
        return leaving.exit_code
    except (KeyboardInterrupt, Abort):
        result = INTERRUPTED
    except Terminated as stop:
        return _report_stop(stop, as_json)
    except StoppedLate as late:
        return _report_stop(late.stop, as_json, late.what)
    except OSError as error:
        return complain(refused_by_system(error), as_json=as_json, verbose=verbose, traceback=error.__traceback__)
    except BaseException as error:
        if isinstance(error, MemoryError) or any(words in str(error) for words in SHORTAGES):
            return complain(InputError(TOO_LARGE), as_json=as_json, verbose=False)
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        return complain(wrap_unexpected(error), as_json=as_json, verbose=verbose, traceback=error.__traceback__)
    if result == INTERRUPTED:  # Typer returns this itself
        return _report_stop(KeyboardInterrupt(), as_json)
    return result if isinstance(result, int) else 0


def _with_shape(arguments: list[str], *, quiet: bool) -> list[str]:
    """Return the arguments with a guessed shape, where a command that needs one is followed by a file."""
    if len(arguments) < 2 or arguments[0] not in GUESSING or arguments[1] in SHAPES or not os.path.isfile(arguments[1]):
        return arguments
    from cloister.jobs.first_jobs import guess_shape_of  # loads dataframes

    files = [Path(word) for word in arguments[1:3] if os.path.isfile(word)]
    shape, named = guess_shape_of(files), " and ".join(one.name for one in files)
    other = next(one for one in SHAPES if one != shape)
    otherwise = f"is read as {shape}. To read otherwise, name the shape, as in cloister {arguments[0]} {other} {named}."
    note(f"Note: {named} {f'are read as {shape}.' if files[1:] else otherwise}", quiet=quiet)
    return [arguments[0], shape, *arguments[1:]]


GUESSING = ("assess", "init")
"""Commands that need the shape of the data and can guess it: nothing is released by them."""
START = """\
cloister releases patient-level health data with a guarantee that separate code verifies.

Three ways to begin:
  cloister demo my-demo                                       make up a hospital, and protect it
  cloister init patients.csv                                  suggest a job for your data
  cloister run job.toml                                       protect, verify and report
In a browser, on this machine alone:
  cloister ui .

cloister --help lists all commands."""


SEVERAL = re.compile(r"[^,=\s]+(,[^,=\s]+)+")


def _as_grid(error: TyperException, arguments: list[str]) -> str:
    """Say how several values of an option are explored; nothing where none were given."""
    option = getattr(error, "param", None)
    for word, after in pairwise([*arguments, ""]):
        name, equals, given = word.partition("=")
        value = given if equals else after
        if arguments[0] == "explore" and option is not None and name in option.opts and SEVERAL.fullmatch(value):
            return f"{name} takes one value: to try several, give --grid {option.name}={value}."
    return ""


def _usage(error: TyperException) -> str:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    if context is None:
        return f"{message.rstrip('.')}. See cloister --help."
    list_commands = getattr(context.command, "list_commands", None)
    known = "" if list_commands is None else f" Commands there: {', '.join(list_commands(context))}."
    path = " ".join(["cloister", *context.command_path.split()[1:]])
    sentence = message if message.endswith("?") else f"{message.rstrip('.')}."
    named = re.search("^No such command (['\"])(.+?)\\1", message)
    file = "" if list_commands is None or named is None else named[2]
    if os.path.exists(file):
        usual = "ui" if os.path.isdir(file) else "run" if file.endswith(".toml") else "init"
        asked, command = (f"what shape {file} has", "table") if context.parent else (f"what to do with {file}", usual)
        return f"{path} needs to know {asked}, as in {path} {command} {shlex.quote(file)}.{known}"
    if Path(file).suffix:
        return f"There is no file {file}, and no such command.{known}"
    return f"{sentence}{known} See {path} --help."


def _report_stop(stop: KeyboardInterrupt | Terminated, as_json: bool, what: str = "") -> int:
    what = what or (f"the release {WRITTEN[0]} was written before" if WRITTEN else "nothing was written")
    how, code = ("terminated", 128 + stop.number) if isinstance(stop, Terminated) else ("interrupted", INTERRUPTED)
    error = InputError(f"The command was {how}; {what}.")
    complain(error, as_json=as_json, verbose=False)
    return code


def _prepare_streams() -> None:
    """Print whatever a file is called; and let nobody but us speak: libraries write panics, which quote values."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if sys.stdout is None:  # closed
        sys.stdout = os.fdopen(os.dup(nowhere), "w")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    encoding = None if sys.stderr is None else sys.stderr.encoding
    ours = os.dup(nowhere if sys.stderr is None else sys.stderr.fileno())
    sys.stderr = os.fdopen(ours, "w", buffering=1, encoding=encoding, errors="backslashreplace")
    os.dup2(nowhere, 2)


def _stop_again(dropped: "sys.UnraisableHookArgs") -> None:
    """Raise a stop again that came in a destructor, where Python drops it; what else is dropped may quote values."""
    stop = dropped.exc_value
    if isinstance(stop, KeyboardInterrupt | Terminated):
        number = stop.number if isinstance(stop, Terminated) else signal.SIGINT
        signal.signal(signal.SIGALRM, lambda _, frame: _terminate(number, frame))
        signal.setitimer(signal.ITIMER_REAL, 0.05)


def main() -> None:
    """Run the command line of this process."""
    # Importing makes many objects and no garbage: looking for it as often as Python does takes a sixth of a command.
    gc.set_threshold(100_000, 20, 100)
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, OF_ITS_OWN)
    # What Polars, imported later, frees goes back when 50 ms are over: else a tenth of the peak of claims is held.
    os.environ.setdefault("_RJEM_MALLOC_CONF", "background_thread:true,dirty_decay_ms:50,muzzy_decay_ms:0")
    # Threads of NumPy's least squares wait for each other longer than one alone takes, on any size that we fit.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    compiles_only_ours()
    _prepare_streams()
    sys.unraisablehook = _stop_again
    if (code := watched_child()) is not None:
        sys.exit(code)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _terminate)
    code = run(sys.argv[1:])
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # the command has reported its result, and the exit code is final
    signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        sys.stdout.flush()
    except OSError:  # nobody reads the output; without this Python would try again and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    # A compiled loop may still run in a thread, so Python must not shut down. After an answer it need not: that
    # would take as long as a small table. Only Spark has something to close.
    if code > LARGEST_ANSWER or "pyspark" not in sys.modules:
        if (script := sys.modules.get("cloister.verification.script")) is not None:
            script.close_database()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
