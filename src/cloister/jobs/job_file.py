"""A TOML file -> a job, or an error that says which key may be what."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cloister.errors import InputError, did_you_mean
from cloister.io.query import check_address, is_file_of_sql
from cloister.io.text import load_text
from cloister.typed_toml import read_toml, typed

from .job import OF_FILE, OF_QUERY, OF_URL, FileSource, Job, Written
from .job_checks import check_part, refuse_engines, refuse_link, refuse_sources, refuse_whole_histories
from .sections import CLAIMS, SHAPES, Part, part_of

OF_FILES = ("encoding", "delimiter")
ALLOWED = {"file": OF_FILE, "url": OF_URL, "query": OF_QUERY}
PART_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LONGEST_NAME = 100


def read_job(path: Path) -> Job:
    """Return the job in the file ``path``."""
    return parse_job(load_text(path).data.decode(), path.name)


def parse_job(text: str, file: str) -> Job:
    """Return the job that a text states."""
    return job_of(read_toml(text, file, "cloister init"), file)


def job_of(content: Mapping[str, Any], file: str) -> Job:
    """Return the job that the content of a file, or the same as a dictionary, states."""
    written = typed(content, Written, file)
    _check_head(written, file)
    sources = {name: _source(section, name, file) for name, section in written.sources.items()}
    parts: dict[str, Part] = {}
    for number, section in enumerate(written.protect, start=1):
        part = _part(section, number, written, file)
        where = f"protect[{number}]"
        name = part.usual_name
        _check_name(name, where, parts, file)
        for problem in check_part(part, where, sources):
            raise InputError(f"{file}: {problem}", file=file)
        parts[name] = part
    refuse_link(written.link, list(parts), file)
    refuse_sources(parts, sources, file)
    refuse_whole_histories(parts, file)
    refuse_engines(parts, written.engine, file)
    return Job(
        written.name,
        written.output,
        file,
        sources,
        parts,
        written.seed,
        written.threads,
        written.engine,
        written.attack,
    )


def _check_head(written: Written, file: str) -> None:
    shown = written.name.isprintable() and 0 < len(written.name) <= LONGEST_NAME
    right = {
        f"name must be a name, at most {LONGEST_NAME} characters": shown and bool(written.name.strip()),
        "output must be the name of a folder, from the folder of the job": bool(written.output),
        "seed must be a whole number from 0 to below 2^32": 0 <= written.seed < 2**32,
        "threads must be a whole number from 1": written.threads is None or written.threads >= 1,
        "protect must be sections written [[protect]], one at least": bool(written.protect),
    }
    for sentence, holds in right.items():
        if not holds:
            raise InputError(f"{file}: {sentence}.", file=file)


def _source(section: Mapping[str, Any], name: str, file: str) -> FileSource:
    source = typed(section, FileSource, file, ("sources", name))
    given = [word for word in ("file", "url", "query") if word in section]
    if given == ["url", "query"]:
        _check_query(source, section, name, file)
    elif given != ["file"] or not source.file:
        lacks = "file" if not given or given == ["file"] else "query" if given == ["url"] else "url"
        if "file" in given and len(given) > 1:
            raise InputError(
                f"{file}: sources.{name} has {' and '.join(given)}. Give file, or url and query of a database.",
                file=file,
            )
        raise InputError(
            f"{file} lacks the key sources.{name}.{lacks}: {ALLOWED[lacks]}. A source has file, or url and query.",
            file=file,
        )
    return source


def _check_query(source: FileSource, section: Mapping[str, Any], name: str, file: str) -> None:
    """Refuse a database's source that cannot be read, as far as that is known before it is."""
    of_files = [word for word in OF_FILES if word in section]
    if of_files:
        raise InputError(
            f"{file}: sources.{name}.{of_files[0]} is for files alone, but the source is in a database. Leave it out.",
            file=file,
        )
    problem = ""
    try:
        check_address(source.url or "", name)
        if not is_file_of_sql(source.query or ""):  # such a file is looked for in the folder of the job, later
            source.data(name)
    except InputError as error:
        problem = error.text
    if problem:
        raise InputError(f"{file}: {problem}", file=file)


def _part(section: Mapping[str, Any], number: int, written: Written, file: str) -> Part:
    where, shape = f"protect[{number}]", section.get("shape")
    if shape not in SHAPES:
        near = did_you_mean(shape, SHAPES) if isinstance(shape, str) else ""
        raise InputError(f"{file}: {where}.shape must be one of {', '.join(SHAPES)}.{near}", file=file)
    part = part_of(shape, section, file, (where,))
    if shape == CLAIMS or "k" in part.told:
        return part
    if written.k is None:
        raise InputError(
            f"{file} lacks the key {where}.k: a whole number from 2. Give it there, or once for all parts at the top.",
            file=file,
        )
    return Part(shape, {**part.told, "k": written.k})


def _check_name(name: str, where: str, taken: Mapping[str, Part], file: str) -> None:
    """A part's folder has its name, and must not be another's on any file system."""
    if PART_NAME.fullmatch(name) is None or name.endswith("."):
        raise InputError(
            f"{file}: {where} would have a folder called as its source, whose name does not fit. Give it a name: "
            "letters, digits and . _ -, at most 64, the first no sign.",
            file=file,
        )
    if name.lower() in {"release.json", "report.json", "report.html"}:
        raise InputError(f"{file}: {where}.name is that of a file of the release. Give another one.", file=file)
    if name.lower() in {other.lower() for other in taken}:
        raise InputError(
            f"{file}: {where} has the name of another part, {name}. Give each a name of its own, as name = "
            f'"{name}-{len(taken) + 1}".',
            file=file,
        )
