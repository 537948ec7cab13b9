"""Counts of original patients who meet conditions, from released files only: bounds, and an estimate between them.

* Tables: a row certainly counts if its labels cover only the requested values. Suppressed records may count.
* Generalized codes: a term represents any non-empty subset of its codes, each of which some record has (Loukides et
  al. 2010, ITAB, section III.B). Expected answers are those of section V.B, all subsets equally likely.
* Trajectories: a released pair is one of the patient's, generalized (Tamersoy et al. 2012, section IV). Pairs may be
  suppressed, how many is bounded by the published losses, in which a suppressed pair counts one.
* Disassociated codes: see `cloister.shapes.disassociation.method.counts`; a table with codes: `.codes_in_table`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import floor
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cloister.errors import GuaranteeViolation, InputError, setting
from cloister.hierarchy import Hierarchy, parse_hierarchy
from cloister.io import as_text
from cloister.io.columns import list_columns, nearest_column
from cloister.release.folder import read_data
from cloister.release.head import CLUSTERS
from cloister.release.manifest import AnyManifest
from cloister.results import CountBounds
from cloister.shapes.codes.data import occurrence
from cloister.shapes.disassociation.format.clusters_file import read_clusters
from cloister.shapes.disassociation.method.counts import ChunkCounts
from cloister.shapes.disassociation.verify.verify import verify
from cloister.shapes.generalization.format.data import Generalization
from cloister.shapes.registry import FORMS, load
from cloister.utility import CountedSets
from cloister.utility.case_counts import TermSets

from .labels import LabelledColumn, Wanted
from .pairs import Asked, ReleasedPairs

if TYPE_CHECKING:
    from cloister.shapes.disassociation.format.manifest import DisassociationManifest
    from cloister.shapes.generalization.format.manifest import GeneralizationManifest
    from cloister.shapes.table.format.manifest import TableManifest
    from cloister.shapes.trajectories.format.manifest import TrajectoriesManifest

CODES = "codes"
ASKED = {CODES: ("Codes are", "none"), "pairs": ("Pairs of a code and an age are", "none: trajectories have them")}
"""Parts of the message that a release does not contain the requested data."""

HALF_STEP = 0.0005  # Published losses are rounded to three decimals
Conditions = Mapping[str, Wanted]


class Answers:
    """A release that answers questions about counts."""

    @property
    def kind(self) -> str:
        """A name for the kind of release."""
        return "code sets"

    @property
    def names(self) -> tuple[str, ...]:
        """The names on which conditions are possible."""
        return (CODES,)

    def answer(self, query: Conditions) -> CountBounds:
        """Bound the number of patients who meet conditions, by name: columns, ``codes``, ``age`` and ``pairs``."""
        self.check_names(query)
        return self.bound(query)

    def check_names(self, names: Iterable[str]) -> None:
        """Reject names on which no conditions are possible."""
        for name in names:
            if name not in self.names:
                asked, none = ASKED.get(name, (f"A column {name!r} is", "none of that name"))
                raise InputError(
                    f"{asked} asked for, and this release of {self.kind} has {none}."
                    f"{nearest_column(name, self.names)} It can be asked about: {list_columns(self.names)}.",
                    column=name,
                )

    def bound(self, query: Conditions) -> CountBounds:
        """Bound the number of patients who meet conditions, after the names have been checked."""
        raise NotImplementedError


def list_codes(codes: object) -> list[str]:
    """Return one code or several as a list; refuse an empty one."""
    named = [codes] if isinstance(codes, str) else [*codes] if isinstance(codes, Iterable) else []
    if not named or not all(isinstance(code, str) for code in named):
        raise InputError(
            "This release counts patients by their codes. Give one or more, as ", setting("codes", ["401.9"])
        )
    return named


def _pairs_of(pairs: object) -> list[Asked]:
    """Return pairs of a code and an age or an age range, and perhaps a detail, after checking them."""
    listed = [*pairs] if isinstance(pairs, Iterable) and not isinstance(pairs, str) else []
    found = [
        (one[0], one[1], *one[2:])
        for one in listed
        if isinstance(one, tuple) and len(one) in (2, 3) and all(isinstance(text, str) for text in (one[0], *one[2:]))
    ]
    if len(found) != len(listed) or (pairs is not None and not found):
        raise InputError(
            'Pairs are of a code and an age or its ends, as in [("401.9", (38, 40)), ("250", 45)], or of these and a '
            'detail, as in [("250", None, "surgery")].'
        )
    return found


def most_suppressed(n_suppressed: int | str) -> int:
    """Return the greatest possible number of suppressed records, from a count or a masked count such as ``<5``."""
    return n_suppressed if isinstance(n_suppressed, int) else int(n_suppressed.removeprefix("<")) - 1


@dataclass(frozen=True, eq=False, repr=False)
class TableAnswers(Answers):
    """Answers from a released table; ``hierarchies`` by column, if the release names them and they can be rebuilt."""

    frame: pl.DataFrame  # as text
    codebook: pl.DataFrame
    hierarchies: Mapping[str, Hierarchy]
    n_suppressed: int
    averaged: Collection[str] = ()  # columns of averages

    @property
    def kind(self) -> str:
        """A name for the kind of release."""
        return "a table"

    @property
    def names(self) -> tuple[str, ...]:
        """The names on which conditions are possible."""
        return tuple(self.frame.columns)

    def column(self, name: str, original: pl.Series | None = None) -> LabelledColumn:
        """Return the labels of a column; ``original``: the column before generalization, if it is known."""
        if original is None and name in self.averaged:
            raise InputError(
                f"Column {name!r} has averages of classes, which bound no number of patients. Ask about other columns.",
                column=name,
            )
        rows = self.codebook.filter(pl.col("column") == name)
        recorded = () if original is None else as_text(original).unique().sort().to_list()
        return LabelledColumn.of(self.frame[name], rows, self.hierarchies.get(name), recorded)

    def bound(self, query: Conditions) -> CountBounds:
        """Bound the number of patients who meet all conditions on columns."""
        if not query:
            return CountBounds(self.frame.height, float(self.frame.height), self.frame.height + self.n_suppressed)
        return reduce(and_, (self.column(name).rows(wanted) for name, wanted in query.items())).count(self.n_suppressed)


@dataclass(frozen=True, eq=False, repr=False)
class ChunkAnswers(Answers):
    """Answers from disassociated code sets."""

    counts: ChunkCounts

    def bound(self, query: Conditions) -> CountBounds:
        """Bound the number of patients who have all ``codes``."""
        return self.counts.count(list_codes(query.get(CODES)))


@dataclass(frozen=True, eq=False, repr=False)
class TermAnswers(Answers):
    """Answers from generalized code sets; the release states only whether codes are suppressed, and not which."""

    released: Generalization
    any_suppressed: bool
    n_suppressed: int

    @cached_property
    def _known(self) -> tuple[dict[str, int], TermSets]:
        released = self.released
        counted = CountedSets.of(released.records.offsets, released.records.items, len(released.terms))
        numbers = {code: place for place, code in enumerate(released.vocabulary)}
        return numbers, TermSets(counted, released.term_of(), released.terms.sizes)

    def bound(self, query: Conditions) -> CountBounds:
        """Bound the number of patients who have all ``codes``."""
        return self.count(list_codes(query.get(CODES)))

    def count(self, codes: Sequence[str]) -> CountBounds:
        """Bound the number of patients who have all given codes.

        Exact over all data sets that the terms may stand for, unless codes repeat: then the lower bound is valid alone.
        """
        named, (numbers, sets) = {*codes}, self._known
        if self.released.repeats:
            named = {code if occurrence(code) else f"{code}#1" for code in named}
        gone = [code for code in named if code not in numbers]
        if gone and not self.any_suppressed:
            return CountBounds(0, 0.0, 0)
        query = tuple(sorted(numbers[code] for code in named if code in numbers))
        terms = sorted({int(term) for term in sets.term_of[list(query)]})
        held = sets.counted.count(tuple(terms)) if terms else self.released.n_records
        if gone:  # anyone who lost it, or was omitted with nothing else
            return CountBounds(0, 0.0, held + (0 if terms else self.n_suppressed))
        return CountBounds(self._least(query, terms, held), float(sets.answers([query])[0]), held)

    def _least(self, query: tuple[int, ...], terms: list[int], held: int) -> int:
        """Return a lower bound on the records that have all codes; at most one if a term leaves a choice of codes."""
        _, sets = self._known
        supports = np.diff(sets.counted.starts)
        free = [term for term in terms if self._leaves_choice(term, query, int(supports[term]))]
        if not free:
            return held
        asked = sum(int(sets.term_of[code]) == free[0] for code in query)
        is_forced = len(free) == 1 and asked == 1 and held == supports[free[0]] and not self.released.repeats
        return int(is_forced)

    def _leaves_choice(self, term: int, query: tuple[int, ...], support: int) -> bool:
        members = self.released.terms.members(term).tolist()
        if len(members) == 1:
            return False
        if not self.released.repeats:
            return support > 1  # its only record must have all that anybody has
        found = [occurrence(self.released.vocabulary[code]) for code in members]
        asked = [occurrence(self.released.vocabulary[code]) for code in query if code in members]
        # Of occurrences of one code the first is had by all who have any.
        return not (
            len({one[0] for one in found if one}) == 1 and all(one is not None and one[1] == 1 for one in asked)
        )


@dataclass(frozen=True, eq=False, repr=False)
class TrajectoryAnswers(Answers):
    """Answers from released trajectories; ``frame`` has one row per pair, with labels as text."""

    frame: pl.DataFrame
    codebook: pl.DataFrame
    hierarchies: Mapping[str, Hierarchy]
    losses: tuple[float, ...]  # of codes, ages and perhaps details, exact, each rounded
    n_suppressed: int = 0

    @property
    def kind(self) -> str:
        """A name for the kind of release."""
        return "trajectories"

    @property
    def names(self) -> tuple[str, ...]:
        """The names on which conditions are possible."""
        return CODES, "age", "pairs"

    def bound(self, query: Conditions) -> CountBounds:
        """Bound the number of patients with all ``codes``, at an ``age``, and all ``pairs`` of a code and an age."""
        codes, ages, pairs = map(query.get, self.names)
        if codes is None and ages is not None:
            raise InputError(
                "An age is asked for without codes, whose age it would be. Give one or more, as ",
                setting("codes", ["401.9"]),
                "; a pair has its own age.",
            )
        named = [] if codes is None and pairs is not None else list_codes(codes)
        asked = [*((code, ages) for code in named), *_pairs_of(pairs)]
        if "detail" not in self.frame.columns and any(len(one) > 2 for one in asked):
            raise InputError("Pairs of this release have no detail. Ask for a code and an age alone.")
        return self._count(asked)

    def _count(self, asked: Sequence[Asked]) -> CountBounds:
        """Bound the number of patients who have all given codes, each at its own age."""
        if "code" not in self.hierarchies:
            raise InputError(
                "The hierarchy of codes is a file, which is not in the release. Give it with ",
                setting("hierarchies", {"code": "FILE"}),
            )
        found = self._pairs.count(asked)
        # Suppressed pairs, at most: of n released and s suppressed ones, the loss is s / (n + s) or more.
        share, n_patients = min(self.losses) + HALF_STEP, int(self._pairs.patients.sum())
        suppressed = floor(self.frame.height * share / (1 - share)) if share < 1 else n_patients
        upper = min(n_patients, found.upper + suppressed)
        return CountBounds(found.lower, found.expected, upper + self.n_suppressed)

    @cached_property
    def _pairs(self) -> ReleasedPairs:
        return ReleasedPairs.of(self.frame, self.codebook, self.hierarchies)


def answers_from(
    folder: Path, manifest: AnyManifest, codebook: pl.DataFrame, hierarchies: Mapping[str, Hierarchy]
) -> Answers:
    """Return the answers from a verified release folder; ``hierarchies`` by column, for hierarchies from files."""
    place = FORMS[manifest.form].answers
    if place is None or manifest.is_in_database:
        raise InputError(
            "Patients of the original are asked for. A release of claims states no bounds from which they could be "
            f"counted. Count in its own files: {list_columns(manifest.with_records)}."
        )
    answers: Answers = load(place)(folder, manifest, codebook, hierarchies)
    return answers


def of_terms(
    folder: Path, manifest: "GeneralizationManifest", _codebook: pl.DataFrame, _hierarchies: Mapping[str, Hierarchy]
) -> Answers:
    """Return the answers from generalized code sets."""
    from cloister.shapes.generalization.verify.recheck import GeneralizationChecker

    released = GeneralizationChecker().read_files(folder, manifest).released
    return TermAnswers(released, manifest.utility.suppressed_codes > 0, most_suppressed(manifest.records.suppressed))


def of_chunks(
    folder: Path, manifest: "DisassociationManifest", _codebook: pl.DataFrame, _hierarchies: Mapping[str, Hierarchy]
) -> Answers:
    """Return the answers from disassociated code sets."""
    return ChunkAnswers(chunks_in(folder, manifest.settings.diversity or 1))


def of_trajectories(
    folder: Path, manifest: "TrajectoriesManifest", codebook: pl.DataFrame, hierarchies: Mapping[str, Hierarchy]
) -> Answers:
    """Return the answers from trajectories."""
    settings, columns = manifest.settings, manifest.columns
    kinds = {name: column.hierarchy for name, column in columns.quasi_identifiers.items()}
    known = {
        name: parse_hierarchy(getattr(settings, f"{name}_hierarchy")) for name, kind in kinds.items() if kind != "file"
    }
    losses, n_suppressed = manifest.utility.exact, manifest.records.suppressed
    return TrajectoryAnswers(_texts(folder, manifest), codebook, {**known, **hierarchies}, losses, n_suppressed)


def of_table(
    folder: Path, manifest: "TableManifest", codebook: pl.DataFrame, hierarchies: Mapping[str, Hierarchy]
) -> TableAnswers:
    """Return the answers from a table, without its codes."""
    specs = manifest.settings.hierarchies
    quasi = {name: column.hierarchy for name, column in manifest.quasi_identifiers.items()}
    known = {name: parse_hierarchy(specs[name]) for name, kind in quasi.items() if kind != "file"}
    n_suppressed = most_suppressed(manifest.records.suppressed)
    return TableAnswers(_texts(folder, manifest), codebook, {**known, **hierarchies}, n_suppressed, manifest.averages())


def _texts(folder: Path, manifest: "TableManifest | TrajectoriesManifest") -> pl.DataFrame:
    frame = read_data(folder / manifest.data_file, manifest.settings.delimiter)
    return pl.DataFrame([as_text(column) for column in frame])


def chunks_in(folder: Path, diversity: int) -> ChunkCounts:
    """Read clusters and verify them again, as bounds follow only from the verified guarantee."""
    released = read_clusters(folder / CLUSTERS)
    verdict = verify(released, None, diversity)
    if not verdict.holds:
        raise GuaranteeViolation(f"{folder.name} does not hold: {'; '.join(verdict.failures)}.")
    return ChunkCounts(released, diversity)
