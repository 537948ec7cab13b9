"""The synthetic patients: demographics, hospital stays, conditions, and the years of their records.

The random numbers are the same with every version of NumPy and on every machine.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

Shares = NDArray[np.float64]
Whole = NDArray[np.int64]

PARTS = {"people": 0, "conditions": 1, "visits": 2, "claims": 3, "samples": 4}
"""Each part of a hospital draws from a stream of its own, so that none depends on how many numbers another took."""

AGE_BANDS = (1, 18, 40, 65, 80)  # Years at which a band of ages begins, after the first
SEXES = np.array(["F", "M"])
AGE_GROUP = 5
AGE_WEIGHTS = (30, 14, 13, 30, 52, 60, 62, 56, 48, 44, 50, 62, 78, 90, 92, 82, 64, 42, 20, 6, 1)
"""Patients by groups of five years: few children, young adults, and more of the old."""

WOMEN_OF_100 = (49, 51, 66, 51, 53, 60)  # By the bands of `AGE_BANDS`
ETHNICITIES = ("White", "Black", "Asian", "Hispanic", "Other", None)
ETHNICITY_WEIGHTS = (58, 14, 7, 14, 4, 3)
ZIP_AREAS = ("021", "100", "606", "770", "941", "981")
ZIP_WEIGHTS = (30, 25, 20, 12, 8, 5)
STREETS = 40
FIRST_DAY, DAYS = np.datetime64("2024-01-01"), 731
YEAR = 365
SITES = (("A", "G", 62), ("C", "T", 55), ("G", "A", 80), ("T", "C", 71), ("A", "C", 90), ("G", "T", 50))
"""The two letters of each site of the sample, and how many of 100 chromosomes have the first."""


class SeededDraws:
    """A stream of random numbers for one part of a hospital.

    NumPy promises that a bit generator such as PCG64 gives the same whole numbers for a seed for ever, and promises no
    such thing of what its `Generator` makes of them. So everything here is made from the raw numbers by arithmetic that
    is exact or rounded in one way only, without logarithms and the like.

    Parameters
    ----------
    seed : from 0

    References
    ----------
    NumPy, "Parallel random number generation" and "PCG64", *Compatibility Guarantee*; NEP 19.
    """

    def __init__(self, seed: int, part: str) -> None:
        self._bits = np.random.PCG64([seed, PARTS[part]])

    def shares(self, n: int) -> Shares:
        """Return numbers from 0 to below 1, in steps of 2^-53."""
        raw: NDArray[np.uint64] = self._bits.random_raw(n)
        return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def below(self, most: Whole) -> Whole:
        """Return a whole number from 0 to below each of ``most``."""
        return (self.shares(most.size) * most).astype(np.int64)

    def places(self, n: int, weights: Sequence[int]) -> Whole:
        """Return places in a list, each as often as its weight says."""
        reached = np.cumsum(np.array(weights, dtype=np.int64))
        drawn = (self.shares(n) * reached[-1]).astype(np.int64)
        found: Whole = np.searchsorted(reached, drawn, side="right").astype(np.int64)
        return found

    def order(self, n: int) -> Whole:
        """Return the numbers from 0 to n - 1 in random order."""
        return np.argsort(self.shares(n), kind="stable")


@dataclass(frozen=True, eq=False)
class MadePeople:
    """The synthetic patients in the order of the files."""

    ids: pl.Series = field(repr=False)  # (n,) record numbers, each another
    age: Whole = field(repr=False)  # (n,) whole years when admitted
    band: Whole = field(repr=False)  # (n,) bands of ages
    is_woman: NDArray[np.bool_] = field(repr=False)  # (n,)
    admitted: NDArray[np.datetime64] = field(repr=False)  # (n,) dates
    since_birthday: Whole = field(repr=False)  # (n,) days from the last birthday to admission
    # zip, ethnicity: (n,) text, ethnicity null where unknown
    zip: pl.Series = field(repr=False)
    ethnicity: pl.Series = field(repr=False)

    @property
    def n(self) -> int:
        """The number of patients."""
        return self.age.size

    @property
    def sex(self) -> pl.Series:
        """`F` or `M`."""
        return chosen(SEXES, 1 - self.is_woman.astype(np.int64))


def people(seed: int, n: int) -> MadePeople:
    """Return n synthetic patients. All shares are invented."""
    draws = SeededDraws(seed, "people")
    numbers = draws.order(n) * 10 + draws.below(np.full(n, 10))
    age = draws.places(n, AGE_WEIGHTS) * AGE_GROUP + draws.below(np.full(n, AGE_GROUP))
    band = np.searchsorted(AGE_BANDS, age, side="right")
    is_woman = draws.shares(n) < (np.array(WOMEN_OF_100) / 100)[band]
    admitted = FIRST_DAY + draws.below(np.full(n, DAYS))
    area, street = draws.places(n, ZIP_WEIGHTS), draws.below(np.full(n, STREETS))
    zips = [f"{front}{number:02d}" for front in ZIP_AREAS for number in range(STREETS)]
    return MadePeople(
        ids="M" + pl.Series(numbers).cast(pl.String).str.zfill(7),
        age=age,
        band=band,
        is_woman=is_woman,
        admitted=admitted,
        since_birthday=draws.below(np.full(n, YEAR)),
        zip=chosen(zips, area * STREETS + street),
        ethnicity=chosen(ETHNICITIES, draws.places(n, ETHNICITY_WEIGHTS)),
    )


def birth_dates(people: MadePeople) -> pl.Series:
    """Return dates of birth that agree with each patient's age on the day of admission."""
    birthday = last_birthday(people)
    month = birthday.astype("datetime64[M]")
    day = (birthday - month.astype("datetime64[D]")).astype(np.int64)
    born = month - 12 * people.age
    return pl.Series(born.astype("datetime64[D]") + day)


