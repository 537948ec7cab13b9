"""Parse a TOML file into a job, or report which key is wrong and which values it accepts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path

from cloister.engines.choice import is_database, name_of_table
from cloister.errors import InputError, Message, NamedSetting, WrongValue, did_you_mean, setting
from cloister.io.csv import load_text
from cloister.io.query import check_address, is_file_of_sql
from cloister.settings.analyses import Analysis
from cloister.settings.constraints import alternatives
from cloister.settings.declaration import Keywords, settings_of
from cloister.settings.run_options import K
from cloister.settings.toml import parse_section, read_toml
from cloister.shapes.registry import SHAPES
from cloister.sources import parse_profile

from .job import CLAIMS, OF_FILE, OF_QUERY, OF_URL, TABLE, AnalysisSection, FileSource, Job, Part, Written, part_of

OF_FILES = ("encoding", "delimiter", "bad_lines", "row_index")
ALLOWED = {"file": OF_FILE, "url": OF_URL, "query": OF_QUERY}
PART_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
LONGEST_NAME = 100
APART = (
    "separate guarantees do not compose: a class of k in one part and a cluster of k in another can meet in one "
    "patient. What belongs together must be protected together: claims with their patients, or a table with its "
    "codes (codes and m of a table)"
)
HMAC = "hmac:"


def read_job(path: Path) -> Job:
    """Read the job in the file ``path``."""
    return parse_job(load_text(path).data.decode(), path.name)


def parse_job(text: str, file: str) -> Job:
    """Parse the text of a job."""
    return job_of(read_toml(text, file, "cloister init"), file)


def job_of(content: Keywords, file: str) -> Job:
    """Parse the content of a job: that of a file, or an equivalent dictionary."""
    written = parse_section(content, Written, file)
    _refuse(file, _of_head(written))
    sources = {name: _source(section, name, file) for name, section in written.sources.items()}
    parts: dict[str, Part] = {}
    for number, section in enumerate(written.protect, start=1):
        where = f"protect[{number}]"
        part = _part(section, where, written, file)
        _refuse(file, chain(_of_name(part.usual_name, where, parts), check_part(part, where, sources)))
        parts[part.usual_name] = part
    _refuse(file, _of_parts(written, parts, sources))
    head = (written.seed, written.threads, written.engine, written.attack)
    return Job(written.name, written.output, file, sources, parts, *head, _analyses(written, parts, file))


def _analyses(written: Written, parts: Mapping[str, Part], file: str) -> dict[str, tuple[Analysis, ...]]:
    """Return the analyses of each part; without a name of one, they are of the only table."""
    tables = [name for name, part in parts.items() if part.shape == TABLE]
    found: dict[str, tuple[Analysis, ...]] = {}
    for number, section in enumerate(written.analysis, start=1):
        where = f"analysis[{number}]"
        one = parse_section(section, AnalysisSection, file, (where,))
        if one.part not in tables and (one.part is not None or len(tables) != 1):
            raise InputError(
                setting("part", section=where),
                f" must name a part that is a table: {alternatives(tables) if tables else 'the job has none'}.",
                file=file,
                place=file,
            )
        name = tables[0] if one.part is None else one.part
        try:
            wanted = Analysis(model=one.model, formula=one.formula, name=one.name)
        except InputError as error:
            error.file, error.place = file, f"{file}, {where}"
            raise
        found[name] = (*found.get(name, ()), wanted)
    return found


def _refuse(file: str, problems: Iterable[str]) -> None:
    """Raise the first of the problems, if there are any."""
    for sentence in problems:
        raise InputError(sentence, file=file, place=file)


def _of_head(written: Written) -> Iterator[str]:
    shown = written.name.isprintable() and 0 < len(written.name) <= LONGEST_NAME
    if not (shown and written.name.strip()):
        yield Message(setting("name", section=""), f" must be a name, at most {LONGEST_NAME} characters.")
    if not written.output:
        yield Message(setting("output", section=""), " must be the name of a folder, from the folder of the job.")
    if not written.protect:
        yield Message(setting("protect", section=""), " must be sections written [[protect]], one at least.")


def _source(section: Keywords, name: str, file: str) -> FileSource:
    source = parse_section(section, FileSource, file, (f"sources.{name}",))
    given = [word for word in ("file", "url", "query") if word in section]
    if given == ["url", "query"]:
        _refuse(file, _of_query(source, section, name))
    elif given != ["file"] or not source.file:
        if "file" in given and len(given) > 1:
            _refuse(file, [f"sources.{name} has {' and '.join(given)}. Give file, or url and query of a database."])
        lacks = "file" if not given or given == ["file"] else "query" if given == ["url"] else "url"
        raise InputError(
            f"{file} lacks the key ",
            setting(lacks, section=f"sources.{name}"),
            f": {ALLOWED[lacks]}. A source has file, or url and query.",
            file=file,
        )
    return source


def _of_query(source: FileSource, section: Keywords, name: str) -> Iterator[str]:
    """Return why a query source is invalid, as far as this is known before reading it."""
    for word in (word for word in OF_FILES if word in section):
        yield Message(
            setting(word, section=f"sources.{name}"),
            " is for files alone, but the source is in a database. Leave it out.",
        )
    problem: str = ""
    try:
        check_address(source.url or "", name)
        if not is_file_of_sql(source.query or ""):  # such a file is looked for in the folder of the job, later
            source.data(name)
    except InputError as error:
        problem = error.message
    if problem:
        yield problem


def _part(section: Keywords, where: str, written: Written, file: str) -> Part:
    shape = section.get("shape")
    if shape not in SHAPES:
        near = did_you_mean(shape, SHAPES) if isinstance(shape, str) else ""
        raise WrongValue(setting("shape", section=where), alternatives([*SHAPES]), hint=near, file=file, place=file)
    part = part_of(shape, section, file, (where,))
    if "k" in part.keywords or all(one.name != "k" for one in settings_of(SHAPES[shape].options)):
        return part
    if written.k is None:
        raise InputError(
            f"{file} lacks the key ",
            setting("k", section=where),
            f": {K}. Give it there, or once for all parts at the top.",
            file=file,
        )
    return Part(shape, {**part.keywords, "k": written.k})


def _of_name(name: str, where: str, named: Mapping[str, Part]) -> Iterator[str]:
    """Return why a part's name is invalid as a folder: it must be unique on every file system."""
    called = setting("name", section=where)
    if PART_NAME.fullmatch(name) is None or name.endswith("."):
        yield (
            f"{where} would have a folder called as its source, whose name does not fit. Give it a name: letters, "
            "digits and . _ -, at most 64, the first no sign."
        )
    if RESERVED.fullmatch(name) is not None:
        yield Message(called, " is one that Windows keeps for a device, where no folder can have it. Give another one.")
    if name.lower() in {"release.json", "report.json", "report.html", "readme.txt"}:
        yield Message(called, " is that of a file of the release. Give another one.")
    if name.lower() in {other.lower() for other in named}:
        yield Message(
            called, f" is that of another part, {name}. Give each its own, as ", f'name = "{name}-{len(named) + 1}".'
        )


