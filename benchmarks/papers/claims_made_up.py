"""Patients and claims that never were, for the benchmarks; as skewed and as persistent as real ones.

Codes are drawn by Zipf's law from vocabularies as large as those of real claims. Each patient has a few chronic
diagnoses that come back, a doctor who comes back, and more claims when old; specialty, place, procedure and stay follow
from the diagnosis, but for a share that does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.hierarchy import icd9

N_DIAGNOSES = 4_000
N_PROCEDURES = 1_800
N_DOCTORS = 2_000
N_STATES = 12
MEAN_CLAIMS = 25
DAYS = 365
FIRST_DAY = np.datetime64("2024-01-01")

SPECIALTIES = (
    "internal medicine",
    "general practice",
    "diagnostic radiology",
    "laboratory",
    "surgery",
    "obstetrics and gynecology",
    "pediatrics",
    "emergency medicine",
    "anesthesiology",
    "pathology",
    "rehabilitation",
    "podiatry",
)
PLACES = ("11", "81", "22", "21", "23", "12", "41", "99")
"""Office, laboratory, outpatient, inpatient, emergency room, home, ambulance, other."""

INPATIENT = 3
RARE = 350
"""One code in so many is on the exclusion list, the most frequent ones never."""

PLACE_SHARES = (0.55, 0.16, 0.12, 0.07, 0.05, 0.02, 0.01, 0.02)
SPECIALTY_SHARES = (0.24, 0.18, 0.12, 0.14, 0.08, 0.05, 0.06, 0.05, 0.02, 0.03, 0.02, 0.01)

EXCLUDED = (42, 291, 292, 303, 304, 305, 302, 317, 318, 630, 634, 635, 637)
"""Categories of the exclusion list."""

PROCEDURE_RANGES = ((99201, 99499), (80048, 89356), (70010, 79999), (90281, 99199), (10040, 69979), (100, 1999))
PROCEDURE_SHARES = (0.12, 0.25, 0.2, 0.18, 0.23, 0.02)
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class MadeUp:
    """Two tables of text."""

    patients: pl.DataFrame
    claims: pl.DataFrame


def made_up(n_patients: int, seed: int = 1) -> MadeUp:
    """Return so many patients with some 25 claims each; the same for the same seed."""
    random = np.random.default_rng(seed)
    age = np.clip(random.gamma(4.0, 12.0, n_patients), 0, 99).astype(np.int64)
    mean = (MEAN_CLAIMS - 1) * (0.4 + 1.2 * age / 47.5) / 1.6
    counts = 1 + np.minimum(random.negative_binomial(1.3, 1.3 / (1.3 + mean)), 400)
    ids = pl.Series(random.permutation(n_patients)).cast(pl.String).str.zfill(7)
    owners = np.repeat(np.arange(n_patients), counts)
    return MadeUp(_patients(random, ids, age), _claims(random, ids, owners))


def write(n_patients: int, folder: Path, seed: int = 1) -> tuple[Path, Path]:
    """Write both tables as CSV files."""
    made = made_up(n_patients, seed)
    paths = folder / "patients.csv", folder / "claims.csv"
    made.patients.write_csv(paths[0])
    made.claims.write_csv(paths[1])
    return paths


def _patients(random: np.random.Generator, ids: pl.Series, age: Numbers) -> pl.DataFrame:
    born = FIRST_DAY - (age * 365.25).astype(np.int64) - random.integers(0, 365, age.size)
    return pl.DataFrame(
        {
            "patient_id": ids,
            "birth_date": _days(born),
            "sex": pl.Series(["F", "M"]).gather(pl.Series(random.choice(2, age.size, p=[0.54, 0.46]))),
            "state": _named("S", _zipf(random, N_STATES, age.size, 0.6)),
        }
    )


def _claims(random: np.random.Generator, ids: pl.Series, owners: Numbers) -> pl.DataFrame:
    n = owners.size
    chronic = _zipf(random, N_DIAGNOSES, 3 * ids.len(), 1.1).reshape(-1, 3)[owners, random.integers(0, 3, n)]
    diagnosis = np.where(random.random(n) < 0.55, chronic, _zipf(random, N_DIAGNOSES, n, 1.0))
    usual = random.integers(0, N_PROCEDURES, (N_DIAGNOSES, 2))[diagnosis, random.integers(0, 2, n)]
    procedure = np.where(random.random(n) < 0.5, usual, _zipf(random, N_PROCEDURES, n, 1.1))
    place = _going_with(random, diagnosis, 0.4, PLACE_SHARES)
    stay = np.where(place == INPATIENT, 1 + np.minimum(random.geometric(0.25, n), 200), 0)
    doctor = random.integers(0, N_DOCTORS, ids.len())[owners]
    doctor = np.where(random.random(n) < 0.5, doctor, _zipf(random, N_DOCTORS, n, 1.0))
    date = FIRST_DAY + random.integers(0, DAYS, n)
    paid = date + stay + random.gamma(2.0, 20.0, n).astype(np.int64)
    return pl.DataFrame(
        {
            "patient_id": ids.gather(pl.Series(owners)),
            "date": _days(date),
            "end_date": _days(date + stay),
            "paid_date": _days(paid),
            "icd9": _diagnoses(random).gather(pl.Series(diagnosis)),
            "cpt": _procedures(random).gather(pl.Series(procedure)),
            "place_of_service": pl.Series(PLACES).gather(pl.Series(place)),
            "specialty": pl.Series(SPECIALTIES).gather(
                pl.Series(_going_with(random, diagnosis, 0.6, SPECIALTY_SHARES))
            ),
            "provider": _named("D", doctor),
            "vendor": _named("V", doctor // 7),
        }
    )


def _days(days: Any) -> pl.Series:
    return pl.Series(days.astype("datetime64[D]")).cast(pl.Date).cast(pl.String)


def _named(letter: str, numbers: Numbers) -> pl.Series:
    return letter + pl.Series(numbers).cast(pl.String)


def _zipf(random: np.random.Generator, n_values: int, size: int, exponent: float) -> Numbers:
    """Numbers below ``n_values``, of which the first are the most frequent."""
    ends = np.cumsum(1.0 / np.arange(1, n_values + 1) ** exponent)
    return np.searchsorted(ends / ends[-1], random.random(size)).astype(np.int64)


def _going_with(random: np.random.Generator, diagnosis: Numbers, share: float, shares: Sequence[float]) -> Numbers:
    """What goes with a diagnosis as a rule in this share of the claims, and anything in the others."""
    usual = random.choice(len(shares), N_DIAGNOSES, p=shares)[diagnosis]
    other = random.choice(len(shares), diagnosis.size, p=shares)
    return np.where(random.random(diagnosis.size) < share, usual, other)


def _diagnoses(random: np.random.Generator) -> pl.Series:
    """Codes of the form of ICD-9, the most frequent first; few are on the exclusion list."""
    outside = {int(number) for number in icd9().outside([f"{number:03}" for number in range(1, 1000)])}
    others = [number for number in range(1, 1000) if number not in {*outside, *EXCLUDED}]
    numbers = random.choice(others, N_DIAGNOSES)
    numbers[RARE::RARE] = random.choice(EXCLUDED, numbers[RARE::RARE].size)
    endings = random.integers(0, 100, N_DIAGNOSES)
    return pl.Series([f"{number:03}.{ending:02}" for number, ending in zip(numbers, endings, strict=True)])


def _procedures(random: np.random.Generator) -> pl.Series:
    """Codes of the form of CPT, the most frequent first: visits and tests more than surgery; some are none."""
    begins, ends = zip(*PROCEDURE_RANGES, strict=True)
    own = random.choice(len(begins), N_PROCEDURES, p=PROCEDURE_SHARES)
    texts = [f"{random.integers(begins[one], ends[one] + 1):05}" for one in own]
    texts[60::60] = [f"J{random.integers(0, 10_000):04}" for _ in texts[60::60]]
    texts[90::120] = [f"{random.integers(100, 890)}" for _ in texts[90::120]]
    return pl.Series(texts)
