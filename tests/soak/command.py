"""The command line inside this process, and as a process of its own."""

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from cloister.cli.main import run


class Found(AssertionError):
    """A promise that was broken; what was tried, without values of the data."""


@dataclass(frozen=True)
class Said:
    """What a command did: its exit code, and all that it wrote to both streams."""

    code: int
    out: str
    err: str

    @property
    def text(self):
        """Both streams."""
        return self.out + self.err


def cloister(*words):
    """Run a command in this process; an exit code of 3, a traceback and any exception are found at once."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = run([str(word) for word in words])
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Found(f"{_line(words)} raised {type(error).__name__}") from error
    said = Said(code, out.getvalue(), err.getvalue())
    if code not in (0, 1, 2) or "Traceback" in said.text:
        raise Found(f"{_line(words)} ended with {code}: {said.err.strip()}")
    return said


def started(*words, **options):
    """Start a command as a process of its own."""
    command = [sys.executable, "-m", "cloister", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def check(holds, what):
    """Find that ``what`` is so, unless the promise holds."""
    if not holds:
        raise Found(what)


def check_holds(folder: Path, *words):
    """Find a release that `cloister verify` does not accept."""
    said = cloister("verify", folder, *words, "-q")
    check(said.code == 0, f"a release of ours was refused: {said.err.strip()}")


def _line(words):
    return " ".join(["cloister", *(Path(str(word)).name for word in words)])
