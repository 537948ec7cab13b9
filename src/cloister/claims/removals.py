"""Step 3: claims of newborns, and claims whose procedure is not a medical one, are removed."""

import polars as pl

from .data import PATIENT, Claims
from .dates import dates_of
from .step_sentences import can_tell_newborns, removed, without_claims
from .steps import StepLine, Stepped

STEP, WITHOUT = "3 claims removed", "3 patients without claims"
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
    owners = data.claims[PATIENT]
    line = StepLine(
        STEP,
        removed(data.plan),
        int(gone.sum()),
        {reason: int(mask.sum()) for reason, mask in masks.items()},
        {reason: owners.filter(mask).n_unique() for reason, mask in masks.items()},
        owners.filter(gone).n_unique(),
    )
    return Stepped(data.with_frames(claims=data.claims.filter(~gone)), line)


def leave_out_without_claims(data: Claims) -> Stepped:
    """Leave out the patients who have no claims, if the plan says so."""
    n_without = data.n_without_claims
    if data.plan.patients.without_claims == "keep":
        return Stepped(data, StepLine(WITHOUT, without_claims(data.plan), counts={"without claims": n_without}))
    left = data.of_patients(data.claims[PATIENT].unique())
    return Stepped(left, StepLine(WITHOUT, without_claims(data.plan), n_without))


def _newborns(data: Claims) -> pl.Series | None:
    if not can_tell_newborns(data.plan):
        return None
    birth, date = str(data.plan.patient_column("birth-date")), str(data.plan.claim_column("date"))
    born = data.patients.select(PATIENT, dates_of(data.patients[birth], "patients").alias("\0born"))
    days = data.claims.select(PATIENT, dates_of(data.claims[date], "claims").alias("\0date"))
    age = days.join(born, on=PATIENT, how="left", maintain_order="left").select(
        (pl.col("\0date") - pl.col("\0born")).dt.total_days().alias("age")
    )["age"]
    return (age <= NEWBORN_DAYS).fill_null(False)
