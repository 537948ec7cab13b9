"""OMOP Common Data Model 5.4: its tables as CSV or Parquet files.

Codes come in two columns. ``code`` is that of the standard concept (SNOMED), ``source_code`` that of the recorded
concept (often ICD); where one is not known, the other replaces it. Claims are visits, with the codes as recorded,
as the groups of claims are of ICD.

References
----------
OHDSI, OMOP Common Data Model v5.4, https://ohdsi.github.io/CommonDataModel/cdm54.html.
"""

from collections.abc import Sequence

import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import ROOT
from cloister.hierarchy.file_hierarchy import FileHierarchy, rows_of_tree

from .columns import BIRTH, CODE, DATE, END, FILE, ID, ROW, SEX, Columns, as_records, first_and_rest
from .records import Files, People, Profile, SourceRecords

SOURCE_CODE = "source_code"
NO_CONCEPT = "0"
SEXES = {"8507": "M", "8532": "F"}
# Visits as places of service are called on claims; others keep the name of their concept
PLACES = {
    "9201": "Inpatient Hospital",
    "262": "Inpatient Hospital",
    "9202": "Outpatient Hospital",
    "9203": "Emergency Room",
    "581477": "Office",
    "581476": "Home",
    "32036": "Independent Lab",
    "8782": "Urgent Care",
    "42898160": "Nursing Facility",
}


def people(files: Files) -> People:
    """Return the rows of PERSON, with the place in LOCATION where there is one."""
    concepts = ("gender", "race", "ethnicity")
    frame = files.table(
        "person",
        ("person_id", "year_of_birth"),
        (
            *("month_of_birth", "day_of_birth", "birth_datetime", "location_id"),
            *(f"{name}_{what}" for name in concepts for what in ("concept_id", "source_value")),
        ),
    )
    by_concept = pl.col("gender_concept_id").replace_strict(SEXES, default=None, return_dtype=pl.String)
    frame = _numbers(frame).with_columns(
        _birth().alias(BIRTH), pl.coalesce(by_concept, pl.col("gender_source_value")).alias(SEX)
    )
    names = _concepts(files, "concept_name")
    for name in ("race", "ethnicity"):
        frame = _with(frame, names, f"{name}_concept_id", name).with_columns(pl.coalesce(name, f"{name}_source_value"))
    places = _numbers(files.table("location", ("location_id",), ("state", "county", "zip"), may_lack=True))
    places = places.drop(FILE, ROW).unique("location_id", keep="first", maintain_order=True)
    frame = frame.join(places, on="location_id", how="left", maintain_order="left")
    own = [BIRTH, SEX, "race", "ethnicity", "state", "county", "zip", FILE, ROW]
    return People(frame.select(pl.col("person_id").alias(ID), *own))


def conditions(files: Files) -> SourceRecords:
    """Return the rows of CONDITION_OCCURRENCE that have a code."""
    found = _conditions(files)
    return SourceRecords(found.frame.select(ID, CODE, SOURCE_CODE, DATE, FILE, ROW), notes=found.notes)


def claims(files: Files) -> SourceRecords:
    """Return the rows of VISIT_OCCURRENCE with conditions and procedures; other conditions are rows of their own."""
    visits = _visits(files)
    had = _conditions(files)
    done = _procedures(files)
    inside = pl.col("visit").is_in(visits["visit"].implode()).fill_null(value=False)
    frame = visits
    for records, code, names in (
        (had.frame, SOURCE_CODE, ("diagnosis", "diagnoses")),
        (done, CODE, ("procedure", "procedures")),
    ):
        owners = visits.select("visit", pl.col(ID).alias("owner")).filter(pl.col("owner").is_not_null())
        joined = records.filter(inside).join(owners, on="visit", how="inner", maintain_order="left")
        SourceRecords(joined).refuse_of_others(joined["owner"], "a visit")
        within = joined.drop("owner")
        frame = frame.join(first_and_rest(within, "visit", code, *names), on="visit", how="left")
    alone = had.frame.filter(~inside).with_columns(pl.col(SOURCE_CODE).alias("diagnosis"), pl.col(DATE).alias(END))
    frame = pl.concat([frame, alone.select(ID, DATE, END, "diagnosis", FILE, ROW)], how="diagonal")
    codes = ("diagnosis", "diagnoses", "procedure", "procedures")
    columns = (ID, DATE, END, *codes, "place_of_service", "specialty", "provider", FILE, ROW)
    return SourceRecords(frame.select(columns), notes=had.notes)


