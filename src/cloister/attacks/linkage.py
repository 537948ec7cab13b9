"""Attack trajectories in two steps: hospital discharge summaries, then a public register with names.

The adversary wants to name the patient of a released record. Its pairs lead to the discharge summaries that fit, these
to demographics such as year of birth, sex and postal code, and these to people in a register, such as a voter list
(Tamersoy et al. 2012, section III-C, 2). `LinkedPeople` counts who may be the patient.

The simulation assumes the worst for privacy: the summaries contain each patient of the original and nobody else, and
all pairs of each.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cloister.errors import InputError, name_few, setting
from cloister.io import as_text, from_native, read_table
from cloister.io.attributes import join_attributes, ranks
from cloister.settings.reading import ReadingWords, how_read

from .adversary import ELSEWHERE, THERE, Adversary, Integers, KnowledgeStep, Match
from .simulation import OpenedRelease, Traces
from .trajectories import NOWHERE, LabelSequences

STEPS = ("people, by summaries", "people, by a register too")
AMONG_PATIENTS = "people, all of them patients"  # the second step without a register


class Summaries:
    """The discharge summaries of all patients, each with all pairs of the patient."""

    def __init__(self, records: LabelSequences) -> None:
        labels = [np.full(rows[0].size, label) for label, rows in enumerate(records.by_code)]
        sequence, place, *others = map(np.concatenate, zip(*records.by_code, strict=True))
        columns = [np.concatenate(labels), *others]
        order = np.lexsort((place, sequence))
        cuts = np.searchsorted(sequence[order], np.arange(1, records.sizes.size))
        self.trajectories, self.owner = records.trajectories, records.trajectories.owner
        self.pairs = np.split(np.stack(columns, axis=1)[order], cuts)
        self.values = [_values_of(*of) for of in zip(records.labels, columns, strict=True)]
        self.found: dict[int, Integers] = {}  # by group
        self.rows: dict[int, Integers] = {}  # by label of a code, the pairs that it may stand for

    def fitting(self, group: int) -> Integers:
        """Return the patients whose summaries have a pair for each pair of a released record, in this order."""
        if group not in self.found:
            theirs = self.trajectories
            last = theirs.offsets[:-1] - 1
            places = [held for _, _, held in theirs.columns[1:]]
            for code, *others in self.pairs[group].tolist():
                if code not in self.rows:
                    self.rows[code] = np.flatnonzero(self.values[0][code][theirs.codes])
                rows = self.rows[code]
                for covered, label, held in zip(self.values[1:], others, places, strict=True):
                    rows = rows[covered[label][held[rows]]]
                rows = rows[rows > last[self.owner[rows]]]
                first = rows[np.diff(self.owner[rows], prepend=-1) > 0]
                last = np.full(theirs.n_patients, NOWHERE, dtype=np.int64)
                last[self.owner[first]] = first
            self.found[group] = np.flatnonzero(last < NOWHERE)
        return self.found[group]


def _values_of(labels: Sequence[tuple[int, ...]], released: Integers) -> NDArray[np.bool_]:
    """Return, for each label, which values it may stand for, from the labels of each value."""
    n_labels = 1 + max(int(released.max()), *(max(some, default=0) for some in labels))
    covered = np.zeros((n_labels, len(labels)), dtype=np.bool_)
    for value, some in enumerate(labels):
        covered[list(some), value] = True
    return covered


@dataclass(frozen=True, eq=False, repr=False)
class LinkedPeople:
    """The people who may be the patient of a record, by discharge summaries and a register.

    For each combination of demographics in a summary that fits the record, everybody in the register who has it counts;
    a patient who is not in the register counts as well, as somebody without a name.

    Guarantee
    ---------
    In a release that is k-anonymous by Definition 1 of the paper, at least k people may be the patient of each record,
    so a random one is the right one with a probability of at most 1/k. Proof: at least k released patients have the
    trajectory of the record, and since a release is truthful, the summary of each has a pair for each released one, in
    this order. So the first step ends at s >= k summaries. Let g of them have demographics q, and F(q) people in the
    register: the second step ends at the sum over q of max(F(q), g) >= s people. Hence the second step never raises the
    probability, which is 1/s after the first, and no rule beyond k-anonymity is needed. Incomplete summaries, or
    knowledge of who is more probable, do not help: equal records are interchangeable, so each is that of a given person
    with a probability of at most 1/k. Not covered: demographics that are released as auxiliary attributes.

    References
    ----------
    Tamersoy, Loukides, Nergiz, Saygin, Malin (2012), IEEE Trans. Inf. Technol. Biomed. 16(3), section III-C.
    """

    own: Integers  # (n_patients,) group of the patient's own record, below 0 if it is not released
    summaries: Summaries
    demographics: Integers  # (n_patients,) number of the combination in the summary
    people: Integers  # (n_combinations,) people of the register with each
    # seen, shown: (n_patients,) number of the combination of released columns, in the summary and next to the record
    seen: Integers
    shown: Integers

    def match(self, target: int, known: Sequence[int]) -> Match:  # noqa: ARG002  (the summaries contain all of it)
        """Search for the people behind the target's record."""
        group = int(self.own[target])
        if group < 0:
            return Match(0, 0, ELSEWHERE)
        fit = self.summaries.fitting(group)
        fit = fit[self.seen[fit] == self.shown[target]]
        combinations, patients = np.unique(self.demographics[fit], return_counts=True)
        n = int(np.maximum(self.people[combinations], patients).sum())
        return Match(n, n, THERE if target in fit else ELSEWHERE)


