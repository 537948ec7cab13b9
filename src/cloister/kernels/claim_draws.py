"""The knowledge of an adversary: seeded samples of each patient's values, independent of levels and threads.

Numbers are made of chains of keys, so that each follows from what it is for and from nothing that was drawn before.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import inner, jit
from .postings import Cells
from .words import GOLDEN, scramble, starts_of

Span = tuple[int, int]
"""First draw, and the one after the last."""


class Known(NamedTuple):
    """The values of each patient that an adversary may know, one quasi-identifier of claims after the other.

    starts : (n_columns, n_patients + 1) int64; ``values[starts[h, i]:starts[h, i + 1]]`` are those of patient i, sorted
    """

    starts: NDArray[np.int64]
    values: NDArray[np.int32]  # flat; base values that are not missing, repeated as often as they occur


class Draws(NamedTuple):
    """Samples, one after the other.

    starts : (n_draws, n_columns + 1) int64; ``values[starts[d, h]:starts[d, h + 1]]`` are those of column h, sorted
    """

    patients: NDArray[np.int64]  # (n_draws,) whose values were drawn
    starts: NDArray[np.int64]
    values: NDArray[np.int32]  # flat; base values


class Recoding(NamedTuple):
    """One level for each quasi-identifier of claims.

    labels : flat int64, place in ``Postings.first`` of each base value's label, column by column and level by level
    """

    labels: NDArray[np.int64]
    at: NDArray[np.int64]  # (n_columns,) the label of base value v of column h is ``labels[at[h] + v]``


@inner
def _mix(state, key):
    """The next link of a chain of keys: a counter moved on by the key."""
    return scramble(state + (np.uint64(key) + np.uint64(1)) * GOLDEN)


@inner
def _below(state, bound):
    """A number from 0 to below the bound; each alike but for one part in 2**32 over the bound."""
    return np.int64(((state >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@jit
def _choose_patients(seed, first, eligible, patients):
    """Draw patients with replacement, draw ``first + d`` at place d."""
    start = _mix(np.uint64(0), seed)
    for d in range(patients.shape[0]):
        patients[d] = eligible[_below(_mix(_mix(start, first + d), 0), eligible.shape[0])]


@jit
def _sample(known, seed, first, step, draws, spare):
    """Draw values without replacement, sorted; the first p of a draw are the same whatever the power beyond p."""
    start = _mix(np.uint64(0), seed)
    for d in range(draws.patients.shape[0]):
        i = draws.patients[d]
        of_draw = _mix(_mix(_mix(start, first + step * d), 1), i)
        for h in range(draws.starts.shape[1] - 1):
            begin = draws.starts[d, h]
            p = draws.starts[d, h + 1] - begin
            n = known.starts[h, i + 1] - known.starts[h, i]
            of_column = _mix(of_draw, h)
            for t in range(p if p < n else 0):
                place = _below(_mix(of_column, t), n - t)
                at = 0
                # The place is one among those not drawn yet: each drawn one at or before it moves it on.
                while at < t and spare[at] <= place:
                    place += 1
                    at += 1
                for later in range(t, at, -1):
                    spare[later] = spare[later - 1]
                spare[at] = place
            for t in range(p):
                draws.values[begin + t] = known.values[known.starts[h, i] + (spare[t] if p < n else t)]


def draw_values(
    known: Known,
    power: NDArray[np.int32],
    seed: int,
    first: int,
    patients: NDArray[np.int64],
    *,
    is_numbered: bool = True,
) -> Draws:
    """Sample the values of given patients that an adversary knows.

    Parameters
    ----------
    power : (n_patients, n_columns) how many values of each patient; at most all there are
    first : number of the first draw; a draw follows from the seed, its number and the patient
    patients : (n_draws,) whose values
    is_numbered : whether each draw has the number after the one before; else all have the first
    """
    n_columns, n_patients = known.starts.shape[0], known.starts.shape[1] - 1
    if power.shape != (n_patients, n_columns) or np.any(power < 0):
        raise ValueError(f"power must be {n_patients} x {n_columns} numbers of values, none negative")
    if patients.size and not 0 <= patients.min() <= patients.max() < n_patients:
        raise ValueError(f"patients must be numbered from 0 to {n_patients - 1}")
    lengths = np.minimum(power[patients], (known.starts[:, patients + 1] - known.starts[:, patients]).T)
    begins = starts_of(lengths.reshape(-1))
    starts = np.zeros((patients.size, n_columns + 1), dtype=np.int64)
    starts[:, 1:] = begins[1:].reshape(lengths.shape)
    starts[1:, 0] = starts[:-1, -1]
    draws = Draws(patients, starts, np.empty(int(begins[-1]), dtype=np.int32))
    spare = np.empty(max(1, int(power.max(initial=1))), dtype=np.int64)
    _sample(known, np.uint64(seed), first, int(is_numbered), draws, spare)
    return draws


def draw_patients(seed: int, first: int, n_draws: int, eligible: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draw patients with replacement, (n_draws,) int64.

    Parameters
    ----------
    first : number of the first draw
    eligible : numbers of the patients that may be drawn, at least one
    """
    if eligible.size == 0:
        raise ValueError("there must be a patient to draw")
    patients = np.empty(n_draws, dtype=np.int64)
    _choose_patients(np.uint64(seed), first, eligible, patients)
    return patients


@inner
def _follows(known, draws, recoding, d, patient):
    """Whether the values of a draw are, column by column, a subsequence of those of a patient."""
    labels, at = recoding.labels, recoding.at
    for h in range(at.shape[0]):
        place = known.starts[h, patient]
        end = known.starts[h, patient + 1]
        for one in range(draws.starts[d, h], draws.starts[d, h + 1]):
            label = labels[at[h] + draws.values[one]]
            # The earliest place for each value leaves most room for those after it: no other choice has to be tried.
            while place < end and labels[at[h] + known.values[place]] != label:
                place += 1
            if place >= end:
                return False
            place += 1
    return True


@jit
def _ordered_class_sizes(known, cells, draws, recoding, span, sizes):
    """Class size of each draw of a span, its values in their order; 0 where the patient does not fit."""
    for d in range(span[0], span[1]):
        sizes[d] = 0
        cell = cells.of[draws.patients[d]]
        if cell >= 0 and _follows(known, draws, recoding, d, draws.patients[d]):
            for place in range(cells.lists.starts[cell], cells.lists.starts[cell + 1]):
                sizes[d] += _follows(known, draws, recoding, d, cells.lists.members[place])


def check_draws(draws: Draws, recoding: Recoding, span: Span, *arrays: NDArray[np.generic]) -> None:
    """Refuse arrays that do not fit together."""
    n_draws = draws.patients.size
    if draws.starts.shape != (n_draws, recoding.at.size + 1):
        raise ValueError("draws must have the columns of the recoding")
    if not 0 <= span[0] <= span[1] <= n_draws or any(array.shape != (n_draws,) for array in arrays):
        raise ValueError(f"the span and the arrays must be of {n_draws} draws")


def ordered_class_sizes(
    known: Known, cells: Cells, draws: Draws, recoding: Recoding, span: Span, sizes: NDArray[np.int64]
) -> None:
    """Count, in place, who has the values of each draw of a span in their order; nobody if its patient has not.

    Parameters
    ----------
    known : released base values of each patient, in order of time
    draws : base values, in order of time
    """
    check_draws(draws, recoding, span, sizes)
    if known.starts.shape[0] != recoding.at.size:
        raise ValueError("known values must have the columns of the recoding")
    _ordered_class_sizes(known, cells, draws, recoding, span, sizes)
