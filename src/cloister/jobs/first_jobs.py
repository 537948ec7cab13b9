"""Suggest a first job from data: text that reads back as a job, tried so that it runs or its problem is stated."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import chdir, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import polars as pl

from cloister.engines.choice import LARGE
from cloister.errors import InputError, InternalError, NoSafeRelease, setting
from cloister.evidence.column import WORDS_OF_CODES, Guess, plain_name
from cloister.evidence.roles import DROP, PATIENT, QUASI, SENSITIVE, UNDECIDED
from cloister.evidence.table import guess_table
from cloister.io import Query, Source, as_text, write_private
from cloister.io.columns import check_header
from cloister.io.csv import detect_delimiter, head_of, header_of
from cloister.io.query import IN_FILES
from cloister.io.read import is_parquet
from cloister.jobs.guessing_codes import (
    AGE,
    ANCHOR,
    CODE,
    CODES,
    DATE,
    ID,
    NONE_NAMED,
    NamedColumns,
    guess_codes,
    guess_events,
    unknown_codes,
)
from cloister.jobs.job import Job
from cloister.jobs.job_file import parse_job
from cloister.pipeline.protecting import protect
from cloister.release.folder import check_new
from cloister.settings.constraints import check_value
from cloister.settings.declaration import Keywords
from cloister.settings.reading import ReadingWords, how_read
from cloister.settings.run_options import K
from cloister.settings.toml import toml_text
from cloister.shapes.claims.method.first_plan import filled_template, roles_of
from cloister.sources import form_of, parse_profile, read_table

from .running import JobRun, prepare_part

SHAPES = ("table", "codes", "trajectories")
LONGEST_NAME = 40
UNDOES = "it would undo the protection of another column"
NO_QUASI_IDENTIFIER = (
    "no column is a quasi-identifier by its name, label or content. Could somebody outside know the value of a patient "
    "in one of them? Move it to [protect.qi], with a hierarchy"
)
MOST_TRIED = 2_000_000  # of more cells it is not tried whether they give a release


@dataclass(frozen=True)
class FirstJobRequest:
    """The data and settings from which a first job is suggested, and its path."""

    shape: str
    data: Path | Query
    out: Path
    k: int = 5
    reading: ReadingWords = field(default_factory=ReadingWords)
    columns: NamedColumns = NONE_NAMED
    separator: str | None = None  # of codes in a cell


@dataclass(frozen=True)
class FirstJob:
    """A suggested job."""

    # the TOML; holds no value of the data but names of columns, and how missing values are written
    text: str = field(repr=False)
    job: Job = field(repr=False)  # the same, read back
    columns: tuple[Guess, ...]  # the suggested role of each column
    problem: str | None = None  # why it gives no release as it is; None if it does, or was not tried


@dataclass(frozen=True)
class SuggestedSettings:
    """Settings of `cloister.protect_table` for a dataframe, suggested from the names and contents of its columns.

    Columns that are undecided have no role in ``keywords``: `protect_table` refuses them until they get one.
    """

    columns: tuple[Guess, ...]  # the role that is suggested for each column, how surely and why
    keywords: Keywords  # of `protect_table`

    @property
    def undecided(self) -> tuple[str, ...]:
        """The columns without evidence for any role."""
        return tuple(one.column for one in self.columns if one.role == UNDECIDED)


def guess_shape(names: Sequence[str]) -> str:
    """Return the shape that a file with columns of these names usually has.

    Examples
    --------
    >>> guess_shape(["age", "sex", "zip"]), guess_shape(["id", "ICD10"]), guess_shape(["id", "code", "date"])
    ('table', 'codes', 'trajectories')
    """
    plain = [plain_name(name) for name in names]
    has_code = any(name in ("code", "icd9", "icd10", "icd", "condition_concept_id") for name in plain)
    has_code |= len(plain) == 2 and any(map(WORDS_OF_CODES.search, plain))
    if has_code and any({"age", "date"}.intersection(name.split("_")) for name in plain):
        return "trajectories"
    return "codes" if "codes" in plain or (has_code and len(plain) <= 4) else "table"


def guess_shape_of(files: Sequence[Path]) -> str:
    """Return the shape that files seem to have: two are claims, one is what the names of its columns say."""
    if len(files) > 1:
        return "claims"
    with suppress(InputError, pl.exceptions.PolarsError):
        if is_parquet(files[0]):
            return guess_shape([*pl.read_parquet_schema(files[0])])
        head, name = head_of(files[0]), files[0].name
        return guess_shape(header_of(head, name, detect_delimiter(head, name)))
    return "table"  # of no format that has names in its first line


def suggest_settings(frame: pl.DataFrame, k: int) -> SuggestedSettings:
    """Suggest settings for a table from the names and contents of its columns."""
    found = guess_table(frame, "the dataframe").columns
    roles = roles_of(found)
    settings: dict[str, object] = {"k": k, "qi": {one.column: one.hierarchy for one in found if one.role == QUASI}}
    settings |= {key: [one.column for one in found if one.role == key] for key in (SENSITIVE, DROP)}
    settings |= {key: roles[key] for key in (ID, PATIENT) if key in roles}
    return SuggestedSettings(tuple(found), settings)


def first_job(
    asked: FirstJobRequest, source: Source, folder: Path, dropped: Mapping[str, str] = MappingProxyType({})
) -> FirstJob:
    """Suggest a job in a folder that protects one file or the result of one query.

    ``dropped``: columns of a table that are not released, whatever their suggested role, and why
    """
    stated = asked.reading.non_default.items()
    keywords = {key: list(value) if isinstance(value, tuple) else value for key, value in stated}
    place = _place(asked.data, folder)
    guesses: list[Guess]
    if asked.shape == "table":
        found = guess_table(source.frame, source.name, source.labels)
        guesses = [
            Guess(one.column, DROP, "sure", dropped[one.column]) if one.column in dropped else one
            for one in found.columns
        ]
        given = keywords.get("missing")
        missing = [*dict.fromkeys([*(given if isinstance(given, list) else ()), *found.missing])]
        seen: dict[str, object] = {
            "missing": missing,
            "date_format": [*found.date_format],
            "decimal": found.decimal,
            "numbers": [*found.numbers],
            "dates": [*found.dates],
        }
        seen = {**seen, **keywords, "missing": missing}
        keywords = {key: value for key, value in seen.items() if value not in (None, [])}
    elif asked.shape == "codes":
        guesses = guess_codes(source.frame, source.name, asked.columns)
    else:
        guesses = guess_events(source.frame, source.name, asked.columns)
    roles = roles_of(guesses)
    filled: dict[str, object] = {
        "shape": asked.shape,
        "name": name_of(place.get("file", source.name)),
        "place": place,
        "k": asked.k,
        "attacks": source.frame.height < LARGE,  # a larger one may be counted where it is, and attacks need the records
        "source": ({"id": roles[ID]} if ID in roles else {}) | keywords,
        "guesses": guesses,
        "settings": _settings(asked, source.frame, roles),
    }
    text = filled_template("cloister.jobs", "job.toml.j2", filled)
    return FirstJob(text, _read_back(text), tuple(guesses))


def name_of(file: str) -> str:
    """Return the name of a source, from its file: letters, digits, - and _.

    Examples
    --------
    >>> name_of("data/patients 2026.csv.gz"), name_of("head.injury.csv"), name_of("é.csv")
    ('patients_2026', 'head_injury', 'data')
    """
    without_ending = re.sub(r"^\..*|\.[^.]*(\.(gz|zip|zst|bz2|xz))?$", "", Path(file).name)  # nothing of a hidden file
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", without_ending).strip("_-")
    return stem[:LONGEST_NAME] or "data"


def _settings(asked: FirstJobRequest, frame: pl.DataFrame, roles: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of the part in TOML."""
    shape = asked.shape
    if shape == "codes":
        column = roles.get(CODE) or roles[CODES]
        key = CODE if CODE in roles else CODES
        keys = {key: toml_text(column), "m": "2", "method": toml_text("disassociation")}
        keys |= {} if asked.separator is None else {"separator": toml_text(asked.separator)}
        return keys | ({"drop_empty": "true"} if frame[column].null_count() else {})
    if shape == "trajectories":
        keys = {CODE: toml_text(roles[CODE])}
        keys |= {key: toml_text(roles[key]) for key in (AGE, DATE) if key in roles}
        if DATE in roles:
            keys["anchor"] = toml_text(roles.get(ANCHOR, "first"))
        unknown = unknown_codes(as_text(frame[roles[CODE]]).drop_nulls().str.strip_chars().unique().to_list())
        if unknown == 1:
            return keys | {"code_hierarchy": toml_text("suppress")}
        return keys | ({"on_unknown_code": toml_text("root")} if unknown else {})
    return {PATIENT: toml_text(roles[PATIENT])} if PATIENT in roles else {}


