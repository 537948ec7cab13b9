"""Synthea: the CSV files of the generator of synthetic patients.

References
----------
Walonoski et al. (2018), JAMIA 25(3), 230-238; https://github.com/synthetichealth/synthea/wiki/CSV-File-Data-Dictionary.
"""

import polars as pl

from .files import Files
from .lists import first_and_rest, listed, parted
from .records import BIRTH, CODE, DATE, END, FILE, ID, ROW, SEX, People, Profile, Records

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


def conditions(files: Files) -> Records:
    """Each row of conditions.csv that has a code."""
    frame = files.table("conditions", ("patient", "code", "start"))
    frame = frame.select(pl.col("patient").alias(ID), CODE, pl.col("start").alias(DATE), FILE, ROW)
    return Records(frame).without(frame[CODE].is_null(), "no code")


def claims(files: Files) -> Records:
    """Each row of claims.csv, with its encounter and what was done in it."""
    frame = files.table(
        "claims", ("patientid", "servicedate", DIAGNOSES[0]), (*DIAGNOSES, "appointmentid", "providerid")
    )
    encounters = files.table("encounters", ("id",), ("stop", "encounterclass")).unique("id", keep="first")
    done = files.table_if_there("procedures", ("encounter", "code"))
    frame = frame.join(encounters.drop(FILE, ROW), left_on="appointmentid", right_on="id", how="left")
    if done is not None:
        done = done.filter(pl.col("code").is_not_null() & pl.col("encounter").is_not_null())
        procedures = first_and_rest(done, "encounter", "code", "procedure", "procedures")
        frame = frame.join(procedures, left_on="appointmentid", right_on="encounter", how="left")
    else:
        frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in ("procedure", "procedures"))
    frame = frame.with_columns(listed(DIAGNOSES).alias("all")).sort(ROW)
    return Records(
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


PROFILE = Profile(people, conditions, claims)
