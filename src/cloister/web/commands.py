"""The command-line equivalents of the pages of a job."""

import shlex
from collections.abc import Mapping

from cloister.errors import InputError
from cloister.jobs.job import CLAIMS, Part
from cloister.settings.declaration import Given, command_words, settings_of
from cloister.shapes.registry import SHAPES

from .job_state import JobState

NOT_EXPLORED = ("crosswalk", "plan", "unmatched_values", "ids", "engine", "table", "out")


def command_of(state: JobState, part: str) -> tuple[str, ...]:
    """Return the command-line equivalents of a job: for the complete job, and for a single part."""
    words = ["cloister", "run", state.path.name]
    own = state.job.parts[part]
    is_joined = own.shape == "table" and own.keywords.get("codes") in state.job.sources
    if own.shape == CLAIMS or is_joined:
        return (shlex.join(words),)
    protecting = ["cloister", "protect", own.shape, *words_of(state, part), "--out", state.job.output]
    return shlex.join(words), shlex.join(protecting)


def words_of(state: JobState, part: str, skipped: tuple[str, ...] = ()) -> list[str]:
    """Return the options of a part as typed on the command line."""
    own = state.job.parts[part]
    sources = {key: state.job.sources[called] for key, called in own.sources.items()}
    ways = [{name: one for name, one in vars(source).items() if name not in ("file", "url") and one}
            for source in sources.values()]  # fmt: skip
    if ways[0] != ways[-1]:
        raise InputError("The command reads both files alike. Say the same of both under Data.")
    files = {"data" if key == "source" else key: source.url or source.file for key, source in sources.items()}
    given = {**ways[0], **_type_settings(own), **files}
    return command_words(SHAPES[own.shape].options, {key: value for key, value in given.items() if key not in skipped})


def _type_settings(part: Part) -> Given:
    """What a part says, as it is typed: a value by column as ``COLUMN=VALUE``, numbers of one setting with commas."""
    by_word = {one.word: one for one in settings_of(SHAPES[part.shape].options)}
    found: Given = {}
    for key, value in part.keywords.items():
        if key not in by_word:
            continue
        if isinstance(value, Mapping):
            found[key] = [f"{column}={_word(one)}" if one != "" else column for column, one in value.items()]
        elif isinstance(value, list | tuple) and not by_word[key].is_list:
            found[key] = ",".join(map(_word, value))
        else:
            found[key] = value if isinstance(value, bool | list | tuple) else _word(value)
    return found


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