def add_linkage(
    opened: OpenedRelease, summaries: object, register: object = None, words: ReadingWords | None = None
) -> OpenedRelease:
    """Add the adversary in two steps to a release of trajectories.

    ``summaries``: a dataframe or file with one row for each patient of the original: id and demographics
    ``register``: the same columns, or some, with one row a person; without it, the patients are the register, the
    worst case
    ``words``: how files are read
    """
    if summaries is None:
        if register is not None:
            raise InputError("A register is searched for the demographics in summaries. Give ", setting("summaries"))
        return opened
    traces = opened.traces
    if opened.shape != "trajectories" or traces is None:
        raise InputError(
            f"Linkage by discharge summaries is simulated for trajectories, and this release is of {opened.shape}. "
            "Leave the summaries out."
        )
    if not opened.is_known_who:
        raise InputError("Linkage begins at the record of a patient. Give ", setting("crosswalk"))
    given, name = _read(summaries, "summaries", words)
    column = None if opened.ids is None else opened.ids.name
    frame = join_attributes(given, opened.ids, name, column, "the original").frame
    persons = (frame, name) if register is None else _read(register, "register", words)
    demographics, people = _count_people(frame, *persons)
    steps = STEPS if register is not None else (STEPS[0], AMONG_PATIENTS)
    return replace(opened, adversaries=(*opened.adversaries, *_linked(steps, traces, frame, demographics, people)))


def _linked(
    steps: Sequence[str], traces: Traces, frame: pl.DataFrame, demographics: Integers, people: Integers
) -> Iterator[Adversary]:
    """The adversary after the first step, and after both; released columns of the summaries narrow down who fits."""
    shared = [name for name in frame.columns if name in traces.recorded]
    seen, shown = np.zeros((2, frame.height), dtype=np.int64)
    if shared:
        released = pl.DataFrame([traces.recorded[name].explode().alias(name) for name in shared])
        ranked = ranks(pl.concat([frame.select(shared), released]))
        seen, shown = ranked[: frame.height], ranked[frame.height :][traces.numbers]
    known = traces.adversary
    assert isinstance(known.released, LabelSequences)
    assert isinstance(known.original, LabelSequences)
    behind, before = Summaries(known.released), Summaries(known.original)
    for name, counts in zip(steps, (np.zeros_like(people), people), strict=True):
        yield Adversary(
            (KnowledgeStep(name, None),),
            known.n_items,
            LinkedPeople(known.released.own, behind, demographics, counts, seen, shown),
            LinkedPeople(known.original.own, before, demographics, counts, seen, seen),
            lambda _target, _known: not shared,
        )


def _read(given: object, name: str, words: ReadingWords | None) -> tuple[pl.DataFrame, str]:
    """Return a table and its name in messages."""
    if not isinstance(given, str | Path):
        return from_native(given).frame, name
    source = read_table(given, **how_read(words or ReadingWords()))
    return source.frame, source.name


def _count_people(summaries: pl.DataFrame, register: pl.DataFrame, name: str) -> tuple[Integers, Integers]:
    """Number the demographics of each patient, by the columns of the register, and count its people with each."""
    columns = [column for column in summaries.columns if column in register.columns]
    if not columns:
        raise InputError(
            f"{name} has none of the columns of the summaries: {name_few(summaries.columns)}. Give the columns by "
            "which both are linked the same names.",
            file=name,
        )
    people, patients = (
        table.select(as_text(table[column]).str.strip_chars() for column in columns) for table in (register, summaries)
    )
    ranked = ranks(pl.concat([patients, people]))
    demographics, found = np.split(ranked, [summaries.height])
    return demographics, np.bincount(found, minlength=int(ranked.max(initial=0)) + 1)
