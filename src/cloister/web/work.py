"""Long tasks: the equivalent command in a separate process, which reports progress and can be stopped."""

import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlencode

from starlette.datastructures import FormData

from cloister.errors import CloisterError
from cloister.settings.declaration import Given

MOST_KEPT, MOST_NOTES = 50, 20
GRACE_S = 10.0
AGAIN = "again"
"""In an address: the key of the work whose form a page shows again."""


@dataclass
class Work:
    """A running or finished command.

    Attributes
    ----------
    what, then, back : what it does, in words; the page that follows when it is done, and the one it was started from
    shown : how the command would be typed
    doing : what it does now
    answering, reporting : what it prints at the end, and while it works, an object a line
    answer : the object that it printed at the end
    form : what was typed on the page it was started from; it may hold values of the data, so no address has it
    """

    key: str
    what: str
    then: str
    back: str
    shown: str
    process: "subprocess.Popen[bytes]" = field(repr=False)
    answering: BinaryIO = field(repr=False)
    reporting: BinaryIO = field(repr=False)
    started: float = field(default_factory=time.monotonic)
    doing: str = "starting"
    notes: list[str] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    answer: Given = field(default_factory=dict, repr=False)
    code: int | None = None
    seconds: float = 0.0
    is_cancelled: bool = False
    passing: tuple[Path, ...] = ()  # files that are removed at the end
    form: FormData = field(default_factory=FormData, repr=False)

    @property
    def is_running(self) -> bool:
        """Whether the command is still running."""
        return self.code is None

    @property
    def elapsed(self) -> float:
        """The elapsed time in seconds."""
        return time.monotonic() - self.started if self.is_running else self.seconds

    @property
    def problem(self) -> str:
        """The reason of a failure, with the labels of fields where a command names its options; empty after success."""
        from .forms import label_of

        if self.code in (None, 0) or "holds" in self.answer:  # an attack that succeeded has done what it was to
            return ""
        error = self.answer.get("error")
        if isinstance(error, Mapping):
            message = str(error.get("message"))
            for name in error.get("settings", ()):
                message = message.replace(f"--{name.replace('_', '-')}", label_of(name))
            return message
        return "It was stopped. Nothing was written." if self.is_cancelled else "It ended without a word."

    @property
    def columns(self) -> list[str]:
        """The columns that an error is about."""
        error = self.answer.get("error")
        return [str(one) for one in error.get("columns", [])] if isinstance(error, Mapping) else []

    def cancel(self) -> None:
        """Ask the command to end; it undoes unfinished changes."""
        self.is_cancelled = True
        if self.is_running:
            self.process.send_signal(signal.SIGTERM)

    def listen(self, after: "Callable[[Work], None] | None") -> None:
        """Read the output of the process until it ends; then call the follow-up."""
        output: list[bytes] = []
        with self.answering as answering, self.reporting as reporting:
            answers = threading.Thread(target=lambda: output.append(answering.read()), daemon=True)
            answers.start()
            for line in reporting:
                self._hear(line)
            answers.join()
        code = self.process.wait()
        with suppress(ValueError):
            self.answer = json.loads(b"".join(output))
        try:
            if after is not None and code == 0:
                after(self)
        except CloisterError as error:
            self.answer, code = {"error": {"message": error.message}}, error.exit_code
        except Exception as error:  # anyone who waits must hear of it; a message could quote a value
            self.answer, code = {"error": {"message": f"An unexpected {type(error).__name__} occurred."}}, 3
        finally:
            for path in self.passing:
                path.unlink(missing_ok=True)
        self.seconds = time.monotonic() - self.started
        self.code = code

    def _hear(self, line: bytes) -> None:
        try:
            progress = json.loads(line)
            self.doing = str(progress.get("doing", self.doing))
            self.figures |= {name: float(progress[name]) for name in ("loss", "bound") if name in progress}
            if "note" in progress and len(self.notes) < MOST_NOTES:
                self.notes.append(str(progress["note"]))
        except (ValueError, AttributeError, TypeError):
            return


class Works:
    """All running commands, and the last finished ones."""

    def __init__(self) -> None:
        self._all: dict[str, Work] = {}
        self._lock = threading.Lock()

    def start(
        self,
        words: Sequence[str],
        folder: Path,
        *,
        what: str,
        then: str,
        back: str,
        after: Callable[[Work], None] | None = None,
        passing: tuple[Path, ...] = (),
        form: FormData | None = None,
    ) -> Work:
        """Start a command in a folder; ``after`` is called once it is done, before pages show it as done.

        ``form``: what the page ``back`` is to show as typed
        """
        command = [sys.executable, "-m", "cloister", *words]
        environment = {**os.environ, "CLOISTER_PROGRESS": "json"}
        (answering, answer), (reporting, reports) = os.pipe(), os.pipe()
        try:
            process = subprocess.Popen(  # noqa: S603  (no shell, and the program is our own)
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=answer, stderr=reports
            )
        except BaseException:
            os.close(answering)
            os.close(reporting)
            raise
        finally:
            os.close(answer)
            os.close(reports)
        pipes = os.fdopen(answering, "rb"), os.fdopen(reporting, "rb")
        shown = shlex.join(["cloister", *(word for word in words if word != "--json")])
        key = secrets.token_urlsafe(12)
        back += "" if form is None else f"&{urlencode({AGAIN: key})}"
        work = Work(key, what, then, back, shown, process, *pipes, passing=passing, form=form or FormData())

        threading.Thread(target=work.listen, args=(after,), daemon=True).start()
        with self._lock:
            self._all[work.key] = work
            for key in [key for key, one in self._all.items() if not one.is_running][:-MOST_KEPT]:
                del self._all[key]
        return work

    def get(self, key: str) -> Work | None:
        """Return the work of a key."""
        with self._lock:
            return self._all.get(key)

    @property
    def running(self) -> list[Work]:
        """The running commands."""
        with self._lock:
            return [one for one in self._all.values() if one.is_running]

    def stop(self) -> None:
        """End all running commands, and wait until they have cleaned up."""
        for one in self.running:
            one.cancel()
        for one in self.running:
            with suppress(subprocess.TimeoutExpired):
                one.process.wait(GRACE_S)
