"""What must hold of a part and of all parts together, before any data are read."""

from collections.abc import Iterator, Mapping, Sequence

from cloister.engines.choice import is_database, name_of_table
from cloister.errors import InputError, did_you_mean
from cloister.sources import profiled

from .job import ClaimsPart, CodesPart, FileSource, Part, TablePart, TrajectoriesPart

APART = (
    "separate guarantees do not compose: a class of k in one part and a cluster of k in another can meet in one "
    "patient. What belongs together must be protected together: claims with their patients, or a table with its "
    "codes (codes and m of a table)"
)
HMAC = "hmac:"


def refuse_link(link: Sequence[str], parts: Sequence[str], file: str) -> None:
    """Refuse that parts share a key.

    Raises
    ------
    InputError
        Parts are to be linked.
    """
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
    """Refuse ids of sources that claims alone are read from, as their plan names them.

    Raises
    ------
    InputError
        There is such a source.
    """
    of_claims = {source for part in parts.values() if isinstance(part, ClaimsPart) for source in _used(part)}
    for name, source in sources.items():
        if name in of_claims and source.id is not None and not _is_used_by_others(name, parts):
            raise InputError(f"{file}: sources.{name}.id is not for claims: their plan names the ids.", file=file)


def unused(parts: Mapping[str, Part], sources: Mapping[str, FileSource]) -> list[str]:
    """Return the sources that no part uses."""
    used = {source for part in parts.values() for source in _used(part)}
    return [name for name in sources if name not in used]


def _used(part: Part) -> set[str]:
    if isinstance(part, ClaimsPart):
        return {part.patients, part.claims}
    return {part.source, *([part.codes] if isinstance(part, TablePart) and part.codes is not None else [])}


def _is_used_by_others(name: str, parts: Mapping[str, Part]) -> bool:
    return any(name in _used(part) for part in parts.values() if not isinstance(part, ClaimsPart))


def refuse_whole_histories(parts: Mapping[str, Part], file: str) -> None:
    """Refuse several parts that release all codes of a patient together.

    Raises
    ------
    InputError
        There are two.
    """
    whole = [name for name, part in parts.items() if _has_whole_histories(part)]
    if len(whole) > 1:
        raise InputError(
            f"{file}: {' and '.join(whole)} each release all codes of a patient together, so that a row of one fits "
            "the same patient's row in the other and few more. Release one of them, or, where the patients are "
            "others, write two jobs.",
            file=file,
        )


def _has_whole_histories(part: Part) -> bool:
    return isinstance(part, ClaimsPart) or (isinstance(part, CodesPart) and part.method not in (None, "disassociation"))


def check_part(part: Part, where: str, sources: Mapping[str, FileSource]) -> Iterator[str]:
    """Return what is wrong with a part, in sentences.

    Parameters
    ----------
    where : the keys that lead to it
    """
    named = (
        {"patients": part.patients, "claims": part.claims} if isinstance(part, ClaimsPart) else {"source": part.source}
    )
    for key, source in named.items():
        if source not in sources:
            yield (
                f"{where}.{key} must be the name of a section [sources.NAME].{did_you_mean(source, sources)} "
                f"Sources: {', '.join(sources) or 'none'}."
            )
    if isinstance(part, ClaimsPart):
        yield from _of_claims(part, where, sources)
        return
    if isinstance(part, TablePart):
        yield from _of_table(part, where)
        if part.crosswalk is not None and part.source in sources and sources[part.source].id is None:
            yield f"{where}.crosswalk maps ids, but sources.{part.source} names no id column. Give it an id."
    for key, (allowed, holds) in _in_range(part).items():
        if not holds:
            yield f"{where}.{key} must be {allowed}."


def refuse_engines(parts: Mapping[str, Part], engine: str, file: str) -> None:
    """Refuse tables that would be made in several databases: they could not all stay, or none.

    Parameters
    ----------
    engine : of parts that name none

    Raises
    ------
    InputError
        There are several addresses.
    """
    made: dict[str, str] = {}
    for name, part in parts.items():
        if isinstance(part, TablePart) and database_of(part, engine) is not None:
            table = part.table or name_of_table(name)
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
    if not isinstance(part, TablePart):
        return None
    word = part.engine or engine
    return word if is_database(word) else None


def _of_claims(part: ClaimsPart, where: str, sources: Mapping[str, FileSource]) -> Iterator[str]:
    if part.patients == part.claims and not _has_both(sources.get(part.patients)):
        yield f"{where}.claims must be another source than {where}.patients."
    if isinstance(part.plan, Mapping):
        ids = part.plan.get("ids")
        if isinstance(ids, Mapping) and str(ids.get("patients")).startswith(HMAC):
            yield hmac_sentence(f"{where}.plan.ids.patients")


def _has_both(source: FileSource | None) -> bool:
    """Whether a source is a collection of files, of which patients and claims are two tables."""
    return source is not None and profiled(source.file) is not None


def _of_table(part: TablePart, where: str) -> Iterator[str]:
    ids = part.ids or "number"
    if ids.startswith(HMAC):
        yield hmac_sentence(f"{where}.ids")
    elif ids not in ("number", "drop"):
        yield f"{where}.ids must be number or drop."
    if part.levels and part.like is not None:
        yield f"{where}.levels and {where}.like both fix the policy. Give one of them."


def hmac_sentence(key: str) -> str:
    """Say why a key for ids is refused."""
    return f"{key} must be number or drop in a job: ids by a key link whatever has the same key, and {APART}."


def _in_range(part: TablePart | CodesPart | TrajectoriesPart) -> dict[str, tuple[str, bool]]:
    """Keys with what they may be, and whether they are; of what has a range that does not follow from the data."""
    found = {"k": ("a whole number from 2", part.k is None or part.k >= 2)}
    if isinstance(part, TrajectoriesPart):
        count = part.weights is None or len(part.weights) == 2
        found["weights"] = ("a list of two numbers, of codes and of ages; together 1", count)
        block = not isinstance(part.block, int) or part.block >= 1
        return found | {"block": ("auto, off or a number of patients", block)}
    found["m"] = ("a whole number from 1", part.m is None or part.m >= 1)
    size = part.max_cluster_size is None or part.max_cluster_size >= 1
    found["max_cluster_size"] = ("a whole number from 1", size)
    if isinstance(part, TablePart):
        share = part.suppression is None or 0 <= part.suppression <= 1
        found["suppression"] = ("a number from 0 to 1", share)
        found["time_limit"] = ("a number of seconds above 0", part.time_limit is None or part.time_limit > 0)
        found["levels"] = ("a level from 0 for each column", all(level >= 0 for level in part.levels.values()))
    return found
