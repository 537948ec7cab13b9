"""Synthea: the CSV files of the generator of synthetic patients.

References
----------
Walonoski et al. (2018), JAMIA 25(3), 230-238; https://github.com/synthetichealth/synthea/wiki/CSV-File-Data-Dictionary.
"""

import polars as pl

from .records import (
    BIRTH,
    CODE,
    DATE,
    END,
    FILE,
    ID,
    ROW,
    SEX,
    Files,
    People,
    Profile,
    SourceRecords,
    first_and_rest,
    listed,
    parted,
)

DIAGNOSES = tuple(f"diagnosis{number}" for number in range(1, 9))
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
"""Classes of encounters as places of service are called on claims; others keep their own name."""


def people(files: Files) -> People:
    """Each row of patients.csv."""
    places = ("state", "county", "zip")
    frame = files.table("patients", ("id", "birthdate", "gender"), ("race", "ethnicity", *places))
    named = {ID: "id", BIRTH: "birthdate", SEX: "gender"}
    own = (pl.col(column).alias(name) for name, column in named.items())
    return People(frame.select(*own, "race", "ethnicity", *places, FILE, ROW))


def conditions(files: Files) -> SourceRecords:
    """Each row of conditions.csv that has a code."""
    frame = files.table("conditions", ("patient", "code", "start"))
    frame = frame.select(pl.col("patient").alias(ID), CODE, pl.col("start").alias(DATE), FILE, ROW)
    return SourceRecords(frame).without(frame[CODE].is_null(), "no code")


def claims(files: Files) -> SourceRecords:
    """Each row of claims.csv, with its encounter and what was done in it."""
    frame = files.table(
        "claims", ("patientid", "servicedate", DIAGNOSES[0]), (*DIAGNOSES, "appointmentid", "providerid")
    )
    encounters = files.table("encounters", ("id", "patient"), ("stop", "encounterclass"))
    encounters = encounters.filter(pl.col("id").is_not_null())
    again = ~encounters["id"].is_first_distinct()
    SourceRecords(encounters).refuse(again, "the id of an encounter that is there already", "Leave one of each there")
    _refuse_of_others(frame.rename({"patientid": ID, "appointmentid": "visit"}), encounters)
    frame = frame.join(
        encounters.drop(FILE, ROW, "patient"), left_on="appointmentid", right_on="id", how="left", maintain_order="left"
    )
    procedures = first_and_rest(_procedures(files, encounters), "visit", "code", "procedure", "procedures")
    frame = frame.join(procedures, left_on="appointmentid", right_on="visit", how="left", maintain_order="left")
    frame = frame.with_columns(listed(DIAGNOSES).alias("all")).sort(ROW)
    return SourceRecords(
        frame.select(
            pl.col("patientid").alias(ID),
            pl.col("servicedate").alias(DATE),
            pl.coalesce("stop", "servicedate").alias(END),
            *parted("all", "diagnosis", "diagnoses"),
            *("procedure", "procedures"),
            pl.col("encounterclass").replace(PLACES).alias("place_of_service"),
            pl.col("providerid").alias("provider"),
            FILE,
            ROW,
        )
    )


def _procedures(files: Files, encounters: pl.DataFrame) -> pl.DataFrame:
    done = files.table_if_there("procedures", ("patient", "encounter", "code"))
    if done is None:
        return pl.DataFrame(schema={"visit": pl.String, "code": pl.String})
    done = done.rename({"patient": ID, "encounter": "visit"})
    done = done.filter(pl.col("code").is_not_null() & pl.col("visit").is_not_null())
    _refuse_of_others(done.with_columns(pl.col(ID).fill_null("")), encounters)
    return done


def _refuse_of_others(records: pl.DataFrame, encounters: pl.DataFrame) -> None:
    """Refuse records in an encounter of another patient; those of no patient are refused by themselves."""
    owners = encounters.select(pl.col("id").alias("visit"), pl.col("patient").alias("owner"))
    joined = records.filter(pl.col(ID).is_not_null()).join(owners, on="visit", how="inner", maintain_order="left")
    SourceRecords(joined).refuse_of_others(joined["owner"], "an encounter")


PROFILE = Profile(people, conditions, claims)
