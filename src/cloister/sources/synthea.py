"""Synthea: the CSV files of the generator of synthetic patients.

References
----------
Walonoski et al. (2018), JAMIA 25(3), 230-238; https://github.com/synthetichealth/synthea/wiki/CSV-File-Data-Dictionary.
"""

import polars as pl

from .columns import (
    BIRTH,
    CODE,
    DATE,
    END,
    FILE,
    ID,
    ROW,
    SEX,
    Columns,
    as_records,
    first_and_rest,
    list_codes,
    split_first_code,
)
from .records import Files, People, Profile, SourceRecords

DIAGNOSES = tuple(f"diagnosis{number}" for number in range(1, 9))
# Classes of encounters as places of service are called on claims; others keep their own name
PLACES = {
    "ambulatory": "Outpatient Hospital",
    "outpatient": "Outpatient Hospital",
    "wellness": "Office",
    "inpatient": "Inpatient Hospital",
    "emergency": "Emergency Room",
    "urgentcare": "Urgent Care",
    "home": "Home",
    "hospice": "Hospice",
    "snf": "Skilled Nursing Facility",
}


def people(files: Files) -> People:
    """Return the rows of patients.csv."""
    others = ("race", "ethnicity", "state", "county", "zip")
    frame = files.table("patients", ("id", "birthdate", "gender"), others)
    return People(frame.rename({"id": ID, "birthdate": BIRTH, "gender": SEX}))


def conditions(files: Files) -> SourceRecords:
    """Return the rows of conditions.csv that have a code."""
    frame = files.table("conditions", ("patient", "code", "start"))
    frame = as_records(frame, {ID: "patient", CODE: "code", DATE: "start"})
    return SourceRecords(frame).without(frame[CODE].is_null(), "no code")


def claims(files: Files) -> SourceRecords:
    """Return the rows of claims.csv, with their encounters and procedures."""
    frame = files.table(
        "claims", ("patientid", "servicedate", DIAGNOSES[0]), (*DIAGNOSES, "appointmentid", "providerid")
    )
    encounters = files.table("encounters", ("id", "patient"), ("stop", "encounterclass"))
    encounters = encounters.filter(pl.col("id").is_not_null())
    SourceRecords(encounters).refuse_repeated(encounters["id"], "an encounter")
    _refuse_of_others(frame.rename({"patientid": ID, "appointmentid": "visit"}), encounters)
    frame = frame.join(
        encounters.drop(FILE, ROW, "patient"), left_on="appointmentid", right_on="id", how="left", maintain_order="left"
    )
    done = files.table("procedures", ("patient", "encounter", "code"), may_lack=True)
    done = done.rename({"patient": ID, "encounter": "visit"})
    done = done.filter(pl.col("code").is_not_null() & pl.col("visit").is_not_null())
    _refuse_of_others(done.with_columns(pl.col(ID).fill_null("")), encounters)
    procedures = first_and_rest(done, "visit", "code", "procedure", "procedures")
    frame = frame.join(procedures, left_on="appointmentid", right_on="visit", how="left", maintain_order="left")
    frame = frame.with_columns(list_codes(DIAGNOSES).alias("all")).sort(ROW)
    diagnosis, diagnoses = split_first_code("all", "diagnosis", "diagnoses")
    found: Columns = {
        ID: "patientid",
        DATE: "servicedate",
        END: pl.coalesce("stop", "servicedate"),
        "diagnosis": diagnosis,
        "diagnoses": diagnoses,
        "procedure": "procedure",
        "procedures": "procedures",
        "place_of_service": pl.col("encounterclass").replace(PLACES),
        "provider": "providerid",
    }
    return SourceRecords(as_records(frame, found))


def _refuse_of_others(records: pl.DataFrame, encounters: pl.DataFrame) -> None:
    """Refuse records in an encounter of another patient; those of no patient are refused by themselves."""
    owners = encounters.select(pl.col("id").alias("visit"), pl.col("patient").alias("owner"))
    joined = records.filter(pl.col(ID).is_not_null()).join(owners, on="visit", how="inner", maintain_order="left")
    SourceRecords(joined).refuse_of_others(joined["owner"], "an encounter")


PROFILE = Profile(people, conditions, claims)
