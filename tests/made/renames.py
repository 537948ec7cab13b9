"""The moment at which what was written takes its place, for tests that refuse or interrupt it."""

from cloister.io import folder


def before_each_rename(monkeypatch, action):
    """Call ``action`` with source and target before the system renames, or exchanges, what a run has written."""
    rename = folder.rename_by_system

    def watched(source, target, flag):
        action(source, target)
        return rename(source, target, flag)

    monkeypatch.setattr(folder, "rename_by_system", watched)


def without_exchange(monkeypatch):
    """Let the system be one that can neither exchange two folders nor rename only where nothing is."""
    monkeypatch.setattr(folder, "rename_by_system", lambda *_: False)
