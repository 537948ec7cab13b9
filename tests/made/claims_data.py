"""Small patients and claims for tests of the steps, made as frames or as files."""

from pathlib import Path

import numpy as np
import polars as pl

from cloister.io import Source
from cloister.shapes.claims.format.data import claims_of
from cloister.shapes.claims.format.plan import parse_plan
from cloister.shapes.claims.method.encode import EncodedClaims, EncodedColumn

PLAN = """
[patients]
derived = ["age", "days_in_hospital"]
[patients.roles]
mrn = "id"
born = "birth-date"
sex = "sex"
[patients.qi]
sex = "suppress"
age = "age"
days_in_hospital = "days-in-hospital"
[claims]
derived = ["days_since_first_claim", "length_of_stay", "pay_delay"]
[claims.roles]
mrn = "id"
date = "date"
until = "end-date"
paid = "paid-date"
dx = "diagnosis"
all_dx = "diagnoses"
cpt = "procedure"
pos = "place"
spec = "specialty"
doctor = "provider"
note = "keep"
[claims.qi]
dx = "diagnosis"
cpt = "procedure"
pos = "place"
spec = "specialty"
length_of_stay = "length-of-stay"
days_since_first_claim = "days-since-first-claim"
pay_delay = "pay-delay"
"""
PATIENTS = [("P1", "1950-06-15", "F"), ("P2", "1980-01-01", "M"), ("P3", "2008-01-10", "F"), ("P4", None, "M")]
CLAIMS = [
    ("P1", "2008-03-01", "2008-03-04", "2008-03-11", "410.01", None, "99213", "Office", "Cardiology", "D1", "x"),
    ("P1", "2008-02-01", None, "2008-02-01", "250.10", "250.10 401.9", "33010", "21", "Unheard of", "D2", "y"),
    ("P2", "2008-05-05", "2008-05-05", None, "401.9", "042", None, "Office", None, "D1", None),
    ("P3", "2008-02-07", "2008-02-20", "2008-03-07", "V30.0", None, "99213", "Home", "Pediatrics", "D3", "z"),
    ("P3", "2008-02-08", "2008-02-09", "2008-02-01", "V20.2", None, "G0008", "Home", "Pediatrics", "D3", "z"),
    ("P3", "2008-06-01", "2008-06-01", "2008-06-02", "465.9", None, "450", "Home", "Pediatrics", "D3", "z"),
    ("P3", "2008-07-01", "2008-07-21", "2008-07-01", "465.9", None, "99213", "Home", "Pediatrics", "D3", "z"),
]
OF_PATIENTS = ["mrn", "born", "sex"]
OF_CLAIMS = ["mrn", "date", "until", "paid", "dx", "all_dx", "cpt", "pos", "spec", "doctor", "note"]


def plan(text=PLAN, folder=Path()):
    """The plan that a text states."""
    return parse_plan(text, "plan.toml", folder)


def source(rows, columns, name):
    """Rows as they would be read of a CSV file."""
    frame = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
    return Source(frame, "csv", ",", "utf-8", name)


def claims(patients=PATIENTS, events=CLAIMS, text=PLAN, folder=Path()):
    """Patients and claims under a plan."""
    return claims_of(
        source(patients, OF_PATIENTS, "patients.csv"), source(events, OF_CLAIMS, "claims.csv"), plan(text, folder)
    )


def encoded(histories, years=None):
    """Claims of one column per position: for each patient a list of tuples of texts or None, as `EncodedClaims`."""
    rows = [row for history in histories for row in history]
    width = len(rows[0]) if rows else 1
    columns = tuple(_column(f"h{h}", [row[h] for row in rows]) for h in range(width))
    offsets = np.concatenate(([0], np.cumsum([len(history) for history in histories]))).astype(np.int64)
    sexes = _column("sex", ["F"] * len(histories))
    return EncodedClaims((sexes,), columns, offsets, None if years is None else np.array(years, dtype=np.int32))


def _column(name, texts):
    values = sorted({text for text in texts if text is not None})
    number = {text: place for place, text in enumerate(values)}
    n_values = len(values)
    return EncodedColumn(
        name,
        np.array([-1 if text is None else number[text] for text in texts], dtype=np.int32),
        np.array([range(n_values), [0] * n_values], dtype=np.int32).reshape(2, n_values),
        (tuple(values), ("*",)[: min(1, n_values)]),
        np.array([[0.0] * n_values, [1.0] * n_values]).reshape(2, n_values),
    )