def last_birthday(people: MadePeople) -> NDArray[np.datetime64]:
    """Return the last birthday before admission; nobody has it on 29 February."""
    birthday = people.admitted - people.since_birthday
    month = birthday.astype("datetime64[M]")
    is_leap_day = (month.astype(np.int64) % 12 == 1) & ((birthday - month.astype("datetime64[D]")).astype(int) == 28)
    moved: NDArray[np.datetime64] = birthday - is_leap_day.astype(np.int64)
    return moved


def genotypes(seed: int, n: int) -> pl.Series:
    """Return for each patient the letters of both chromosomes at six sites, as `AGCCGG...`; shares are made up."""
    draws = SeededDraws(seed, "samples")
    pairs = []
    for first, second, of_100 in SITES:
        copies = (draws.shares(n) < of_100 / 100).astype(np.int64) + (draws.shares(n) < of_100 / 100)
        pairs.append(chosen((second * 2, first + second, first * 2), copies))
    return pl.select(pl.concat_str(pairs)).to_series()


def chosen(
    names: "np.ndarray[tuple[int], np.dtype[np.str_]] | list[str] | tuple[str | None, ...]", at: Whole
) -> pl.Series:
    """Return the names at these positions."""
    return pl.Series(list(names), dtype=pl.String).gather(at)


