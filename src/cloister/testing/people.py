"""Who the made-up patients are: age, sex, where they live, when they were in hospital, and what is in their samples.

All is drawn by random numbers that are the same with every version of NumPy and on every machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

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
        """Return the numbers from 0 to n - 1 in any order."""
        return np.argsort(self.shares(n), kind="stable")


@dataclass(frozen=True, eq=False)
class MadePeople:
    """The patients in the order of the files."""

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
        """Number of patients."""
        return self.age.size

    @property
    def sex(self) -> pl.Series:
        """`F` or `M`."""
        return chosen(SEXES, 1 - self.is_woman.astype(np.int64))


def people(seed: int, n: int) -> MadePeople:
    """Return n patients. All shares are made up."""
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
    """Return dates of birth by which everybody has their age on the day of admission."""
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
    """Return the names at these places."""
    return pl.Series(list(names), dtype=pl.String).gather(at)
