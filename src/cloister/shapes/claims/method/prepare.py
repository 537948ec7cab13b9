"""Steps 1 to 6 in order, and among them the ids (step 1), the claims removed (step 3) and derived columns (step 5).

References
----------
El Emam et al. (2012), JMIR 14(1):e33, appendix, section 2 (removals). Krawczyk, Bellare, Canetti (1997), RFC 2104
(HMAC).
"""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from cloister.errors import InputError
from cloister.io.columns import map_categories
from cloister.shapes.claims.format.data import (
    PATIENT,
    Claims,
    StepLine,
    StepResult,
    check_contents,
    dates_of,
    numbers_of,
    years_of,
)
from cloister.shapes.claims.format.facts import group_sizes
from cloister.shapes.claims.format.hierarchies import MOST_DELAY
from cloister.shapes.claims.format.key_file import read_key
from cloister.shapes.claims.format.plan import (
    AGE,
    DAYS_IN_HOSPITAL,
    DAYS_OF_YEAR,
    DAYS_SINCE_FIRST,
    HMAC,
    LENGTH_OF_STAY,
    PAY_DELAY,
    PSEUDONYMS,
    UNJOINED,
    YEAR,
    ClaimsPlan,
)
from cloister.shapes.claims.format.released_columns import CLAIMS, PATIENTS, PSEUDONYM, TABLES, kept_columns
from cloister.shapes.claims.format.representativeness import PreprocessedClaims, Representativeness, representativeness

from .code_steps import exclusions, grouping, top_coding

REMOVING, WITHOUT = "3 claims removed", "3 patients without claims"
NEWBORN_DAYS = 28
LETTER = r"^\s*[A-Za-z]"
REVENUE = r"^\s*[0-9]{3}\s*$"

TOP_DAYS = 15
"""Days in hospital from here on are one value, ``15+``, as in the released data of the Heritage Health Prize."""


def pseudonyms(data: Claims) -> StepResult:
    """Remove ids, or replace them by keyed hashes; numbers are assigned at the end, in released order.

    Patients are distinguished by their numbers from here on. Provider, vendor and PCP columns that get numbers are kept
    as they are until `number_pseudonyms` gives them, since only the released order carries no information.

    Guarantee: no original id is released. Not promised: groups stay together, and the number of claims of a provider,
    which may be known elsewhere, can tell which one it is; the line says how large the groups are. `drop` leaves the
    columns out, `per-table` gives other numbers in each file. A hash of 256 bits (HMAC-SHA256) links releases made with
    the same key, for anyone who has several.
    """
    plan = data.plan
    is_hashed = plan.ids.patients.startswith(HMAC)
    if plan.ids.patients != "number" and not is_hashed:
        raise InputError(UNJOINED)
    gone = [
        [name for name in plan.of(table).columns(*PSEUDONYMS) if name not in kept_columns(plan, table)]
        for table in TABLES
    ]
    (patient_id,) = plan.patients.columns("id")
    patients, claims = data.patients.drop(gone[0]), data.claims.drop(gone[1])
    if is_hashed:
        key = read_key(Path(plan.ids.patients.removeprefix(HMAC)))
        hashes = [hmac.new(key, text.encode(), hashlib.sha256).hexdigest() for text in patients[patient_id]]
        patients = patients.with_columns(pl.Series(patient_id, hashes, dtype=pl.String))
    else:
        patients = patients.drop(patient_id)
    line = StepLine("1 pseudonyms", counts=group_sizes(claims, plan))
    return StepResult(replace(data, patients=patients, claims=claims), line)


