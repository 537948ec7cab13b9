"""The example hospital: data of four shapes about the same synthetic patients, reproducible by a seed."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .patients import (
    YEAR,
    Had,
    MadePeople,
    MadeRecords,
    SeededDraws,
    Whole,
    birth_dates,
    chosen,
    conditions,
    genotypes,
    had,
    last_birthday,
    people,
    records,
)


@dataclass(frozen=True, eq=False, repr=False)
class Hospital:
    """Data of synthetic patients in all shapes; a patient has the same id in all of them."""

    # one row a patient: mrn (the id), name, age, sex, zip, ethnicity (null where unknown), admitted, diagnosis (what
    # they were admitted for, ICD-10-CM)
    patients: pl.DataFrame = field()
    codes: pl.DataFrame = field()
    codes_icd10: pl.DataFrame = field()
    trajectories: pl.DataFrame = field()
    samples: pl.DataFrame = field()
    claim_patients: pl.DataFrame = field()
    # patient_id, date, end_date, paid_date, icd9, cpt, place_of_service, specialty (null where unknown), provider; at
    # least one row a patient, by patient and date
    claims: pl.DataFrame = field()

    def __repr__(self) -> str:
        return f"Hospital({self.patients.height:,} made-up patients)"

    def files(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """Return the frames by file name: `patients.csv` and so on, as the attributes are called."""
        for part in fields(self):
            yield f"{part.name}.csv", getattr(self, part.name)

    def write(self, folder: str | Path) -> list[Path]:
        """Write every frame as CSV into a folder, which is made if need be; return the files.

        Raises
        ------
        FileExistsError : A file of that name is there already; the ones before it were written.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written = []
        for name, frame in self.files():
            with (place / name).open("xb") as file:
                frame.write_csv(file)
            written.append(place / name)
        return written


def hospital(seed: int = 0, n: int = 1000) -> Hospital:
    """Return a synthetic hospital.

    Ages have two humps, as in hospitals; what people have depends on age and sex; conditions come in clusters
    (metabolic, heart, lung, joints, mind, cancer), and chronic ones are recorded again over the years. Codes are real
    ones of ICD-9-CM, ICD-10-CM and CPT. Every share is made up (see `cloister.testing.patients`): take nothing from
    these numbers about people.

    The same seed and n give the same frames with every version of NumPy, on every machine (see
    `cloister.testing.patients`). A million patients take some 16 seconds of one core and 2 GiB.

    Parameters
    ----------
    seed : from 0
    n : number of patients, at least 1

    Examples
    --------
    >>> small = hospital(n=200)
    >>> small
    Hospital(200 made-up patients)
    >>> small.trajectories.columns
    ['patient_id', 'code', 'age']
    """
    who, what = _patients(seed, n)
    when = records(seed, who, what)
    icd9, starts = _all_codes("icd9")
    icd10, _ = _all_codes("icd10")
    return Hospital(
        patients=_frame(who, what, icd10.gather(starts[what.condition] + what.variant)),
        codes=_sets(who, when, icd9, starts),
        codes_icd10=_sets(who, when, icd10, starts),
        trajectories=pl.DataFrame(
            {
                "patient_id": who.ids.gather(when.patient),
                "code": icd9.gather(starts[when.condition] + when.variant),
                "age": who.age[when.patient] - when.years_ago,
            }
        ),
        samples=pl.DataFrame({"patient_id": who.ids, "dna": genotypes(seed, n)}),
        claim_patients=pl.DataFrame({"patient_id": who.ids, "birth_date": birth_dates(who), "sex": who.sex}),
        claims=claims(seed, who, when, icd9, starts),
    )


def hospital_patients(seed: int = 0, n: int = 1000) -> pl.DataFrame:
    """Return only the table of patients of `hospital`, which is faster.

    Examples
    --------
    >>> hospital_patients(n=3).columns
    ['mrn', 'name', 'age', 'sex', 'zip', 'ethnicity', 'admitted', 'diagnosis']
    """
    who, what = _patients(seed, n)
    icd10, starts = _all_codes("icd10")
    return _frame(who, what, icd10.gather(starts[what.condition] + what.variant))


def _patients(seed: int, n: int) -> tuple[MadePeople, Had]:
    if seed < 0 or n < 1:
        raise ValueError("seed must be a whole number from 0, and n one from 1.")
    who = people(seed, n)
    return who, had(seed, who)


