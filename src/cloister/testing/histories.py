"""What the made-up patients have, how common that is, and in which years of their lives it was recorded."""

import csv
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .people import MadePeople, SeededDraws, Shares, Whole

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
    """A condition."""

    name: str
    icd9: tuple[str, ...]
    icd10: tuple[str, ...]
    share: float
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
        Condition(
            row["condition"],
            tuple(row["icd9"].split()),
            tuple(row["icd10"].split()),
            float(row["share"]),
            row["ages"],
            row["sex"],
            row["course"],
            row["cluster"],
            row["specialty"],
        )
        for row in csv.DictReader(table.splitlines())
    )


def number_of(name: str) -> int:
    """Return the place of a condition among all."""
    return next(number for number, condition in enumerate(conditions()) if condition.name == name)


@dataclass(frozen=True, eq=False)
class Had:
    """Which patients have which conditions, sorted by patient."""

    # patient, condition: (n,) who has what, each pair once, each patient at least once
    patient: Whole = field(repr=False)
    condition: Whole = field(repr=False)
    variant: Whole = field(repr=False)  # (n,) which of its codes
    is_main: NDArray[np.bool_] = field(repr=False)  # (n,) whether it is what the patient was admitted for


@dataclass(frozen=True, eq=False)
class MadeRecords:
    """What was recorded of patients, one row a code and year, sorted by patient and age."""

    # patient, condition, variant: (n,)
    patient: Whole = field(repr=False)
    condition: Whole = field(repr=False)
    variant: Whole = field(repr=False)
    years_ago: Whole = field(repr=False)  # (n,) whole years between the age at the record and the age at admission
    # (n,) whether it is what the patient was admitted for, in the year of admission
    is_main: NDArray[np.bool_] = field(repr=False)


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
    for name, wanted in (("well child", people.band < 2), ("general examination", people.band >= 2)):
        number = number_of(name)  # an examination for those who have nothing else
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
    """Return what was recorded of patients in the years up to admission.

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
