"""The job file is the state of the application: every page edits it, and a history next to it keeps earlier states."""

import fcntl
import hashlib
import os
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cloister.errors import InputError
from cloister.io import write_private
from cloister.io.csv import load_text
from cloister.jobs.job import Job, part_of
from cloister.jobs.job_file import parse_job, sources_used
from cloister.settings.declaration import Given, Keywords
from cloister.settings.toml import read_toml, toml_text
from cloister.shapes.registry import SHAPES

HISTORY, MOST_KEPT = ".cloister-ui", 500
HEAD = "# A job of cloister. Run it with: cloister run {}\n# Names of files are taken from the folder of this job.\n\n"


class Conflict(InputError):
    """A page shows an earlier state of the job than the one on disk: saving it would lose someone else's work."""


def toml_of(content: Keywords, inside: str = "") -> str:
    """Return content as TOML: values first, then sections, in their order.

    Examples
    --------
    >>> print(toml_of({"k": 5, "sources": {"a": {"file": "a.csv"}}, "protect": [{"drop": ["x"]}]}), end="")
    k = 5
    <BLANKLINE>
    [sources.a]
    file = "a.csv"
    <BLANKLINE>
    [[protect]]
    drop = ["x"]
    """
    plain, sections = [], []
    for key, value in content.items():
        name = inside + _name(key)
        if isinstance(value, Mapping):
            has_values = not value or any(not _is_section(part) for part in value.values())
            sections.append((f"\n[{name}]\n" if has_values else "") + toml_of(value, f"{name}."))
        elif _is_section(value):
            sections += [f"\n[[{name}]]\n{toml_of(part, f'{name}.')}" for part in value]
        else:
            plain.append(f"{_name(key)} = {_value(value)}\n")
    return "".join([*plain, *sections])


def _is_section(value: object) -> bool:
    is_list = isinstance(value, list | tuple) and bool(value) and all(isinstance(part, Mapping) for part in value)
    return isinstance(value, Mapping) or is_list


def _name(key: str) -> str:
    is_bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if is_bare else toml_text(key)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value) if isinstance(value, int | float) else toml_text(str(value))


@dataclass(frozen=True)
class JobState:
    """The state of a job file."""

    path: Path
    text: str
    version: str  # of the text; a form says which one it was made from
    content: Keywords  # what it states, whatever is wrong with it

    @cached_property
    def job(self) -> Job:
        """The job, or its error."""
        return parse_job(self.text, self.path.name)

    def with_content(self, content: Keywords) -> "JobState":
        """Return the job with other content, not yet written; refuses invalid jobs."""
        text = HEAD.format(self.path.name) + toml_of(content)
        parse_job(text, self.path.name)
        return JobState(self.path, text, version_of(text), content)

    def section(self, part: str) -> Given:
        """Return a copy of the section of a part."""
        return dict(self.content["protect"][self.place(part)])

    def place(self, part: str) -> int:
        """Return the index of the part of this name."""
        names = list(self.job.parts)
        if part not in names:
            raise InputError(f"{self.path.name} has no part of that name any more. Go back to the start.")
        return names.index(part)

    def with_section(self, part: str, section: Keywords, sources: Keywords | None = None) -> Given:
        """Return the content with another section of a part, and other keys of its sources where they are given.

        Other parts of a source keep its id: a part with another one gets a source of its own.
        """
        parts = list(self.content["protect"])
        whole = {**self.content, "protect": parts}
        if sources is not None:
            section, whole["sources"] = separate_ids(self, part, section, sources)
        parts[self.place(part)] = section
        return {
            key: whole[key]
            for key in (*(key for key in whole if key not in ("sources", "protect")), "sources", "protect")
        }

    def save(self, seen: str) -> None:
        """Write the job if the file on disk is unchanged since it was read; that state goes into the history."""
        with _lock_history(self.path) as history:
            earlier = load_job(self.path)
            if earlier.version != seen:
                raise Conflict(
                    f"{self.path.name} was changed in another window, or by hand, after this page was opened. Nothing "
                    "was saved: check it, and save again."
                )
            if earlier.text != self.text:
                numbers = sorted(path.name for path in history.iterdir() if path.suffix == ".toml")
                last = int(numbers[-1].partition(".")[0]) if numbers else 0
                write_private(history / f"{last + 1:06d}.toml", earlier.text.encode())
                for name in numbers[:-MOST_KEPT]:
                    (history / name).unlink()
                _replace(self.path, self.text)

    @property
    def earlier(self) -> int:
        """The number of earlier states in the history."""
        history = _history(self.path)
        return sum(path.suffix == ".toml" for path in history.iterdir()) if history.is_dir() else 0


