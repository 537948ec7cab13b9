"""Assertions about released data for users' tests, counted in plain Python.

Nothing here knows how cloister protects or verifies: a frame and a guarantee go in, and an `AssertionError` comes out
where the guarantee does not hold. Its message has names of columns and counts, never a value. A column that is not
there is a `ValueError`. Frames are pandas, Polars or PyArrow tables. Missing is a value like any other, whether it is
None, null or NaN. Nothing released is no release: where there are no rows, every assertion fails.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

Row = tuple[Hashable, ...]


def assert_k_anonymous(frame: "IntoDataFrame", quasi_identifiers: Sequence[str], k: int) -> None:
    """Assert that each combination of quasi-identifiers occurs in at least k rows.

    Parameters
    ----------
    frame : one row a patient
    quasi_identifiers : columns, at least one
    k : from 1

    Examples
    --------
    >>> import polars as pl
    >>> assert_k_anonymous(pl.DataFrame({"age": [30, 30, 40, 40], "sex": ["F", "F", "M", "M"]}), ["age", "sex"], k=2)
    """
    _assert_large(
        Counter(_rows(frame, quasi_identifiers)).values(), k, f"combinations of {', '.join(quasi_identifiers)}", "rows"
    )


def assert_l_diverse(frame: "IntoDataFrame", quasi_identifiers: Sequence[str], sensitive: str, values: int) -> None:
    """Assert that rows with the same quasi-identifiers have at least so many different sensitive values.

    Parameters
    ----------
    frame : one row a patient
    quasi_identifiers : columns, at least one
    sensitive : column; a missing value does not count, since it hides nothing
    values : from 1
    """
    found: defaultdict[Row, set[Hashable]] = defaultdict(set)
    for key, (value,) in zip(_rows(frame, quasi_identifiers), _rows(frame, [sensitive]), strict=True):
        found[key] |= {value} - {None}
    counts = [len(own) for own in found.values()]
    _assert_large(counts, values, f"combinations of {', '.join(quasi_identifiers)}", f"values of {sensitive}")


def assert_every_patient_shares(
    frame: "IntoDataFrame", patient: str, k: int, columns: Sequence[str] | None = None
) -> None:
    """Assert that each patient has the same rows, in the same order, as at least k - 1 others.

    Parameters
    ----------
    frame : any number of rows a patient, such as released trajectories
    patient : column of ids
    k : patients, from 1
    columns : what is compared; all columns but ``patient`` by default
    """
    if columns is None:
        import narwhals as nw  # 0.1 s

        columns = [name for name in nw.from_native(frame, eager_only=True).columns if name != patient]
    own: defaultdict[Hashable, list[Row]] = defaultdict(list)
    for (key,), row in zip(_rows(frame, [patient]), _rows(frame, columns), strict=True):
        own[key].append(row)
    _assert_large(Counter(map(tuple, own.values())).values(), k, "sequences", "patients")


def assert_combinations_are_shared(records: Iterable[Collection[str]], m: int, k: int) -> None:
    """Assert that any m or fewer codes that occur together in a record do so in at least k records (k^m-anonymity).

    Parameters
    ----------
    records : the codes, or generalized terms, of each patient; one that is repeated counts once
    m : most codes that someone knows, from 1
    k : from 1

    Examples
    --------
    >>> assert_combinations_are_shared([["401", "250"], ["401", "250"], ["401"]], m=2, k=2)
    """
    sets = [sorted(set(record)) for record in records]
    counts = Counter(known for record in sets for size in range(1, m + 1) for known in combinations(record, size))
    _assert_large(counts.values(), k, f"combinations of at most {m} codes", "records")


def assert_cannot_be_joined(one: "IntoDataFrame", other: "IntoDataFrame", columns: Sequence[str], k: int) -> None:
    """Assert that shared columns link no row of one frame to fewer than k rows of the other.

    Parameters
    ----------
    one, other : one row a patient each
    columns : that both have, at least one
    k : from 1
    """
    counts = [Counter(_rows(frame, columns)) for frame in (one, other)]
    if not all(counts):
        raise AssertionError("There are no rows in one of the frames.")
    if both := (counts[0] & counts[1]).values():  # the lesser of the two counts of each
        _assert_large(both, k, f"combinations of {', '.join(columns)} in both", "rows")


def assert_nothing_of(values: Iterable[str], folder: str | Path) -> None:
    """Assert that none of these values occurs, as a separate word, in a text file of a folder or its subfolders.

    Parameters
    ----------
    values : such as names and record numbers of the original; empty ones are passed over
    folder : such as that of a release; Parquet files are no text, and are not looked into
    """
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    if not files:
        raise AssertionError("There are no files in that folder.")
    wanted = {value for value in values if value}
    found = {}
    for path in files:
        text = path.read_bytes().decode(errors="replace")
        words = (rf"(?<![^\W_]){re.escape(value)}(?![^\W_])" for value in wanted if value in text)
        if count := sum(re.search(word, text) is not None for word in words):
            found[path.name] = count
    if found:
        places = ", ".join(f"{count} in {name}" for name, count in found.items())
        raise AssertionError(f"Of {len(wanted)} values that must not be there, there are {places}.")


def _assert_large(counts: Collection[int], least: int, of_what: str, in_what: str) -> None:
    if not counts:
        raise AssertionError(f"There are no {of_what}, as there are no rows.")
    small = sum(count < least for count in counts)
    if small:
        raise AssertionError(
            f"{small:,} of {len(counts):,} {of_what} have fewer than {least:,} {in_what} (the smallest "
            f"{min(counts):,})."
        )


def _rows(frame: "IntoDataFrame", columns: Sequence[str]) -> list[Row]:
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    absent = [name for name in columns if name not in table.columns]
    if absent or not columns:
        raise ValueError(f"The frame has no column {absent[0]!r}." if absent else "Name one column at least.")
    gone = ("NAType", "NaTType", "NoneType")  # pandas' own missing values; NaN is what does not equal itself
    lists = [
        [None if type(value).__name__ in gone or value != value else value for value in table[name].to_list()]
        for name in columns
    ]
    return list(zip(*lists, strict=True))
