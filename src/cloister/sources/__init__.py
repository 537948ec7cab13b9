"""Data sources: a file, a query, or a collection of files that a profile converts into the inputs of all shapes.

``omop:cdm.zip`` names a collection.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Unpack

import polars as pl

from cloister.errors import InputError, did_you_mean, join_parts, setting
from cloister.hierarchy import FileHierarchy
from cloister.io import CodeColumns, CodeSource, EventColumns, EventSource, Query, Source, code_events, code_lists
from cloister.io import read_table as table_in_file
from cloister.io.batches import read_packed
from cloister.io.codes import completed_years
from cloister.io.columns import display_name
from cloister.settings.reading import HowRead, ReadingWords

from . import fhir, omop, synpuf, synthea
from .columns import AGE, BIRTH, CODE, DATE, END, FILE, ID, ROW, SEX, parse_dates
from .records import Files, People, Profile, SourceRecords, members_at

# What is made of a collection: the input of a shape, or of claims one of the two
Form = Literal["table", "codes", "trajectories", "patients", "claims"]
Place = str | Path | Query
# Words for sexes, which are written alike whatever the collection; others stay
SEXES = {"male": "M", "m": "M", "female": "F", "f": "F", "unknown": None}
BEHIND = {"codes": "codes", "trajectories": "pairs of a code and an age", "claims": "claims"}
PROFILES = {"omop": omop.PROFILE, "fhir": fhir.PROFILE, "synthea": synthea.PROFILE, "synpuf": synpuf.PROFILE}
NAMES = tuple(PROFILES)  # Words before the colon
WRITTEN = re.compile(r"([A-Za-z][A-Za-z0-9_-]+):(.+)", re.DOTALL)


def make_input(profile: Profile, files: Files, form: Form) -> Source:
    """Convert a collection into the input of a shape."""
    people = profile.people(files).checked()
    if form in ("table", "patients"):
        found = _table(people) if form == "table" else _patients(people)
        return Source(found.frame, "csv", ",", None, files.name, found.notes)
    found = profile.claims(files) if form == "claims" else profile.conditions(files)
    found.refuse(found.frame[ID].is_null(), "no patient", "Complete them, or leave them out")
    known = found.frame[ID].is_in(people.frame[ID].implode())
    found.refuse(
        ~known, "a patient who is not among the patients of the collection", "Add the patients, or leave the rest out"
    )
    if form == "trajectories":
        found = _with_ages(found, people)
        frame = found.frame
    elif form == "claims":
        frame = found.frame.with_columns(
            found.dates_of(name)["start"].cast(pl.String).alias(name) for name in (DATE, END)
        )
        frame = frame.select(ID, DATE, END, *_others(frame, (ID, DATE, END)))
    else:
        frame = found.frame.select(ID, CODE, *_others(found.frame, (ID, CODE, DATE)))
    if not frame.height:
        raise InputError(f"{files.name} has no {BEHIND[form]}, so there is nothing to release.", file=files.name)
    return Source(frame, "csv", ",", None, files.name, found.notes)


def _table(people: People) -> SourceRecords:
    """One row a patient: the date of birth where the day is known, and the year."""
    births = people.dates_of(BIRTH)
    day = births["start"].to_frame().select(pl.when(births["whole"]).then(pl.col("start"))).to_series()
    columns = [ID, BIRTH, "birth_year", *_others(people.frame, (ID, BIRTH))]
    frame = people.frame.with_columns(
        _sex(), day.cast(pl.String).alias(BIRTH), births["start"].dt.year().cast(pl.String).alias("birth_year")
    )
    return SourceRecords(frame.select(columns), notes=people.notes)


def _patients(people: People) -> SourceRecords:
    """Return one row per patient; if the day of birth is unknown, use the first of the month or year."""
    births = people.dates_of(BIRTH)
    frame = people.frame.select(ID, births["start"].cast(pl.String).alias(BIRTH), _sex())
    whole = int((births["start"].is_not_null() & ~births["whole"]).sum())
    rounded = (f"{whole:,} dates of birth without a day were taken as the first of the month or year",) if whole else ()
    return SourceRecords(frame, notes=(*people.notes, *rounded))


def _sex() -> pl.Expr:
    return pl.coalesce(
        pl.when(~pl.col(SEX).str.to_lowercase().is_in(list(SEXES))).then(pl.col(SEX)),
        pl.col(SEX).str.to_lowercase().replace_strict(SEXES, default=None, return_dtype=pl.String),
    )


def _with_ages(conditions: SourceRecords, people: People) -> SourceRecords:
    """One row a code and age of a patient: completed years."""
    born = people.dates_of(BIRTH)
    births = people.frame.select(ID, born["start"].alias("born")).filter(pl.col("born").is_not_null())
    conditions.dates_of(DATE)
    if AGE not in conditions.frame.columns:
        conditions = replace(conditions, frame=conditions.frame.with_columns(pl.lit(None, pl.String).alias(AGE)))
    has_age = conditions.frame[AGE].is_not_null()
    conditions = conditions.without(conditions.frame[DATE].is_null() & ~has_age, "no date")
    known = conditions.frame[ID].is_in(births[ID].implode()) | conditions.frame[AGE].is_not_null()
    conditions = conditions.without(~known, "the birth of the patient is not known")
    joined = conditions.frame.join(births, on=ID, how="left", maintain_order="left")
    days = parse_dates(joined[DATE])
    ages = completed_years(joined["born"], days["start"])
    # 0 where an event is known to be of the year or month of birth alone
    is_birth = (ages < 0) & (days["start"].dt.year() == joined["born"].dt.year()) & ~days["whole"]
    ages = ages.set(is_birth, 0).set(joined[AGE].is_not_null(), None).fill_null(joined[AGE].cast(pl.Int64))
    conditions = conditions.without(ages < 0, "dated before the birth of the patient")
    others = _others(conditions.frame, (ID, CODE, DATE))
    pairs = joined.select(ID, CODE, ages.cast(pl.String).alias("age"), *others).filter(ages >= 0)
    return replace(conditions, frame=pairs.unique(maintain_order=True))


def _others(frame: pl.DataFrame, used: Sequence[str]) -> list[str]:
    return [name for name in frame.columns if name not in (*used, AGE, FILE, ROW)]


@dataclass(frozen=True)
class Profiled:
    """A collection of files and the profile that reads it."""

    profile: str
    path: Path

    @property
    def name(self) -> str:
        """The name of the collection, without its folder."""
        return display_name(Path(os.path.abspath(self.path)))

    def at(self, moved: Callable[[Path], Path]) -> str:
        """Return the word for the collection, its path changed by ``moved``."""
        return f"{self.profile}:{moved(self.path).as_posix()}"

    def files(self) -> tuple[Path, ...]:
        """Return the files of the collection by name."""
        if not self.path.is_dir():
            return (self.path,)
        return tuple(sorted(file for file in self.path.iterdir() if file.is_file() and not file.name.startswith(".")))


def parse_profile(place: object) -> Profiled | None:
    """Parse ``PROFILE:PATH``; return None for the name of a file or anything else.

    Examples
    --------
    >>> parse_profile("omop:cdm.zip")
    Profiled(profile='omop', path=PosixPath('cdm.zip'))
    >>> parse_profile("cdm.csv") is None
    True
    """
    found = WRITTEN.fullmatch(str(place)) if isinstance(place, str | Path) else None
    if found is None or _is_there(Path(str(place))):
        return None
    if found[1] in NAMES:
        return Profiled(found[1], Path(found[2]))
    if not _is_there(Path(found[2])):
        return None
    raise InputError(
        f"There is no profile {found[1]!r}.{did_you_mean(found[1], NAMES)} Profiles: {', '.join(NAMES)}; a file that "
        "needs none is named without one.",
        file=display_name(Path(found[2])),
    )


def _is_there(path: Path) -> bool:
    """Whether there is a file or folder of that name; not where the system takes no such name."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def read_table(
    place: Place, form: Form = "table", *, usual_delimiter: str | None = None, **how: Unpack[HowRead]
) -> Source:
    """Return the table in a file, or the table that a profile makes from a collection of files."""
    collection = parse_profile(place)
    if collection is not None:
        reading = ReadingWords(**how)
        if reading.cleaning:
            raise InputError(
                "A profile knows how its files are written. Leave out ",
                join_parts(" and ", map(setting, reading.cleaning)),
                ".",
            )
        files = Files(collection.name, members_at(collection.path, collection.name), reading)
        return make_input(PROFILES[collection.profile], files, form)
    return table_in_file(place, usual_delimiter=usual_delimiter, **how)


