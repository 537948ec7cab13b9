"""The order in which patients and claims are released: by what is released of them, and by nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

ROUNDS = 3
"""After so many rounds, ids that are still alike are taken to be interchangeable."""


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Rows of one file.

    Attributes
    ----------
    content : the columns that are released as they stand
    ids : columns to be numbered, by name, with the group whose numbers they share
    """

    content: pl.DataFrame
    ids: Mapping[str, tuple[str, pl.Series]]


def released_order(
    patients: Rows, claims: Rows, owners: Numbers, hashes: pl.Series | None = None
) -> tuple[Numbers, Numbers]:
    """Return the rows of patients, and those of claims, in released order.

    Patients are sorted by their columns, then by the sequence of their sorted claims; claims by patient, then by their
    columns. Missing comes first, texts are in the order of UTF-8 bytes. What is then still alike is told apart by the
    company that pseudonyms keep: which claims and patients share one. So the order of the input never matters, and the
    original ids do so only among pseudonyms that keep the same company, where the files come out the same.

    Parameters
    ----------
    owners : (n_claims,) row of the patient of each claim
    hashes : (n_patients,) keyed ids, which decide among patients who are alike in all else but pseudonyms
    """
    own, events = _dense(patients.content), _dense(claims.content)
    n = own.size
    people = _ranked(own.tolist(), _sequences(owners, events, n))
    if hashes is not None:
        people = _ranked(people.tolist(), [text.encode() for text in hashes])
    if patients.ids or claims.ids:
        colours: dict[str, dict[str, int]] = {}
        for last in (*[False] * ROUNDS, True):
            colours = _coloured(patients, claims, people, events, owners, last=last)
            events = _refined(events, claims, colours, people[owners])
            mine = _refined(people, patients, colours, np.zeros(n, dtype=np.int64))
            people = _ranked(mine.tolist(), _sequences(owners, events, n))
    order = np.argsort(people, kind="stable").astype(np.int64)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    return order, np.lexsort((events, place[owners])).astype(np.int64)


def _dense(frame: pl.DataFrame) -> Numbers:
    """Number of each row by its content, in the order of the content; missing first."""
    if not frame.width or not frame.height:
        return np.zeros(frame.height, dtype=np.int64)
    keys = frame.select(pl.all().name.map(lambda name: f"key {name}"))
    names = keys.columns
    ordered = keys.with_row_index("row").sort(names, nulls_last=False, maintain_order=True)
    changed = pl.any_horizontal([pl.col(name).ne_missing(pl.col(name).shift()) for name in names])
    numbers = ordered.select("row", changed.fill_null(True).cum_sum().alias("number"))
    found = np.empty(frame.height, dtype=np.int64)
    found[numbers["row"].to_numpy()] = numbers["number"].to_numpy()
    return found


def _sequences(owners: Numbers, numbers: Numbers, n: int) -> list[bytes]:
    """The sorted numbers of each owner, as bytes that sort alike."""
    order = np.lexsort((numbers, owners))
    text = numbers[order].astype(">u4").tobytes()
    ends = np.cumsum(np.bincount(owners, minlength=n)) * 4
    return [text[start:end] for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]


def _ranked(first: Sequence[int], second: Sequence[bytes]) -> Numbers:
    keys = list(zip(first, second, strict=True))
    rank = {key: number for number, key in enumerate(sorted(set(keys)))}
    return np.array([rank[key] for key in keys], dtype=np.int64)


def _coloured(
    patients: Rows, claims: Rows, people: Numbers, events: Numbers, owners: Numbers, *, last: bool
) -> dict[str, dict[str, int]]:
    """A number for each id of each group: ids in the same company have the same one, unless they are told at last."""
    with_patient = _dense(pl.DataFrame({"patient": people[owners], "claim": events}))
    found: dict[str, list[pl.DataFrame]] = {}
    for table, rows, colour in ((0, patients, people), (1, claims, with_patient)):
        for name, (group, ids) in rows.ids.items():
            side = f"{table} {name}"
            part = pl.DataFrame([ids.alias("id"), pl.Series("colour", colour)])
            part = part.with_columns(pl.format("{} {}", pl.lit(side), pl.col("colour")).alias("seen"))
            found.setdefault(group, []).append(part.drop_nulls("id").select("id", "seen"))
    return {group: _numbers_of(pl.concat(parts), last=last) for group, parts in found.items()}


def _numbers_of(seen: pl.DataFrame, *, last: bool) -> dict[str, int]:
    company = seen.group_by("id").agg(pl.col("seen").sort()).select("id", pl.col("seen").list.join(","))
    keys = {name: (text, name if last else "") for name, text in company.iter_rows()}
    rank = {key: number for number, key in enumerate(sorted(set(keys.values())), start=1)}
    return {name: rank[key] for name, key in keys.items()}


def _refined(numbers: Numbers, rows: Rows, colours: Mapping[str, Mapping[str, int]], more: Numbers) -> Numbers:
    columns = [pl.Series("own", numbers)]
    for name, (group, ids) in rows.ids.items():
        known = colours[group]
        columns.append(ids.replace_strict(dict(known), default=0, return_dtype=pl.Int64).fill_null(0).alias(name))
    return _dense(pl.DataFrame([*columns, pl.Series("more", more)]))