def _of_parts(written: Written, parts: Mapping[str, Part], sources: Mapping[str, FileSource]) -> Iterator[str]:
    """Return conflicts between parts: shared keys, sources, repeated complete histories, several databases."""
    if unknown := [name for name in written.link if name not in parts]:
        hint = did_you_mean(unknown[0], parts)
        yield f"link names {unknown[0]}, which is no part.{hint} Parts: {', '.join(parts)}."
    if written.link:
        yield f"link cannot be met, since no method of this version protects it: {APART}."
    of_claims = {source for part in parts.values() if part.shape == CLAIMS for source in sources_used(part)}
    of_others = {source for part in parts.values() if part.shape != CLAIMS for source in sources_used(part)}
    for name, source in sources.items():
        if name in of_claims - of_others and source.id is not None:
            yield Message(setting("id", section=f"sources.{name}"), " is not for claims: their plan names the ids.")
    whole = [name for name, part in parts.items() if SHAPES[part.shape].options.is_whole(part.keywords)]
    if len(whole) > 1:
        yield (
            f"{' and '.join(whole)} each release all codes of a patient together, so that a row of one fits the same "
            "patient's row in the other and few more. Release one of them, or, where the patients are others, write "
            "two jobs."
        )
    made: dict[str, str] = {}
    inside = {name: address for name, part in parts.items() if (address := database_of(part, written.engine))}
    for name in inside:
        table = parts[name].keywords.get("table") or name_of_table(name)
        if table in made:
            yield (
                f"the parts {made[table]} and {name} would both make the table {table}. Give one of them another name "
                "with table."
            )
        made[table] = name
    if (count := len({*inside.values()})) > 1:
        yield (
            f"tables of one job can be protected inside one database, but {count} are named as engines. Make a job for "
            "each."
        )


