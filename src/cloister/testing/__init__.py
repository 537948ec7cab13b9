"""Tools for tests and demonstrations: synthetic hospitals, and assertions about released data.

`cloister.testing.strategies` makes small random data; it is a module of its own, as it needs Hypothesis.
"""

from cloister.testing.assertions import (
    assert_cannot_be_joined,
    assert_combinations_are_shared,
    assert_every_patient_shares,
    assert_k_anonymous,
    assert_l_diverse,
    assert_nothing_of,
)
from cloister.testing.hierarchy_laws import assert_lawful_hierarchy
from cloister.testing.hospitals import Hospital, hospital, hospital_patients

__all__ = [
    "Hospital", "assert_cannot_be_joined", "assert_combinations_are_shared", "assert_every_patient_shares",
    "assert_k_anonymous", "assert_l_diverse", "assert_lawful_hierarchy", "assert_nothing_of", "hospital",
    "hospital_patients",
]  # fmt: skip