def _read_back(text: str) -> Job:
    problem: str = ""
    try:
        return parse_job(text, "the job")
    except InputError as error:
        problem = error.message
    raise InternalError("The first job does not read back: ", problem)


def write_first_job(asked: FirstJobRequest) -> tuple[FirstJob, Source]:
    """Read the data, suggest a job, try it, and write it to a new file."""
    out = asked.out
    check_new(out, setting("out"))
    check_value("k", asked.k, K)
    source = read_table(asked.data, form_of(asked.shape), **how_read(asked.reading))
    if source.format == "csv":
        check_header(source.frame, source.name)
    folder = out.absolute().parent
    if not folder.is_dir():
        raise InputError(f"The folder around {out.name} does not exist. Make it first.", file=out.name)
    made = _try_job(asked, source, folder)
    write_private(out, made.text.encode())
    return made, source


def _try_job(asked: FirstJobRequest, source: Source, folder: Path) -> FirstJob:
    """Return a tried job, without columns that undo the protection of others; only a release reveals these columns."""
    dropped: dict[str, str] = {}
    is_small = source.frame.height * source.frame.width <= MOST_TRIED
    while True:
        made = first_job(asked, source, folder, dropped)
        if asked.shape == "table" and not any(guess.role == QUASI for guess in made.columns):
            return replace(made, problem=NO_QUASI_IDENTIFIER)
        undecided = [guess.column for guess in made.columns if guess.role in (UNDECIDED, DROP)]
        run = JobRun(made.job.deciding(("drop",), accept=undecided), asked.out.absolute(), folder / made.job.output)
        try:
            with chdir(folder):  # the data must go through all that can be checked, as the job is written
                for name in made.job.parts:
                    prepared = prepare_part(run, name)
                    if asked.shape == "table" and is_small:
                        protect(prepared.protection, prepared.run)
                    else:
                        prepared.protection.check()
            return made
        except (InputError, NoSafeRelease) as error:
            new = [column for column in error.columns if column not in dropped]
            if isinstance(error, NoSafeRelease) and not new:
                return replace(made, problem=error.message)
            if not new:
                raise
            dropped |= dict.fromkeys(new, UNDOES)


def _place(data: Path | Query, folder: Path) -> dict[str, str]:
    """Return the keys of a source that locate its data, relative to the folder of the job."""
    collection = parse_profile(data)
    if collection is not None:
        return {"file": collection.at(lambda path: Path(os.path.relpath(path, folder)))}
    if isinstance(data, Path):
        return {"file": Path(os.path.relpath(data, folder)).as_posix()}
    in_file = data.scheme in IN_FILES
    url = f"{data.scheme}:{Path(os.path.relpath(data.place, folder)).as_posix()}" if in_file else data.url
    return {"url": str(url), "query": data.query.strip()}
