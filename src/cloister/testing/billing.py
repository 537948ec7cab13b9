"""Claims for what was recorded of the made-up patients in the two years up to admission."""

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .histories import MadeRecords, conditions
from .people import YEAR, MadePeople, SeededDraws, Whole, chosen, last_birthday

PLACES = {
    "Office": (50, 58, 66),
    "Outpatient Hospital": (14, 13, 12),
    "Urgent Care": (20, 10, 3),
    "Independent Lab": (5, 12, 14),
    "Home": (1, 2, 2),
    "Inpatient Hospital": (10, 5, 3),
}
"""How often a claim for an acute, recurring or chronic condition is from a place, of 100."""

PROCEDURES = {
    "Office": ("99213 99214 99212 99203 36415 93000 90658 20610", (34, 28, 12, 8, 8, 5, 3, 2)),
    "Outpatient Hospital": ("71020 97110 74177 45378 70450 77080 66984 43239", (24, 20, 14, 12, 10, 8, 6, 6)),
    "Urgent Care": ("99283 99284 99282 99285 12001 71020", (34, 28, 14, 12, 6, 6)),
    "Independent Lab": ("80053 85025 80061 83036 84443 81001", (30, 24, 18, 12, 9, 7)),
    "Home": ("99347 99348 G0151", (50, 30, 20)),
    "Inpatient Hospital": ("99232 99223 99238 27447 33533 47562 00400", (40, 26, 16, 6, 4, 4, 4)),
}
"""Procedure codes of claims from each place, and how often each."""

AGAIN = 0.3
"""Records of conditions that come back for which there is a second claim in the year."""

BY_GENERALIST = 0.4
UNKNOWN_SPECIALTY = 0.02
STAYS = (1, 2, 3, 4, 5, 6, 7, 9, 12, 16, 24, 40)
STAY_WEIGHTS = (20, 22, 17, 12, 8, 6, 5, 4, 3, 1, 1, 1)
DELAYS = (7, 14, 21, 28, 35, 45, 60, 90, 130, 170)
DELAY_WEIGHTS = (8, 20, 22, 16, 10, 8, 7, 5, 3, 1)
PATIENTS_OF_A_PROVIDER, FEWEST_PROVIDERS = 50, 12
COURSES = ("acute", "recurring", "chronic")
GENERALISTS = ("Pediatrics", "Family Practice", "Internal Medicine")
BY_PLACE = {"Urgent Care": "Emergency Medicine", "Independent Lab": "Laboratory"}


@dataclass(frozen=True, eq=False)
class Bills:
    """Claims as numbers, one row each: whose, for what, where and when."""

    patient: Whole = field(repr=False)
    condition: Whole = field(repr=False)
    variant: Whole = field(repr=False)
    place: Whole = field(repr=False)
    date: NDArray[np.datetime64] = field(repr=False)


def claims(seed: int, people: MadePeople, records: MadeRecords, codes: pl.Series, code_at: Whole) -> pl.DataFrame:
    """Return the claims, sorted by patient and date."""
    draws = SeededDraws(seed, "claims")
    bills = _billed(draws, people, records)
    n = bills.patient.size
    inpatient = bills.place == list(PLACES).index("Inpatient Hospital")
    stay = np.where(inpatient, np.array(STAYS)[draws.places(n, STAY_WEIGHTS)], 0)
    end = bills.date + stay
    paid = end + np.array(DELAYS)[draws.places(n, DELAY_WEIGHTS)] + draws.below(np.full(n, 7))
    specialty, is_generalist = _specialties(draws, people, bills)
    return pl.DataFrame(
        {
            "patient_id": people.ids.gather(bills.patient),
            "date": bills.date,
            "end_date": end,
            "paid_date": paid,
            "icd9": codes.gather(code_at[bills.condition] + bills.variant),
            "cpt": _procedures(draws, bills.place),
            "place_of_service": chosen(list(PLACES), bills.place),
            "specialty": specialty,
            "provider": _providers(draws, people.n, bills.patient, is_generalist),
        }
    )


def _billed(draws: SeededDraws, people: MadePeople, records: MadeRecords) -> Bills:
    """Claims of records of the last two years, dated and placed."""
    recent = np.flatnonzero(records.years_ago <= 1)
    course = np.array([COURSES.index(condition.course) for condition in conditions()])
    twice = (draws.shares(recent.size) < AGAIN) & (course[records.condition[recent]] > 0)
    row = np.repeat(recent, 1 + twice)
    is_stay = records.is_main[row] & (np.diff(row, prepend=-1) != 0)
    patient = records.patient[row]
    ago = records.years_ago[row]
    days = np.where(ago == 0, people.since_birthday[patient] + 1, YEAR)
    birthday = last_birthday(people)[patient]
    date = np.where(is_stay, people.admitted[patient], birthday - YEAR * ago + draws.below(days))
    place = _places(draws, course[records.condition[row]])
    place[is_stay] = list(PLACES).index("Inpatient Hospital")
    order = np.lexsort((date, patient))
    of_row = row[order]
    return Bills(patient[order], records.condition[of_row], records.variant[of_row], place[order], date[order])


def _places(draws: SeededDraws, course: Whole) -> Whole:
    reached = np.cumsum(np.array(list(PLACES.values())), axis=0)
    drawn = draws.below(np.full(course.size, 100))
    place = np.zeros(course.size, dtype=np.int64)
    for limits in reached[:-1]:
        place += drawn >= limits[course]
    return place


def _procedures(draws: SeededDraws, place: Whole) -> pl.Series:
    names: list[str] = []
    at = np.zeros(place.size, dtype=np.int64)
    for number, (codes, weights) in enumerate(PROCEDURES.values()):
        here = np.flatnonzero(place == number)
        at[here] = len(names) + draws.places(here.size, weights)
        names += codes.split()
    return chosen(names, at)


def _specialties(draws: SeededDraws, people: MadePeople, bills: Bills) -> tuple[pl.Series, NDArray[np.bool_]]:
    """Return who made each claim out, and whether it is the patient's own physician."""
    names = [*GENERALISTS, *BY_PLACE.values(), *(condition.specialty for condition in conditions()), None]
    at = len(GENERALISTS) + len(BY_PLACE) + bills.condition
    generalist = draws.shares(at.size) < BY_GENERALIST
    own = np.where(people.age < 18, 0, 1 + draws.below(np.full(people.n, 2)))
    at = np.where(generalist, own[bills.patient], at)
    for number, place in enumerate(BY_PLACE):
        there = bills.place == list(PLACES).index(place)
        at[there] = len(GENERALISTS) + number
        generalist &= ~there
    unknown = draws.shares(at.size) < UNKNOWN_SPECIALTY
    return chosen(tuple(names), np.where(unknown, len(names) - 1, at)), generalist


def _providers(draws: SeededDraws, n_patients: int, patient: Whole, is_own: NDArray[np.bool_]) -> pl.Series:
    """Everybody has a physician of their own; the rest is spread over all, unevenly."""
    n = max(FEWEST_PROVIDERS, n_patients // PATIENTS_OF_A_PROVIDER)
    own = draws.below(np.full(n_patients, n))[patient]
    other = draws.shares(patient.size)
    number = np.where(is_own, own, (other * other * n).astype(np.int64))
    return "D" + pl.Series(number + 1).cast(pl.String).str.zfill(5)