def vocabulary_hierarchy(place: str, codes: Sequence[str]) -> FileHierarchy | None:
    """Return the hierarchy of codes by the vocabulary in ``omop:FOLDER``; None if a place is written otherwise."""
    collection = parse_profile(place)
    if collection is None or collection.profile != "omop":
        return None
    return omop.code_hierarchy(Files(collection.name, members_at(collection.path, collection.name)), codes)


def read_claim_tables(patients: Place, claims: Place, **how: Unpack[HowRead]) -> tuple[Source, Source]:
    """Return the tables of patients and claims, from two files or from one collection named twice."""
    return read_table(patients, "patients", **how), read_claims(claims, **how)


def read_claims(place: Place, **how: Unpack[HowRead]) -> Source:
    """Return the table of claims; as packed text where it is in a large file of its own."""
    if isinstance(place, Query) or parse_profile(place) is not None:
        return read_table(place, "claims", **how)
    return read_packed(place, **how)


def form_of(shape: str) -> Form:
    """Return the form in which a profile prepares data for a shape that is read from one table."""
    forms: dict[str, Form] = {"codes": "codes", "trajectories": "trajectories"}
    return forms.get(shape, "table")


def read_code_lists(
    place: Place, *, columns: CodeColumns | None = None, usual_delimiter: str | None = None, **how: Unpack[HowRead]
) -> CodeSource:
    """Return the codes in a file, or those that a profile finds in a collection of files."""
    table = read_table(place, "codes", usual_delimiter=usual_delimiter, **how)
    return code_lists(table, columns or CodeColumns(), how.get("missing", ()))


def read_code_events(
    place: Place,
    *,
    columns: EventColumns | None = None,
    usual_delimiter: str | None = None,
    labels: bool = False,
    **how: Unpack[HowRead],
) -> EventSource:
    """Return the coded events in a file, or those that a profile finds in a collection of files."""
    table = read_table(place, "trajectories", usual_delimiter=usual_delimiter, **how)
    return code_events(table, columns or EventColumns(), labels=labels)
