"""Simulate the attack: every adversary looks for every target, in the release and in the original data.

A release folder and its original are opened in a form common to all shapes. An adversary who finds matching records may
also guess a sensitive value of the patient from them.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.io import as_text

from .adversary import (
    GONE,
    NOT_KNOWN,
    Adversary,
    Attack,
    ImpliedCodes,
    Inference,
    Integers,
    KnowledgeStep,
    Level,
    Matches,
    PredicateSinglingOut,
    RecordGroups,
    Refinement,
    level_of,
    sample_targets,
)

EVERYTHING = KnowledgeStep("", None)
Counts = dict[str, int]


class Inferable(Protocol):
    """A value that adversaries may infer about targets."""

    def infer(self, targets: Integers, seed: int) -> Inference:
        """Guess the value of each target, and count correct guesses."""


class Isolating(Protocol):
    """Predicates that can be read off a release."""

    def single_out(self, budget: int, seed: int) -> PredicateSinglingOut:
        """Count the predicates that match exactly one record of the original, among at most this many."""


@dataclass(frozen=True, eq=False, repr=False)
class Sensitive:
    """A sensitive column: the original values of patients, and the released values of each group."""

    column: str
    truth: pl.Series  # (n_patients,) text
    groups: Integers  # (n_records,) group of each released record
    released_values: pl.Series  # (n_records,) text
    released: RecordGroups  # which groups fit whom
    adversary: Adversary

    def infer(self, targets: Integers, seed: int) -> Inference:
        """Guess the most frequent value among the matches of each target and, for comparison, in the complete release.

        A missing value is never guessed, and targets without a value or without a match are omitted.
        """
        rows = pl.DataFrame([pl.Series("group", self.groups), self.released_values.alias("value")])
        by_group: dict[int, Counts] = {}
        for group, value, count in rows.drop_nulls().group_by("group", "value").len().iter_rows():
            by_group.setdefault(group, {})[value] = count
        usual = _most_frequent(Counter(self.released_values.drop_nulls().to_list()))
        right = blind = certain = n = 0
        for truth, counts, records in _matches(self, by_group, targets, seed):
            n += 1
            blind += truth == usual
            right += truth == _most_frequent(counts)
            certain += counts.get(truth, 0) == records
        of = max(1, n)
        return Inference(self.column, n, right / of, blind / of, certain / of)


def _matches(
    sensitive: Sensitive, by_group: dict[int, Counts], targets: Integers, seed: int
) -> Iterator[tuple[str, Counts, int]]:
    """The true value of each target, how often each value is in its matches, and how many matches there are."""
    sizes = np.bincount(sensitive.groups[sensitive.groups >= 0])
    for target in targets.tolist():
        truth = sensitive.truth[target]
        known = sensitive.adversary.known(target, EVERYTHING, seed)
        groups = sensitive.released.groups(target, known or [])
        if truth is None or not groups.size:
            continue
        counts: Counter[str] = Counter()
        for group in groups.tolist():
            counts.update(by_group.get(group, {}))
        yield truth, counts, int(sizes[groups].sum())


def _most_frequent(counts: Counts) -> str | None:
    """Return the most frequent value, of several the first in the order of their UTF-8 bytes."""
    if not counts:
        return None
    return min(counts, key=lambda value: (-counts[value], value.encode()))


@dataclass(frozen=True, eq=False, repr=False)
class Traces:
    """Values that could link the records of one part of a release to those of another."""

    # which groups fit whom; None where the guarantee is about the mean over patients, so that few may fit one
    released: RecordGroups | None
    adversary: Adversary  # what is known; as much of it as the guarantee covers is used
    groups: Integers  # (n_records,) group of each released record
    recorded: dict[str, pl.Series]  # by column, what is released as it was recorded: lists of texts, (n_records,)
    numbers: Integers  # (n_patients,) number of the released record of each patient, `GONE` or `NOT_KNOWN`


@dataclass(frozen=True, eq=False, repr=False)
class OpenedRelease:
    """A release and its original, prepared for an attack."""

    # shape, method, k: of the release; k is what the guarantee promises
    shape: str
    method: str
    k: int
    # n_patients, n_released: of the original, and in the release
    n_patients: int
    n_released: int
    is_known_who: bool  # whether it is known which released record is whose
    adversaries: tuple[Adversary, ...]  # who attack
    sensitive: tuple[Inferable, ...] = ()  # what they may want to learn: sensitive columns, or a further code
    # (n_patients,) original ids as text; None where there are none
    ids: pl.Series | None = field(default=None, repr=False)
    traces: Traces | None = None  # for attacks on several parts; None where the release has no records
    predicates: Isolating | None = None  # of tables
    refinement: Refinement | None = None  # where classes have labels of their own
    implied: ImpliedCodes | None = None  # of chunks


def released_of(
    crosswalk: pl.DataFrame | None, ids: pl.Series | None, released: pl.Series, n_patients: int
) -> Integers:
    """Return the released record of each original patient, by the crosswalk; `GONE` if there is none.

    ``ids``: (n_patients,) of the original; without them or a crosswalk all records are `NOT_KNOWN`
    ``released``: (n_records,) the released ids
    """
    if crosswalk is None or ids is None:
        return np.full(n_patients, NOT_KNOWN, dtype=np.int64)
    if crosswalk.columns != ["released", "original"]:
        raise InputError("The crosswalk does not have the columns released and original, as one of such a release has.")
    rows = pl.DataFrame([as_text(released).alias("released"), pl.Series("row", np.arange(len(released)))])
    links = pl.DataFrame([as_text(crosswalk["released"]), as_text(crosswalk["original"])])
    joined = links.join(rows, on="released", how="left").join(
        pl.DataFrame([as_text(ids).alias("original"), pl.Series("patient", np.arange(n_patients))]),
        on="original",
        how="left",
    )
    whole = joined.height == links.height and not joined["row"].null_count() and not joined["patient"].null_count()
    if not whole or joined["patient"].n_unique() != joined.height or joined["row"].n_unique() != joined.height:
        raise InputError("The crosswalk does not map each record of the release to one patient of the original.")
    numbers = np.full(n_patients, GONE, dtype=np.int64)
    numbers[joined["patient"].to_numpy()] = joined["row"].to_numpy()
    return numbers


def as_lists(frame: pl.DataFrame) -> dict[str, pl.Series]:
    """Return the columns of a frame as lists of one text per row."""
    return {name: frame.select(pl.concat_list(name)).to_series() for name in frame.columns}


def patient_ids(ids: pl.Series | None, n_patients: int) -> pl.Series:
    """Return ids as text; without ids, the numbers of the patients from 1."""
    return pl.Series(np.arange(1, n_patients + 1)).cast(pl.String) if ids is None else as_text(ids)


BUDGET = 1_000  # Patients looked for at each step of knowledge, unless asked otherwise


def simulate(opened: OpenedRelease, *, budget: int = BUDGET, seed: int = 0) -> Attack:
    """Attack a release.

    ``budget``: patients looked for, and predicates tested; a random sample where there are more
    ``seed``: of the samples, and of what is known of each target
    """
    targets = sample_targets(opened.n_patients, budget, seed)
    levels = [level for adversary in opened.adversaries for level in _levels(adversary, targets, opened.k, seed)]
    inferences = [each.infer(targets, seed) for each in opened.sensitive]
    return Attack(
        shape=opened.shape,
        method=opened.method,
        k=opened.k,
        seed=seed,
        targets=targets.size,
        budget=budget,
        records=opened.n_released,
        is_known_who=opened.is_known_who,
        levels=tuple(levels),
        inferences=tuple(inferences),
        predicates=None if opened.predicates is None else opened.predicates.single_out(budget, seed),
        refinement=opened.refinement,
        implied=opened.implied,
    )


def _levels(adversary: Adversary, targets: Integers, k: int, seed: int) -> Iterator[Level]:
    """What the adversary finds at each step that some target has items for."""
    for step in adversary.steps:
        tried = [(target, adversary.known(target, step, seed)) for target in targets.tolist()]
        known = [(target, items) for target, items in tried if items is not None]
        if not known:
            continue
        released = Matches.of([adversary.released.match(target, items) for target, items in known])
        original = Matches.of([adversary.original.match(target, items) for target, items in known])
        covered = [adversary.covers(target, items) for target, items in known]
        yield level_of(step.words, released, original, covered, k, step.limit)
