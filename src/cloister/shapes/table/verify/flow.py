"""Maximum flow through a network with rows of frames as nodes."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

NODE, COUNT = "node\0", "records"
MOST = 2**31 - 1  # what SciPy counts with

Integers = NDArray[np.int64]


class Flow:
    """A network from a source to a sink; a node is a kind and the values of some columns.

    Examples
    --------
    >>> import polars as pl
    >>> flow = Flow()
    >>> flow.supply("class", pl.DataFrame({"class": [1], "records": [3]}), ["class"])
    >>> flow.lead("class", ["class"], "person", ["person"], pl.DataFrame({"class": [1], "person": [7]}))
    >>> flow.drain("person", pl.DataFrame({"person": [7], "records": [2]}), ["person"])
    >>> flow.lost()
    1
    """

    def __init__(self) -> None:
        self._supplied = 0
        self._n_nodes = 2  # the source and the sink
        self._nodes: dict[str, pl.DataFrame] = {}
        self._edges: list[tuple[Integers, Integers, Integers]] = []

    def supply(self, kind: str, frame: pl.DataFrame, columns: Sequence[str]) -> None:
        """Add an edge from the source to the node of each row, with capacity ``records``."""
        nodes, room = self._numbers(kind, frame, columns), frame[COUNT].to_numpy().astype(np.int64)
        self._supplied += int(room.sum())
        self._edges.append((np.zeros_like(nodes), nodes, room))

    def drain(self, kind: str, frame: pl.DataFrame, columns: Sequence[str]) -> None:
        """Add an edge from the node of each row to the sink, with capacity ``records``."""
        nodes, room = self._numbers(kind, frame, columns), frame[COUNT].to_numpy().astype(np.int64)
        self._edges.append((nodes, np.ones_like(nodes), room))

    def lead(
        self, kind: str, columns: Sequence[str], to: str, others: Sequence[str], pairs: pl.DataFrame, most: int = MOST
    ) -> None:
        """Add an edge from one node to another for each row, with capacity ``most``."""
        pairs = pairs.select({*columns, *others}).unique(maintain_order=True)
        tails, heads = self._numbers(kind, pairs, columns), self._numbers(to, pairs, others)
        self._edges.append((tails, heads, np.full(tails.size, most, dtype=np.int64)))

    def lost(self) -> int:
        """Return the amount of supply that cannot reach the sink."""
        from scipy.sparse import csr_array  # slow to import
        from scipy.sparse.csgraph import maximum_flow

        if self._supplied > MOST:
            raise OverflowError("more records than a flow can count")
        tails, heads, room = (np.concatenate(one) for one in zip(*self._edges, strict=True))
        at_most = np.minimum(room, self._supplied).astype(np.int32)
        size = (self._n_nodes, self._n_nodes)
        graph = csr_array((at_most, (tails.astype(np.int32), heads.astype(np.int32))), shape=size)
        return self._supplied - int(maximum_flow(graph, 0, 1).flow_value)

    def _numbers(self, kind: str, frame: pl.DataFrame, columns: Sequence[str]) -> Integers:
        """Number the nodes of the rows; those that are new get the next numbers."""
        keys = frame.select(pl.col(column).cast(pl.Int64) for column in columns)
        known = self._nodes.get(kind, pl.DataFrame(schema={**keys.schema, NODE: pl.Int64}))
        new = keys.unique(maintain_order=True).join(known, on=list(columns), how="anti", maintain_order="left")
        numbers = pl.int_range(self._n_nodes, self._n_nodes + pl.len(), dtype=pl.Int64).alias(NODE)
        self._nodes[kind] = pl.concat([known, new.with_columns(numbers)])
        self._n_nodes += new.height
        joined = keys.join(self._nodes[kind], on=list(columns), how="left", maintain_order="left")
        return joined[NODE].to_numpy().astype(np.int64)
