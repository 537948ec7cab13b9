"""A first job, guessed from data and tried: as it is written it runs, or it is said why not."""

import os
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass, field, replace
from pathlib import Path

from cloister.errors import InputError, NoSafeRelease
from cloister.io import Query, Source, is_taken, write_private
from cloister.io.columns import check_header
from cloister.jobs.first_job import FirstJob, first_job
from cloister.reading import ReadingWords, how_read
from cloister.sources import form_of, profiled, read_table

from .jobs import JobRun, prepare_part

UNDOES = "it would undo the protection of another column"
MOST_TRIED = 2_000_000  # of more cells it is not tried whether they give a release


@dataclass(frozen=True)
class FirstJobRequest:
    """Of what a first job is to be made, and where it goes."""

    shape: str
    data: Path | Query
    out: Path
    k: int = 5
    reading: ReadingWords = field(default_factory=ReadingWords)


def write_first_job(asked: FirstJobRequest) -> tuple[FirstJob, Source]:
    """Read, guess, try, and write a job that does not exist yet."""
    out = asked.out
    if is_taken(out):
        raise InputError(f"{out.name} exists already. Give another name, or remove it.", file=out.name)
    if asked.k < 2:
        raise InputError(f"k is {asked.k}, but a patient who is alone is not protected: ask for 2 or more.")
    source = read_table(asked.data, form_of(asked.shape), **how_read(asked.reading))
    if source.format == "csv":
        check_header(source.frame, source.name)
    folder = out.absolute().parent
    if not folder.is_dir():
        raise InputError(f"The folder around {out.name} does not exist. Make it first.", file=out.name)
    made = _tried(asked, source, folder, asked.reading.said)
    write_private(out, made.text.encode())
    return made, source


def _tried(asked: FirstJobRequest, source: Source, folder: Path, keywords: Mapping[str, object]) -> FirstJob:
    """The job, with columns left out that undo the protection of others: which do, only the release tells."""
    keywords = {key: list(value) if isinstance(value, tuple) else value for key, value in keywords.items()}
    left_out: dict[str, str] = {}
    is_small = source.frame.height * source.frame.width <= MOST_TRIED
    while True:
        made = first_job(asked.shape, source, _place(asked.data, folder), asked.k, keywords, left_out)
        run = JobRun(made.job, asked.out.absolute(), folder / made.job.output)
        try:
            with chdir(folder):  # the data must go through all that can be checked, as the job is written
                for name in made.job.parts:
                    prepared = prepare_part(run, name)
                    prepared.check()
                    if asked.shape == "table" and is_small:
                        prepared.protect()
            return made
        except (InputError, NoSafeRelease) as error:
            new = [column for column in error.columns if column not in left_out]
            if isinstance(error, NoSafeRelease) and not new:
                return replace(made, problem=error.text)
            if not new:
                raise
            left_out |= dict.fromkeys(new, UNDOES)


def _place(data: Path | Query, folder: Path) -> dict[str, str]:
    """Return the keys of a source that say where its data are, as seen from the folder of the job."""
    collection = profiled(data)
    if collection is not None:
        return {"file": collection.at(lambda path: Path(os.path.relpath(path, folder)))}
    if isinstance(data, Path):
        return {"file": Path(os.path.relpath(data, folder)).as_posix()}
    in_file = data.scheme in ("duckdb", "sqlite")
    url = f"{data.scheme}:{Path(os.path.relpath(data.place, folder)).as_posix()}" if in_file else data.url
    return {"url": str(url), "query": data.query.strip()}
