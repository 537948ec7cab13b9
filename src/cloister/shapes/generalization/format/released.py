"""The data file of generalized code sets: writing and reading of terms, its codebook, and its report counts.

A term is written as a code, or as codes in brackets. The codebook says nothing that the data file does not."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.io import Tally
from cloister.io.attributes import ranks
from cloister.release.derived import Derived, Part, Place
from cloister.release.figures import Counted, ReportCounts
from cloister.release.head import AttributesFile
from cloister.shapes.codes.data import CODES, MARK, plain_code
from cloister.shapes.codes.manifest import CodeRecords, codebook_of_codes, frame_codes

from .data import BETWEEN, CLOSE, OPEN, Generalization, Integers, Sets, term_text
from .manifest import GeneralizationSettings, TermFigures, TermRisk, facts_of, rules_of

MARKS = frozenset(OPEN + CLOSE + BETWEEN)


def texts_in_file(released: Generalization, attributes: pl.DataFrame | None = None) -> tuple[list[str], Integers]:
    """Return the terms of each record as text, and the records in the order in which they are written.

    Terms are separated by spaces; of a record without any there is nothing. The order is that of the UTF-8 bytes, then
    that of auxiliary attributes, ``attributes``.
    """
    texts = [" ".join(terms) for terms in released.named_records()]
    rank = np.zeros(len(texts), dtype=np.int64) if attributes is None else ranks(attributes)
    keys = [(text.encode(), own) for text, own in zip(texts, rank.tolist(), strict=True)]
    return texts, np.array(sorted(range(len(texts)), key=keys.__getitem__), dtype=np.int64)


def data_frame(released: Generalization, *, numbered: bool, attributes: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return one row a record, in the order of the text of its terms; a record without any is an empty cell."""
    texts, order = texts_in_file(released, attributes)
    cells = pl.Series(CODES, [texts[number] or None for number in order.tolist()], dtype=pl.String)
    return (
        frame_codes(cells, numbered) if attributes is None else frame_codes(cells, numbered).hstack(attributes[order])
    )


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


@dataclass(frozen=True, repr=False)
class DerivedTerms(Derived):
    """The parts that follow from generalized code sets, their auxiliary attributes and settings.

    ``suppressed``: the number of suppressed patients, ``<N`` for fewer than N
    """

    released: Generalization
    settings: GeneralizationSettings
    suppressed: int | str
    attributes: pl.DataFrame | None = None

    @cached_property
    def facts(self) -> tuple[TermFigures, TermRisk]:
        """Counts of terms, and how rare they are."""
        return facts_of(self.released)

    def parts(self) -> dict[Place, Part]:
        """Return columns of attributes, numbers of patients, rules, counts of terms, and risk."""
        counts, risk = self.facts
        parts: dict[Place, Part] = {
            ("records",): CodeRecords.of(self.released.n_records, self.suppressed),
            ("guarantee", "rules"): rules_of(self.settings),
            **{("utility", name): count for name, count in counts},
            ("risk",): risk,
        }
        if self.attributes is not None:
            parts["attributes",] = AttributesFile.of(self.attributes.columns)
        return parts

    def codebook(self) -> pl.DataFrame:
        """Return one row for each term, as the data file writes it, and one for the id and each auxiliary column."""
        ending = f"; {MARK}n is the n-th occurrence of a code" if self.released.repeats else ""
        meanings = {
            term_text(codes): "as recorded" if len(codes) == 1 else f"one or more of these {len(codes)} codes"
            for codes in self.released.named_terms()
        }
        listed = {text: meaning + ending for text, meaning in meanings.items()}
        of_numbers = "number of the record in this file" if self.settings.ids == "number" else None
        return codebook_of_codes(listed, of_numbers, self.attributes)

    def report_counts(self) -> ReportCounts:
        """Return the patients who have each term.

        Anyone who has one of the codes of a term has the term, and is released: as many as before.
        """
        released = self.released
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
            files={} if self.attributes is None else {"data": Tally(self.attributes)},
            members=False,
        )