def _birth() -> pl.Expr:
    """As far as it is known: year, year and month, or the day."""
    year = pl.coalesce(pl.col("year_of_birth").str.zfill(4), pl.col("birth_datetime").str.head(4))
    month, day = (pl.col(f"{unit}_of_birth").str.zfill(2) for unit in ("month", "day"))
    return (
        pl.when(month.is_not_null() & day.is_not_null())
        .then(pl.concat_str(year, month, day, separator="-"))
        .when(pl.col("birth_datetime").is_not_null())
        .then(pl.col("birth_datetime").str.head(10))
        .when(month.is_not_null())
        .then(pl.concat_str(year, month, separator="-"))
        .otherwise(year)
    )


def _conditions(files: Files) -> SourceRecords:
    frame = files.table(
        "condition_occurrence",
        ("person_id", "condition_concept_id", "condition_start_date"),
        (*("condition_start_datetime", "condition_source_value", "condition_source_concept_id"), "visit_occurrence_id"),
    )
    frame, codes = _numbers(frame), _concepts(files, "concept_code", needed=True)
    frame = _with(_with(frame, codes, "condition_concept_id", "standard"), codes, "condition_source_concept_id", "own")
    value = _as_code("condition_source_value")
    found: Columns = {
        ID: "person_id",
        CODE: pl.coalesce("standard", "own", value),
        SOURCE_CODE: pl.coalesce("own", value, "standard"),
        DATE: pl.coalesce("condition_start_date", "condition_start_datetime"),
        "visit": "visit_occurrence_id",
    }
    frame = as_records(frame, found)
    return SourceRecords(frame).without(frame[CODE].is_null(), "neither a concept nor a code")


def _procedures(files: Files) -> pl.DataFrame:
    """Procedures with their code, as recorded before others, and their visit."""
    frame = files.table(
        "procedure_occurrence",
        ("person_id", "procedure_concept_id"),
        ("procedure_source_value", "procedure_source_concept_id", "visit_occurrence_id"),
        may_lack=True,
    )
    frame, codes = _numbers(frame), _concepts(files, "concept_code", needed=True)
    frame = _with(_with(frame, codes, "procedure_concept_id", "standard"), codes, "procedure_source_concept_id", "own")
    code = pl.coalesce("own", _as_code("procedure_source_value"), "standard")
    found = as_records(frame, {ID: "person_id", "visit": "visit_occurrence_id", CODE: code})
    return found.filter(pl.col(CODE).is_not_null())


def _visits(files: Files) -> pl.DataFrame:
    """Visits with when, where and by whom."""
    frame = files.table(
        "visit_occurrence",
        ("visit_occurrence_id", "person_id", "visit_start_date"),
        ("visit_end_date", "visit_start_datetime", "visit_end_datetime", "visit_concept_id", "provider_id"),
    )
    names = _concepts(files, "concept_name")
    frame = _with(_numbers(frame), names, "visit_concept_id", "named")
    place = pl.col("visit_concept_id").replace_strict(PLACES, default=None, return_dtype=pl.String)
    found: Columns = {
        ID: "person_id",
        "visit": "visit_occurrence_id",
        DATE: pl.coalesce("visit_start_date", "visit_start_datetime"),
        END: pl.coalesce("visit_end_date", "visit_end_datetime"),
        "place_of_service": pl.coalesce(place, "named"),
        "provider": "provider_id",
    }
    frame = as_records(frame, found)
    SourceRecords(frame).refuse_repeated(frame["visit"], "a visit")
    specialties = ("specialty_concept_id", "specialty_source_value")
    known = _numbers(files.table("provider", ("provider_id",), specialties, may_lack=True))
    known = _with(known, names, "specialty_concept_id", "named")
    known = known.unique("provider_id", keep="first", maintain_order=True).select(
        pl.col("provider_id").alias("provider"), pl.coalesce("specialty_source_value", "named").alias("specialty")
    )
    return frame.join(known, on="provider", how="left", maintain_order="left")


