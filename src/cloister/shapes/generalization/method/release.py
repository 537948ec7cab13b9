"""A release of generalized code sets: its data file, read back from text alone, and its codebook.

A term is written as a code, or as codes in brackets. The codebook says nothing that the data file does not.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.io.attributes import AttributesTable, ranks
from cloister.release.figures import Counted, ReportCounts
from cloister.release.release import DataFileRelease
from cloister.results import Verdict
from cloister.shapes.codes.data import CODES, MARK, CodeSets, plain_code
from cloister.shapes.codes.manifest import codebook_of_codes, framed
from cloister.shapes.generalization.format.data import BETWEEN, CLOSE, OPEN, Generalization, Integers, Sets, term_text

MOST_BYTES = 2**31  # A larger data file is refused
MARKS = frozenset(OPEN + CLOSE + BETWEEN)


def check_writable(codes: CodeSets, beside: AttributesTable | None = None) -> None:
    """Refuse codes that could be taken for terms, and auxiliary attributes that are called as codes are."""
    if beside is not None and CODES in beside.frame.columns:
        raise InputError(f"{beside.name} has a column {CODES!r}, as the release calls its terms. Rename it.")
    odd = sum(not MARKS.isdisjoint(code) for code in codes.vocabulary)
    if odd:
        raise InputError(
            f"{odd} of {codes.n_codes} distinct codes have a bracket or a comma inside, which write generalized terms "
            "in a release. Write codes without them, or protect by disassociation."
        )


def check_size(released: Generalization) -> None:
    """Refuse what would make a data file that no machine reads: each record spells all codes of its terms."""
    lengths = np.array([len(term_text(codes).encode()) + 1 for codes in released.named_terms()], dtype=np.int64)
    size = int((lengths * released.supports()).sum())
    if size > MOST_BYTES:
        raise InputError(
            f"The largest of {len(released.terms)} terms holds {int(released.terms.sizes.max())} codes, which would be "
            f"written in every record that has it: {size / 2**30:.1f} GiB. Give a utility policy with smaller sets."
        )


def texts_in_file(released: Generalization, beside: pl.DataFrame | None = None) -> tuple[list[str], Integers]:
    """Return the terms of each record as text, and the records in the order in which they are written.

    Terms are separated by spaces; of a record without any there is nothing. The order is that of the UTF-8 bytes, then
    that of auxiliary attributes, which stand ``beside`` the records.
    """
    texts = [" ".join(terms) for terms in released.named_records()]
    rank = np.zeros(len(texts), dtype=np.int64) if beside is None else ranks(beside)
    keys = [(text.encode(), own) for text, own in zip(texts, rank.tolist(), strict=True)]
    return texts, np.array(sorted(range(len(texts)), key=keys.__getitem__), dtype=np.int64)


def data_frame(released: Generalization, *, numbered: bool, beside: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return one row a record, in the order of the text of its terms; a record without any is an empty cell."""
    texts, order = texts_in_file(released, beside)
    cells = pl.Series(CODES, [texts[number] or None for number in order.tolist()], dtype=pl.String)
    return framed(cells, numbered) if beside is None else framed(cells, numbered).hstack(beside[order])


def read_released(cells: pl.Series, k: int, m: int | None, *, repeats: bool) -> Generalization:
    """Return what is released from the text of its records, k, m and ``repeats`` as the manifest states them.

    Codes that are suppressed are not known.
    """
    records = [[] if text is None else text.split(" ") for text in cells.to_list()]
    codes_of: dict[str, list[str]] = {}
    for text in sorted(set[str]().union(*records)):
        is_term = text.startswith(OPEN) and text.endswith(CLOSE)
        codes = text[1:-1].split(BETWEEN) if is_term else [text]
        sound = all(code and MARKS.isdisjoint(code) for code in codes) and len(codes) > is_term
        if not sound or codes != sorted(set(codes)):
            raise InputError("A term of the data file is not written as a release writes terms.")
        codes_of[text] = codes
    vocabulary = tuple(sorted(code for codes in codes_of.values() for code in codes))
    if len(set(vocabulary)) != len(vocabulary):
        raise InputError("Two terms of the data file share a code, so that it is not what was released.")
    place = {code: number for number, code in enumerate(vocabulary)}
    terms = sorted(codes_of, key=lambda text: place[codes_of[text][0]])
    number = {text: order for order, text in enumerate(terms)}
    found = Sets.of([number[text] for text in record] for record in records)
    members = Sets.of([place[code] for code in codes_of[text]] for text in terms)
    none = np.empty(0, dtype=np.int32)
    return Generalization(k, vocabulary, members, none, found.chosen(found.order()), m, repeats)


def codebook(released: Generalization, *, numbered: bool, beside: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return one row for each term, as the data file writes it, and one for the id and for each auxiliary column."""
    ending = f"; {MARK}n is the n-th occurrence of a code" if released.repeats else ""
    meanings = {
        term_text(codes): "as recorded" if len(codes) == 1 else f"one or more of these {len(codes)} codes"
        for codes in released.named_terms()
    }
    listed = {text: meaning + ending for text, meaning in meanings.items()}
    return codebook_of_codes(listed, "number of the record in this file" if numbered else None, beside)


def shown_of(released: Generalization, beside: pl.DataFrame | None = None) -> ReportCounts:
    """Return what is shown of code sets.

    Whoever has one of the codes of a term has the term, and is released: as many as before.
    """
    supports = released.supports()
    counts: dict[str | None, int] = {}
    for codes, support in zip(released.named_terms(), supports.tolist(), strict=True):
        # Of the occurrences of one code the most frequent is how many have it at all.
        name = term_text([plain_code(code, repeats=released.repeats) for code in codes])
        counts[name] = max(support, counts.get(name, 0))
    return ReportCounts(
        k=released.k,
        sizes=pl.Series(supports, dtype=pl.Int64),
        of="terms",
        by="the number of patients who have them",
        columns=(Counted("data", CODES, "patients", counts),),
        files={} if beside is None else {"data": beside},
        members=False,
    )


@dataclass(frozen=True, repr=False)
class GeneralizedCodesRelease(DataFileRelease):
    """Generalized code sets that passed verification: terms, and the terms of each record."""

    generalized: Generalization
    _check: Callable[[Generalization], Verdict] = field(repr=False)

    def recheck(self) -> Verdict:
        """Return the verdict on the released records."""
        return self._check(self.generalized)

    def recheck_written(self, folder: Path) -> Verdict:
        """Return the verdict on the data file: on what is read back of its text."""
        frame = self.read_written(folder)
        if not frame.cast(pl.String).equals(self.frame.cast(pl.String)):
            return Verdict("the file was read back", (), ("the data file does not hold what was released",))
        released = self.generalized
        written = read_released(frame[CODES], released.k, released.m, repeats=released.repeats)
        if written.named_records() != released.named_records():
            return Verdict("the file was read back", (), ("the data file does not read as what was released",))
        return self._check(released)
