"""The example hospital: patients who do not exist, deterministic for a seed."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

SEXES = ("F", "M")
ETHNICITIES = ("White", "Black", "Asian", "Hispanic", "Other", None)
ETHNICITY_SHARES = (0.58, 0.14, 0.07, 0.14, 0.04, 0.03)
ZIP_AREAS = ("021", "100", "606", "770", "941", "981")
ZIP_SHARES = (0.3, 0.25, 0.2, 0.12, 0.08, 0.05)
DIAGNOSES = ("I10", "E11.9", "J44.9", "F32.9", "I25.10", "N18.3", "C50.911", "M54.5", "K21.9", "B20")
YOUNG = (0.08, 0.05, 0.03, 0.27, 0.01, 0.01, 0.02, 0.33, 0.18, 0.02)
OLD = (0.31, 0.19, 0.12, 0.05, 0.12, 0.08, 0.03, 0.05, 0.04, 0.01)
FIRST_DAY, DAYS = np.datetime64("2024-01-01"), 731


def hospital_patients(seed: int = 0, n: int = 1000) -> pl.DataFrame:
    """Return one row a patient: record number, name, age, sex, ZIP, ethnicity, admission, diagnosis.

    Ages follow the two humps of hospital populations, diagnoses depend on age, some ethnicities are missing.

    Parameters
    ----------
    seed : the same seed and n give the same patients
    n : number of patients, at least 1

    Examples
    --------
    >>> hospital_patients(n=3).columns
    ['mrn', 'name', 'age', 'sex', 'zip', 'ethnicity', 'admitted', 'diagnosis']
    """
    generator = np.random.default_rng(seed)
    age = _ages(generator, n)
    area = generator.choice(ZIP_AREAS, n, p=ZIP_SHARES)
    street = generator.integers(0, 40, n)
    return pl.DataFrame(
        {
            "mrn": [f"M{number:07d}" for number in generator.permutation(10 * n)[:n]],
            "name": [f"Patient {number}" for number in range(1, n + 1)],
            "age": age,
            "sex": generator.choice(SEXES, n, p=(0.53, 0.47)),
            "zip": [f"{front}{back:02d}" for front, back in zip(area, street, strict=True)],
            "ethnicity": [ETHNICITIES[i] for i in generator.choice(len(ETHNICITIES), n, p=ETHNICITY_SHARES)],
            "admitted": (FIRST_DAY + generator.integers(0, DAYS, n)).astype("datetime64[D]"),
            "diagnosis": _diagnoses(generator, age),
        }
    )


def _ages(generator: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Whole years: young adults and, more of them, the old."""
    young = generator.normal(33, 12, n)
    old = generator.normal(69, 11, n)
    return np.clip(np.where(generator.random(n) < 0.4, young, old).round(), 0, 104).astype(np.int64)


def _diagnoses(generator: np.random.Generator, age: NDArray[np.int64]) -> list[str]:
    young = generator.choice(DIAGNOSES, age.size, p=YOUNG)
    old = generator.choice(DIAGNOSES, age.size, p=OLD)
    return [str(code) for code in np.where(age < 50, young, old)]
