"""Attack generalized code sets: the adversary knows some or all codes of a patient.

Known codes are looked for in records that hold codes, or terms that stand for several. Where nothing is sensitive, a
further code of the patient is guessed from the records that fit all others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
import polars as pl

from cloister.kernels.ragged import owners, postings
from cloister.release.folder import read_tables
from cloister.release.manifest import CodeSetsManifest
from cloister.shapes.codes.data import CODES, CodeSets
from cloister.shapes.generalization.format.data import BETWEEN, CLOSE, OPEN, name_sets
from cloister.shapes.generalization.format.manifest import GeneralizationManifest, GeneralizationSettings
from cloister.shapes.generalization.verify.recheck import known_privacy
from cloister.verification.codes_original import CodesOriginal, read_original
from cloister.verification.driver import Request

from .adversary import NOT_KNOWN, Adversary, Inference, Integers, KnowledgeStep, RecordGroups, order_of
from .simulation import OpenedRelease, Traces, patient_ids, released_of

NO_TERM = -1
A_FURTHER_CODE = "a further code"  # What is guessed, in place of the name of a column
USUAL_NUMBERS = (1, 2, 3, 5)  # Codes that adversaries know, besides as many as are promised to be safe, and all


@dataclass(frozen=True, eq=False, repr=False)
class TermRecords(RecordGroups):
    """Records as sets of terms."""

    postings: Sequence[Integers]  # for each term, the records that hold it, ascending
    term_of: Integers  # term of each code; `NO_TERM` if it is not in the release, so that any record may hide it
    codes: CodeSets  # what is known of patients
    sizes: Integers  # (n_records,) ones
    own: Integers  # (n_patients,) the patient's own record, `GONE` or `NOT_KNOWN`

    def groups(self, target: int, known: Sequence[int]) -> Integers:
        """Return the records with a term for each known code of a target."""
        begin = int(self.codes.offsets[target])
        terms = {int(self.term_of[self.codes.items[begin + item]]) for item in known} - {NO_TERM}
        if not terms:
            return np.arange(self.sizes.size)
        wanted = sorted((self.postings[term] for term in terms), key=len)
        return reduce(_both, wanted[1:], wanted[0])


def _both(few: Integers, many: Integers) -> Integers:
    """The numbers that are in both of two ascending lists."""
    if not many.size:
        return many
    place = np.minimum(np.searchsorted(many, few), many.size - 1)
    found: Integers = few[many[place] == few]
    return found


def as_recorded(codes: CodeSets) -> TermRecords:
    """Return the original records; the patient of each is known."""
    owner = owners(codes.offsets)
    return TermRecords(
        postings(codes.items, owner, codes.n_codes),
        np.arange(codes.n_codes),
        codes,
        np.ones(codes.n_records, dtype=np.int64),
        np.arange(codes.n_records),
    )


@dataclass(frozen=True, eq=False, repr=False)
class FurtherCode:
    """Released or reconstructed records, from which the adversary guesses a further code of a target."""

    among: TermRecords

    def infer(self, targets: Integers, seed: int) -> Inference:
        """Hide the last code of each target, and guess it from the records that match the others.

        The term is guessed that is right most often, and of a term of several codes one of them. Targets with one code,
        or without a match, are omitted.
        """
        supports = np.array([rows.size for rows in self.among.postings], dtype=np.int64)
        terms = np.repeat(np.arange(supports.size), supports)
        records = np.concatenate([*self.among.postings, np.empty(0, dtype=np.int64)])
        right = blind = 0.0
        certain = n = 0
        for hidden, known, rows in self._hidden(targets, seed):
            n += 1
            fits = np.zeros(self.among.sizes.size, dtype=np.bool_)
            fits[rows] = True
            counts = np.bincount(terms[fits[records]], minlength=supports.size)
            right += self._chance(counts, hidden, known)
            blind += self._chance(supports, hidden, known)
            certain += hidden != NO_TERM and self._sizes[hidden] == 1 and counts[hidden] == rows.size
        of = max(1, n)
        return Inference(A_FURTHER_CODE, n, right / of, blind / of, certain / of)

    @property
    def _sizes(self) -> Integers:
        term_of = self.among.term_of
        return np.bincount(term_of[term_of != NO_TERM], minlength=len(self.among.postings))

    def _hidden(self, targets: Integers, seed: int) -> Iterator[tuple[int, set[int], Integers]]:
        """For each target the term of the hidden code, those of the known ones, and the records that fit."""
        codes = self.among.codes
        for target in targets.tolist():
            begin, end = (int(bound) for bound in codes.offsets[target : target + 2])
            *known, last = order_of(end - begin, seed, target)
            rows = self.among.groups(target, known) if known else np.empty(0, dtype=np.int64)
            if rows.size:
                terms = self.among.term_of[codes.items[begin:end]].tolist()
                yield terms[last], {terms[i] for i in known}, rows

    def _chance(self, counts: Integers, hidden: int, known: set[int]) -> float:
        """Return the probability that the best guess is right, from the number of occurrences of each term."""
        sizes = self._sizes
        worth = np.divide(counts, sizes, out=np.zeros(counts.size), where=sizes > 0)
        worth[[term for term in known if term != NO_TERM]] = 0
        guess = int(np.argmax(worth)) if worth.size else NO_TERM
        return 1 / int(sizes[guess]) if guess == hidden and worth[guess] > 0 else 0.0


def open_codes(folder: Path, manifest: GeneralizationManifest, known: Request, _seed: int) -> OpenedRelease:
    """Open a release of generalized code sets.

    ``known``: its privacy policy, where the release names one that is not in it; without, nothing is known to be
    covered by the guarantee there
    """
    asked, original = manifest.settings, read_original(known, manifest.settings)
    assert original is not None  # no attack without
    codes = original.given.codes
    cells = read_cells(folder, manifest)
    numbers = pl.Series(np.arange(1, len(cells) + 1)).cast(pl.String)
    rows = released_of(original.crosswalk, record_ids(original), numbers, codes.n_records)
    released = found_by_terms(cells, codes, rows)
    adversary = Adversary(
        steps=code_steps(asked.m),
        n_items=np.diff(codes.offsets),
        released=released,
        original=as_recorded(codes),
        covers=_coverage(asked, codes, known),
    )
    shown = cells.str.replace_all(r"[()]", "").str.replace_all(BETWEEN, " ", literal=True).str.split(" ")
    unknown = np.full(codes.n_records, NOT_KNOWN)
    found = rows if manifest.columns.id is not None else unknown
    return OpenedRelease(
        shape="codes",
        method=manifest.method,
        k=asked.k,
        n_patients=codes.n_records,
        n_released=len(cells),
        is_known_who=not np.any(rows == NOT_KNOWN),
        adversaries=(adversary,),
        sensitive=(FurtherCode(released),),
        ids=None if codes.ids is None else patient_ids(codes.ids, codes.n_records),
        traces=Traces(released, adversary, np.arange(len(cells)), {CODES: shown}, found),
    )


def record_ids(original: CodesOriginal) -> pl.Series:
    """Return the names of the original patients in a crosswalk: their ids, or their line numbers."""
    codes, lines = original.given.codes, original.given.lines
    if codes.ids is None and lines is not None:
        return pl.Series(lines + 1).cast(pl.String)
    return patient_ids(codes.ids, codes.n_records)


def code_steps(m: int | None, before: str = "") -> tuple[KnowledgeStep, ...]:
    """Return how many codes adversaries know at each step.

    ``m``: how many are promised to be safe to know
    ``before``: what else is known
    """
    numbers = sorted({*USUAL_NUMBERS, *([] if m is None else [m])})
    some = [KnowledgeStep(f"{before}{n} code{'s' if n > 1 else ''}", n) for n in numbers]
    return (*some, KnowledgeStep(f"{before}all codes", None))


def read_cells(folder: Path, manifest: CodeSetsManifest) -> pl.Series:
    """Return the terms of each record of the data file, as text."""
    (frame,) = read_tables(folder, manifest).values()
    return frame[CODES].cast(pl.String)


def found_by_terms(cells: pl.Series, codes: CodeSets, rows: Integers) -> TermRecords:
    """Index records by the codes of their terms.

    ``cells``: the terms of each record, as text
    ``codes``: what is known of patients
    ``rows``: (n_patients,) the patient's own record, `GONE` or `NOT_KNOWN`
    """
    rowed = pl.DataFrame([pl.Series("row", np.arange(len(cells))), cells.str.split(" ").alias("term")])
    occurrences = rowed.explode("term").drop_nulls()
    terms = occurrences["term"].unique().sort().to_list()
    numbers = occurrences["term"].rank("dense").cast(pl.Int64).to_numpy() - 1
    term_of = np.full(codes.n_codes, NO_TERM, dtype=np.int64)
    place = {code: number for number, code in enumerate(codes.vocabulary)}
    for number, term in enumerate(terms):
        for code in term[1:-1].split(BETWEEN) if term.startswith(OPEN) and term.endswith(CLOSE) else [term]:
            if code in place:
                term_of[place[code]] = number
    return TermRecords(
        postings(numbers, occurrences["row"].to_numpy(), len(terms)),
        term_of,
        codes,
        np.ones(len(cells), dtype=np.int64),
        rows,
    )


def _coverage(asked: GeneralizationSettings, codes: CodeSets, request: Request) -> Callable[[int, Sequence[int]], bool]:
    """Whether a guarantee by a privacy policy is about someone who knows some codes of a patient."""
    if (m := asked.m) is not None:
        return lambda _target, known: len(known) <= m
    promised = known_privacy(asked, request, codes).promised
    if promised is None:
        return lambda _target, _known: False
    place = {code: number for number, code in enumerate(codes.vocabulary)}
    by_code: dict[int, list[frozenset[int]]] = {}
    for names in name_sets(promised.sets, promised.vocabulary):
        found = frozenset(place[name] for name in names if name in place)
        for code in found:
            by_code.setdefault(code, []).append(found)

    def covers(target: int, known: Sequence[int]) -> bool:
        items = {int(codes.items[codes.offsets[target] + item]) for item in known}
        return any(items <= policy for policy in by_code.get(min(items), ()))

    return covers
