"""Counts of patients with codes under conditions on a table, and of every code against an outcome, with bounds.

A *group* is a class of the table, whose codes belong to none of its rows, or one row where codes are terms of the row.
Of the s patients of a group, l to u have the codes, and a to b meet the conditions, whatever the role of their columns.
Nothing else ties the two together, so that between max(0, l + a - s) and min(u, b) have both. Each end is reached:
codes may belong to any rows of their class. Groups are independent, so that their bounds add up (Frechet's bounds,
group by group). In a group e a / s are expected, as if codes and conditions were independent inside it.

The four cells of code and outcome are bounded alike: s - u to s - l patients lack the codes, s - b to s - a do not meet
the outcome. If the outcome is certain in each row, the most with both and the fewest with the code alone occur
together, so that the bounds of the odds ratio are reached, too. Suppressed patients may be in any cell.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from math import inf
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import ROOT, Hierarchy
from cloister.kernels.ragged import expand_runs
from cloister.release.manifest import codes_of
from cloister.results import CountBounds
from cloister.shapes.disassociation.method.counts import ChunkCounts
from cloister.shapes.table_with_codes.format.terms import ReleasedTerms, label_columns
from cloister.utility.case_counts import Reading

from .answers import CODES, Answers, Conditions, TableAnswers, chunks_in, list_codes
from .answers import of_table as answers_of_table
from .labels import Meeting, Places, Shares, bounds_on

if TYPE_CHECKING:
    from cloister.shapes.table.format.manifest import TableManifest
    from cloister.shapes.table_with_codes.format.terms import TableWithTermsManifest

IN_TERMS = re.compile(r"[(),\s]")  # what is in terms and cells, and in no code that is released in one


class Range(NamedTuple):
    """How many patients of each group have something: (n_groups,) least, expected, greatest."""

    lower: Places
    expected: Shares
    upper: Places


class Cell(NamedTuple):
    """Bounds on the patients of one cell of a table of code and outcome."""

    lower: int
    upper: int


@dataclass(frozen=True, eq=False, repr=False)
class CodesInTable(Answers):
    """Answers from a table with codes; patients of a group have codes, which may belong to any of its rows."""

    table: TableAnswers
    column: str

    @property
    def kind(self) -> str:
        """A name for the kind of release."""
        return "a table with codes"

    @property
    def names(self) -> tuple[str, ...]:
        """The names on which conditions are possible."""
        return tuple(dict.fromkeys((CODES, self.column, *self.table.names)))

    @property
    def codes(self) -> Sequence[str]:
        """The codes of the release."""
        raise NotImplementedError

    @cached_property
    def groups(self) -> tuple[Places, Places]:
        """The group of each row, -1 of a suppressed record: (n_rows,); the patients of each group: (n_groups,)."""
        raise NotImplementedError

    def held(self, codes: Sequence[str]) -> Range:
        """Bound the number of patients of each group who have all given codes."""
        raise NotImplementedError

    def bound(self, query: Conditions) -> CountBounds:
        """Bound the number of patients who meet conditions; conditions without codes are answered from the table."""
        where = {name: wanted for name, wanted in query.items() if name not in (CODES, self.column)}
        named = [query[name] for name in dict.fromkeys((CODES, self.column)) if query.get(name) is not None]
        if not named:
            return self.table.answer(where)
        held = self.held([code for one in named for code in list_codes(one)])
        return self._both(held, self._meeting(where))

    def count_by(self, codes: Sequence[str], name: str) -> pl.DataFrame:
        """Return the bounds for each label of a column: label, lower, expected, upper.

        Records that were suppressed may have any label, and count above each.
        """
        if name in (CODES, self.column):
            raise InputError("The codes are what is counted. Count by another column.")
        self.check_names([name])
        held, own, rows = self.held(codes), self.table.frame[name].filter(self.groups[0] >= 0), []
        for label in own.unique().sort():
            is_own = self.table.frame[name].eq_missing(label).to_numpy()
            found = self._both(held, Meeting.of(is_own, is_own, is_own.astype(np.float64)))
            rows.append((label, found.lower, found.expected, found.upper))
        schema = {name: pl.String, "lower": pl.Int64, "expected": pl.Float64, "upper": pl.Int64}
        return pl.DataFrame(rows, schema, orient="row")

    def count_by_code(self, outcome: Conditions, codes: Iterable[Sequence[str]] | None = None) -> pl.DataFrame:
        """Return a row for each code: patients with it and the outcome, with it, and bounds of the odds ratio."""
        if not outcome or {CODES, self.column} & {*outcome}:
            raise InputError("An outcome is a condition on columns other than the codes. Give one or more.")
        self.check_names(outcome)
        asked = [[code] for code in self.codes] if codes is None else codes
        meeting = self._per_group(self._meeting(outcome))
        schema = {
            "code": pl.String, "lower": pl.Int64, "expected": pl.Float64, "upper": pl.Int64,
            "code_lower": pl.Int64, "code_upper": pl.Int64,
            "odds_ratio_lower": pl.Float64, "odds_ratio_upper": pl.Float64,
        }  # fmt: skip
        found = pl.DataFrame([*self._rows_by_code(asked, meeting)], schema, orient="row")
        low, high = pl.col("odds_ratio_lower"), pl.col("odds_ratio_upper")
        away = pl.max_horizontal(low, 1 / high)  # above 1 where the bounds exclude 1
        return found.sort(away, "code_lower", "code", descending=[True, True, False])

    def _rows_by_code(self, asked: Iterable[Sequence[str]], outcome: Range) -> Iterator[tuple[object, ...]]:
        size, unseen = self.groups[1], self.table.n_suppressed
        no_outcome = Range(size - outcome.upper, size - outcome.expected, size - outcome.lower)
        for codes in asked:
            held = self.held(codes)
            no_code = Range(size - held.upper, size - held.expected, size - held.lower)
            both = joint(held, outcome, size, unseen)
            cells = [meet(code, other, size) for code, other in product((held, no_code), (outcome, no_outcome))]
            whole = int(held.lower.sum()), int(held.upper.sum()) + unseen
            yield " ".join(codes), both.lower, both.expected, both.upper, *whole, *odds_ratio(cells, unseen)

    def _meeting(self, where: Conditions) -> Meeting:
        every = np.ones(self.table.frame.height, dtype=np.bool_)
        met = (self.table.column(name).rows(wanted) for name, wanted in where.items())
        return reduce(and_, met, Meeting(every, every, every.astype(np.float64)))

    def _both(self, held: Range, met: Meeting) -> CountBounds:
        return joint(held, self._per_group(met), self.groups[1], self.table.n_suppressed)

    def _per_group(self, met: Meeting) -> Range:
        """Return how many patients of each group meet a condition on their rows."""
        group, size = self.groups
        known, n = group >= 0, size.size
        surely, possibly = (
            np.bincount(group[known & which], minlength=n).astype(np.int64) for which in (met.surely, met.possibly)
        )
        share = np.bincount(group[known], met.share[known], n).astype(np.float64)
        return Range(surely, share, possibly)


def meet(one: Range, other: Range, size: Places) -> Cell:
    """Return the fewest and the most patients who have both things, which are tied only by the groups."""
    least = np.maximum(0, one.lower + other.lower - size)
    return Cell(int(least.sum()), int(np.minimum(one.upper, other.upper).sum()))


def joint(held: Range, met: Range, size: Places, unseen: int) -> CountBounds:
    """Return bounds on the patients who have both things, with an estimate; ``unseen`` raise the upper bound."""
    some = held.expected > 0
    expected = float((held.expected[some] * met.expected[some] / size[some]).sum())
    found = meet(held, met, size)
    return bounds_on(found.lower, expected, found.upper, unseen)


def odds_ratio(cells: Sequence[Cell], unseen: int) -> tuple[float, float]:
    """Return bounds of the odds ratio of code and outcome; 0 and infinity where nothing limits it.

    ``cells``: patients with both, with the code alone, with the outcome alone, with neither. ``unseen`` patients may be
    in any: those who raise a product most are.
    """
    both, code_only, outcome_only, neither = cells

    def most(one: int, other: int) -> int:
        more = min(max((other - one + unseen) // 2, 0), unseen)
        return (one + more) * (other + unseen - more)

    least, greatest = both.lower * neither.lower, most(both.upper, neither.upper)
    fewest, against = code_only.lower * outcome_only.lower, most(code_only.upper, outcome_only.upper)
    return least / against if against else (inf if least else 0.0), greatest / fewest if fewest else inf


@dataclass(frozen=True, eq=False, repr=False)
class ClassChunkAnswers(CodesInTable):
    """Answers from a table whose codes are disassociated within its classes."""

    counts: ChunkCounts

    @property
    def codes(self) -> Sequence[str]:
        """The codes of the release."""
        return self.counts.released.vocabulary

    @cached_property
    def groups(self) -> tuple[Places, Places]:
        """The classes that have codes, and the rows without codes as one more group."""
        released, cells = self.counts.released, self.table.frame[self.column].alias("cell")
        labels, n = label_columns(self.table.frame, released.class_columns), len(released.classes)
        known = pl.DataFrame(released.classes, labels.schema, orient="row").with_row_index("class")
        own = labels.join(known, on=labels.columns, how="left", nulls_equal=True, maintain_order="left")
        cell, number = pl.col("cell"), pl.col("class").cast(pl.Int64)
        shown = pl.when(cell.is_null()).then(n).when(cell != ROOT).then(number).otherwise(-1)
        group = own.hstack([cells]).select(shown).to_series().to_numpy()
        return group, np.bincount(group[group >= 0], minlength=n + 1).astype(np.int64)

    def held(self, codes: Sequence[str]) -> Range:
        """Bound the number of patients of each class who have all given codes; 0 of rows without codes."""
        lower, expected, upper = self.counts.count_by_class(codes)
        return Range(np.append(lower, 0), np.append(expected, 0.0), np.append(upper, 0))


@dataclass(frozen=True, eq=False, repr=False)
class ClassTermAnswers(CodesInTable):
    """Answers from a table whose codes are generalized within its classes: each row has the terms of one patient."""

    terms: ReleasedTerms
    may_suppress: bool  # whether a code that is in no term of a class may be suppressed there

    @property
    def codes(self) -> Sequence[str]:
        """The codes of the release."""
        return sorted(self._terms.of_code)

    @cached_property
    def groups(self) -> tuple[Places, Places]:
        """Each row is a group, that of a suppressed record without patients."""
        is_shown = self.table.frame[self.column].ne_missing(ROOT).to_numpy()
        return np.where(is_shown, np.arange(is_shown.size), -1), is_shown.astype(np.int64)

    def held(self, codes: Sequence[str]) -> Range:
        """Bound, for each row, whether its patient has all given codes."""
        met = self._having({*codes})
        return Range(met.surely.astype(np.int64), met.share, met.possibly.astype(np.int64))

    def _having(self, codes: set[str]) -> Meeting:
        """Return which rows are of patients with all of these codes; a code in no term of a class may be suppressed."""
        if any(IN_TERMS.search(code) for code in codes):
            raise InputError("A code was asked for with a bracket, a comma or a space. Ask for codes, not for terms.")
        where, n = self._terms, self.table.frame.height
        known = [where.of_code[code] for code in sorted(codes) if code in where.of_code]
        terms, asked = np.unique(np.concatenate([*known, np.zeros(0, dtype=np.int64)]), return_counts=True)
        pairs = zip(where.size[terms].tolist(), asked.tolist(), strict=True)
        chances = np.array([Reading.SUBSETS.chance(*pair) for pair in pairs])
        lengths = where.starts[terms + 1] - where.starts[terms]
        rows, of = where.rows[expand_runs(where.starts[terms], lengths)], np.repeat(np.arange(terms.size), lengths)
        found, coarse = (np.bincount(rows, each[of], n) for each in (asked, where.size[terms] > 1))
        share = np.ones(n)
        np.multiply.at(share, rows, chances[of])
        there = np.append(np.bincount(where.of_class[terms], asked, where.n_classes), -1)[where.class_of_row]
        is_complete = there == len(codes)
        has_all = (found == there) & (is_complete | self.may_suppress)
        return Meeting.of(has_all & is_complete & (coarse == 0), has_all, np.where(is_complete, share, 0.0))

    @cached_property
    def _terms(self) -> "TermRows":
        return TermRows.of(self.terms, self.table.frame.height)


@dataclass(frozen=True, eq=False, repr=False)
class TermRows:
    """The terms of all classes, numbered, with the rows that have them.

    Attributes
    ----------
    starts, rows : the rows of term t are ``rows[starts[t]:starts[t + 1]]``
    size, of_class : (n_terms,) how many codes a term has; its class
    of_code : the terms of each code
    class_of_row : (n_rows,) the class of each row, -1 of rows without codes
    """

    starts: Places
    rows: Places
    size: Places
    of_class: Places
    of_code: dict[str, Places]
    class_of_row: Places
    n_classes: int

    @classmethod
    def of(cls, terms: ReleasedTerms, n_rows: int) -> "TermRows":
        """Number the terms of a release."""
        numbered = terms.terms.with_row_index("number")
        held = (
            terms.held.join(numbered, on=["class", "term"]).sort("number", "row").select(pl.col("row").cast(pl.Int64))
        )
        codes = numbered.explode("code").group_by("code").agg(pl.col("number").cast(pl.Int64).sort())
        class_of_row = np.full(n_rows, -1, dtype=np.int64)
        class_of_row[terms.rows["row"].to_numpy()] = terms.rows["class"].to_numpy()
        return cls(
            np.concatenate([[0], np.cumsum(numbered["rows"].to_numpy())]).astype(np.int64),
            held["row"].cast(pl.Int64).to_numpy(),
            numbered["code"].list.len().cast(pl.Int64).to_numpy(),
            numbered["class"].cast(pl.Int64).to_numpy(),
            {code: np.array(own, dtype=np.int64) for code, own in codes.iter_rows()},
            class_of_row,
            terms.classes.height,
        )


def table_in(answers: Answers) -> TableAnswers | None:
    """Return the answers from the table of a release, without its codes; None if it has no table."""
    table = answers.table if isinstance(answers, CodesInTable) else answers
    return table if isinstance(table, TableAnswers) else None


def of_table_with_codes(
    folder: Path, manifest: "TableManifest", codebook: pl.DataFrame, hierarchies: Mapping[str, Hierarchy]
) -> CodesInTable:
    """Return the answers from a table and from its clusters of codes."""
    table, codes = answers_of_table(folder, manifest, codebook, hierarchies), codes_of(manifest)
    assert codes is not None
    return ClassChunkAnswers(table, codes.column, chunks_in(folder, 1))


def of_table_with_terms(
    folder: Path, manifest: "TableWithTermsManifest", codebook: pl.DataFrame, hierarchies: Mapping[str, Hierarchy]
) -> CodesInTable:
    """Return the answers from a table and from the terms of its codes."""
    table, codes = answers_of_table(folder, manifest, codebook, hierarchies), manifest.codes
    columns = [name for name in manifest.quasi_identifiers if name != codes.column]
    terms = ReleasedTerms.of(table.frame, codes.column, columns)
    return ClassTermAnswers(table, codes.column, terms, codes.may_suppress)
