"""What the custodian reads of the risk before and after: of the adversary who knows most of what is covered."""

from dataclasses import replace

import numpy as np
import pytest

from cloister.attacks.adversary import Attack, Level, Matches, found_among
from cloister.results import RiskChange, RiskStep


def level(known, released, original, covered, limit=None):
    """A level of knowledge at which each target matches so many records, and the first of each is right."""
    found = [found_among(Matches(*[np.array(sizes)] * 2, np.ones(len(sizes))), 3) for sizes in (released, original)]
    return Level(known, *found, covered=covered, broken=0, limit=limit)


LEVELS = level("1 code", [4, 6], [2, 2], 2), level("2 codes", [4, 4], [1, 2], 2), level("all codes", [1, 1], [1, 1], 1)


@pytest.fixture
def attack():
    """An attack on a release of code sets that covers two codes."""
    return Attack("codes", "disassociation", 3, 0, 2, 1000, 8, is_known_who=True, levels=LEVELS)


def test_the_most_knowledge_that_is_covered_for_all_is_described(attack):
    """Not the knowledge that is covered for some patients only, because they have few codes."""
    assert replace(attack.before_and_after(), steps=()) == RiskChange(
        0.75,
        0.25,
        "Risk before and after, for an attacker who knows 2 codes: a guess among the matching records is right for "
        "75.0% of 2 patients in the original, and for 25.0% in the release; 1 and 0 of them match one record "
        "alone",
    )


def test_patients_who_are_not_covered_are_counted(attack):
    """Under a policy that covers some patients, the others may match one record: the sentence says so."""
    some = replace(attack, levels=(level("1 code", [1, 6], [1, 2], 1),)).before_and_after().sentence

    assert "of 2 patients (the guarantee covers 1) in the original" in some


def test_a_guarantee_in_the_mean_is_described_where_it_applies(attack):
    """Its limit covers no single patient."""
    planned = level("values as the plan assumes", [3, 3], [1, 1], 0, limit=0.5)

    assert "values as the plan assumes: " in replace(attack, levels=(*LEVELS, planned)).before_and_after().sentence


def test_nothing_is_described_where_nobody_is_covered(attack):
    """A step that no patient reaches has no targets, and beyond what is covered nothing is promised."""
    beyond = level("3 codes", [], [], 0), level("all codes", [1], [1], 0)

    assert replace(attack, levels=beyond).before_and_after() is None


def test_each_level_of_knowledge_is_a_step(attack):
    """The chart shows the risk of all that somebody knows, and which of it the guarantee is about."""
    change = attack.before_and_after()

    assert change.steps == (
        RiskStep("1 code", 0.5, (1 / 4 + 1 / 6) / 2, is_covered=True),
        RiskStep("2 codes", 0.75, 0.25, is_covered=True),
        RiskStep("all codes", 1.0, 1.0, is_covered=False),
    )
