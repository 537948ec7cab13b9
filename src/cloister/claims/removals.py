"""Step 3: claims of newborns, and claims whose procedure is not a medical one, are removed."""

import polars as pl

from .data import PATIENT, Claims
from .dates import dates_of
from .steps import StepLine, Stepped

STEP = "3 claims removed"
NEWBORN_DAYS = 28
LETTER = r"^\s*[A-Za-z]"
REVENUE = r"^\s*[0-9]{3}\s*$"


def removals(data: Claims) -> Stepped:
    """Remove claims up to 28 days after birth, those with a letter before the procedure's number, and revenue codes.

    Patients who have no claims left stay, or leave with the next step, as the plan says of patients without claims.
    Newborns are told by date of birth and date of claim; where the data have no date of birth, the line says so. The
    procedure is the one with the role ``procedure``; claims without one stay.

    Guarantee: no such claim remains. Deviation: the paper's text can be read as removing all claims of a patient with
    such a claim, as for high-risk patients; here only the claims go.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, section 2.
    """
    wanted = data.plan.removals
    masks: dict[str, pl.Series] = {}
    newborns = _newborns(data) if wanted.newborns else None
    if newborns is not None:
        masks["newborns"] = newborns
    procedure = data.plan.claim_column("procedure")
    if procedure is not None and wanted.letter_procedures:
        masks["procedure codes with a letter"] = data.claims[procedure].str.contains(LETTER).fill_null(False)
    if procedure is not None and wanted.revenue_codes:
        masks["revenue codes of three digits"] = data.claims[procedure].str.contains(REVENUE).fill_null(False)
    gone = pl.Series([False]).new_from_index(0, data.n_claims)
    for mask in masks.values():
        gone |= mask
    done = "Claims of newborns, and of what is not a medical procedure, are removed."
    if wanted.newborns and newborns is None:
        done += " Newborns could not be told: there is no date of birth or no date of claim."
    line = StepLine(STEP, done, int(gone.sum()), {reason: int(mask.sum()) for reason, mask in masks.items()})
    return Stepped(data.with_frames(claims=data.claims.filter(~gone)), line)


def leave_out_without_claims(data: Claims) -> Stepped:
    """Leave out the patients who have no claims, if the plan says so."""
    n_without = data.n_without_claims
    if data.plan.patients.without_claims == "keep":
        done = "Patients without claims are kept."
        return Stepped(data, StepLine("3 patients without claims", done, counts={"without claims": n_without}))
    left = data.of_patients(data.claims[PATIENT].unique())
    line = StepLine("3 patients without claims", "Patients without claims are left out.", n_without)
    return Stepped(left, line)


def _newborns(data: Claims) -> pl.Series | None:
    birth, date = data.plan.patient_column("birth-date"), data.plan.claim_column("date")
    if birth is None or date is None:
        return None
    born = data.patients.select(PATIENT, dates_of(data.patients[birth], "patients").alias("\0born"))
    days = data.claims.select(PATIENT, dates_of(data.claims[date], "claims").alias("\0date"))
    age = days.join(born, on=PATIENT, how="left", maintain_order="left").select(
        (pl.col("\0date") - pl.col("\0born")).dt.total_days().alias("age")
    )["age"]
    return (age <= NEWBORN_DAYS).fill_null(False)
