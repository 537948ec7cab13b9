"""Occurrences of codes in released terms: what somebody knows who knows that a code was given so often.

Whoever knows the third occurrence of a code knows of the first and the second, and may look for the terms of all three.
If every record that has the term of an occurrence has those of the earlier ones, that leads to the same records as the
term of the last alone, and sets of terms can be counted as where codes do not repeat.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from cloister.codesets.encode import occurrence

from .data import Generalization, PrivacySets
from .sets import Sets


def terms_by_code(released: Generalization) -> dict[str, list[int]] | None:
    """Return the terms of the occurrences of each code, the first first; None if they are not numbered without gaps."""
    found: dict[str, dict[int, int]] = {}
    for term, codes in enumerate(released.named_terms()):
        for code in codes:
            named = occurrence(code)
            if named is None:
                return None
            found.setdefault(named[0], {})[named[1]] = term
    if any(max(terms) != len(terms) for terms in found.values()):
        return None
    return {code: [terms[number + 1] for number in range(len(terms))] for code, terms in found.items()}


def is_nested(released: Generalization) -> bool:
    """Return whether each record that has the term of an occurrence has those of all earlier ones of the code."""
    by_code = terms_by_code(released)
    if by_code is None:
        return False
    held: dict[int, set[int]] = {}
    bounds, items = released.records.offsets.tolist(), released.records.items.tolist()
    for record, (start, end) in enumerate(pairwise(bounds)):
        for term in items[start:end]:
            held.setdefault(term, set()).add(record)
    steps = {step for terms in by_code.values() for step in pairwise(terms)}
    return all(held[later] <= held[earlier] for earlier, later in steps if earlier != later)


def known_with(privacy: PrivacySets, by_code: Mapping[str, Sequence[int]]) -> list[set[int]]:
    """Return the terms that whoever knows each set may look for; a code without number is the first occurrence."""
    terms = []
    for name in privacy.vocabulary:
        code, number = occurrence(name) or (name, 1)
        terms.append(set(by_code.get(code, ())[:number]))
    sets = Sets(privacy.sets.offsets, privacy.sets.items)
    return [set[int]().union(*(terms[item] for item in sets.members(at).tolist())) for at in range(len(sets))]


def as_table(sets: Sequence[set[int]]) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Return sets of terms as rows, -1 beyond the end of each."""
    table = np.full((len(sets), max(1, *map(len, sets), 1)), -1, dtype=np.int32)
    for row, terms in zip(table, sets, strict=True):
        row[: len(terms)] = sorted(terms)
    return table