AGES = {
    "infant": (1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    "child": (0.6, 1.0, 0.15, 0.05, 0.03, 0.03),
    "young": (0.05, 0.3, 1.0, 0.6, 0.3, 0.2),
    "fertile": (0.0, 0.03, 1.0, 0.08, 0.0, 0.0),
    "adult": (0.0, 0.08, 0.6, 1.0, 0.8, 0.6),
    "old": (0.0, 0.01, 0.1, 0.5, 1.0, 1.0),
    "aged": (0.0, 0.0, 0.01, 0.12, 0.6, 1.0),
    "all": (0.6, 0.8, 0.9, 1.0, 1.0, 1.0),
}
"""How common a condition is in each band, against where it is most common."""

PERSISTENCE = {"acute": 0.0, "recurring": 0.25, "chronic": 0.55}
"""The chance that a condition is recorded in a year after the first."""

CLUSTERS = ("metabolic", "heart", "lung", "joints", "mind", "cancer")

CLUSTER_SHARES = {
    "metabolic": (0.0, 0.02, 0.12, 0.35, 0.5, 0.45),
    "heart": (0.02, 0.02, 0.05, 0.2, 0.4, 0.5),
    "lung": (0.1, 0.12, 0.12, 0.2, 0.28, 0.25),
    "joints": (0.0, 0.05, 0.15, 0.35, 0.45, 0.45),
    "mind": (0.0, 0.1, 0.3, 0.28, 0.2, 0.2),
    "cancer": (0.01, 0.01, 0.03, 0.1, 0.2, 0.2),
}
"""Patients with a cluster of conditions, by bands of ages."""

INSIDE, OUTSIDE = 1.9, 0.5
"""How much more common a condition is in patients with its cluster, and how much less in others."""

HEART_IF_METABOLIC = 1.5
FRAILTY = (0.35, 0.7, 1.0, 1.4, 2.2)
FRAILTY_WEIGHTS = (20, 25, 25, 20, 10)
MOST_YEARS = 8
YEARS_WEIGHTS = (24, 22, 18, 13, 9, 6, 5, 3)  # Years of records before admission, from 1 on
SINCE_ALWAYS = 0.5  # Chronic conditions that began before the records do
CODED_OTHERWISE = 0.12  # Records that have the most frequent code of a condition instead of the patient's own


@dataclass(frozen=True)
class Condition:
    """A medical condition."""

    icd9: tuple[str, ...]
    icd10: tuple[str, ...]
    share: float
    condition: str
    ages: str
    sex: str
    course: str
    cluster: str
    specialty: str

    @property
    def by_band(self) -> NDArray[np.float64]:
        """The share of the patients of each band of ages."""
        return self.share * np.array(AGES[self.ages])


@lru_cache(maxsize=1)
def conditions() -> tuple[Condition, ...]:
    """Return all conditions.

    The codes are those of ICD-9-CM and ICD-10-CM. How common they are, at what age, and what comes together, is made
    up: in the order of magnitude of a general hospital, and good for nothing but examples.
    """
    from importlib.resources import files  # slow to import

    table = files("cloister.testing").joinpath("conditions.csv").read_text(encoding="utf-8")
    return tuple(
        Condition(tuple(row.pop("icd9").split()), tuple(row.pop("icd10").split()), float(row.pop("share")), **row)
        for row in csv.DictReader(table.splitlines())
    )


@dataclass(frozen=True, eq=False)
class Had:
    """Pairs of patients and conditions, sorted by patient."""

    # patient, condition: (n,) who has what, each pair once, each patient at least once
    patient: Whole = field(repr=False)
    condition: Whole = field(repr=False)
    variant: Whole = field(repr=False)  # (n,) which of its codes
    is_main: NDArray[np.bool_] = field(repr=False)  # (n,) whether it is what the patient was admitted for


@dataclass(frozen=True, eq=False)
class MadeRecords(Had):
    """Records of patients, one row per code and year, sorted by patient and age; main in the year of admission."""

    years_ago: Whole = field(repr=False)  # (n,) whole years between the age at the record and the age at admission


def had(seed: int, people: MadePeople) -> Had:
    """Return the conditions of patients: more of those of their clusters, and of all if they are frail."""
    draws = SeededDraws(seed, "conditions")
    frailty = np.array(FRAILTY)[draws.places(people.n, FRAILTY_WEIGHTS)]
    factors: dict[str, Shares] = {}
    is_metabolic = np.zeros(people.n, dtype=bool)
    for cluster in CLUSTERS:
        chance = np.array(CLUSTER_SHARES[cluster])[people.band]
        if cluster == "heart":
            chance = chance * np.where(is_metabolic, HEART_IF_METABOLIC, 1.0)
        inside = draws.shares(people.n) < chance
        is_metabolic = inside if cluster == "metabolic" else is_metabolic
        factors[cluster] = np.where(inside, INSIDE, OUTSIDE)
    found: list[Whole] = []
    for condition in conditions():
        chance = condition.by_band[people.band] * frailty * factors.get(condition.cluster, 1.0)
        if condition.sex:
            chance *= people.is_woman if condition.sex == "F" else ~people.is_woman
        found.append(np.flatnonzero(draws.shares(people.n) < chance))
    has = np.zeros(people.n, dtype=bool)
    has[np.concatenate(found)] = True
    names = [known.condition for known in conditions()]
    for name, wanted in (("well child", people.band < 2), ("general examination", people.band >= 2)):
        number = names.index(name)  # an examination for those who have nothing else
        found[number] = np.concatenate((found[number], np.flatnonzero(~has & wanted)))
    patient = np.concatenate(found)
    order = np.argsort(patient, kind="stable")
    patient, which = patient[order], np.repeat(np.arange(len(found)), [own.size for own in found])[order]
    variant = _variants(draws, which)
    # What each patient was admitted for: something that is a disease, if there is one.
    is_other = np.array([known.icd9[0].startswith("V") for known in conditions()])[which]
    order = np.lexsort((draws.shares(patient.size) + is_other, patient))
    is_main = np.zeros(patient.size, dtype=bool)
    is_main[order[np.diff(patient[order], prepend=-1) != 0]] = True
    return Had(patient, which, variant, is_main)


def _variants(draws: SeededDraws, condition: Whole) -> Whole:
    """Which code of a condition a patient has: the first twice as often as the second, and so on."""
    known = conditions()
    most = max(len(one.icd9) for one in known)
    reached = np.ones((len(known), most - 1))  # shares up to each code but the last; 1 behind its own last
    for number, one in enumerate(known):
        weights = 0.5 ** np.arange(len(one.icd9))
        reached[number, : weights.size - 1] = (np.cumsum(weights) / weights.sum())[:-1]
    share = draws.shares(condition.size)
    variant = np.zeros(condition.size, dtype=np.int64)
    for place in range(reached.shape[1]):
        variant += share >= reached[condition, place]
    return variant


def records(seed: int, people: MadePeople, had: Had) -> MadeRecords:
    """Return the records of patients in the years up to admission.

    Chronic conditions are recorded again in most years after they began, others seldom or never.
    """
    draws = SeededDraws(seed, "visits")
    persistence = np.array([PERSISTENCE[condition.course] for condition in conditions()])[had.condition]
    years = np.minimum(draws.places(people.n, YEARS_WEIGHTS), people.age)[had.patient]
    always = (draws.shares(years.size) < SINCE_ALWAYS) & (persistence == PERSISTENCE["chronic"])
    first = np.where(always, years, draws.below(years + 1))
    found = []
    for ago in range(MOST_YEARS):
        again = (ago < first) & (draws.shares(first.size) < persistence)
        now = had.is_main & (ago == 0)
        found.append(np.flatnonzero((ago == first) | again | now))
    row = np.concatenate(found)
    years_ago = np.repeat(np.arange(MOST_YEARS), [own.size for own in found])
    patient = had.patient[row]
    order = np.argsort(patient * MOST_YEARS + (MOST_YEARS - 1 - years_ago), kind="stable")
    row, years_ago = row[order], years_ago[order]
    otherwise = (draws.shares(row.size) < CODED_OTHERWISE) & ~had.is_main[row]
    return MadeRecords(
        patient=had.patient[row],
        condition=had.condition[row],
        variant=np.where(otherwise, 0, had.variant[row]),
        years_ago=years_ago,
        is_main=had.is_main[row] & (years_ago == 0),
    )
