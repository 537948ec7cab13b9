"""Random small tables with nested hierarchies, for property tests."""

from dataclasses import dataclass
from decimal import Decimal

import polars as pl
from hypothesis import strategies as st

from cloister.hierarchy import hierarchy_rows
from cloister.privacy import KAnonymity
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest
from cloister.shapes.table.method.encode import encode
from cloister.testing.strategies import hierarchies
from cloister.utility import LOSSES

MEANS = ("arx", "iyengar", "precision")
"""Losses that are a mean of attribute losses: those that kernels know."""


@dataclass(frozen=True)
class Case:
    """A table, its hierarchies and what is asked of it."""

    names: tuple[str, ...]
    records: list[tuple[str, ...]]
    hierarchies: list[list[tuple[str, ...]]]
    k: int
    suppression: Decimal
    loss: str
    weights: tuple[float, ...]

    @property
    def limit(self):
        """Records that may be suppressed."""
        return int(self.suppression * len(self.records))

    def frame(self):
        """The records as a frame."""
        return pl.DataFrame(self.records, schema=dict.fromkeys(self.names, pl.String), orient="row")

    def request(self, **changes):
        """The request for this case."""
        return TableRequest(
            quasi_identifiers={n: QuasiIdentifier(hierarchy_rows(h)) for n, h in zip(self.names, self.hierarchies)},
            rules=(KAnonymity(self.k),),
            suppression=self.suppression,
            loss=LOSSES[self.loss],
            weights=dict(zip(self.names, self.weights)),
            **changes,
        )

    def problem(self):
        """The encoded problem."""
        return encode(self.frame(), self.request()).problem


@st.composite
def cases(draw, most_records=24, most_attributes=4, losses=MEANS):
    """Tables with few values, so that classes of all sizes occur."""
    n_attributes = draw(st.integers(1, most_attributes))
    bound_hierarchies = [draw(hierarchies()) for _ in range(n_attributes)]
    record = st.tuples(*(st.sampled_from([row[0] for row in hierarchy]) for hierarchy in bound_hierarchies))
    records = draw(st.lists(record, min_size=1, max_size=most_records))
    return Case(
        names=tuple(f"c{j}" for j in range(n_attributes)),
        records=records,
        hierarchies=bound_hierarchies,
        k=draw(st.integers(2, 5)),
        suppression=draw(st.sampled_from([Decimal("0"), Decimal("0.1"), Decimal("0.34"), Decimal("1")])),
        loss=(loss := draw(st.sampled_from(sorted(losses)))),
        weights=tuple(
            draw(st.sampled_from([1.0, 1.0, 2.0, 0.5])) if LOSSES[loss].takes_weights else 1.0
            for _ in range(n_attributes)
        ),
    )
