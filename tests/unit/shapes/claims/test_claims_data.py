"""Patients and claims as read: they fit together, and what does not fit is told by record and line."""

import polars as pl
import pytest
from tests.made.claims_data import CLAIMS, OF_CLAIMS, OF_PATIENTS, PATIENTS, PLAN, claims

from cloister.errors import InputError
from cloister.shapes.claims.format.data import PATIENT, Claims
from cloister.shapes.claims.format.plan import ClaimsPlan


def test_claims_are_joined_to_their_patients():
    """Every claim has the number of its patient, patients without claims stay and are mentioned."""
    data = claims()

    assert data.claims[PATIENT].to_list() == [0, 0, 1, 2, 2, 2, 2]
    assert (data.n_patients, data.n_claims, data.n_without_claims) == (4, 7, 1)
    assert any("without claims" in note for note in data.notes)
    assert repr(data) == "Claims(4 patients, 7 claims)"


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_files_of_every_kind_are_read_alike(tmp_path, kind):
    """The same tables come of CSV, packed CSV and Parquet; codes keep their zeros."""
    for name, rows, columns in (("patients", PATIENTS, OF_PATIENTS), ("claims", CLAIMS, OF_CLAIMS)):
        frame = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
        if kind == "parquet":
            frame.write_parquet(tmp_path / f"{name}.{kind}")
        else:
            frame.write_csv(tmp_path / f"{name}.{kind}", compression="gzip" if kind == "csv.gz" else "uncompressed")
    (tmp_path / "plan.toml").write_text(PLAN)
    data = Claims.read(
        patients=tmp_path / f"patients.{kind}",
        claims=tmp_path / f"claims.{kind}",
        plan=ClaimsPlan.read(tmp_path / "plan.toml"),
    )

    assert claims().patients.equals(data.patients)
    assert claims().claims.equals(data.claims)


@pytest.mark.parametrize(
    ("patients", "events", "said", "row"),
    [
        ([*PATIENTS, ("P1", None, "F")], CLAIMS, "patients.csv: record 5, line 6", 5),
        ([*PATIENTS, (None, None, "F")], CLAIMS, "a patient without a value in 'mrn'", 5),
        (PATIENTS, [*CLAIMS, ("SECRET", *CLAIMS[0][1:])], "claims.csv: record 8, line 9", 8),
        (PATIENTS, [*CLAIMS, (None, *CLAIMS[0][1:])], "a claim without a patient in patients.csv", 8),
    ],
)
def test_what_does_not_fit_is_told_by_record(patients, events, said, row):
    """Repeated and missing ids and claims of nobody are refused, by record and line, without the value."""
    with pytest.raises(InputError) as refusal:
        claims(patients, events)

    assert said in refusal.value.message
    assert row == refusal.value.row
    assert row + 1 == refusal.value.line
    assert "SECRET" not in refusal.value.message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('born = "birth-date"', 'borne = "birth-date"', "no such column. Did you mean 'born'?"),
        ('note = "keep"', "", "1 column of claims.csv without a role: note"),
    ],
)
def test_every_column_needs_a_role(old, new, said):
    """A column without role and a role without column are refused."""
    with pytest.raises(InputError) as refusal:
        claims(text=PLAN.replace(old, new))

    assert said in refusal.value.message


def test_dropped_columns_are_not_read():
    """A column with the role drop is gone at once."""
    assert "note" not in claims(text=PLAN.replace('note = "keep"', 'note = "drop"')).claims.columns
