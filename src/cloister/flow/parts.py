"""A part of a job -> the settings that protect it, and what is about to be done by them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cloister.errors import CloisterError, InputError, NoSafeRelease, as_key, worded
from cloister.jobs.job import Job
from cloister.jobs.sections import SHAPES, Part
from cloister.registry import shape_of
from cloister.settings import settings_of
from cloister.shape import Prepared, Run
from cloister.stopwatch import Stopwatch


@dataclass(frozen=True)
class JobRun:
    """How a job is run; paths in full."""

    job: Job
    path: Path
    out: Path
    custodian_dir: Path | None = None
    run: Run = field(default_factory=Run)


def options_of(asked: JobRun, name: str) -> Any:
    """Return the settings that protect a part: those of the job, of its source and its own."""
    job, part = asked.job, asked.job.parts[name]
    told = {
        "out": asked.out / name,
        "custodian_dir": None if asked.custodian_dir is None else asked.custodian_dir / name,
        "seed": job.seed,
        "threads": job.threads,
        "engine": job.engine,
        "attack": job.attack,
    }
    return shape_of(part.shape).of_part(told | part.options(), part, job, asked.path)


def without_keys(part: Part, keys: Iterable[str]) -> Part:
    """Return a part without what it says of keys, ``weight.age`` being one of ``weight``; `k` is then for nobody."""
    told = dict(part.told)
    for key in keys:
        head, _, column = key.partition(".")
        if column and isinstance(told.get(head), Mapping):
            told[head] = {name: value for name, value in told[head].items() if name != column}
        elif not column:
            told.pop(head, None)
    return Part(part.shape, {"k": 0, **told} if "k" in part.told else told)


def prepare_part(asked: JobRun, name: str) -> Prepared:
    """Read the sources of a part, and return what is about to be done with them."""
    shape, options, run = shape_of(asked.job.parts[name].shape), options_of(asked, name), asked.run
    shape.check(options)
    return shape.prepare(options, Run(Stopwatch(), run.voice, run.engines))


def secrets_of(part: Part) -> tuple[Path | None, Path | None]:
    """Return where the crosswalk of a part goes, and where values of it are listed."""
    options = part.options()
    return options.get("crosswalk"), options.get("unmatched_values")


@contextmanager
def of_part(job: Job, name: str) -> Iterator[None]:
    """Say of a refusal which part of the job it is about, and call options by their keys."""
    words = {one.name: one.word for one in settings_of(SHAPES[job.parts[name].shape].options)}
    problem: CloisterError
    try:
        yield
        return
    except (InputError, NoSafeRelease) as error:
        problem = error
    text = worded(problem.text, lambda key, value: as_key(words.get(key, key), value))
    raise problem.saying(text if text.startswith(job.file) else f"{job.file}, part {name}: {text}")
