"""A folder that appears whole or not at all, by itself or together with other folders and files.

It is written inside ``.NAME.partial-XXXXXXXX`` beside its place (`cloister.io.partial`). At the end it is renamed; an
earlier one that it replaces changes places with it in one step of the system, so that no moment is without either.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from cloister.errors import InputError
from cloister.io.disk import cannot_write, exchange, is_about, make_private, rename_to_free, stops_wait, sync
from cloister.io.partial import Partial, begin_partial, remove_dead_partials

__all__ = ["Place", "appearing", "release_folder"]


@dataclass(frozen=True)
class Place:
    """Where a folder, or a single file, is to appear.

    Attributes
    ----------
    target : must not exist, or be an earlier release and ``overwrite`` given; never a symbolic link
    is_earlier_release : whether a folder is a release, called only with ``overwrite``
    """

    target: Path
    overwrite: bool = False
    is_earlier_release: Callable[[Path], bool] = lambda _: False
    is_file: bool = False


@dataclass
class _Move:
    """A place, the folder beside it that is written to, and which earlier release stood there at the start."""

    place: Place
    partial: Partial
    earlier: tuple[int, int] | None
    is_done: bool = False


@contextmanager
def release_folder(
    target: Path, *, overwrite: bool = False, is_earlier_release: Callable[[Path], bool] = lambda _: False
) -> Iterator[Path]:
    """An empty folder (0700) to write to, which becomes ``target`` if the block ends without an exception.

    See `appearing`, of which this is the case of one folder.
    """
    with appearing(Place(target, overwrite, is_earlier_release)) as (partial,):
        yield partial


@contextmanager
def appearing(*places: Place) -> Iterator[tuple[Path, ...]]:
    """Empty folders (0700), or paths of files, to write to: all appear if the block ends well, else none.

    What was written is made readable by its owner alone, whatever the umask. On any exception, an interruption
    included, it is removed and all places are as they were. They appear in the order given, while requests to stop
    wait: none is left alone there. What a run that was killed left beside a place is removed first.

    Raises
    ------
    InputError : a target is there, its folder is not, the disk does not take it, or another run was faster
    """
    moves: list[_Move] = []
    try:
        for place in places:
            moves.append(_begin(replace(place, target=Path(os.path.abspath(place.target)))))
        yield tuple(move.partial.content for move in moves)
        _finish(moves)
    except BaseException as error:
        with stops_wait():
            for move in moves:
                move.partial.give_up()
        for move in moves:
            if isinstance(error, OSError) and is_about(error, move.partial.path):
                raise cannot_write(move.place.target.name, error) from None
        raise


def _begin(place: Place) -> _Move:
    target = place.target
    try:
        _check_place(target)
        remove_dead_partials(target.parent)
        _check_free(place)
        earlier = _identity(target)
        return _Move(place, begin_partial(target, is_file=place.is_file), earlier)
    except OSError as error:
        raise cannot_write(target.name, error) from None


def _check_place(target: Path) -> None:
    if not target.name:
        raise InputError("A release needs a folder of its own, with a name.")
    if not target.parent.is_dir():
        raise InputError(f"The folder {target.parent} does not exist. Make it first.", file=target.name)
    if target.is_symlink():
        raise InputError(f"{target.name} is a symbolic link. Name the folder that it points to.", file=target.name)


def _check_free(place: Place) -> None:
    target = place.target
    if not os.path.lexists(target):
        return
    if not place.overwrite:
        message = f"{target.name} exists already. Choose another name, or allow to overwrite an earlier release."
        raise InputError(message, file=target.name)
    if not target.is_dir() or not place.is_earlier_release(target):
        message = f"{target.name} is not an earlier release and is not overwritten. Choose another name."
        raise InputError(message, file=target.name)


def _finish(moves: list[_Move]) -> None:
    for move in moves:
        try:
            make_private(move.partial.path)
        except OSError as error:
            raise cannot_write(move.place.target.name, error) from None
    with stops_wait():
        _put_all(moves)
        for move in moves:
            move.partial.remove()


def _put_all(moves: list[_Move]) -> None:
    """Rename everything, or nothing: what was renamed is undone if something that follows fails."""
    for number, move in enumerate(moves):
        try:
            _put(move)
        except BaseException as error:
            for done in reversed(moves[: number + 1]):
                _undo(done)
            if isinstance(error, OSError):
                raise cannot_write(move.place.target.name, error) from None
            raise


def _put(move: _Move) -> None:
    """Rename what was written to its target; only what stood there at the start is replaced."""
    target, partial = move.place.target, move.partial
    if not os.path.lexists(target):
        move.earlier = None  # also where somebody removed it meanwhile
    if move.earlier is None:
        rename_to_free(partial.content, target)
        move.is_done = True
    else:
        _check_free(move.place)
        move.is_done = exchange(partial.content, target)
        if not move.is_done:
            target.rename(partial.earlier)
            rename_to_free(partial.content, target)
            move.is_done = True
        replaced = partial.earlier if os.path.lexists(partial.earlier) else partial.content
        if _identity(replaced) != move.earlier:
            raise InputError(f"Another run replaced {target.name} meanwhile. Nothing of this one was released.")
    sync(target.parent)


def _undo(move: _Move) -> None:
    """Take back what `_put` did, as far as the disk lets us."""
    target, partial = move.place.target, move.partial
    was_exchanged = move.earlier is not None and not os.path.lexists(partial.earlier)
    with suppress(OSError):
        if move.is_done and was_exchanged:
            exchange(partial.content, target)
        elif move.is_done:
            target.rename(partial.content)
        if os.path.lexists(partial.earlier) and not os.path.lexists(target):
            partial.earlier.rename(target)


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode, which tell a folder from another one of its name; None where there is none."""
    if not os.path.lexists(path):
        return None
    found = path.lstat()
    return found.st_dev, found.st_ino
