"""Code sets of some hundred made-up patients, small enough for Spark in tests."""

import numpy as np
import polars as pl

CODES = [f"{100 + number // 4}.{number % 4}" for number in range(40)]


def records(n=300, seed=1):
    """Sets of two to seven codes, the first of which are frequent."""
    generator = np.random.default_rng(seed)
    shares = 1 / np.arange(1, len(CODES) + 1)
    lengths = generator.integers(2, 8, n)
    return [sorted(generator.choice(CODES, length, replace=False, p=shares / shares.sum())) for length in lengths]


RECORDS = [[str(code) for code in record] for record in records()]


def ids_of(given):
    """An id for each record."""
    return pl.Series("id", [f"P{number:04d}" for number in range(len(given))])


def wide(given=RECORDS):
    """One line a patient."""
    return pl.DataFrame([ids_of(given), pl.Series("codes", [" ".join(record) for record in given])])


def long(given=RECORDS):
    """One line a code, the lines of a patient apart from each other."""
    frame = pl.DataFrame([ids_of(given), pl.Series("code", given)]).explode("code")
    return frame.sample(fraction=1, shuffle=True, seed=3)