def undo(path: Path, seen: str) -> None:
    """Go back to the state of a job before the last change."""
    with _lock_history(path) as history:
        if load_job(path).version != seen:
            raise Conflict(f"{path.name} was changed in another window after this page was opened. Nothing was undone.")
        if kept := sorted(one for one in history.iterdir() if one.suffix == ".toml"):
            _replace(path, kept[-1].read_text(encoding="utf-8"))
            kept[-1].unlink()


def load_job(path: Path) -> JobState:
    """Load the job in a file, if it is TOML."""
    text = load_text(path).data.decode()
    return JobState(path, text, version_of(text), read_toml(text, path.name, "cloister init"))


def add_part(state: JobState, made: JobState) -> tuple[Given, str]:
    """Return the content of a job with the part of another one, and its name; a used name gets a number."""
    (section,), own = made.content["protect"], next(iter(made.job.parts.values()))
    sources, called = dict(state.content["sources"]), {}
    for key, name in own.sources.items():
        called[key] = _unused_name(name, sources)
        sources[called[key]] = made.content["sources"][name]
    part = {**section, **called}
    name = _unused_name(part_of(own.shape, part, made.path.name).usual_name, state.job.parts)
    part = {"shape": own.shape, "name": name, **{key: value for key, value in part.items() if key != "name"}}
    if "k" in made.content and made.content["k"] != state.content.get("k"):
        part["k"] = made.content["k"]
    return {**state.content, "sources": sources, "protect": [*state.content["protect"], part]}, name


def separate_ids(state: JobState, part: str, section: Keywords, sources: Keywords) -> tuple[Keywords, Given]:
    """Return the section of a part, and all sources with new ones of the part.

    Where another part reads a source too, a new id of it becomes that of a source of this part alone.
    """
    others = {called for name, one in state.job.parts.items() if name != part for called in sources_used(one)}
    found = dict(state.content["sources"])
    for called, source in sources.items():
        before, own = found[called].get("id"), called
        if called in others and source.get("id") != before:
            own = _unused_name(called, found)
            keys = [key for key in (*SHAPES[section["shape"]].sources, "codes") if section.get(key) == called]
            section = {**section, "name": part, **dict.fromkeys(keys, own)}
            shared = {key: value for key, value in source.items() if key != "id"}
            found[called] = shared if before is None else {**shared, "id": before}
        found[own] = source
    return section, found


def without_part(state: JobState, part: str) -> Given:
    """Return the content of a job without a part, and without the sources that only it was read from."""
    place, parts = state.place(part), state.job.parts
    still = {called for name, one in parts.items() if name != part for called in sources_used(one)}
    gone = sources_used(parts[part]) - still
    kept = [section for number, section in enumerate(state.content["protect"]) if number != place]
    sources = {called: source for called, source in state.content["sources"].items() if called not in gone}
    return {**state.content, "sources": sources, "protect": kept}


def _unused_name(name: str, used: Container[str]) -> str:
    return next(one for one in (name, *(f"{name}-{number}" for number in range(2, 1000))) if one not in used)


def version_of(text: str) -> str:
    """Return a hash that identifies a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def new_job(path: Path, content: Keywords) -> JobState:
    """Write a job that does not exist yet."""
    text = HEAD.format(path.name) + toml_of(content)
    parse_job(text, path.name)
    write_private(path, text.encode())
    return load_job(path)


def release_to(path: Path, output: str, name: str = "") -> None:
    """Change the release folder of a new job; the rest of its text stays unchanged, including comments.

    ``name``: of the job, in place of its own
    """
    made = load_job(path)
    text = made.text.replace(f"output = {toml_text(made.job.output)}", f"output = {toml_text(output)}", 1)
    text = text.replace(f"name = {toml_text(made.job.name)}", f"name = {toml_text(name or made.job.name)}", 1)
    if text != made.text:
        _replace(path, text)


def _history(path: Path) -> Path:
    return path.parent / HISTORY / path.name


@contextmanager
def _lock_history(path: Path) -> Iterator[Path]:
    """The folder of the history, while no other window or server changes the job."""
    history = _history(path)
    for folder in (history.parent, history):
        folder.mkdir(mode=0o700, exist_ok=True)
    with open(history / "lock", "ab", opener=lambda name, flags: os.open(name, flags, 0o600)) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield history


def _replace(path: Path, text: str) -> None:
    aside = path.with_name(f".{path.name}.new")
    aside.unlink(missing_ok=True)
    write_private(aside, text.encode())
    os.replace(aside, path)
