"""What tests of privacy rules share: one of each."""

import pytest

from cloister.privacy import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    LDiversity,
    NoAttack,
    PopulationUniqueness,
    PositivePayout,
    RecursiveLDiversity,
    SampleUniqueness,
    TCloseness,
)

MARKER = "MARKER-7f3a"
"""A value that must never be shown."""


class Tree:
    """A hierarchy that a rule was given."""

    spec = "icd9"

    def __repr__(self):
        return MARKER


WORDS = {
    "k-anonymity=5": KAnonymity(5),
    "k-map:census.csv=5": KMap(5, population=[MARKER], name="census.csv"),
    "k-map:1000000=5": KMap(5, size=1000000),
    "k-map:1000000=5,0.05": KMap(5, size=1000000, significance=0.05),
    "l-diversity:diagnosis=2": LDiversity(2, "diagnosis"),
    "entropy-l-diversity:diagnosis=2.5": EntropyLDiversity(2.5, "diagnosis"),
    "recursive-l-diversity:diagnosis=3,2": RecursiveLDiversity(c=3, l=2, column="diagnosis"),
    "t-closeness:diagnosis=0.2": TCloseness(0.2, "diagnosis"),
    "t-closeness:age=0.2,ordered": TCloseness(0.2, "age", distance="ordered"),
    "t-closeness:diagnosis=0.2,icd9": TCloseness(0.2, "diagnosis", distance="hierarchical", hierarchy=Tree()),
    "delta-presence:census.csv=0,0.5": DeltaPresence(0.0, 0.5, population=[MARKER], name="census.csv"),
    "alpha-k-anonymity:diagnosis=0.5,5": AlphaKAnonymity(0.5, 5, "diagnosis"),
    "beta-likeness:diagnosis=1": BetaLikeness(1.0, "diagnosis"),
    "enhanced-beta-likeness:diagnosis=1.5": EnhancedBetaLikeness(1.5, "diagnosis"),
    "delta-disclosure:diagnosis=1": DeltaDisclosure(1.0, "diagnosis"),
    "no-attack=300,4.5": NoAttack(300, 4.5),
    "positive-payout=300,4,1200,300": PositivePayout(gain=300, cost=4, publisher_benefit=1200, publisher_loss=300),
    "average-risk=0.1": AverageRisk(0.1),
    "sample-uniqueness=0.01": SampleUniqueness(0.01),
    "population-uniqueness:1000000=0.01": PopulationUniqueness(0.01, size=1000000),
    "population-uniqueness:1000000=0.01,zayatz": PopulationUniqueness(0.01, size=1000000, estimator="zayatz"),
}
"""Every rule as it is written, and as it is made in Python."""


def pytest_generate_tests(metafunc):
    """Run a test that asks for ``words`` and ``rule`` with each rule."""
    if {"words", "rule"} <= set(metafunc.fixturenames):
        metafunc.parametrize(("words", "rule"), WORDS.items(), ids=WORDS)


@pytest.fixture
def marker():
    """The value that must never be shown."""
    return MARKER
