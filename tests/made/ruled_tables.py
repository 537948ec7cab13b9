"""Random small tables with a sensitive column, a population and privacy rules, each rule with its definition."""

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log

import polars as pl
from hypothesis import strategies as st
from tests.made.tables import MEANS, Case, cases
from tests.oracles import privacy_rules as oracle
from tests.oracles.full_domain import generalize

from cloister.hierarchy import hierarchy_rows
from cloister.privacy import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    LDiversity,
    NoAttack,
    PositivePayout,
    RecursiveLDiversity,
    SampleUniqueness,
    TCloseness,
)
from cloister.shapes.table.method.encode import encode

VALUES = (None, "10", "9", "30")
"""Numbers as text: 9 comes before 10 in their natural order, after it as text."""

TREE = [("10", "low", "*"), ("9", "low", "*"), ("30", "high", "*"), ("", "", "*")]
NAMES = {int(row[0]) if row[0] else None: row for row in TREE}
SENSITIVE = "value"


@dataclass(frozen=True)
class RuledCase:
    """A case with a sensitive value for every record, people who could be in it, and rules.

    ``class_rules`` pairs each rule with its definition: from (class key, value) records, all values, class keys of
    the people to whether each class is safe. ``table_rules`` pairs each with the same for class sizes.
    """

    case: Case
    values: tuple[str | None, ...]
    people: list[tuple[str, ...]]
    class_rules: list[tuple[object, object]]
    table_rules: list[tuple[object, object]]

    @property
    def rules(self):
        """The rules themselves."""
        return tuple(rule for rule, _ in (*self.class_rules, *self.table_rules))

    @property
    def numbers(self):
        """The sensitive values as the definitions take them."""
        return [None if value is None else int(value) for value in self.values]

    def frame(self):
        """The records with their sensitive value."""
        return self.case.frame().with_columns(pl.Series(SENSITIVE, self.values, dtype=pl.String))

    def request(self, **changes):
        """The request for this case."""
        population = pl.DataFrame(self.people, schema=dict.fromkeys(self.case.names, pl.String), orient="row")
        rules = tuple(
            rule.with_population(population) if getattr(rule, "needs", None) == "population" else rule
            for rule in self.rules
        )
        return replace(self.case.request(), rules=rules, sensitive=(SENSITIVE,), **changes)

    def problem(self):
        """The encoded problem."""
        return encode(self.frame(), self.request()).problem

    def level_loss(self, levels):
        """Mean of level / highest level."""
        shares = [Fraction(level, len(rows[0]) - 1) for level, rows in zip(levels, self.case.hierarchies)]
        return sum(shares) / len(shares)

    def keeper(self, levels):
        """What is kept at one policy, by definition: a function from the label vectors of all records."""
        people = generalize(self.people, self.case.hierarchies, levels)

        def keeps(general):
            numbers = self.numbers
            records = list(zip(general, numbers))
            kept = set(general)
            for rule, definition in self.class_rules:
                lost = [self.level_loss(levels)] if getattr(rule, "needs", None) == "levels" else []
                safe = definition(records, numbers, people, *lost)
                kept &= {key for key, holds in safe.items() if holds}
            kept = self._without_smallest(Counter(general), kept)
            strict = any(getattr(rule, "forbids_suppression", False) for rule in self.rules)
            return set() if strict and kept != set(general) else kept

        return keeps

    def _without_smallest(self, sizes, kept):
        """Suppress the smallest classes until every rule about the table holds; ties by value, by names of columns."""
        by_name = sorted(range(len(self.case.names)), key=lambda j: self.case.names[j].encode())
        order = sorted(kept, key=lambda key: (sizes[key], [key[j].encode() for j in by_name]))
        while order and not all(holds([sizes[key] for key in order]) for _, holds in self.table_rules):
            order.pop(0)
        return set(order)


def class_rules():
    """A class rule with its definition."""
    shares = st.sampled_from([0.25, 0.34, 0.5, 0.75])
    return st.one_of(
        st.integers(2, 3).map(lambda n: (LDiversity(n, SENSITIVE), lambda r, w, p: oracle.l_diversity(r, n))),
        st.sampled_from([1.5, 2.0]).map(
            lambda n: (EntropyLDiversity(n, SENSITIVE), lambda r, w, p: oracle.entropy_l_diversity(r, n))
        ),
        st.sampled_from([(1.5, 2), (3.0, 2)]).map(
            lambda x: (RecursiveLDiversity(*x, SENSITIVE), lambda r, w, p: oracle.recursive_l_diversity(r, *x))
        ),
        st.tuples(shares, st.sampled_from(["equal", "ordered", "hierarchical"])).map(
            lambda x: (
                TCloseness(x[0], SENSITIVE, x[1], hierarchy_rows(TREE) if x[1] == "hierarchical" else None),
                lambda r, w, p: oracle.t_closeness(r, w, *x, NAMES),
            )
        ),
        st.tuples(shares, st.integers(2, 3)).map(
            lambda x: (AlphaKAnonymity(*x, SENSITIVE), lambda r, w, p: oracle.alpha_k_anonymity(r, *x))
        ),
        st.sampled_from([0.5, 1.0]).map(
            lambda b: (BetaLikeness(b, SENSITIVE), lambda r, w, p: oracle.beta_likeness(r, w, b))
        ),
        st.sampled_from([log(2), 1.0]).map(
            lambda d: (DeltaDisclosure(d, SENSITIVE), lambda r, w, p: oracle.delta_disclosure(r, w, d))
        ),
        st.integers(2, 6).map(lambda k: (KMap(k, population=(), name="people"), lambda r, w, p: oracle.k_map(r, p, k))),
        st.sampled_from([(0.0, 0.5), (0.1, 1.0)]).map(
            lambda x: (DeltaPresence(*x, population=(), name="people"), lambda r, w, p: oracle.delta_presence(r, p, *x))
        ),
        st.sampled_from([(0.3, 0.1), (7, 3), (2.0, 1)]).map(
            lambda x: (NoAttack(*x), lambda r, w, p: oracle.no_attack(r, *x))
        ),
        st.tuples(*(st.sampled_from([0.3, 1.0, 2.0, 7.0]) for _ in range(4))).map(
            lambda x: (PositivePayout(*x), lambda r, w, p, lost: oracle.positive_payout(r, lost, *x))
        ),
        st.integers(2, 3).map(lambda k: (KAnonymity(k), lambda r, w, p: oracle.k_anonymity(r, k))),
    )


def table_rules():
    """A table rule with its definition."""
    return st.one_of(
        st.sampled_from([0.2, 0.34, 0.5]).map(
            lambda r: (AverageRisk(r), lambda sizes: oracle.average_risk(sizes) <= r)
        ),
        st.sampled_from([0.0, 0.2]).map(lambda u: (SampleUniqueness(u), lambda sizes: oracle.unique_share(sizes) <= u)),
    )


@st.composite
def ruled_cases(draw, losses=MEANS, most_records=16):
    """Tables with one to three rules."""
    case = draw(cases(most_records=most_records, most_attributes=3, losses=losses))
    n = len(case.records)
    values = draw(st.lists(st.sampled_from(VALUES), min_size=n, max_size=n))
    person = st.tuples(*(st.sampled_from([row[0] for row in hierarchy]) for hierarchy in case.hierarchies))
    others = draw(st.lists(person, max_size=12))
    of_classes = draw(st.lists(class_rules(), max_size=2))
    of_table = draw(st.lists(table_rules(), max_size=1, min_size=not of_classes))
    return RuledCase(case, tuple(values), case.records + others, of_classes, of_table)
