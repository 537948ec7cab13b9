"""A TOML file -> a job, or an error that says which key may be what."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cloister.codesets.options import DISASSOCIATION
from cloister.engines.choice import is_database, name_of_table
from cloister.errors import InputError, did_you_mean
from cloister.io.csv import load_text
from cloister.io.query import check_address, is_file_of_sql
from cloister.settings import settings_of
from cloister.sources import profiled
from cloister.typed_toml import read_toml, typed

from .job import CLAIMS, OF_FILE, OF_QUERY, OF_URL, SHAPES, FileSource, Job, Part, Written, part_of

OF_FILES = ("encoding", "delimiter", "bad_lines")
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
    if shape == CLAIMS or "k" in part.keywords:
        return part
    if written.k is None:
        raise InputError(
            f"{file} lacks the key {where}.k: a whole number from 2. Give it there, or once for all parts at the top.",
            file=file,
        )
    return Part(shape, {**part.keywords, "k": written.k})


def _check_name(name: str, where: str, taken: Mapping[str, Part], file: str) -> None:
    """A part's folder has its name, and must not be another's on any file system."""
    if PART_NAME.fullmatch(name) is None or name.endswith("."):
        raise InputError(
            f"{file}: {where} would have a folder called as its source, whose name does not fit. Give it a name: "
            "letters, digits and . _ -, at most 64, the first no sign.",
            file=file,
        )
    if name.lower() in {"release.json", "report.json", "report.html", "readme.txt"}:
        raise InputError(f"{file}: {where}.name is that of a file of the release. Give another one.", file=file)
    if name.lower() in {other.lower() for other in taken}:
        raise InputError(
            f"{file}: {where} has the name of another part, {name}. Give each a name of its own, as name = "
            f'"{name}-{len(taken) + 1}".',
            file=file,
        )


APART = (
    "separate guarantees do not compose: a class of k in one part and a cluster of k in another can meet in one "
    "patient. What belongs together must be protected together: claims with their patients, or a table with its "
    "codes (codes and m of a table)"
)
HMAC = "hmac:"


def refuse_link(link: Sequence[str], parts: Sequence[str], file: str) -> None:
    """Refuse that parts share a key."""
    if not link:
        return
    unknown = [name for name in link if name not in parts]
    if unknown:
        hint = did_you_mean(unknown[0], parts)
        raise InputError(
            f"{file}: link names {unknown[0]}, which is no part.{hint} Parts: {', '.join(parts)}.", file=file
        )
    raise InputError(f"{file}: link cannot be met, since no method of this version protects it: {APART}.", file=file)


def refuse_sources(parts: Mapping[str, Part], sources: Mapping[str, FileSource], file: str) -> None:
    """Refuse ids of sources that claims alone are read from, as their plan names them."""
    of_claims = {source for part in parts.values() if part.shape == CLAIMS for source in _used(part)}
    of_others = {source for part in parts.values() if part.shape != CLAIMS for source in _used(part)}
    for name, source in sources.items():
        if name in of_claims - of_others and source.id is not None:
            raise InputError(f"{file}: sources.{name}.id is not for claims: their plan names the ids.", file=file)


def unused(parts: Mapping[str, Part], sources: Mapping[str, FileSource]) -> list[str]:
    """Return the sources that no part uses."""
    used = {source for part in parts.values() for source in _used(part)}
    return [name for name in sources if name not in used]


def _used(part: Part) -> set[str]:
    codes = {part.keywords["codes"]} if part.shape == "table" and "codes" in part.keywords else set()
    return {*part.sources.values(), *codes}


def refuse_whole_histories(parts: Mapping[str, Part], file: str) -> None:
    """Refuse several parts that release all codes of a patient together."""
    whole = [
        name
        for name, part in parts.items()
        if part.shape == CLAIMS
        or (part.shape == "codes" and part.keywords.get("method", DISASSOCIATION) != DISASSOCIATION)
    ]
    if len(whole) > 1:
        raise InputError(
            f"{file}: {' and '.join(whole)} each release all codes of a patient together, so that a row of one fits "
            "the same patient's row in the other and few more. Release one of them, or, where the patients are "
            "others, write two jobs.",
            file=file,
        )


def check_part(part: Part, where: str, sources: Mapping[str, FileSource]) -> Iterator[str]:
    """Return what is wrong with a part, in sentences."""
    for key, source in part.sources.items():
        if source not in sources:
            yield (
                f"{where}.{key} must be the name of a section [sources.NAME].{did_you_mean(source, sources)} "
                f"Sources: {', '.join(sources) or 'none'}."
            )
    if part.shape == CLAIMS:
        yield from _of_claims(part, where, sources)
    if part.shape == "table":
        yield from _of_table(part, where, sources)
    for one in settings_of(SHAPES[part.shape].options):
        if one.key is not None and one.word in part.keywords and not one.key.holds(part.keywords[one.word]):
            yield f"{where}.{one.word} must be {one.key.allowed}."


def refuse_engines(parts: Mapping[str, Part], engine: str, file: str) -> None:
    """Refuse tables that would be made in several databases: they could not all stay, or none."""
    made: dict[str, str] = {}
    for name, part in parts.items():
        if database_of(part, engine) is not None:
            table = part.keywords.get("table") or name_of_table(name)
            if table in made:
                raise InputError(
                    f"{file}: the parts {made[table]} and {name} would both make the table {table}. Give one of them "
                    "another name with table.",
                    file=file,
                )
            made[table] = name
    named = {address for part in parts.values() if (address := database_of(part, engine)) is not None}
    if len(named) > 1:
        raise InputError(
            f"{file}: tables of one job can be protected inside one database, but {len(named)} are named as engines. "
            "Make a job for each.",
            file=file,
        )


def database_of(part: Part, engine: str) -> str | None:
    """Return the address of the database that a part is protected in; None where it is not."""
    word = part.keywords.get("engine") or engine
    return word if part.shape == "table" and is_database(word) else None


def _of_claims(part: Part, where: str, sources: Mapping[str, FileSource]) -> Iterator[str]:
    patients, claims, plan = part.keywords["patients"], part.keywords["claims"], part.keywords["plan"]
    source = sources.get(patients)
    has_both = source is not None and profiled(source.file) is not None  # two tables of one collection of files
    if patients == claims and not has_both:
        yield f"{where}.claims must be another source than {where}.patients."
    if isinstance(plan, Mapping):
        ids = plan.get("ids")
        if isinstance(ids, Mapping) and str(ids.get("patients")).startswith(HMAC):
            yield hmac_sentence(f"{where}.plan.ids.patients")


def _of_table(part: Part, where: str, sources: Mapping[str, FileSource]) -> Iterator[str]:
    ids, source = part.keywords.get("ids", "number"), part.keywords["source"]
    if ids.startswith(HMAC):
        yield hmac_sentence(f"{where}.ids")
    elif ids not in ("number", "drop"):
        yield f"{where}.ids must be number or drop."
    if "levels" in part.keywords and "levels_from" in part.keywords:
        yield f"{where}.levels and {where}.levels_from both fix the transformation. Give one of them."
    if "crosswalk" in part.keywords and source in sources and sources[source].id is None:
        yield f"{where}.crosswalk maps ids, but sources.{source} names no id column. Give it an id."


def hmac_sentence(key: str) -> str:
    """Say why a key for ids is refused."""
    return f"{key} must be number or drop in a job: ids by a key link whatever has the same key, and {APART}."
