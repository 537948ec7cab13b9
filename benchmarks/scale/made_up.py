"""Made-up patients for the benchmark of scale: any number, written some at a time, the same for the same seed."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

AT_ONCE = 1_000_000
REGIONS = 40
HIERARCHIES = {
    "birth_year": "interval:5,10,20,40",
    "sex": "suppress",
    "zip": "prefix:5",
    "marital": "suppress",
    "education": "suppress",
    "insurance": "suppress",
    "country": "suppress",
    "admission": "suppress",
}
"""The quasi-identifiers, and the hierarchy of each."""

ID, DIAGNOSIS = "mrn", "diagnosis"
DIAGNOSES = 2_000


def patients(n: int, begin: int, seed: int, *, identified: bool) -> pl.DataFrame:
    """The patients from a number on; with ``identified``, each has a record number and a diagnosis, too."""
    random = np.random.default_rng([seed, begin])
    age = np.clip(random.normal(52, 22, n), 0, 99).astype(np.int16)
    region = np.minimum((random.zipf(1.3, n) - 1) % REGIONS, REGIONS - 1)
    marital = np.where(age > 75, _drawn(random, n, 0.1, 0.4, 0.4, 0.1), _drawn(random, n, 0.4, 0.45, 0.03, 0.12))
    insurance = np.where(age > 65, 0, _drawn(random, n, 0.6, 0.3, 0.1))
    columns = {
        "birth_year": pl.Series(2026 - age, dtype=pl.Int32),
        "sex": _words(random.integers(0, 2, n), "F", "M"),
        "zip": _words(region, *(f"{100 + place}" for place in range(REGIONS))),
        "marital": _words(marital, "single", "married", "widowed", "divorced"),
        "education": _words(
            _drawn(random, n, 0.03, 0.12, 0.5, 0.2, 0.15), "none", "primary", "secondary", "college", "university"
        ),
        "insurance": _words(insurance, "public", "private", "none"),
        "country": _words(_drawn(random, n, 0.8, 0.08, 0.06, 0.04, 0.02), "CH", "DE", "FR", "IT", "XX"),
        "admission": _words(_drawn(random, n, 0.5, 0.45, 0.05), "emergency", "planned", "transfer"),
    }
    if identified:
        columns[ID] = pl.Series(np.arange(begin, begin + n) * 7 + 1_000_003).cast(pl.String)
        diagnosis = (random.zipf(1.2, n) - 1) % DIAGNOSES
        columns[DIAGNOSIS] = _words(diagnosis, *(f"{100 + one // 10}.{one % 10}" for one in range(DIAGNOSES)))
    return pl.DataFrame(columns)


def _drawn(random: np.random.Generator, n: int, *shares: float) -> np.ndarray:
    return np.searchsorted(np.cumsum(shares)[:-1], random.random(n), "right")


def _words(places: np.ndarray, *words: str) -> pl.Series:
    return pl.Series(words)[places]


def batches(n: int, seed: int, *, identified: bool) -> Iterator[pl.DataFrame]:
    """So many patients, a million at a time."""
    for begin in range(0, n, AT_ONCE):
        yield patients(min(AT_ONCE, n - begin), begin, seed, identified=identified)


def write(path: Path, n: int, seed: int, *, identified: bool = False) -> None:
    """Write so many patients as Parquet."""
    writer = None
    for frame in batches(n, seed, identified=identified):
        table = frame.to_arrow()
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()


def combinations(path: Path) -> int:
    """How many different combinations of quasi-identifiers a file has."""
    import duckdb

    columns = ", ".join(f'"{column}"' for column in HIERARCHIES)
    words = f"SELECT count(*) FROM (SELECT DISTINCT {columns} FROM read_parquet(?))"
    with duckdb.connect(config={"memory_limit": "2GiB", "threads": 2}) as connection:
        return int(connection.execute(words, [str(path)]).fetchone()[0])


def quasi_identifiers(columns: Sequence[str] = tuple(HIERARCHIES)) -> list[str]:
    """The options that name the quasi-identifiers."""
    return [word for column in columns for word in ("--qi", f"{column}={HIERARCHIES[column]}")]
