"""A small problem for the tests of searches."""

from decimal import Decimal

from tests.made.tables import Case


def problem_of(k, records, suppression="0"):
    """Attributes whose values have one level above them: the root."""
    values = [sorted({record[j] for record in records}) for j in range(len(records[0]))]
    return Case(
        names=tuple(f"c{j}" for j in range(len(values))),
        records=records,
        hierarchies=[[(value, "*") for value in own] for own in values],
        k=k,
        suppression=Decimal(suppression),
        loss="iyengar",
        weights=tuple(1.0 for _ in values),
    ).problem()