def _frame(who: MadePeople, what: Had, codes: pl.Series) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "mrn": who.ids,
            "name": "Patient " + pl.Series(np.arange(1, who.n + 1)).cast(pl.String),
            "age": who.age,
            "sex": who.sex,
            "zip": who.zip,
            "ethnicity": who.ethnicity,
            "admitted": who.admitted.astype("datetime64[D]"),
            "diagnosis": codes.gather(np.flatnonzero(what.is_main)),
        }
    )


def _all_codes(kind: str) -> tuple[pl.Series, Whole]:
    """Return the codes of all conditions, one behind the other, and where those of each begin."""
    own = [getattr(condition, kind) for condition in conditions()]
    starts = np.concatenate(([0], np.cumsum([len(codes) for codes in own])[:-1]))
    return pl.Series([code for codes in own for code in codes], dtype=pl.String), starts.astype(np.int64)


def _sets(who: MadePeople, when: MadeRecords, codes: pl.Series, starts: Whole) -> pl.DataFrame:
    rank = codes.rank("dense").to_numpy().astype(np.int64) - 1
    names = codes.unique().sort()
    wide = len(names)
    found = np.sort(when.patient * wide + rank[starts[when.condition] + when.variant])
    found = found[np.diff(found, prepend=-1) != 0]
    listed = (
        pl.DataFrame({"patient": found // wide, "codes": names.gather(found % wide)})
        .group_by("patient", maintain_order=True)
        .agg(pl.col("codes").str.join(" "))
    )
    return pl.DataFrame({"patient_id": who.ids, "codes": listed["codes"]})


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

AGAIN = 0.3  # Records of conditions that come back for which there is a second claim in the year
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
    """Claims as numbers, one row each: patient, reason, place and date."""

    patient: Whole = field(repr=False)
    condition: Whole = field(repr=False)
    variant: Whole = field(repr=False)
    place: Whole = field(repr=False)
    date: NDArray[np.datetime64] = field(repr=False)


def claims(seed: int, people: MadePeople, records: MadeRecords, codes: pl.Series, code_at: Whole) -> pl.DataFrame:
    """Return the claims, sorted by patient and date."""
    draws = SeededDraws(seed, "claims")
    bills = _bill_records(draws, people, records)
    n = bills.patient.size
    inpatient = bills.place == list(PLACES).index("Inpatient Hospital")
    stay = np.where(inpatient, np.array(STAYS)[draws.places(n, STAY_WEIGHTS)], 0)
    end = bills.date + stay
    paid = end + np.array(DELAYS)[draws.places(n, DELAY_WEIGHTS)] + draws.below(np.full(n, 7))
    specialty, is_own = _specialties(draws, people, bills)
    names: list[str] = []
    procedure = np.zeros(n, dtype=np.int64)
    for number, (own, weights) in enumerate(PROCEDURES.values()):
        here = np.flatnonzero(bills.place == number)
        procedure[here] = len(names) + draws.places(here.size, weights)
        names += own.split()
    # Everybody has a physician of their own; the rest is spread over all, unevenly.
    n_providers = max(FEWEST_PROVIDERS, people.n // PATIENTS_OF_A_PROVIDER)
    physician = draws.below(np.full(people.n, n_providers))[bills.patient]
    other = draws.shares(n)
    provider = np.where(is_own, physician, (other * other * n_providers).astype(np.int64))
    return pl.DataFrame(
        {
            "patient_id": people.ids.gather(bills.patient),
            "date": bills.date,
            "end_date": end,
            "paid_date": paid,
            "icd9": codes.gather(code_at[bills.condition] + bills.variant),
            "cpt": chosen(names, procedure),
            "place_of_service": chosen(list(PLACES), bills.place),
            "specialty": specialty,
            "provider": "D" + pl.Series(provider + 1).cast(pl.String).str.zfill(5),
        }
    )


def _bill_records(draws: SeededDraws, people: MadePeople, records: MadeRecords) -> Bills:
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
    limits = np.cumsum(np.array(list(PLACES.values())), axis=0)[:-1]
    drawn = draws.below(np.full(row.size, 100))
    place = (drawn >= limits[:, course[records.condition[row]]]).sum(axis=0)
    place[is_stay] = list(PLACES).index("Inpatient Hospital")
    order = np.lexsort((date, patient))
    of_row = row[order]
    return Bills(patient[order], records.condition[of_row], records.variant[of_row], place[order], date[order])


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
