"""Other adversaries by trying all they may know, from their definitions; shares no code with cloister.

A patient is ``(labels, claims)``; a claim is ``(labels, is_released, cells_released)``, in order of time.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product


def mean_risk(patients, knowledge, fits, population=None):
    """Mean of 1 over those who fit, over all that may be known of each patient; 0 where the patient does not fit."""
    total = Fraction(0)
    for patient in patients:
        known = knowledge(patient)
        for one in known:
            if fits(patient, one, released=True):
                others = patients if population is None else population
                size = sum(p[0] == patient[0] and fits(p, one, released=population is None) for p in others)
                total += Fraction(1, size * len(known) * len(patients))
    return total


def whole_claims(p):
    """All sets of ``p`` claims of a patient."""

    def knowledge(patient):
        labels = [claim[0] for claim in patient[1]]
        return [Counter(some) for some in combinations(labels, min(p, len(labels)))]

    return knowledge


def has_claims(patient, known, released):
    """Whether the claims of a patient, released whole, hold known ones."""
    seen = Counter(labels for labels, is_released, cells in patient[1] if is_released and all(cells))
    return not known - seen


def values(p):
    """All ways to know ``p`` values of each column, in order of time."""

    def knowledge(patient):
        columns = list(zip(*(claim[0] for claim in patient[1]))) or []
        chosen = []
        for column in columns:
            present = [value for value in column if value is not None]
            chosen.append(list(combinations(present, min(p, len(present)))))
        return list(product(*chosen))

    return knowledge


def _column(patient, h, released):
    return [
        labels[h]
        for labels, is_released, cells in patient[1]
        if labels[h] is not None and (not released or (is_released and cells[h]))
    ]


def has_values_in_order(patient, known, released):
    """Whether known values are a subsequence of a patient's, column by column."""
    for h, wanted in enumerate(known):
        seen = iter(_column(patient, h, released))
        if not all(value in seen for value in wanted):
            return False
    return True


def has_values(patient, known, released):
    """Whether a patient has known values, each as often."""
    return all(not (Counter(wanted) - Counter(_column(patient, h, released))) for h, wanted in enumerate(known))


def everything_released(patient):
    """All that is released of a patient."""
    rows = [
        tuple(label if cell else None for label, cell in zip(labels, cells))
        for labels, is_released, cells in patient[1]
        if is_released
    ]
    return patient[0], tuple(sorted(Counter(rows).items(), key=repr))


def one_stay(columns, is_stay):
    """All stays of a patient, of each the values of some columns; nothing where there is none."""

    def knowledge(patient):
        return [tuple(labels[h] for h in columns) for labels, *_ in patient[1] if is_stay(labels)]

    return knowledge


def has_stay(columns):
    """Whether a patient has a released claim that is alike in some columns, none of them suppressed."""

    def fits(patient, known, released):
        return any(
            is_released and all(cells[h] for h in columns) and tuple(labels[h] for h in columns) == known
            for labels, is_released, cells in patient[1]
        )

    return fits


def scaled_risk(patients, knowledge, fits, people):
    """Mean of 1 over those who fit, the others scaled up from the patients like one to the people like one.

    ``people`` gives for the labels of a patient how many people have them.
    """
    total = Fraction(0)
    for patient in patients:
        fellows = [p for p in patients if p[0] == patient[0]]
        known = knowledge(patient)
        for one in known:
            if fits(patient, one, released=True):
                others = sum(fits(p, one, released=True) for p in fellows) - 1
                share = Fraction(others * (people[patient[0]] - 1), max(len(fellows) - 1, 1))
                total += 1 / ((1 + share) * len(known) * len(patients))
    return total