def number_pseudonyms(
    patients: pl.DataFrame, claims: pl.DataFrame, plan: ClaimsPlan
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Number provider, vendor and PCP ids by their first appearance in the rows, which are in released order."""
    numbers: dict[str | None, dict[str, int]] = {}
    frames = []
    for table, frame in ((PATIENTS, patients), (CLAIMS, claims)):
        for name, column in kept_columns(plan, table).items():
            if column.role == PSEUDONYM:
                known, ids = numbers.setdefault(column.numbered_with, {}), frame[name]
                for text in ids.drop_nulls().unique(maintain_order=True):
                    known.setdefault(text, len(known) + 1)
                by = partial(pl.Series.replace_strict, old=known, default=None, return_dtype=pl.Int64)
                frame = frame.with_columns(map_categories(ids, by))
        frames.append(frame)
    return frames[0], frames[1]


def removals(data: Claims) -> StepResult:
    """Remove claims up to 28 days after birth, those with a letter before the procedure's number, and revenue codes.

    Patients who have no claims left stay, or leave with the next step, as the plan says of patients without claims.
    Newborns are told by date of birth and date of claim; where the data have no date of birth, the line says so. The
    procedure is the one with the role ``procedure``; claims without one stay.

    Guarantee: no such claim remains; with ``whole_patient`` no claim of a patient who had one, as the paper says.
    Deviation: without it, which is the default, only the claims themselves go.

    References
    ----------
    El Emam et al. (2012), JMIR 14(1):e33, appendix, section 2.
    """
    wanted = data.plan.removals
    masks: dict[str, pl.Series] = {}
    birth, date = data.plan.patients.column("birth-date"), data.plan.claims.column("date")
    if wanted.newborns and birth is not None and date is not None:
        born = data.patients.select(PATIENT, dates_of(data.patients[birth], "patients").alias("\0born"))
        days = data.claims.select(PATIENT, dates_of(data.claims[date], "claims").alias("\0date"))
        joined = days.join(born, on=PATIENT, how="left", maintain_order="left")
        masks["newborns"] = ((joined["\0date"] - joined["\0born"]).dt.total_days() <= NEWBORN_DAYS).fill_null(False)
    procedure = data.plan.claims.column("procedure")
    if procedure is not None and wanted.letter_procedures:
        masks["procedure codes with a letter"] = _having(data.claims[procedure], LETTER)
    if procedure is not None and wanted.revenue_codes:
        masks["revenue codes of three digits"] = _having(data.claims[procedure], REVENUE)
    gone = pl.Series([False]).new_from_index(0, data.n_claims)
    for mask in masks.values():
        gone |= mask
    owners = data.claims[PATIENT]
    if wanted.whole_patient:
        gone = owners.is_in(owners.filter(gone).implode())
    line = StepLine(
        REMOVING,
        int(gone.sum()),
        {reason: int(mask.sum()) for reason, mask in masks.items()},
        {reason: owners.filter(mask).n_unique() for reason, mask in masks.items()},
        owners.filter(gone).n_unique(),
    )
    return StepResult(replace(data, claims=data.claims.filter(~gone)), line)


def _having(text: pl.Series, pattern: str) -> pl.Series:
    return map_categories(text, lambda texts: texts.str.contains(pattern)).fill_null(False)


def leave_out_without_claims(data: Claims) -> StepResult:
    """Remove the patients without claims, if the plan says so."""
    n_without = data.n_without_claims
    if data.plan.patients.without_claims == "keep":
        return StepResult(data, StepLine(WITHOUT, counts={"without claims": n_without}))
    left = data.of_patients(data.claims[PATIENT].unique())
    return StepResult(left, StepLine(WITHOUT, n_without))


def add_derived_columns(data: Claims) -> StepResult:
    """Add the derived columns that the plan asks for.

    * ``days_since_first_claim``: days from the patient's first claim that remains to the claim;
      ``days_since_first_claim_of_year`` from the first of the claim's calendar year, as in the Heritage Health Prize.
    * ``length_of_stay``: days from the claim's date to its end, at least 1; missing where the end is.
    * ``pay_delay``: days from the claim's date to its payment, at least 0 and at most 3,650.
    * ``year``: calendar year of the claim.
    * ``age``: years at the first claim, from the date of birth, else from the year of birth; missing of patients
      without claims. At least 0.
    * ``days_in_hospital``: the sum of the lengths of stay of a patient's claims; 15 and more are ``15+``.

    What they are made of (dates, years of birth) stays for the next steps; `encode` leaves it out of what is released.
    """
    plan, claims, patients = data.plan, data.claims, data.patients
    for name in plan.claims.derived:
        claims = claims.with_columns(DERIVATIONS[name](data).cast(pl.Int32).alias(name))
    with_claims = replace(data, claims=claims)
    for own in plan.patients.derived:
        patients = patients.with_columns(DERIVATIONS[own](with_claims).alias(own))
    whole = replace(data, patients=patients, claims=claims)
    counts = {
        f"{name} missing": int(whole.of(table)[name].null_count())
        for table in (CLAIMS, PATIENTS)
        for name in plan.of(table).derived
    }
    return StepResult(whole, StepLine("5 derived columns", counts=counts))


def _days_since_first(data: Claims, *, in_year: bool = False) -> pl.Series:
    """Days from the first claim of a patient, or the first in the calendar year, to each."""
    days = data.claims.select(PATIENT, data.dates("date", DAYS_OF_YEAR if in_year else DAYS_SINCE_FIRST).alias("day"))
    first = pl.col("day").min().over(PATIENT, *([pl.col("day").dt.year()] if in_year else []))
    return days.select((pl.col("day") - first).dt.total_days().alias("days"))["days"]


def _days_to(data: Claims, role: str, name: str, least: int, most: int | None = None) -> pl.Series:
    return (data.dates(role, name) - data.dates("date", name)).dt.total_days().clip(least, most)


def _age(data: Claims) -> pl.Series:
    birth, year = data.plan.patients.column("birth-date"), data.plan.patients.column("birth-year")
    dates = data.claims.select(PATIENT, data.dates("date", AGE).alias("first"))
    first = dates.group_by(PATIENT).agg(pl.col("first").min())
    days = data.patients.select(PATIENT).join(first, on=PATIENT, how="left", maintain_order="left")["first"]
    if birth is not None:
        born = dates_of(data.patients[birth], "patients")
        years = days.dt.year() - born.dt.year() - (_day_of_year(days) < _day_of_year(born)).cast(pl.Int32)
    elif year is not None:
        years = days.dt.year() - numbers_of(data.patients[year], "patients")
    else:
        raise InputError("age is derived from patients with the role birth-date or birth-year, but no column has it.")
    return years.cast(pl.Int64).clip(lower_bound=0)


def _day_of_year(days: pl.Series) -> pl.Series:
    """Month and day as one number, 101 to 1231; 16 bits, since months are given in 8."""
    return days.dt.month().cast(pl.Int16) * 100 + days.dt.day()


def _days_in_hospital(data: Claims) -> pl.Series:
    column = data.plan.claims.column("length-of-stay", LENGTH_OF_STAY)
    if column is None:
        raise InputError("days_in_hospital is derived from claims with a length of stay, but no column has it.")
    days = numbers_of(data.claims[column], "claims")
    sums = data.claims.select(PATIENT, days.alias("days")).group_by(PATIENT).agg(pl.col("days").sum())
    total = data.patients.select(PATIENT).join(sums, on=PATIENT, how="left", maintain_order="left")["days"].fill_null(0)
    text = total.cast(pl.String)
    return text.set(total >= TOP_DAYS, f"{TOP_DAYS}+")


DERIVATIONS: dict[str, Callable[[Claims], pl.Series]] = {
    DAYS_SINCE_FIRST: _days_since_first,
    DAYS_OF_YEAR: partial(_days_since_first, in_year=True),
    LENGTH_OF_STAY: partial(_days_to, role="end-date", name=LENGTH_OF_STAY, least=1),
    PAY_DELAY: partial(_days_to, role="paid-date", name=PAY_DELAY, least=0, most=MOST_DELAY),
    YEAR: years_of,
    AGE: _age,
    DAYS_IN_HOSPITAL: _days_in_hospital,
}


@dataclass(frozen=True, eq=False, repr=False)
class DescribedClaims(PreprocessedClaims):
    """Claims after steps 1 to 6, and how the excluded patients differ from the others, for the custodian only."""

    representativeness: Representativeness


def prepare(data: Claims) -> DescribedClaims:
    """Apply steps 1 to 6 to patients and claims.

    Excluded patients go through the derivations as well, since they are compared with the others by them.
    """
    check_contents(data)
    done = [pseudonyms(data)]
    for step in (exclusions, removals, leave_out_without_claims, add_derived_columns, grouping, top_coding):
        done.append(step(done[-1].claims))
    assert done[1].removed is not None
    excluded, remaining = add_derived_columns(done[1].removed).claims, done[4].claims
    lines = [one.line for one in done]
    lines.insert(4, StepLine("4 representativeness"))
    return DescribedClaims(done[-1].claims, tuple(lines), excluded, representativeness(excluded, remaining))
