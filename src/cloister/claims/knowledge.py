"""What adversaries know of patients: seeded samples of their values, the same for every node and number of threads."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InternalError
from cloister.kernels.claim_draws import Draws, Known, draw_patients, draw_values

from .encoded import EncodedClaims, EncodedColumn
from .numbering import gather, neighbours, sorted_by_patient

REPEAT = 10_000
"""Patients drawn in one repeat, if nothing else is asked."""

EACH = 1 << 40
"""Draws made patient by patient are numbered from here on, so that none of them is one of the repeats."""


class Knowledge:
    """Samples of the values of patients before anything was removed, however they are generalized later.

    Parameters
    ----------
    encoded : patients and their claims, untruncated
    power : (n_patients, n_columns) int32, how many values of each column of claims are known; at most all there are
    seed : every sample follows from it, the patient and the number of the draw
    eligible : (n_patients,) patients that may be drawn; all if not given
    draws : patients drawn in one repeat

    Notes
    -----
    Missing values are never known. For each quasi-identifier values are drawn by themselves: which of them stood in one
    claim is not known ("inexact knowledge" in the HHP appendix, section 4).
    """

    def __init__(
        self,
        encoded: EncodedClaims,
        power: NDArray[np.int32],
        seed: int,
        eligible: NDArray[np.bool_] | None = None,
        draws: int = REPEAT,
    ) -> None:
        if power.shape != (encoded.n_patients, len(encoded.claims)):
            raise InternalError("The adversary's power is not one number for each patient and column of claims.")
        self.encoded = encoded
        self.power = np.ascontiguousarray(power, dtype=np.int32)
        self.seed = seed
        self.draws = draws
        self.eligible = np.ones(encoded.n_patients, dtype=np.bool_) if eligible is None else eligible
        self._repeats: dict[int, Draws] = {}

    @property
    def cap(self) -> int:
        """Most values of one column that are known of one patient."""
        return int(self.power.max(initial=0))

    @cached_property
    def known(self) -> Known:
        """All values, by column and patient."""
        return known_values(self.encoded, self.encoded.claims)

    def repeat(self, number: int) -> Draws:
        """One repeat: ``draws`` patients drawn with replacement, and what is known of each."""
        if number not in self._repeats:
            first = number * self.draws
            patients = draw_patients(self.seed, first, self.draws, np.flatnonzero(self.eligible))
            self._repeats[number] = draw_values(self.known, self.power, self.seed, first, patients)
        return self._repeats[number]

    def of_patients(self, patients: NDArray[np.int64], n_draws: int, first: int = 0) -> Draws:
        """So many samples of each of these patients, those of one patient together.

        Parameters
        ----------
        first : number of the first sample of each patient; others go on where these ended
        """
        parts = [
            draw_values(self.known, self.power, self.seed, EACH + first + one, patients, is_numbered=False)
            for one in range(n_draws)
        ]
        return interleaved(parts)

    def with_power(self, power: NDArray[np.int32]) -> "Knowledge":
        """Samples by another power; where a patient's power is the same, the same samples."""
        other = Knowledge(self.encoded, power, self.seed, self.eligible, self.draws)
        other.__dict__["known"] = self.known
        return other

    def again(self, seed: int, eligible: NDArray[np.bool_] | None = None) -> "Knowledge":
        """The same power with other samples; among other patients where they are given."""
        among = self.eligible if eligible is None else eligible
        other = Knowledge(self.encoded, self.power, seed, among, self.draws)
        other.__dict__["known"] = self.known
        return other


def known_values(encoded: EncodedClaims, columns: Sequence[EncodedColumn]) -> Known:
    """The values of some columns that are not missing, by patient and sorted."""
    owners = encoded.owners
    return gather(
        [sorted_by_patient(column.values, owners, neighbours(column), encoded.n_patients) for column in columns]
    )


def interleaved(parts: Sequence[Draws]) -> Draws:
    """Draws of several rounds over the same patients, those of one patient together."""
    n_columns = parts[0].starts.shape[1] - 1
    shape = parts[0].patients.size, len(parts), n_columns
    lengths = np.stack([np.diff(part.starts, axis=1) for part in parts], axis=1).reshape(-1, n_columns)
    ends = np.cumsum(lengths.reshape(-1)).reshape(-1, n_columns)
    starts = np.concatenate([(ends[:, :1] - lengths[:, :1]), ends], axis=1)
    values = np.empty(int(lengths.sum()), dtype=np.int32)
    for one, part in enumerate(parts):
        to = starts[:, 0].reshape(shape[:2])[:, one]
        size = part.starts[:, -1] - part.starts[:, 0]
        values[np.repeat(to - part.starts[:, 0], size) + np.arange(part.values.size)] = part.values
    return Draws(np.repeat(parts[0].patients, len(parts)), np.ascontiguousarray(starts), values)


def chosen_draws(draws: Draws, wanted: NDArray[np.bool_]) -> Draws:
    """Some of the draws, with their values alone."""
    starts = draws.starts[wanted]
    sizes = starts[:, -1] - starts[:, 0]
    shift = np.concatenate([[0], np.cumsum(sizes)])[:-1] - starts[:, 0]
    places = np.repeat(-shift, sizes) + np.arange(int(sizes.sum()))
    return Draws(draws.patients[wanted], np.ascontiguousarray(starts + shift[:, None]), draws.values[places])
