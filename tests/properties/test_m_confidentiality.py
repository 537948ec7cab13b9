"""Labels that resist downcoding with a rule about a sensitive column: no assignment of its values is excluded."""

from collections import Counter
from decimal import Decimal
from functools import cache
from itertools import combinations_with_replacement, permutations, product

import polars as pl
import pytest

import cloister as cl
from cloister.errors import NoSafeRelease
from cloister.privacy import KAnonymity, LDiversity, TCloseness
from cloister.shapes.table.format.options import MONDRIAN
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.shapes.table.method.encode import encode
from cloister.shapes.table.method.recoding.choice import choose

QUASI = {"three": {"a": ("1", "2", "3")}, "two and two": {"a": ("1", "2"), "b": ("x", "y")}}
DISEASES = ("flu", "hiv")
RULES = {"l-diversity": LDiversity(2, "s"), "t-closeness": TCloseness(0.4, "s")}


@cache
def protecting(quasi, rule, resists=True):
    """A function from records, the last value of each a disease, to their labels; None without a safe release."""
    names = [*QUASI[quasi]]
    request = TableRequest(
        quasi_identifiers={name: QuasiIdentifier(cl.suppress()) for name in names},
        rules=(KAnonymity(3), RULES[rule]),
        sensitive=("s",),
        suppression=Decimal(0),
        method=MONDRIAN,
        resist_downcoding=resists,
    )

    @cache
    def protect(records):
        try:
            frame = pl.DataFrame(records, schema=[*names, "s"], orient="row")
            return tuple(choose(encode(frame, request), request).labels.select(names).rows())
        except NoSafeRelease:
            return None

    return protect


def exchanged(records, labels):
    """Every table in which the records of each class have the same diseases in another order."""
    classes = [[place for place, label in enumerate(labels) if label == one] for one in dict.fromkeys(labels)]
    orders = [{tuple(records[place][-1] for place in order) for order in permutations(own)} for own in classes]
    for chosen in product(*orders):
        disease = {
            place: s for own, order in zip(classes, chosen, strict=True) for place, s in zip(own, order, strict=True)
        }
        yield tuple(sorted((*record[:-1], disease[place]) for place, record in enumerate(records)))


def exchanges(quasi, rule, n, resists=True):
    """Yield for each exchange within a class of a released table whether its release is the same."""
    protect = protecting(quasi, rule, resists)
    for records in combinations_with_replacement(sorted(product(*QUASI[quasi].values(), DISEASES)), n):
        labels = protect(records)
        if labels is not None:
            shown = Counter((label, record[-1]) for record, label in zip(records, labels, strict=True))
            for other in set(exchanged(records, labels)):
                again = protect(other)
                yield again is not None and shown == Counter(zip(again, (one[-1] for one in other), strict=True))


def test_every_assignment_of_sensitive_values_stays_possible():
    """All tables of six records: whoever exchanges the diseases of a class gets the same release."""
    found = [*exchanges("three", "l-diversity", 6)]

    assert len(found) > 100
    assert all(found)


@pytest.mark.full
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("quasi", "n"), [("three", 7), ("two and two", 6)])
def test_every_assignment_in_larger_tables_stays_possible(quasi, rule, n):
    """The same of seven records, of two columns, and of another rule."""
    assert all(exchanges(quasi, rule, n))


def test_the_enumeration_finds_what_a_rule_that_decides_on_classes_gives_away():
    """Mondrian splits a class where both parts have two diseases, so that some exchanges are excluded."""
    assert not all(exchanges("three", "l-diversity", 6, resists=False))
