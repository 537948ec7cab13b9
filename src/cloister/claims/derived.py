"""Step 5: age at first claim, days in hospital, days since first claim, length of stay, pay delay, year."""

from collections.abc import Callable

import polars as pl

from cloister.errors import InputError

from .data import PATIENT, Claims
from .dates import dates_of, numbers_of
from .ladders import MOST_DELAY
from .plan_sections import AGE, DAYS_IN_HOSPITAL, DAYS_SINCE_FIRST, LENGTH_OF_STAY, PAY_DELAY, YEAR
from .steps import StepLine, Stepped

STEP = "5 derived columns"
TOP_DAYS = 15
"""Days in hospital from here on are one value, ``15+``, as in the released data of the Heritage Health Prize."""


def derived(data: Claims) -> Stepped:
    """Add the derived columns that the plan asks for.

    * ``days_since_first_claim``: days from the patient's first claim that remains to the claim.
    * ``length_of_stay``: days from the claim's date to its end, at least 1; missing where the end is.
    * ``pay_delay``: days from the claim's date to its payment, at least 0 and at most 3,650.
    * ``year``: calendar year of the claim.
    * ``age``: years at the first claim, from the date of birth, else from the year of birth; missing of patients
      without claims. At least 0.
    * ``days_in_hospital``: the sum of the lengths of stay of a patient's claims; 15 and more are ``15+``.

    What they are made of (dates, years of birth) stays for the next steps; `encode` leaves it out of what is released.

    Raises
    ------
    InputError
        A column is asked for and what it is made of is not there, or dates are not dates.
    """
    asked = (*data.plan.claims.derived, *data.plan.patients.derived)
    claims = data.claims
    for name in data.plan.claims.derived:
        claims = claims.with_columns(OF_CLAIMS[name](data).alias(name))
    told = data.with_frames(claims=claims)
    patients = data.patients
    for own in data.plan.patients.derived:
        patients = patients.with_columns(OF_PATIENTS[own](told).alias(own))
    done = f"Derived: {', '.join(asked)}." if asked else "Nothing was derived."
    whole = data.with_frames(patients, claims)
    counts = {
        f"{name} missing": int((claims if name in data.plan.claims.derived else patients)[name].null_count())
        for name in asked
    }
    return Stepped(whole, StepLine(STEP, done, counts=counts))


def _dates(data: Claims, role: str, needed_for: str) -> pl.Series:
    column = data.plan.claim_column(role)
    if column is None:
        raise InputError(f"{needed_for} is derived from claims with the role {role}, but no column has it.")
    return dates_of(data.claims[column], "claims")


def _days_since_first(data: Claims) -> pl.Series:
    days = data.claims.select(PATIENT, _dates(data, "date", DAYS_SINCE_FIRST).alias("day"))
    return days.select((pl.col("day") - pl.col("day").min().over(PATIENT)).dt.total_days().alias("days"))["days"]


def _length_of_stay(data: Claims) -> pl.Series:
    ends, dates = _dates(data, "end-date", LENGTH_OF_STAY), _dates(data, "date", LENGTH_OF_STAY)
    return (ends - dates).dt.total_days().clip(lower_bound=1)


def _pay_delay(data: Claims) -> pl.Series:
    days = (_dates(data, "paid-date", PAY_DELAY) - _dates(data, "date", PAY_DELAY)).dt.total_days()
    return days.clip(0, MOST_DELAY)


def years_of(data: Claims) -> pl.Series:
    """Calendar year of each claim, null where its date is missing.

    Raises
    ------
    InputError
        No column has the role ``date``.
    """
    return _dates(data, "date", YEAR).dt.year().cast(pl.Int64)


def _age(data: Claims) -> pl.Series:
    birth, year = data.plan.patient_column("birth-date"), data.plan.patient_column("birth-year")
    first = (
        data.claims.select(PATIENT, _dates(data, "date", AGE).alias("first"))
        .group_by(PATIENT)
        .agg(pl.col("first").min())
    )
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
    column = data.plan.claim_column("length-of-stay", LENGTH_OF_STAY)
    if column is None:
        raise InputError("days_in_hospital is derived from claims with a length of stay, but no column has it.")
    stays = data.claims[column]
    days = numbers_of(stays, "claims") if stays.dtype == pl.String else stays
    sums = data.claims.select(PATIENT, days.alias("days")).group_by(PATIENT).agg(pl.col("days").sum())
    total = data.patients.select(PATIENT).join(sums, on=PATIENT, how="left", maintain_order="left")["days"].fill_null(0)
    text = total.cast(pl.String)
    return text.set(total >= TOP_DAYS, f"{TOP_DAYS}+")


OF_CLAIMS: dict[str, Callable[[Claims], pl.Series]] = {
    DAYS_SINCE_FIRST: _days_since_first,
    LENGTH_OF_STAY: _length_of_stay,
    PAY_DELAY: _pay_delay,
    YEAR: years_of,
}
OF_PATIENTS: dict[str, Callable[[Claims], pl.Series]] = {AGE: _age, DAYS_IN_HOSPITAL: _days_in_hospital}
