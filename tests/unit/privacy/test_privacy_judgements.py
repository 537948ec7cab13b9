"""What single rules say of small tables: the papers' examples, missing values, empty tables."""

import numpy as np
import pytest
from tests.made.classes import Listed

from cloister.errors import InputError
from cloister.privacy import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KMap,
    LDiversity,
    RecursiveLDiversity,
    SampleUniqueness,
    TableRule,
    TCloseness,
)
from cloister.privacy.closeness import ordered_distance

SALARIES = Listed([(place // 3, salary) for place, salary in enumerate([3, 4, 5, 6, 11, 8, 7, 9, 10])])
"""Li et al. (2007), table 3, in thousands."""

NO_VALUES = Listed([(0, None), (0, None), (1, 10), (1, 20), (1, 30)])
DIVERSITY = [
    LDiversity(2, "c"),
    EntropyLDiversity(1.5, "c"),
    RecursiveLDiversity(3, 2, "c"),
    AlphaKAnonymity(0.9, 2, "c"),
    BetaLikeness(2, "c"),
    EnhancedBetaLikeness(2, "c"),
]


def test_ordered_distances_of_the_paper():
    """The classes of the paper's salary table are 0.375 and 0.167 from the whole."""
    expected = [0.375, 1 / 6]
    paper = Listed([(0, 3), (0, 4), (0, 5), (1, 6), (1, 8), (1, 11)], whole=[3, 4, 5, 6, 7, 8, 9, 10, 11])

    assert expected == pytest.approx(ordered_distance(paper.histogram(None)).tolist(), abs=1e-15)


def test_t_closeness_counts_equality_as_close():
    """A class exactly t away is close enough."""
    whole = [3, 4, 5, 6, 7, 8, 9, 10, 11]
    paper = Listed([(0, 3), (0, 4), (0, 5)], whole=whole)

    assert TCloseness(0.375, "c", "ordered").holds(paper).all()
    assert not TCloseness(0.374, "c", "ordered").holds(paper).any()


@pytest.mark.parametrize("rule", DIVERSITY, ids=lambda rule: rule.model)
def test_missing_is_no_diversity(rule):
    """A class in which no value is recorded violates every rule about diversity; with values it may be fine."""
    assert rule.holds(NO_VALUES).tolist() == [False, True]


def test_missing_values_do_not_thin_out_a_frequent_one():
    """Nine of ten missing: the one value there is certain to who knows that there is one."""
    classes = Listed([(0, 10), *[(0, None)] * 9, (1, 20), *[(1, None)] * 9])

    assert not AlphaKAnonymity(0.5, 2, "c").holds(classes).any()
    assert not BetaLikeness(0.5, "c").holds(classes).any()
    assert not EntropyLDiversity(1.1, "c").holds(classes).any()


def test_a_value_that_more_records_have_has_gained():
    """Half the input lacks the value; a class in which all have one tells more than the recorded values alone say."""
    classes = Listed([(0, 10), (0, 20), (1, None), (1, None)])

    assert not BetaLikeness(0.9, "c").holds(classes)[0]
    assert BetaLikeness(1, "c").holds(classes)[0]


def test_missing_is_a_value_to_closeness_and_disclosure():
    """A class without the missing values of the input is as far away as they are many, and discloses who has one."""
    classes = Listed([(0, 10), (0, 20), (1, 10), (1, 20), (1, None), (1, None)])

    assert not DeltaDisclosure(3, "c").holds(classes)[0]
    for distance in ("equal", "ordered"):
        assert not TCloseness(0.33, "c", distance).holds(classes)[0]
        assert TCloseness(0.34, "c", distance).holds(classes)[0]


def test_missing_is_no_neighbour_of_the_largest_value():
    """The largest values gone missing are as far away as any others gone missing."""
    whole = [*range(9), None]
    high, low = (
        Listed([(0, v) for v in [*range(8), None, None]], whole),
        Listed([(0, v) for v in [*range(1, 9), None, None]], whole),
    )

    assert ordered_distance(high.histogram(None)) == pytest.approx(ordered_distance(low.histogram(None)))
    assert ordered_distance(high.histogram(None))[0] >= 0.1


def test_a_column_of_one_value_or_none_is_as_close_as_can_be():
    """Where the input knows one value only, or none, no class differs."""
    for values in ([7, 7, 7], [None, None, None]):
        classes = Listed(list(enumerate(values)), names={value: (str(value), "*") for value in values})
        for rule in (
            TCloseness(0, "c"),
            TCloseness(0, "c", "ordered"),
            TCloseness(0, "c", "hierarchical", spec="s"),
            DeltaDisclosure(0.1, "c"),
        ):
            assert rule.holds(classes).all()


def test_delta_presence_with_a_lower_bound_is_all_or_nothing():
    """One person absent for certain, or one class out of bounds, and no class is safe."""
    records = [(0, 1), (1, 1)]
    whole, absent, uneven = [0, 0, 1, 1], [0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 1]
    rule = DeltaPresence(0.5, 0.5, population=whole)

    assert rule.forbids_suppression
    assert rule.holds(Listed(records, people=whole)).tolist() == [True, True]
    assert rule.holds(Listed(records, people=absent)).tolist() == [False, False]
    assert rule.holds(Listed(records, people=uneven)).tolist() == [False, False]
    assert DeltaPresence(0, 0.5, population=whole).holds(Listed(records, people=uneven)).all()


def test_a_class_without_people_is_not_safe():
    """Records whose class is not in the population table satisfy neither presence nor k-map."""
    classes = Listed([(0, 1), (1, 1)], people=[0, 0, 0])

    assert DeltaPresence(0, 0.5, population=[1]).holds(classes).tolist() == [True, False]
    assert KMap(2, population=[1]).holds(classes).tolist() == [True, False]


def test_k_map_with_a_size_takes_the_classes_for_the_sample():
    """Unless told otherwise, all classes together are the sample; a whole population is counted as it is."""
    classes = Listed([(0, 1)] * 3 + [(1, 1)] * 7)

    assert KMap(4, size=10).holds(classes).tolist() == [False, True]
    assert KMap(4, size=10**6).holds(classes).tolist() == [True, True]
    assert KMap(4, size=10**6).class_size == 1
    with pytest.raises(InputError, match="population of 9"):
        KMap(4, size=9).holds(classes)


def test_k_map_never_asks_for_more_than_k_nor_less_than_two():
    """k records are k people, and a single record shows nothing."""
    assert KMap(7, size=1000).in_sample(1000).least == 7
    assert KMap(7, size=10**9).in_sample(1).least == 2
    assert KMap(7, size=10**9).in_sample(0).least == 2
    assert KMap(5, population=[1]).in_sample(3) == KMap(5, population=[1])


@pytest.mark.parametrize(
    ("rule", "sizes", "expected"),
    [
        (AverageRisk(0.2), [1, 9], 0),
        (AverageRisk(0.2), [1, 1, 9], 1),
        (AverageRisk(0.2), [5, 5], 0),
        (AverageRisk(0.1), [3, 4], 2),
        (AverageRisk(0.1), [], 0),
        (SampleUniqueness(0.1), [1, 9], 0),
        (SampleUniqueness(0.1), [1, 1, 9], 1),
        (SampleUniqueness(0), [1, 1, 2], 2),
        (SampleUniqueness(0.5), [1, 1], 2),
        (SampleUniqueness(0.5), [], 0),
    ],
)
def test_the_smallest_classes_go_first(rule, sizes, expected):
    """As many of the smallest classes are suppressed as the definition asks for."""
    assert isinstance(rule, TableRule)
    assert expected == rule.n_violating(np.array(sizes, dtype=np.int64))
