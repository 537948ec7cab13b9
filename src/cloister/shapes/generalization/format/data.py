"""The states of generalized code sets: the request and the release; sets of numbers as arrays.

Privacy policies are read here as they are given, in words or in files, and not reduced. The verifier reads them with
this file too, so that it imports no kernels.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, setting
from cloister.hierarchy.bound import Hierarchy
from cloister.io import Source, as_text, read_table
from cloister.io.codes import CodeColumns, code_lists
from cloister.io.columns import CODE_NAMES, CODES_NAMES, ID_NAMES
from cloister.kernels.ragged import owners, starts_of, take_runs
from cloister.settings.constraints import Interval, check_value
from cloister.settings.reading import ReadingWords, how_read
from cloister.shapes.codes.data import LARGEST, CodeSets, encode
from cloister.shapes.codes.policy import read_policy_file
from cloister.shapes.codes.request import CodesRequest

Integers = NDArray[np.int64]
Numbers = NDArray[np.int32]
RECORDS, VISITS, ALL = "records", "visits", "all"  # Words that a policy begins with where it is no JSON file
WORD = 64
OPEN, CLOSE, BETWEEN = "(", ")", ","  # What a term of several codes is written with
WHOLE_WEIGHT = 100  # Weights are hundredths
DIGITS = 10  # Digits of a number of codes that nobody knows

VISIT_NAMES = ("visit_id", "visit", "encounter_id", "visit_occurrence_id")
"""Usual names of a column that distinguishes visits, the most usual first."""

VISIT = "visit of each line"


@dataclass(frozen=True, eq=False, repr=False)
class Sets:
    """Sets of numbers, in sequence."""

    offsets: Integers  # (n_sets + 1,) int64, where each set begins in ``items``
    items: Numbers  # int32, numbers from 0, ascending within a set

    def __len__(self) -> int:
        return self.offsets.size - 1

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]]) -> "Sets":
        """Store sets in the given order."""
        ordered = [sorted(set(each)) for each in sets]
        offsets = starts_of([len(each) for each in ordered])
        return cls(offsets, np.array([item for each in ordered for item in each], dtype=np.int32))

    @property
    def sizes(self) -> Integers:
        """Numbers in each set, shape (n_sets,)."""
        return np.diff(self.offsets)

    def members(self, number: int) -> Numbers:
        """Return one set."""
        return self.items[self.offsets[number] : self.offsets[number + 1]]

    def chosen(self, which: NDArray[np.bool_] | Integers) -> "Sets":
        """Return some of the sets, in the requested order."""
        numbers = np.flatnonzero(which) if which.dtype == np.bool_ else which.astype(np.int64, copy=False)
        offsets, places = take_runs(self.offsets, numbers)
        return Sets(offsets, self.items[places])

    def owners(self) -> Integers:
        """Return the number of the set that each item is in."""
        return owners(self.offsets)

    def joined(self, *others: "Sets") -> "Sets":
        """Return these sets and others after them."""
        every = (self, *others)
        offsets = starts_of(np.concatenate([sets.sizes for sets in every]))
        return Sets(offsets, np.concatenate([sets.items for sets in every]))

    def distinct(self) -> "Sets":
        """Return each set once, in the order of their numbers; a set comes before those that go on from it."""
        order = self.order()
        table = self._pad_rows()[order]
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = np.any(table[1:] != table[:-1], axis=1)
        return self.chosen(order[first])

    def order(self) -> Integers:
        """Return the numbers of the sets in the order of their numbers, equal ones as they stand: (n_sets,)."""
        table = self._pad_rows()
        return np.lexsort(table.T[::-1]) if table.shape[1] else np.arange(len(self))

    def _pad_rows(self) -> Numbers:
        """One row a set, -1 after its end."""
        sizes = self.sizes
        table = np.full((len(self), int(sizes.max(initial=0))), -1, dtype=np.int32)
        table[np.arange(table.shape[1]) < sizes[:, None]] = self.items
        return table


def name_sets(sets: Sets, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the sets with names in place of numbers."""
    words = [names[item] for item in sets.items.tolist()]
    return [tuple(words[start:end]) for start, end in pairwise(sets.offsets.tolist())]


