"""Generalized code sets under attack: somebody knows some or all codes of a patient."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cloister.codesets.data import CodeSets
from cloister.codesets.data_file import CODES, ID
from cloister.codesets.expectation import CodesExpectation, CodesOriginal
from cloister.codesets.generalization.data import BETWEEN, CLOSE, OPEN
from cloister.codesets.generalization.recheck_policies import known_privacy
from cloister.codesets.generalization.stated import read_stated
from cloister.errors import InputError
from cloister.release_folder import data_file, delimiter_told, read_data
from cloister.results import Manifest

from .adversary import Adversary, Integers, Knowledge
from .further_code import FurtherCode
from .holders import NO_TERM, Holders, as_recorded, postings
from .opened import NOT_KNOWN, Opened, Traces, patient_ids, released_of

USUAL_NUMBERS = (1, 2, 3, 5)
"""Codes that adversaries know, besides as many as are promised to be safe, and all."""


def open_codes(
    folder: Path, manifest: Manifest, original: CodesOriginal, expectation: CodesExpectation | None = None
) -> Opened:
    """Open a release of generalized code sets.

    Parameters
    ----------
    expectation : its privacy policy, where the release names one that is not in it; without, nothing is known to be
        covered by the guarantee there

    Raises
    ------
    InputError
        The release cannot be read, or what is given does not fit it.
    """
    asked, codes = read_stated(manifest), original.given.codes
    cells = read_cells(folder, manifest)
    is_numbered = ID in manifest["columns"]
    numbers = pl.Series(np.arange(1, len(cells) + 1)).cast(pl.String)
    rows = np.full(codes.n_records, NOT_KNOWN, dtype=np.int64)
    if original.crosswalk is not None:
        rows = released_of(original.crosswalk, record_ids(original), numbers)
    released = found_by_terms(cells, codes, rows)
    adversary = Adversary(
        steps=code_steps(asked.m),
        n_items=np.diff(codes.offsets),
        released=released,
        original=as_recorded(codes),
        covers=_coverage(asked, codes, expectation or CodesExpectation()),
    )
    is_known = not np.any(rows == NOT_KNOWN)
    return Opened(
        shape="codes",
        method=str(manifest["method"]),
        k=asked.k,
        n_patients=codes.n_records,
        n_released=len(cells),
        is_known_who=is_known,
        adversaries=(adversary,),
        sensitive=(FurtherCode(released),),
        ids=None if codes.ids is None else patient_ids(codes.ids, codes.n_records),
        traces=Traces(
            released,
            adversary,
            np.arange(len(cells)),
            {CODES: _plain(cells)},
            rows if is_numbered else np.full(codes.n_records, NOT_KNOWN),
        ),
    )


def record_ids(original: CodesOriginal) -> pl.Series:
    """Return what a crosswalk calls the patients of an original: their ids, or the numbers of their lines."""
    codes, lines = original.given.codes, original.given.lines
    if codes.ids is None and lines is not None:
        return pl.Series(lines + 1).cast(pl.String)
    return patient_ids(codes.ids, codes.n_records)


def code_steps(m: int | None, before: str = "") -> tuple[Knowledge, ...]:
    """Return the numbers of codes that adversaries know.

    Parameters
    ----------
    m : how many are promised to be safe to know
    before : what else is known
    """
    numbers = sorted({*USUAL_NUMBERS, *([] if m is None else [m])})
    some = [Knowledge(f"{before}{n} code{'s' if n > 1 else ''}", n) for n in numbers]
    return (*some, Knowledge(f"{before}all codes", None))


def read_cells(folder: Path, manifest: Manifest) -> pl.Series:
    """Return the terms of each record of the data file, as text.

    Raises
    ------
    InputError
        There is none.
    """
    name = data_file(manifest)
    frame = pl.DataFrame() if name is None else read_data(folder / name, delimiter_told(manifest))
    if CODES not in frame.columns:
        raise InputError(f"The release has no data file with a column {CODES}.", file=name)
    return frame[CODES].cast(pl.String)


def found_by_terms(cells: pl.Series, codes: CodeSets, rows: Integers) -> Holders:
    """Return records, found by the codes of their terms.

    Parameters
    ----------
    cells : the terms of each record, as text
    codes : what is known of patients
    rows : (n_patients,) the patient's own record, `GONE` or `NOT_KNOWN`
    """
    rowed = pl.DataFrame([pl.Series("row", np.arange(len(cells))), cells.str.split(" ").alias("term")])
    occurrences = rowed.explode("term").drop_nulls()
    terms = occurrences["term"].unique().sort().to_list()
    numbers = occurrences["term"].rank("dense").cast(pl.Int64).to_numpy() - 1
    term_of = np.full(codes.n_codes, NO_TERM, dtype=np.int64)
    place = {code: number for number, code in enumerate(codes.vocabulary)}
    for number, term in enumerate(terms):
        for code in _codes_of(term):
            if code in place:
                term_of[place[code]] = number
    return Holders(
        postings(numbers, occurrences["row"].to_numpy(), len(terms)),
        term_of,
        codes,
        np.ones(len(cells), dtype=np.int64),
        rows,
    )


def _codes_of(term: str) -> list[str]:
    return term[1:-1].split(BETWEEN) if term.startswith(OPEN) and term.endswith(CLOSE) else [term]


def _plain(cells: pl.Series) -> pl.Series:
    """The codes that the terms of each record stand for."""
    return cells.str.replace_all(r"[()]", "").str.replace_all(BETWEEN, " ", literal=True).str.split(" ")


def _coverage(asked: Any, codes: CodeSets, expectation: CodesExpectation) -> Callable[[int, Sequence[int]], bool]:
    """Whether a guarantee by a privacy policy is about somebody who knows some codes of a patient."""
    if asked.m is not None:
        return lambda _target, known: len(known) <= asked.m
    privacy = known_privacy(asked, expectation, codes)
    if privacy.promised is None:
        return lambda _target, _known: False
    names = privacy.promised.vocabulary
    place = {code: number for number, code in enumerate(codes.vocabulary)}
    by_code: dict[int, list[frozenset[int]]] = {}
    sets = privacy.promised.sets
    for begin, end in zip(sets.offsets[:-1].tolist(), sets.offsets[1:].tolist(), strict=True):
        found = frozenset(place[names[item]] for item in sets.items[begin:end].tolist() if names[item] in place)
        for code in found:
            by_code.setdefault(code, []).append(found)

    def covers(target: int, known: Sequence[int]) -> bool:
        items = {int(codes.items[codes.offsets[target] + item]) for item in known}
        return any(items <= policy for policy in by_code.get(min(items), ()))

    return covers
