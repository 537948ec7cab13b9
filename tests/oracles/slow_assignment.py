"""Whether released records can be those of an original, by trying every way to give each a record of its own."""

import itertools


def can_be_assigned(released, original, covers):
    """Whether some way fits; released are (label, value, number), original (patient, quasi-identifier, value)."""
    return any(True for _ in _ways(released, original, covers))


def patients_can_be_assigned(released, original, covers):
    """Whether some way gives each number of a class one patient, and no two of a class the same."""
    for way in _ways(released, original, covers):
        pairs = {(label, number, one[0]) for (label, _, number), one in zip(released, way)}
        numbers = {(label, number) for label, number, _ in pairs}
        patients = {(label, patient) for label, _, patient in pairs}
        if len(pairs) == len(numbers) == len(patients):
            return True
    return False


def _ways(released, original, covers):
    """Every way to give each released record a record of the original that it fits."""
    for way in itertools.permutations(original, len(released)):
        if all(one[1] in covers[label] and one[2] == value for (label, value, _), one in zip(released, way)):
            yield way
