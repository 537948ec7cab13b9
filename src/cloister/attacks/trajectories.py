"""Attack trajectories: the adversary knows some or all (code, age) pairs of a patient, or only the codes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, groupby
from pathlib import Path

import numpy as np
import polars as pl

from cloister.errors import InputError
from cloister.hierarchy import ROOT, BoundHierarchy
from cloister.kernels.ragged import owners, take_runs
from cloister.shapes.table.format.options import CLUSTER
from cloister.shapes.trajectories.format.data import ID, Trajectories
from cloister.shapes.trajectories.format.domain import ValueTree
from cloister.shapes.trajectories.format.manifest import PublishedTrajectories, TrajectoriesManifest
from cloister.shapes.trajectories.verify.recheck import TrajectoriesChecker, TrajectoriesOriginal, read_original
from cloister.verification.driver import Request

from .adversary import NOT_KNOWN, Adversary, Integers, KnowledgeStep, Match, RecordGroups, Refinement, match_of
from .label_matching import labels_of, number_texts
from .refinement import ShownClasses, refine
from .simulation import OpenedRelease, Sensitive, Traces, as_lists, patient_ids, released_of

NUMBERS = (1, 2, 3)  # Pairs, or codes, that adversaries know, besides all
FIRST, NOWHERE = -1, np.iinfo(np.int64).max
Labels = Sequence[Sequence[tuple[int, ...]]]  # By attribute and value, the labels that may stand for the value
NOTHING_KNOWN = "\0"  # In place of a label of which nothing follows; no hierarchy has it
MOST_ORDERED = 4  # Pairs of one age of which every order is tried


@dataclass(frozen=True, eq=False, repr=False)
class LabelSequences(RecordGroups):
    """Groups of equal label sequences, in which the adversary looks for known pairs."""

    sizes: Integers  # (n_groups,) patients with each sequence
    # for each code label, the rows with it: sequence, place in it, and labels of the other attributes
    by_code: Sequence[tuple[Integers, ...]]
    # for codes, ages and perhaps details, by value of the original, the labels that may stand for it
    labels: Labels
    trajectories: Trajectories  # what is known of patients
    own: Integers  # (n_patients,) sequence of the patient's own record, `GONE` or `NOT_KNOWN`

    def groups(self, target: int, known: Sequence[int]) -> Integers:
        """Return the sequences that match the known pairs of a target, each pair at its own position, by rising age.

        Which of several pairs of one age comes first, nobody knows: every order of up to four is tried, more may stand
        anywhere.
        """
        begin, ages = int(self.trajectories.offsets[target]), self.trajectories.ages
        last = np.full(self.sizes.size, FIRST, dtype=np.int64)
        rows = sorted(begin + item for item in known)
        for _, same in groupby(rows, key=lambda pair: int(ages[pair])):
            last = self._after(last, list(same))
        return np.flatnonzero(last < NOWHERE)

    def _after(self, last: Integers, pairs: list[int]) -> Integers:
        """Earliest place of each sequence up to which these pairs of one age may stand behind ``last``."""
        if len(pairs) <= MOST_ORDERED:
            # Of all orders: each set of pairs ends in one of them, behind where the others may have ended earliest.
            earliest: dict[tuple[int, ...], Integers] = {(): last}
            for some in (some for n in range(1, len(pairs) + 1) for some in combinations(pairs, n)):
                ends = [self._next(earliest[tuple(each for each in some if each != pair)], pair) for pair in some]
                earliest[some] = reduce(np.minimum, ends)
            return earliest[tuple(pairs)]
        there = np.maximum.reduce([self._next(last, pair) for pair in pairs])
        return np.where(there < NOWHERE, last, NOWHERE)

    def _next(self, last: Integers, pair: int) -> Integers:
        """Earliest place of each sequence behind ``last`` where a pair may stand."""
        code, *others = (int(places[pair]) for _, _, places in self.trajectories.columns)
        wanted = [labels[value] for labels, value in zip(self.labels[1:], others, strict=True)]
        sequence, place = self._rows(code, wanted)
        after = place > last[sequence]
        earliest = np.full(self.sizes.size, NOWHERE, dtype=np.int64)
        np.minimum.at(earliest, sequence[after], place[after])
        return earliest

    def some(self, codes: Sequence[int]) -> Integers:
        """Return the sequences that may contain each of these codes, at any age."""
        alive = np.ones(self.sizes.size, dtype=np.bool_)
        for code in codes:
            has = np.zeros(self.sizes.size, dtype=np.bool_)
            has[self._rows(code, ())[0]] = True
            alive &= has
        return np.flatnonzero(alive)

    def _rows(self, code: int, wanted: Sequence[Sequence[int]]) -> tuple[Integers, Integers]:
        """Sequence and place of the rows that may stand for a code, with one of some labels of each other attribute."""
        found = [self.by_code[label] for label in self.labels[0][code]]
        if not found:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        sequence, place, *others = found[0] if len(found) == 1 else map(np.concatenate, zip(*found, strict=True))
        fits = np.ones(place.size, dtype=np.bool_)
        for own, labels in zip(others, wanted, strict=bool(wanted)):
            fits &= reduce(np.logical_or, [own == label for label in labels], np.zeros(place.size, dtype=np.bool_))
        return sequence[fits], place[fits]


@dataclass(frozen=True, eq=False, repr=False)
class ByCodes:
    """Sequences that an adversary searches with known codes but not their ages."""

    among: LabelSequences
    codes: Sequence[Integers]  # of each patient the distinct codes

    def match(self, target: int, known: Sequence[int]) -> Match:
        """Search with some known codes of a target, and return the result."""
        found = self.among.some([int(self.codes[target][item]) for item in known])
        return match_of(found, self.among.sizes, int(self.among.own[target]))


def open_trajectories(folder: Path, manifest: TrajectoriesManifest, known: Request, _seed: int) -> OpenedRelease:
    """Open a release of trajectories.

    Pairs that were omitted since the hierarchy does not have their codes are not known of anybody here.
    """
    original = read_original(known, manifest)
    assert original is not None  # no attack without
    files = TrajectoriesChecker().read_files(folder, manifest)
    frame, attributes = files.frame, None if files.attributes is None else files.attributes.drop(ID)
    if frame.height == 0 or not frame[ID].is_sorted():
        raise InputError("The data file does not hold numbered patients with their codes and ages.")
    domain = original.fitted_as(manifest)
    theirs = domain.trajectories
    ids = patient_ids(theirs.ids, theirs.n_patients)
    n_released = int(frame[ID].n_unique())
    released_ids = pl.Series(np.arange(1, n_released + 1)).cast(pl.String)
    rows = released_of(original.crosswalk, ids, released_ids, theirs.n_patients)
    hierarchies = [
        one.bind(name, values) for one, (name, values, _) in zip(domain.hierarchies, theirs.columns, strict=True)
    ]
    released, groups = _released_pairs(frame, hierarchies, theirs, rows)
    # The original sequences, each known to be its patient's.
    labels = [[(number,) for number in range(len(values))] for _, values, _ in theirs.columns]
    columns = [places.astype(np.int64) for _, _, places in theirs.columns]
    recorded = _sequences(theirs.offsets, columns, labels, theirs, lambda groups: groups)[0]
    distinct = [np.unique(own).astype(np.int64) for own in np.split(theirs.codes, theirs.offsets[1:-1])]
    by_pairs = Adversary(_steps("with"), np.diff(theirs.offsets), released, recorded, _always)
    by_codes = Adversary(
        _steps("without"),
        np.array([each.size for each in distinct], dtype=np.int64),
        ByCodes(released, distinct),
        ByCodes(recorded, distinct),
        _always,
    )
    lists = {} if attributes is None else as_lists(attributes)
    return OpenedRelease(
        shape="trajectories",
        method=manifest.method,
        k=manifest.settings.k,
        n_patients=theirs.n_patients,
        n_released=n_released,
        is_known_who=not np.any(rows == NOT_KNOWN),
        adversaries=(by_codes, by_pairs),
        sensitive=_sensitive(manifest.settings, original, attributes, groups, by_pairs),
        ids=None if theirs.ids is None else ids,
        traces=Traces(released, by_pairs, groups, lists, rows),
        # Patients of a cluster who lose more than that are suppressed, so that no two finer labels need be left.
        refinement=_refine(frame, hierarchies, groups) if manifest.settings.max_loss is None else None,
    )


def _refine(frame: pl.DataFrame, hierarchies: Sequence[BoundHierarchy], groups: Integers) -> Refinement:
    """Return what follows from the labels of patients with equal sequences: each is the lowest that covers them all.

    So each place of a sequence is a class, of whose patients at least two have different finer labels. Nothing follows
    of a pair of `*` alone, which is what an empty sequence is written as, nor of a label that others are released as
    (`ValueTree`).
    """
    _, first = np.unique(groups, return_index=True)
    starts, rows = take_runs(_offsets(frame), first)
    group, sizes = owners(starts), np.bincount(groups)
    is_root = np.logical_and.reduce([(frame[one.column][rows] == ROOT).to_numpy() for one in hierarchies])
    is_pair = ~(is_root & (np.diff(starts) == 1)[group])
    group, rows = group[is_pair], rows[is_pair]
    labels, texts, bound = dict[str, Integers](), dict[str, Sequence[str | None]](), dict[str, BoundHierarchy]()
    for hierarchy in hierarchies:
        tree, name = ValueTree.of(hierarchy, [str(value) for value in hierarchy.values]), hierarchy.column
        moved = np.flatnonzero(tree.released != np.arange(tree.n_nodes))
        unclear = {tree.labels[node] for node in tree.released[moved].tolist()}
        shown, labels[name] = number_texts(frame[name][rows])
        texts[name], bound[name] = [NOTHING_KNOWN if one in unclear else one for one in shown], hierarchy
    levels = {name: range(one.n_levels) for name, one in bound.items()}
    return refine(ShownClasses(sizes[group], labels, texts, bound, levels), CLUSTER, patients=group)


def _always(_target: int, _known: Sequence[int]) -> bool:
    """The guarantee is about whatever is known of a trajectory."""
    return True


def _steps(how: str) -> tuple[KnowledgeStep, ...]:
    some = [(f"1 code {how} its age" if n == 1 else f"{n} codes {how} their ages", n) for n in NUMBERS]
    return tuple(KnowledgeStep(*one) for one in [*some, (f"all codes {how} their ages", None)])


def _sensitive(
    asked: PublishedTrajectories,
    original: TrajectoriesOriginal,
    attributes: pl.DataFrame | None,
    groups: Integers,
    adversary: Adversary,
) -> tuple[Sensitive, ...]:
    """The sensitive column of auxiliary attributes, where there is one and the original of it is given."""
    column = asked.sensitive
    given = original.given.attributes
    if column is None or attributes is None or given is None or column not in attributes.columns:
        return ()
    assert isinstance(adversary.released, LabelSequences)
    truth = given.frame[column].cast(pl.String)
    return (Sensitive(column, truth, groups, attributes[column], adversary.released, adversary),)


def _offsets(frame: pl.DataFrame) -> Integers:
    """Where the rows of each patient begin, and where they end."""
    return np.append(np.flatnonzero(np.diff(frame[ID].to_numpy(), prepend=-1)), frame.height)


def _released_pairs(
    frame: pl.DataFrame, hierarchies: Sequence[BoundHierarchy], theirs: Trajectories, rows: Integers
) -> tuple[LabelSequences, Integers]:
    columns, labels = list[Integers](), list[Sequence[tuple[int, ...]]]()
    for hierarchy, (name, values, _) in zip(hierarchies, theirs.columns, strict=True):
        texts, numbers = number_texts(frame[name])
        columns.append(numbers)
        labels.append(labels_of(values, hierarchy, range(hierarchy.n_levels), texts))
    return _sequences(_offsets(frame), columns, labels, theirs, lambda groups: np.where(rows >= 0, groups[rows], rows))


def _sequences(
    offsets: Integers,
    columns: Sequence[Integers],
    labels: Labels,
    theirs: Trajectories,
    own: Callable[[Integers], Integers],
) -> tuple[LabelSequences, Integers]:
    """Put sequences that are alike together; return the group of each as well."""
    codes, pairs = columns[0], np.stack(columns, axis=1).astype(np.int32)
    known: dict[bytes, int] = {}
    bounds = list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))
    groups = np.array([known.setdefault(pairs[a:b].tobytes(), len(known)) for a, b in bounds], dtype=np.int64)
    _, first = np.unique(groups, return_index=True)
    starts, rows = take_runs(offsets, first)
    sequence = owners(starts)
    place = np.arange(rows.size) - starts[sequence]
    order = np.argsort(codes[rows], kind="stable")
    cuts = np.searchsorted(codes[rows][order], np.arange(1, int(codes.max(initial=0)) + 1))
    others = [column[rows] for column in columns[1:]]
    by_code = list(zip(*(np.split(column[order], cuts) for column in (sequence, place, *others)), strict=True))
    return LabelSequences(np.bincount(groups), by_code, labels, theirs, own(groups)), groups