def list_unused_sources(job: Job) -> list[str]:
    """Return notes on sources that no part uses."""
    used = {source for part in job.parts.values() for source in sources_used(part)}
    return [f"sources.{name} is used by no part" for name in job.sources if name not in used]


def sources_used(part: Part) -> set[str]:
    """Return the names of the sources of a part, including the source of its codes."""
    codes = {part.keywords["codes"]} if part.shape == "table" and "codes" in part.keywords else set()
    return {*part.sources.values(), *codes}


def check_part(part: Part, where: str, sources: Mapping[str, FileSource]) -> Iterator[str]:
    """Return the problems of a part, in sentences."""
    for key, source in part.sources.items():
        if source not in sources:
            yield Message(
                setting(key, section=where),
                f" must be the name of a section [sources.NAME].{did_you_mean(source, sources)} "
                f"Sources: {', '.join(sources) or 'none'}.",
            )
    if part.shape == CLAIMS:
        yield from _of_claims(part, where, sources)
    if part.shape == "table":
        yield from _of_table(part, where, sources)


def database_of(part: Part, engine: str) -> str | None:
    """Return the address of the database in which a part is protected; None without one."""
    word = part.keywords.get("engine") or engine
    return word if part.shape == "table" and is_database(word) else None


def _of_claims(part: Part, where: str, sources: Mapping[str, FileSource]) -> Iterator[str]:
    patients, claims, plan = part.keywords["patients"], part.keywords["claims"], part.keywords["plan"]
    source = sources.get(patients)
    has_both = source is not None and parse_profile(source.file) is not None  # two tables of one collection of files
    if patients == claims and not has_both:
        claims_key, patients_key = setting("claims", section=where), setting("patients", section=where)
        yield Message(claims_key, " must be another source than ", patients_key, ".")
    if isinstance(plan, Mapping):
        ids = plan.get("ids")
        if isinstance(ids, Mapping) and str(ids.get("patients")).startswith(HMAC):
            yield hmac_sentence(setting("plan.ids.patients", section=where))


def _of_table(part: Part, where: str, sources: Mapping[str, FileSource]) -> Iterator[str]:
    ids, source, key = part.keywords.get("ids", "number"), part.keywords["source"], partial(setting, section=where)
    if ids.startswith(HMAC):
        yield hmac_sentence(key("ids"))
    elif ids not in ("number", "drop"):
        yield Message(key("ids"), " must be number or drop.")
    if "levels" in part.keywords and "levels_from" in part.keywords:
        yield Message(key("levels"), " and ", key("levels_from"), " both fix the transformation. Give one of them.")
    if "crosswalk" in part.keywords and source in sources and sources[source].id is None:
        yield Message(key("crosswalk"), f" maps ids, but sources.{source} names no id column. Give it an id.")


def hmac_sentence(key: NamedSetting) -> Message:
    """Return the reason why a key for ids is rejected."""
    return Message(key, f" must be number or drop in a job: ids by a key link whatever has the same key, and {APART}.")
