"""The file of an exploration: one line a setting, as they come, so that it can be gone on with."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from cloister.errors import InputError, setting
from cloister.io import is_taken, write_private
from cloister.io.disk import cannot_write
from cloister.version import __version__

from .outcome import Outcome, Setting, outcome_from_record

RECORD = "settings.jsonl"
README = "README.txt"
FOR_THE_CUSTODIAN = (
    "For the custodian alone. What many settings suppress tells, together, more than any one release may, and "
    f"{RECORD} holds hashes of the data. Do not hand this folder on, nor any file of it."
)
ANOTHER = f"Take another folder for {setting('out')}, or remove that one."


@dataclass
class Record:
    """The outcomes so far, and the file to add to; None where they are kept in memory alone."""

    done: list[Outcome] = field(default_factory=list)
    file: BinaryIO | None = field(default=None, repr=False)

    def add(self, outcome: Outcome) -> None:
        """Add one more, and see that its line is on disk."""
        if self.file is not None:
            self.file.write(_line(outcome.as_record()))
            self.file.flush()
            os.fsync(self.file.fileno())
        self.done.append(outcome)


@contextmanager
def recorded(folder: Path | None, identity: Mapping[str, object], settings: Sequence[Setting]) -> Iterator[Record]:
    """The record of an exploration in a folder: a new one, or the one that is there, to be gone on with.

    A last line that an end cut short is taken away.

    ``folder``: None for a record in memory
    ``identity``: what is asked for, and hashes of the files; must be the same for an exploration to be gone on with
    """
    if folder is None:
        yield Record()
        return
    if not is_taken(folder):
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise cannot_write(folder.name, error) from None
        write_private(folder / README, f"{FOR_THE_CUSTODIAN}\n".encode())
        write_private(folder / RECORD, _line(_head(identity)))
    path = folder / RECORD
    if path.is_symlink() or not path.is_file():
        raise InputError(f"{folder.name} exists already and holds no exploration. {ANOTHER}")
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = True
        except BlockingIOError:
            is_ours = False
        if not is_ours:
            raise InputError(
                f"Another command is exploring into {folder.name}. Wait for it, or take another folder for "
                f"{setting('out')}."
            )
        yield Record(_read(file, folder.name, identity, settings), file)


def _head(identity: Mapping[str, object]) -> dict[str, object]:
    head = {"for": FOR_THE_CUSTODIAN, "cloister": __version__, **identity}
    plain: dict[str, object] = json.loads(json.dumps(head))
    return plain


def _line(content: dict[str, object]) -> bytes:
    return (json.dumps(content, ensure_ascii=False) + "\n").encode()


def _read(file: BinaryIO, name: str, identity: Mapping[str, object], settings: Sequence[Setting]) -> list[Outcome]:
    """The outcomes on file; what follows the last whole line is removed from it."""
    content = file.read()
    whole = content[: content.rfind(b"\n") + 1]
    file.seek(len(whole))
    file.truncate()
    head: object = None
    done: list[Outcome] = []
    try:
        lines = [json.loads(line) for line in whole.splitlines()]
        head, done = lines[0], [outcome_from_record(line) for line in lines[1:]]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        head = None
    if not isinstance(head, dict):
        raise InputError(f"{RECORD} of {name} cannot be read. {ANOTHER}", file=RECORD)
    for key, what in (("cloister", "by another version"), ("asked", "with other options"), ("files", "of other data")):
        if head.get(key) != _head(identity)[key]:
            raise InputError(f"{name} holds an exploration {what}, which cannot be gone on with. {ANOTHER}")
    if [one.setting for one in done] != list(settings[: len(done)]):
        raise InputError(f"{RECORD} of {name} has other settings than were asked for. {ANOTHER}", file=RECORD)
    return done
