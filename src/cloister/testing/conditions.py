"""The conditions that made-up patients have: their codes, and how common they are."""

import csv
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

AGE_BANDS = (1, 18, 40, 65, 80)
"""Years at which a band of ages begins, after the first."""

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


@dataclass(frozen=True)
class Condition:
    """A condition.

    Attributes
    ----------
    name : in words
    icd9, icd10 : its codes, as many of one as of the other, the most frequent first
    share : of the patients of the age at which it is most common, before clusters and frailty
    ages : a word of `AGES`
    sex : whose it is alone, or empty
    course : a word of `PERSISTENCE`
    cluster : the cluster that it belongs to, or empty
    specialty : of the physicians who see it
    """

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
        for row in csv.DictReader(_text().splitlines())
    )


def number_of(name: str) -> int:
    """Return the place of a condition among all."""
    return next(number for number, condition in enumerate(conditions()) if condition.name == name)


def _text() -> str:
    from importlib.resources import files  # slow to import

    return files("cloister.testing").joinpath("conditions.csv").read_text(encoding="utf-8")
