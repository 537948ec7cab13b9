"""Work that takes long and can be interrupted."""

from threading import Event

import pytest

from cloister.errors import NoSafeRelease
from cloister.io import foreign


def test_the_result_comes_back():
    """Work in a thread of its own returns what it returns."""
    assert foreign.interruptible(lambda: 7) == 7


def test_errors_come_back():
    """What the work raises is raised where it was asked for."""

    def fail():
        raise NoSafeRelease("There is none.")

    with pytest.raises(NoSafeRelease, match="There is none"):
        foreign.interruptible(fail)


def test_an_interrupted_user_does_not_wait(monkeypatch):
    """An interruption comes through while the work goes on."""
    goes_on = Event()

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(foreign, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        foreign.interruptible(goes_on.wait)
    goes_on.set()
