"""What follows from released trajectories and the method: true of every original that gives the same release."""

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import polars as pl
import pytest

import cloister as cl
from cloister.attacks.trajectories import _refine
from cloister.shapes.trajectories.format.data import ID, Method, Trajectories, TrajectoriesRequest
from cloister.shapes.trajectories.method.protect import anonymize

CODES = cl.hierarchy_rows([["a1", "a", "*"], ["a2", "a", "*"], ["b1", "b", "*"]])
AGES = cl.intervals(1, 2)
SEQUENCES = (
    [("a1", 0)], [("a2", 0)], [("b1", 1)], [("a1", 2)], [("a1", 0), ("b1", 1)], [("a2", 1), ("b1", 3)],
)  # fmt: skip
"""What each patient of an original has one of."""


def released(records, k, method):
    """The sequence of each released patient, the hierarchies, and the values behind each place of a sequence."""
    given = Trajectories.from_records(records)
    found = anonymize(given, TrajectoriesRequest(k, CODES, AGES, method))
    sizes, alignment = found.released.sizes.tolist(), found.alignment
    sequences = [tuple(found.released.rows_of(cluster)) for cluster, n in enumerate(sizes) for _ in range(n)]
    first = np.cumsum([0, *sizes])
    behind = defaultdict(list)
    owner = np.repeat(np.arange(len(records)), np.diff(given.offsets))
    for pair in np.flatnonzero(alignment.position >= 0).tolist():
        sequence = sequences[first[alignment.cluster_of[owner[pair]]]]
        for column, (_, values, numbers) in enumerate(given.columns):
            behind[sequence, int(alignment.position[pair]), column].append(values[numbers[pair]])
    bound = [one.bind(name, values) for one, (name, values, _) in zip((CODES, AGES), given.columns, strict=True)]
    return sequences, bound, behind


def refined(sequences, bound):
    """What the attack says of these sequences."""
    rows = [(patient, *pair) for patient, sequence in enumerate(sequences) for pair in sequence]
    frame = pl.DataFrame(rows, schema=[ID, *(one.column for one in bound)], orient="row")
    distinct = sorted(set(sequences))
    return _refine(frame, bound, np.array([distinct.index(one) for one in sequences]))


def finer(hierarchy, label):
    """The label directly below a coarser label, of each value that it covers."""
    covered = [place for place in range(len(hierarchy.values)) if label in {one[place] for one in hierarchy.labels}]
    levels = reversed([{hierarchy.values[place]: one[place] for place in covered} for one in hierarchy.labels])
    return next(one for one in levels if len(set(one.values())) > 1)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("method", Method)
def test_every_deduction_holds_in_every_possible_original(k, method):
    """Below each coarser label two finer ones occur; counts that follow exactly are those of all these originals."""
    possible = defaultdict(list)
    for n in range(k, 5):
        for records in combinations_with_replacement(SEQUENCES, n):
            sequences, bound, behind = released(records, k, method)
            possible[tuple(sequences), *(one.values for one in bound)].append((bound, behind))
    n_determined = 0
    for (sequences, *_), originals in possible.items():
        counts = defaultdict(set)
        for bound, behind in originals:
            for (sequence, place, column), values in behind.items():
                is_pair, label = sequence != (("*", "*"),), sequence[place][column]
                if is_pair and label not in bound[column].values:
                    below = Counter(map(finer(bound[column], label).get, values))
                    assert len(below) > 1
                    counts[sequence, place, column].add(tuple(sorted(below.items())))
        found = refined(sequences, originals[0][0])
        n_determined += found.determined
        assert found.labels == len(counts)
        assert found.determined <= sum(len(one) == 1 for one in counts.values())

    assert (n_determined > 0) == (k == 2)


def test_labels_that_are_released_as_higher_ones_reveal_nothing():
    """401 means 401 or any code below it, so that patients with nothing but 401 have this label, too."""
    codes = cl.hierarchy_rows([["401", "401", "*"], ["401.1", "401", "*"], ["b1", "b", "*"]])
    bound = [codes.bind("code", ["401", "401.1", "b1"]), AGES.bind("age", ["0", "1", "2"])]

    assert refined([(("401", "[0-1]"), ("401", "[0-1]"))] * 2, bound).labels == 2
    assert refined([(("401", "[0-1]"), ("*", "2"))] * 2, bound).labels == 2


def test_a_gap_brings_no_values_together():
    """Codes that a hierarchy does not have are below `*` one by one."""
    (codes,) = released([[("a1", 0)], [("a2", 0)], [("b1", 0)]], 2, Method.A_GS)[1][:1]
    gaps = replace(codes, labels=(codes.labels[0], ("a", None, None), codes.labels[2]))
    known = replace(codes, labels=(codes.labels[0], ("a", "a", None), codes.labels[2]))

    assert refined([(("*", "0"),)] * 2, [known, AGES.bind("age", ["0"])]).determined == 1
    assert refined([(("*", "0"),)] * 2, [gaps, AGES.bind("age", ["0"])]).determined == 0


def test_an_empty_sequence_reveals_nothing():
    """It is written as a pair of `*`, of which no value need be behind."""
    _, bound, _ = released([[("a1", 0)], [("b1", 3)]], 2, Method.A_GS)

    assert refined([(("*", "*"),)] * 2, bound).labels == 0
    assert refined([(("*", "*"), ("a1", "0"))] * 2, bound).labels == 2