@dataclass(frozen=True, eq=False, repr=False)
class PrivacySets:
    """Sets of codes of a privacy policy, as it states them."""

    vocabulary: tuple[str, ...]  # the codes that are named, in the order of their UTF-8 bytes
    sets: Sets  # positions in the vocabulary
    spec: str = "given"  # where the policy came from: ``all:2``, ``visits:FILE``, ``records``, a file's name
    m: int | None = None  # most codes of a set where all sets of so many codes are meant, for ``all:m``

    def __len__(self) -> int:
        return len(self.sets)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec!r}, {len(self)} sets of codes)"


def record_bits(codes: CodeSets) -> NDArray[np.uint64]:
    """Return the records of each code, one bit a record: (n_codes, ceil(n_records / 64))."""
    bits = np.zeros((codes.n_codes, -(-codes.n_records // WORD)), dtype=np.uint64)
    record = owners(codes.offsets)
    places = (codes.items, record // WORD)
    np.bitwise_or.at(bits, places, np.uint64(1) << (record % WORD).astype(np.uint64))
    return bits


class GeneralizationMethod(StrEnum):
    """How codes are generalized."""

    CBA = "cba"
    UGACLIP = "ugaclip"
    APRIORI = "apriori"
    GENERALIZATION = "generalization"


class Uncovered(StrEnum):
    """What may become of codes that are in no set of the utility policy where they cannot stay as they are."""

    GENERALIZE = "generalize"
    SUPPRESS = "suppress"


class TermLoss(StrEnum):
    """What methods keep low: a term of n codes counts n (ILM) or 2^n - 1 (UL)."""

    ILM = "ilm"
    UL = "ul"


class Status(StrEnum):
    """What became of a set of the privacy policy."""

    SATISFIED = "satisfied"
    VACUOUS = "vacuous"
    SUPPRESSED = "protected by suppression"
    VIOLATED = "violated"


@dataclass(frozen=True)
class GeneralizationRequest(CodesRequest):
    """The request for a generalization.

    Codes are generalized only with codes of the same set of ``policy``; without one with any, or with none where
    uncovered codes are suppressed. AA generalizes along the hierarchy whatever the policy.
    """

    privacy: PrivacySets
    method: GeneralizationMethod = GeneralizationMethod.CBA
    uncovered: Uncovered = Uncovered.GENERALIZE  # codes of no set are one more, or suppressed
    loss: TermLoss = TermLoss.ILM  # what CBA and UGACLIP keep low
    hierarchy: Hierarchy | None = None  # how close codes are; None: ICD-9-CM or ICD-10-CM, whichever knows more
    # weights by height of the lowest common node, in hundredths; None: equal steps
    code_weights: tuple[int, ...] | None = None
    may_omit: bool = True  # whether records without any term are suppressed if they are fewer than k

    def __post_init__(self) -> None:
        check_value("k", self.k, Interval(int, 1, LARGEST))
        if self.method is GeneralizationMethod.GENERALIZATION and self.loss is not TermLoss.ILM:
            raise InputError("The method generalization keeps ilm low. Leave the loss out, or choose cba or ugaclip.")
        if self.method is GeneralizationMethod.APRIORI and self.privacy.m is None:
            raise InputError(
                "The method apriori protects all sets of up to m codes, but the privacy policy is "
                f"{self.privacy.spec}. Give -m, or choose the method cba or ugaclip."
            )

    @property
    def by_sets(self) -> bool:
        """Whether terms keep to the sets of the utility policy."""
        return self.method is not GeneralizationMethod.APRIORI


def code_weights_of(asked: str | Sequence[float] | None) -> tuple[int, ...] | None:
    """Return weights of sets of codes by the height at which they meet, in hundredths.

    Examples
    --------
    >>> code_weights_of("0.1,0.3,0.6,1")
    (10, 30, 60, 100)
    """
    if asked is None:
        return None
    texts = asked.split(",") if isinstance(asked, str) else [str(weight) for weight in asked]
    try:
        hundredths = [Decimal(text.strip()) * WHOLE_WEIGHT for text in texts]
        found = tuple(map(int, hundredths)) if all(map(Decimal.is_finite, hundredths)) else ()
    except ArithmeticError:
        found, hundredths = (), []
    rises = bool(found) and list(found) == hundredths == sorted(found)
    if not rises or found[0] < 1 or found[-1] != WHOLE_WEIGHT:
        raise InputError(
            "Weights of codes are numbers of at most two decimals above 0, each no less than the one before, the "
            "last 1. Give one for each level of the hierarchy, as ",
            setting("code_weights", "0.1,0.3,0.6,1"),
            " for ICD codes.",
        )
    return found


def term_text(codes: Sequence[str]) -> str:
    """Return the text of a term: a code, or codes in brackets.

    Examples
    --------
    >>> term_text(["296.00"]), term_text(["296.00", "296.01"])
    ('296.00', '(296.00,296.01)')
    """
    return codes[0] if len(codes) == 1 else f"{OPEN}{BETWEEN.join(codes)}{CLOSE}"


@dataclass(frozen=True, eq=False, repr=False)
class Generalization:
    """Code sets with codes grouped into terms: a record with a term has one or more of its codes."""

    k: int
    vocabulary: tuple[str, ...]  # the codes that occur in the original, in the order of their UTF-8 bytes
    terms: Sets  # the terms as sets of positions in the vocabulary, disjoint, in the order of their smallest codes
    suppressed: Numbers  # int32, codes of no term, ascending
    # the terms of each record, as sets of term numbers, in their order; empty where all codes are suppressed, which is
    # so for no record or for k at least
    records: Sets
    m: int | None = None  # sets of up to so many codes are protected, if that is what is promised
    repeats: bool = False  # whether the codes are numbered occurrences

    def __repr__(self) -> str:
        return f"Generalization({len(self.records)} records, {len(self.terms)} terms)"

    @property
    def n_records(self) -> int:
        """How many records are released, those without any term included."""
        return len(self.records)

    def term_of(self) -> Numbers:
        """Return the number of the term that each code is in, -1 for none: (n_codes,) int32."""
        found = np.full(len(self.vocabulary), -1, dtype=np.int32)
        found[self.terms.items] = self.terms.owners()
        return found

    def supports(self) -> Integers:
        """Return the records that hold each term, shape (n_terms,)."""
        return np.bincount(self.records.items, minlength=len(self.terms)).astype(np.int64)

    def named_terms(self) -> list[tuple[str, ...]]:
        """Return the codes of each term."""
        return name_sets(self.terms, self.vocabulary)

    def named_records(self) -> list[tuple[str, ...]]:
        """Return the terms of each record as they are written: a code, or codes in brackets."""
        return name_sets(self.records, [term_text(codes) for codes in self.named_terms()])


@dataclass(frozen=True)
class VisitsFile:
    """How a file of visits is read; what is None is found out.

    ``visit`` distinguishes visits; ``codes`` or ``code``, with all codes of a visit or one, may be missing from the
    file.
    """

    visit: str | None = None
    codes: str | None = None
    code: str | None = None
    reading: ReadingWords = ReadingWords()  # noqa: RUF009  (frozen)


def size_in(words: str) -> int | None:
    """Return m of ``all:m``, the policy of all sets of up to m codes; None for other policies."""
    kind, _, rest = words.partition(":")
    if kind != ALL or kind == words:
        return None
    if not (rest.isascii() and rest.isdigit() and 0 < len(rest) < DIGITS) or int(rest) < 1:
        raise InputError(f"The privacy policy {words!r} needs a whole number from 1 on after the colon, as in all:2.")
    return int(rest)


def sets_in(words: str, codes: CodeSets | None, read_as: VisitsFile | None = None) -> PrivacySets:
    """Return the sets of ``records``, ``visits:FILE`` or a JSON file."""
    kind, colon, rest = words.partition(":")
    if words != RECORDS:
        return sets_of_visits(rest, read_as) if colon and kind == VISITS else sets_of_json(words)
    if codes is None:
        raise InputError(
            "The privacy policy records is all codes of each patient, which only the original has. Give it with ",
            setting("original"),
        )
    return sets_of_records(codes)


def sets_of(given: Iterable[Iterable[str]], spec: str) -> PrivacySets:
    """Return sets of codes; codes that do not occur in the data are allowed."""
    sets = [set(codes) for codes in given]
    if not sets:
        raise InputError("A privacy policy needs at least one set of codes.")
    if empty := sum(not codes for codes in sets):
        raise InputError(f"A privacy policy needs sets of codes, but {empty} of {len(sets)} have none. Leave them out.")
    vocabulary = tuple(sorted(set().union(*sets)))
    number = {code: place for place, code in enumerate(vocabulary)}
    return PrivacySets(vocabulary, Sets.of([number[code] for code in codes] for codes in sets), spec)


def sets_of_json(path: str | Path) -> PrivacySets:
    """Read a policy from JSON: a list of lists of codes."""
    path = Path(path)
    return sets_of(read_policy_file(path, "privacy"), path.name or str(path))


def sets_of_visits(path: str | Path, read_as: VisitsFile | None = None) -> PrivacySets:
    """Read codes that were recorded together: one visit a line, or one code a line.

    Patients' ids are not looked at where each visit is a line.
    """
    asked = read_as or VisitsFile()
    if str(path) in ("", "."):
        raise InputError("The privacy policy visits: names no file, as in visits:visits.csv.")
    source = read_table(path, **how_read(asked.reading))
    columns = _columns(source, asked)
    if columns.codes is not None:
        source = replace(source, frame=_lines(source, columns.codes, asked.visit))
    found = encode(code_lists(source, columns, asked.reading.missing), drop_empty=True).codes
    return PrivacySets(found.vocabulary, Sets(found.offsets, found.items), f"{VISITS}:{source.name}")


def sets_of_records(codes: CodeSets) -> PrivacySets:
    """Return all codes of each patient."""
    return PrivacySets(codes.vocabulary, Sets(codes.offsets, codes.items), RECORDS)


def _lines(source: Source, codes: str, visit: str | None) -> pl.DataFrame:
    if visit is None or source.frame[codes].dtype.is_float():
        return source.frame.select(codes)
    ids = as_text(source.frame[visit])
    absent = int((ids.is_null() | (ids == "")).sum())
    if absent:
        lines = "line has" if absent == 1 else "lines have"
        raise InputError(
            f"{absent} {lines} no {visit!r} in {source.name}, so that it cannot be told which visit they are of. Write "
            "one on each.",
            file=source.name,
            column=visit,
        )
    frame = pl.DataFrame({VISIT: ids, codes: as_text(source.frame[codes])})
    return frame.group_by(VISIT, maintain_order=True).agg(pl.col(codes).str.join(" ")).select(codes)


def _columns(source: Source, asked: VisitsFile) -> CodeColumns:
    """Which column holds codes, and where each has a line which one distinguishes visits."""
    present, name = source.frame.columns, source.name
    if asked.visit is not None and asked.visit not in present:
        raise InputError(setting("visit", asked.visit), f": {name} has no such column.", file=name, column=asked.visit)
    wide = next((column for column in (asked.codes, *CODES_NAMES) if column in present), None)
    long = next((column for column in (asked.code, *CODE_NAMES) if column in present), None)
    if wide is not None and not (wide != asked.codes and long is not None and long == asked.code):
        return CodeColumns(codes=wide)  # a column that was named goes before those of the usual names
    if long is None:
        raise InputError(
            f"{name} has no column of codes: none is called {', '.join((*CODES_NAMES, *CODE_NAMES))}, or as in the "
            "data. Rename it.",
            file=name,
        )
    visit = asked.visit or next((one for one in (*VISIT_NAMES, *ID_NAMES) if one in present), None)
    if visit is None:
        raise InputError(
            f"{name} has one code per line, so a column must identify visits, but it has none of "
            f"{', '.join((*VISIT_NAMES, *ID_NAMES))}. Name it with ",
            setting("visit"),
            file=name,
        )
    return CodeColumns(id=visit, code=long)
