"""The same release for the oracle and for cloister: plain lists of labels, and arrays."""

from collections import Counter

import numpy as np
from tests.made.encoded_claims import text_at
from tests.oracles.claims import Tables

from cloister.kernels.claim_draws import Draws
from cloister.shapes.claims.method.encode import neighbours
from cloister.shapes.claims.method.matching import Matching


def plain(released, levels):
    """A release as the oracle reads it, at the levels of a node."""
    e = released.encoded
    own, other = levels[: len(e.patients)], levels[len(e.patients) :]
    texts = [text_at(column, level) for column, level in zip(e.patients, own)]
    patients = [tuple(text[i] for text in texts) for i in range(e.n_patients)]
    known, seen, hidden = [], [], []
    labels = [text_at(column, level) for column, level in zip(e.claims, other)]
    for i in range(e.n_patients):
        rows = range(e.offsets[i], e.offsets[i + 1])
        known.append([[text[row] for row in rows] for text in labels])
        kept = [row for row in rows if released.claims[row]]
        seen.append([[text[row] for row in kept if released.cells[h][row]] for h, text in enumerate(labels)])
        hidden.append(
            [sum(text[row] is not None and not released.cells[h][row] for row in kept) for h, text in enumerate(labels)]
        )
    cut = [not all(released.claims[e.offsets[i] : e.offsets[i + 1]]) for i in range(e.n_patients)]
    return Tables(patients, known, seen, cut, hidden, released.patients.tolist())


def every_draw(released, power):
    """All samples of all released patients as draws, and the same as lists of places for the oracle."""
    e = released.encoded
    tables = plain(released, [0] * len(e.columns))
    numbers = [neighbours(column) for column in e.claims]
    patients, starts, values, plainly = [], [], [], []
    for i in np.flatnonzero(released.patients).tolist():
        for sample in tables.samples(i, power.tolist()):
            patients.append(i)
            plainly.append((i, sample))
            begins = [len(values)]
            for h, places in enumerate(sample):
                own = sorted(int(numbers[h][e.claims[h].values[e.offsets[i] + place]]) for place in places)
                values.extend(own)
                begins.append(len(values))
            starts.append(begins)
    shape = (-1, len(e.claims) + 1)
    draws = Draws(
        np.array(patients, dtype=np.int64),
        np.array(starts, dtype=np.int64).reshape(shape),
        np.array(values, dtype=np.int32),
    )
    return draws, plainly


def labels_drawn(draws, released, levels):
    """Each draw as the oracle reads it: the patient, and for each column of claims a count of labels."""
    e = released.encoded
    tables = plain(released, [0] * len(levels))
    values = [np.argsort(neighbours(column)) for column in e.claims]
    found = []
    for d, i in enumerate(draws.patients.tolist()):
        wanted = []
        for h, (column, level) in enumerate(zip(e.claims, levels[len(e.patients) :])):
            own = draws.values[draws.starts[d, h] : draws.starts[d, h + 1]]
            assert all(column.labels[0][values[h][value]] in tables.known[i][h] for value in own)
            wanted.append(Counter(column.labels[level][column.levels[level][values[h][value]]] for value in own))
        found.append((i, wanted))
    return found


def matching_of(released, power, threads=1):
    """Lists of patients for a release."""
    return Matching(released, int(power.max(initial=1)), threads)
