"""Code sets and a request as arrays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.kernels.splitting import Records

from ..data import CodeSets
from ..encode import MARK, occurrence
from .data import DisassociationRequest, Policy


@dataclass(frozen=True, eq=False, repr=False)
class Encoded:
    """What the method works on.

    Attributes
    ----------
    records : the code sets, the constraint of each code, and which codes never split records (the sensitive ones)
    unit : (n_codes,) int32, the first of the codes that must stay together with each code: itself, unless repeated
    level : (n_codes,) int32, number of the occurrence that a code stands for, 0 where diagnoses do not repeat
    supports : (n_codes,) int64
    sensitive : int32, ascending
    """

    records: Records
    unit: NDArray[np.int32]
    level: NDArray[np.int32]
    supports: NDArray[np.int64]
    sensitive: NDArray[np.int32]


def encode_request(codes: CodeSets, request: DisassociationRequest) -> Encoded:
    """Number everything.

    Raises
    ------
    InputError
        A sensitive code is unknown, constraints overlap, or an occurrence is numbered without those before it.
    """
    unit, level = _units(codes)
    numbers = codes.items_by_code()
    barred = np.zeros(codes.n_codes, dtype=np.bool_)
    unknown = sum(code not in numbers for code in request.sensitive)
    if unknown:
        raise InputError(f"{unknown} of {len(request.sensitive)} sensitive codes occur in no record. Correct them.")
    for code in request.sensitive:
        barred[numbers[code]] = True
    constraint = _constraints(request.policy, numbers, codes.n_codes)
    records = Records(codes.offsets, codes.items, constraint, barred)
    return Encoded(records, unit, level, codes.supports(), np.flatnonzero(barred).astype(np.int32))


def _units(codes: CodeSets) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    unit = np.arange(codes.n_codes, dtype=np.int32)
    level = np.zeros(codes.n_codes, dtype=np.int32)
    if not codes.repeats:
        return unit, level
    position = {code: number for number, code in enumerate(codes.vocabulary)}
    for number, code in enumerate(codes.vocabulary):
        numbered = occurrence(code)
        first = None if numbered is None else position.get(f"{numbered[0]}{MARK}1")
        if numbered is None or first is None:
            raise InputError(f"Code number {number + 1} is not an occurrence whose first one is there. Number them.")
        unit[number], level[number] = first, numbered[1]
    return unit, level


def _constraints(policy: Policy | None, numbers: dict[str, list[int]], n_codes: int) -> NDArray[np.int32]:
    constraint = np.full(n_codes, -1, dtype=np.int32)
    for index, names in enumerate(policy.constraints if policy else ()):
        for name in names:
            own = numbers.get(name, [])
            if any(constraint[number] >= 0 for number in own):
                raise InputError("Two constraints of the utility policy share a code. Each code may be in one.")
            constraint[own] = index
    return constraint
