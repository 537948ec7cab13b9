"""The released patients, claims and cells, their loss, and the patients who match an adversary's knowledge."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InternalError
from cloister.kernels.claim_draws import Draws, Recoding, Span
from cloister.kernels.claim_leeway import ANY_NUMBER, Room, count_nearest, count_tolerated, make_leeway, make_room
from cloister.kernels.claim_matches import (
    NO_LIMIT,
    Question,
    ReleasedValues,
    are_contained,
    class_sizes,
    count_as_likely,
    make_released_values,
    rarest_values,
)
from cloister.kernels.postings import Cells, Postings, joined_postings, make_cells, make_postings

from .adversary_draws import gather
from .encode import MISSING, EncodedClaims, EncodedColumn, entropy_losses

SPAN = 512
"""Draws that a thread takes at a time."""

NO_WEIGHTS: Mapping[str, float] = {}
"""All columns have the weight 1."""

Levels = Sequence[int]
Flags = NDArray[np.bool_]
Sizes = NDArray[np.int64]
Part = TypeVar("Part")
Done = TypeVar("Done")


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedClaims:
    """A part of the patients, of their claims and of the cells of these.

    encoded : patients and claims before anything was removed
    patients : (n_patients,) whether each patient is released
    claims : (n_claims,) whether each claim is released; a patient of whom one is not has the flag ``claims_truncated``
    cells : (n_columns, n_claims) whether each cell of a claim is released; one that is not has ``sup_<column>`` set
    """

    encoded: EncodedClaims
    patients: NDArray[np.bool_]
    claims: NDArray[np.bool_]
    cells: NDArray[np.bool_]

    @classmethod
    def everything(cls, encoded: EncodedClaims, claims: NDArray[np.bool_] | None = None) -> "ReleasedClaims":
        """All patients with all their claims, or those that truncation keeps."""
        kept = np.ones(encoded.n_claims, dtype=np.bool_) if claims is None else claims
        cells = np.ones((len(encoded.claims), encoded.n_claims), dtype=np.bool_)
        return cls(encoded, np.ones(encoded.n_patients, dtype=np.bool_), kept, cells)

    def is_there(self, column: int) -> NDArray[np.bool_]:
        """Whether each claim is released and its cell in a column of claims, too; (n_claims,)."""
        patients = np.repeat(self.patients, np.diff(self.encoded.offsets))
        return np.asarray(self.claims & self.cells[column] & patients)

    def values(self, column: int) -> NDArray[np.int32]:
        """Base value of each claim in a column of claims, -1 where it is missing or not released."""
        return np.where(self.is_there(column), self.encoded.claims[column].values, np.int32(MISSING))

    @cached_property
    def truncated(self) -> NDArray[np.bool_]:
        """Whether each patient lost a claim, (n_patients,): the released flag ``claims_truncated``."""
        return np.bincount(self.encoded.owners[~self.claims], minlength=self.encoded.n_patients) > 0

    @cached_property
    def room(self) -> NDArray[np.int32]:
        """How many values of each column may be missing of each patient, as the flags say; (n_columns, n_patients)."""
        e = self.encoded
        room = np.zeros((len(e.claims), e.n_patients), dtype=np.int32)
        for h, column in enumerate(e.claims):
            hidden = self.claims & ~self.cells[h] & (column.values != MISSING)
            room[h] = np.bincount(e.owners[hidden], minlength=e.n_patients)
        room[:, self.truncated] = ANY_NUMBER
        return room

    def without_claims(self, rows: NDArray[np.bool_]) -> "ReleasedClaims":
        """The same without some claims."""
        return replace(self, claims=self.claims & ~rows)

    def without_cells(self, cells: NDArray[np.bool_]) -> "ReleasedClaims":
        """The same without some cells; a cell that was missing anyhow gets no flag."""
        return replace(self, cells=self.cells & ~cells)

    def without_labels(self, levels: Sequence[int], gone: Sequence[Flags]) -> "ReleasedClaims":
        """The same without the cells of some labels; ``gone``: of each column of claims, (n_labels,) at its level."""
        encoded, cells = self.encoded, np.zeros_like(self.cells)
        for h, (column, labels) in enumerate(zip(encoded.claims, gone, strict=True)):
            if labels.any():
                cells[h] = self.claims & np.append(labels, False)[column.at(levels[len(encoded.patients) + h])]
        return self.without_cells(cells)

    def without_patients(self, patients: NDArray[np.bool_]) -> "ReleasedClaims":
        """The same without some patients and all of their claims."""
        return replace(self, patients=self.patients & ~patients)


@dataclass(frozen=True, eq=False, repr=False)
class LevelLosses:
    """The loss of a node: ``fixed``, for what is not released, and what the level of each column adds, (n_levels,)."""

    fixed: float
    by_level: tuple[NDArray[np.float64], ...]

    def of(self, levels: Sequence[int]) -> float:
        """Loss of a node in [0, 1]."""
        return self.fixed + float(sum(own[level] for own, level in zip(self.by_level, levels, strict=True)))


def level_losses(released: ReleasedClaims, weights: Mapping[str, float] = NO_WEIGHTS) -> LevelLosses:
    """What each level of each column loses, over all cells that are not missing in the original, by column weights."""
    encoded = released.encoded
    rows = released.claims & np.repeat(released.patients, np.diff(encoded.offsets))
    cells = [*(released.patients for _ in encoded.patients), *(rows & own for own in released.cells)]
    fixed, by_level = 0.0, []
    for column, own, weight in zip(encoded.columns, cells, shares_of(encoded, weights), strict=True):
        # the search takes it for granted that a coarser level loses no less
        if bool(np.any(np.diff(column.losses, axis=0) < 0)):
            raise InternalError(f"Column {column.name!r}: a coarser level loses less than a finer one.")
        present = column.values != MISSING
        n_cells = max(1, int(present.sum()))
        fixed += weight * float(column.losses[-1] @ _counts(column, present & ~own)) / n_cells
        by_level.append(weight * np.maximum.accumulate(column.losses @ _counts(column, present & own)) / n_cells)
    return LevelLosses(fixed, tuple(by_level))


def label_losses(
    released: ReleasedClaims, h: int, level: int, weights: Mapping[str, float] = NO_WEIGHTS
) -> NDArray[np.float64]:
    """What suppressing each label of a column of claims in all claims adds to the loss of a level, (n_labels,)."""
    encoded = released.encoded
    column, share = encoded.claims[h], shares_of(encoded, weights)[len(encoded.patients) + h]
    left = (column.losses[-1] - column.losses[level]) * _counts(column, released.values(h) != MISSING)
    n_cells = max(1, int((column.values != MISSING).sum()))
    return np.bincount(column.levels[level], weights=left, minlength=len(column.labels[level])) * share / n_cells


def shares_of(encoded: EncodedClaims, weights: Mapping[str, float]) -> list[float]:
    """The share of each column in the loss, by its weight; 1 where none is set."""
    given = np.array([weights.get(column.name, 1.0) for column in encoded.columns], dtype=np.float64)
    shares: list[float] = (given / given.sum()).tolist()
    return shares


def _counts(column: EncodedColumn, rows: Flags) -> NDArray[np.int64]:
    return np.bincount(column.values[rows], minlength=column.n_values)


def released_alone(released: ReleasedClaims) -> ReleasedClaims:
    """The same as if the patients who are released were all there are."""
    encoded = released.encoded

    def only(columns: tuple[EncodedColumn, ...], rows: Flags) -> tuple[EncodedColumn, ...]:
        return tuple(replace(one, values=np.where(rows, one.values, np.int32(MISSING))) for one in columns)

    claims = only(encoded.claims, released.patients[encoded.owners])
    return replace(
        released, encoded=replace(encoded, patients=only(encoded.patients, released.patients), claims=claims)
    )


def mean_loss(released: ReleasedClaims, levels: Sequence[int]) -> float:
    """Return the mean loss of the columns, with equal weights, by non-uniform entropy, whatever was minimized."""
    encoded = released.encoded

    def by_entropy(columns: tuple[EncodedColumn, ...]) -> tuple[EncodedColumn, ...]:
        counts = [_counts(one, one.values != MISSING) for one in columns]
        return tuple(
            replace(one, losses=entropy_losses(one.levels, own)) for one, own in zip(columns, counts, strict=True)
        )

    alike = replace(encoded, patients=by_entropy(encoded.patients), claims=by_entropy(encoded.claims))
    return level_losses(replace(released, encoded=alike)).of(levels)


def information_kept(released: ReleasedClaims, levels: Sequence[int]) -> list[float]:
    """The share of the information of each column that its labels keep, suppressed cells aside, over released patients.

    By non-uniform entropy, whatever loss was minimized: see `cloister.shapes.claims.method.encode.entropy_losses`.
    """
    encoded, found = released.encoded, []
    owners = released.patients[encoded.owners]
    shown = [*(released.patients for _ in encoded.patients), *(released.claims & own for own in released.cells)]
    theirs = [*(released.patients for _ in encoded.patients), *(owners for _ in encoded.claims)]
    for column, level, there, seen in zip(encoded.columns, levels, theirs, shown, strict=True):
        counts = _counts(column, there & (column.values != MISSING))
        losses, kept = entropy_losses(column.levels, counts), _counts(column, there & seen & (column.values != MISSING))
        n, lost = int(counts.sum()), float(losses[level] @ kept + losses[-1] @ (counts - kept))
        found.append(1.0 - lost / n if n and losses[-1].any() else 1.0)
    return found


class NodeLists(NamedTuple):
    """Lists of patients at the levels of claims of one node, column by column.

    ``begins``, (n_columns,): labels of column h are numbered from ``begins[h]`` on; one more number marks their end.
    """

    postings: Postings
    recoding: Recoding
    begins: NDArray[np.int64]


class Matching:
    """Who fits which values, under any node: lists of patients for each label of a level, made when first needed.

    cap : how often a value can be known of one patient at most, so the highest power
    threads : that count side by side; figures do not depend on it
    """

    def __init__(self, released: ReleasedClaims, cap: int, threads: int = 1) -> None:
        self.released = released
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.cap = cap
        self._cells: dict[tuple[int, ...], Cells] = {}
        self._levels: dict[tuple[int, int], Postings] = {}
        self._nodes: dict[tuple[int, ...], NodeLists] = {}

    def lists(self, levels: Levels) -> NodeLists:
        """Lists of patients at the levels of claims of a node; those of the last one are kept."""
        own = tuple(levels[len(self.released.encoded.patients) :])
        if own not in self._nodes:
            self._nodes.clear()  # before the next is made, as a node's lists are large
            missing = [pair for pair in enumerate(own) if pair not in self._levels]
            self._levels.update(zip(missing, self._map(self._make_pair, missing), strict=True))
            postings, begins = joined_postings([self._levels[pair] for pair in enumerate(own)])
            labels = [self._labels(*pair) + begin for pair, begin in zip(enumerate(own), begins.tolist(), strict=True)]
            at = np.concatenate([[0], np.cumsum([part.size for part in labels])])[:-1].astype(np.int64)
            self._nodes[own] = NodeLists(postings, Recoding(np.concatenate(labels), at), begins)
        return self._nodes[own]

    def _labels(self, h: int, level: int) -> NDArray[np.int64]:
        """Label of each renumbered value of a column at a level."""
        encoded = self.released.encoded
        own: NDArray[np.int64] = (
            encoded.claims[h].levels[level][np.argsort(encoded.sorted_values[h].numbers)].astype(np.int64)
        )
        return own

    def _make_pair(self, pair: tuple[int, int]) -> Postings:
        h, level = pair
        starts, values = self._sort_by_patient(h)
        n_labels = len(self.released.encoded.claims[h].labels[level])
        return make_postings(starts, values, self._labels(h, level), n_labels, max(1, self.cap))

    def _sort_by_patient(self, h: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The released values of a column, renumbered and sorted by patient, and where those of each begin."""
        released = self.released
        found = released.encoded.sorted_values[h].only(released.is_there(h))
        return found.starts, found.values

    def holders(self, levels: Levels) -> NDArray[np.int64]:
        """How many released patients have each label at the levels of a node, by its number in `lists`."""
        first, starts, _, _, _ = self.lists(levels).postings
        found, has = np.zeros(first.size, dtype=np.int64), np.flatnonzero(np.diff(first))
        # the first list of a label holds anyone who has it at all
        found[has] = np.diff(starts)[first[has]]
        return found

    def cells(self, levels: Levels) -> Cells:
        """Patients alike in the quasi-identifiers of patients under a node."""
        own = tuple(levels[: len(self.released.encoded.patients)])
        if own not in self._cells:
            while len(self._cells) > 1:
                del self._cells[next(iter(self._cells))]
            groups = group_patients(self.released.encoded.patients, own, self.released.encoded.n_patients)
            self._cells[own] = make_cells(np.where(self.released.patients, groups, MISSING))
        return self._cells[own]

    def of_anybody(self, levels: Levels) -> "Matching":
        """The same under a node for who knows nothing of patients but their claims: all released ones are alike."""
        self.lists(levels)  # which both then have
        other, own = copy(self), tuple(levels[: len(self.released.encoded.patients)])
        other._cells = {own: make_cells(np.where(self.released.patients, 0, MISSING))}
        return other

    def mark_contained(self, levels: Levels, draws: Draws, span: Span | None = None) -> NDArray[np.bool_]:
        """Whether the released claims of the patient of each draw hold all that was drawn, (n_draws,)."""
        found, question = np.zeros(draws.patients.size, dtype=np.bool_), self._question(levels, draws, self._nowhere)
        self._run(span, found.size, lambda part: are_contained(question, part, found))
        return found

    def sizes(
        self, levels: Levels, draws: Draws, wanted: Flags | None = None, span: Span | None = None, most: int = NO_LIMIT
    ) -> Sizes:
        """Patients that fit each draw, (n_draws,), no further than ``most``; 0 where not wanted or not in the span."""
        found = np.zeros(draws.patients.size, dtype=np.int64)
        question = self._question(levels, draws, self.cells(levels), wanted)
        self._run(span, found.size, lambda part: class_sizes(question, part, found, most=most))
        return found

    def count_tolerated(self, levels: Levels, draws: Draws, wanted: Flags | None = None, most: int = NO_LIMIT) -> Sizes:
        """Patients that fit each draw only because flags say that something is missing, (n_draws,), up to ``most``."""
        return self._tolerating(count_tolerated, levels, draws, wanted, most)

    def nearest(self, levels: Levels, draws: Draws, wanted: Flags, most: int = NO_LIMIT) -> Sizes:
        """Of those tolerated who lack fewest values, their number, (n_draws,); 0 where the patient lacks more.

        Counted up to ``most``, at which some who lack fewer may not have been looked at.
        """
        return self._tolerating(count_nearest, levels, draws, wanted, most)

    def _tolerating(
        self, count: Callable[..., None], levels: Levels, draws: Draws, wanted: Flags | None, most: int
    ) -> Sizes:
        """Count patients who fit each draw where values may be missing of those who are flagged."""
        found = np.zeros(draws.patients.size, dtype=np.int64)
        question = self._question(levels, draws, make_leeway(self.cells(levels).of, self._room.of), wanted)
        self._run(None, found.size, lambda part: count(question, self._room, part, found, most=most))
        return found

    @cached_property
    def _room(self) -> Room:
        return make_room(self.released.room, self.cap)

    def likeliest(self, levels: Levels, draws: Draws) -> Sizes:
        """Of those who fit and of whom each draw is likeliest, their number, (n_draws,); 0 where the patient is none.

        A draw is likely of a patient by the released values: the share of all samples of this size that are this one.
        """
        found = np.zeros(draws.patients.size, dtype=np.int64)
        question = self._question(levels, draws, self.cells(levels))
        self._run(None, found.size, lambda part: count_as_likely(question, self._shown, part, found))
        return found

    def rarest(self, levels: Levels, draws: Draws) -> tuple[Sizes, Sizes]:
        """The value of each draw that fewest released patients have: its column of claims and its label at the level.

        (n_draws,) each, -1 where nothing was drawn.
        """
        columns, labels = np.full((2, draws.patients.size), MISSING, dtype=np.int64)
        question = self._question(levels, draws, self._nowhere)
        self._run(None, columns.size, lambda part: rarest_values(question, part, columns, labels))
        return columns, np.where(columns >= 0, labels - self.lists(levels).begins[columns], MISSING)

    @cached_property
    def _shown(self) -> ReleasedValues:
        return make_released_values(
            gather([self._sort_by_patient(h) for h in range(len(self.released.encoded.claims))])
        )

    @cached_property
    def _nowhere(self) -> Cells:
        """No cell at all, for questions about a draw's own patient."""
        return make_cells(np.full(self.released.encoded.n_patients, MISSING, dtype=np.int64))

    def _question(self, levels: Levels, draws: Draws, cells: Cells, wanted: Flags | None = None) -> Question:
        where: NDArray[np.int64] = cells.of[draws.patients]
        if wanted is not None:
            where = np.where(wanted, where, MISSING)
        lists = self.lists(levels)
        return Question(draws, lists.recoding, lists.postings, cells, where)

    def _run(self, span: Span | None, n_draws: int, work: Callable[[Span], None]) -> None:
        begin, end = span or (0, n_draws)
        self._map(work, [(at, min(at + SPAN, end)) for at in range(begin, end, SPAN)])

    def _map(self, work: Callable[[Part], Done], parts: Sequence[Part]) -> list[Done]:
        if self._pool is None or len(parts) < 2:
            return [work(part) for part in parts]
        return list(self._pool.map(work, parts))


def group_patients(columns: Sequence[EncodedColumn], levels: Levels, n_patients: int) -> NDArray[np.int64]:
    """Number of the group of each patient, (n_patients,): alike in all of these columns, missing a value of its own."""
    groups = np.zeros(n_patients, dtype=np.int64)
    for column, level in zip(columns, levels, strict=True):
        labels = column.at(level).astype(np.int64) + 1
        keys = groups * (int(labels.max(initial=0)) + 1) + labels
        present = np.bincount(keys) > 0  # few more keys than groups: counting them costs less than sorting patients
        groups = (np.cumsum(present) - 1)[keys]
    return groups