def _concepts(files: Files, wanted: str, *, needed: bool = False) -> pl.DataFrame:
    """Read CONCEPT: each id with one of its columns, without the concept that means "none"."""
    found = files.table("concept", ("concept_id", wanted), may_lack=not needed)
    own = _numbers(found).filter(pl.col("concept_id").is_not_null() & (pl.col("concept_id") != NO_CONCEPT))
    return own.select("concept_id", wanted).unique("concept_id", keep="first", maintain_order=True)


def _with(frame: pl.DataFrame, concepts: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    """``frame`` joined with the values of the concepts in ``column``, as the column ``name``."""
    names = concepts.rename({concepts.columns[0]: column, concepts.columns[1]: name})
    return frame.join(names, on=column, how="left", maintain_order="left")


def _as_code(column: str) -> pl.Expr:
    """What was recorded, if it may be a code: without spaces, which texts have."""
    return pl.when(~pl.col(column).str.contains(r"\s")).then(pl.col(column))


def _numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Whole numbers without the ``.0`` that programs leave behind a number where another is missing."""
    named = [name for name in frame.columns if name.endswith(("_id", "_of_birth", "_of_separation"))]
    return frame.with_columns(pl.col(name).str.replace(r"\.0$", "") for name in named)


def code_hierarchy(files: Files, codes: Sequence[str]) -> FileHierarchy:
    """Return the hierarchy of codes by CONCEPT_ANCESTOR, within the vocabulary that has most of them.

    That table is a graph, a hierarchy a tree: of several direct ancestors, the one with the smallest concept id is
    used. Levels count from the root, so that labels of a level are equally deep; a code that is less deep than others
    is its own label until they meet. A concept without ancestors is directly below ``*``.

    Source: OHDSI, OMOP Common Data Model v5.4, CONCEPT and CONCEPT_ANCESTOR, as Athena exports them.
    """
    concepts = _numbers(files.table("concept", ("concept_id", "concept_code", "vocabulary_id"))).drop(FILE, ROW)
    counts = concepts.filter(pl.col("concept_code").is_in(codes)).group_by("vocabulary_id").len("n")
    if counts.is_empty():
        raise InputError(f"None of the {len(codes)} codes is in the table CONCEPT of {files.name}.", file=files.name)
    vocabulary = counts.sort("n", "vocabulary_id", descending=[True, False])["vocabulary_id"][0]
    own = concepts.filter(pl.col("vocabulary_id") == vocabulary).unique("concept_code", keep="first")
    if outside := len({*codes} - {*own["concept_code"]}):
        raise InputError(
            f"{outside} of {len(codes)} codes are not in {vocabulary}, the vocabulary of {files.name} with most of "
            "them. Correct them, or leave them out.",
            file=files.name,
        )
    above = _parents(files, own)
    if not above.keys() & {*codes}:
        raise InputError(
            f"CONCEPT_ANCESTOR of {files.name} has no ancestor of these codes in {vocabulary}. It lists standard "
            "concepts, such as SNOMED CT: take the column code of an OMOP source, or icd9 or icd10 for diagnoses.",
            file=files.name,
        )
    above |= dict.fromkeys({*codes, *above.values()} - above.keys(), ROOT)
    rows = rows_of_tree(above, codes, f"CONCEPT_ANCESTOR of {files.name}")
    return FileHierarchy(files.name, (*rows, (*[""] * (len(rows[0]) - 1), ROOT)))


def _parents(files: Files, own: pl.DataFrame) -> dict[str, str]:
    """Return the code directly above each code of a vocabulary that has one."""
    ancestor, descendant, distance = "ancestor_concept_id", "descendant_concept_id", "min_levels_of_separation"
    links = _numbers(files.table("concept_ancestor", (ancestor, descendant, distance)))
    names = own.select("concept_id", "concept_code")
    near = links.filter(pl.col(distance) == "1").join(names, left_on=descendant, right_on="concept_id")
    near = near.join(names, left_on=ancestor, right_on="concept_id", suffix="_above")
    near = near.sort(pl.col(ancestor).cast(pl.Int64, strict=False)).unique("concept_code", keep="first")
    return dict(near.select("concept_code", "concept_code_above").iter_rows())


PROFILE = Profile(people, conditions, claims)
