"""How much does Partition lose, which generalizes records of code sets until k are equal?

Partition (He and Naughton 2009, PVLDB 2(1), 934-945) is the method against which Loukides et al. (2014), section 2, set
k^m-anonymity and disassociation. It promises more: k patients or more share each released record, so knowledge of all
codes of a patient finds k patients or none. It is a baseline here, no method of cloister.

    python -m benchmarks.papers.partition [--out docs/benchmarks]

measures it beside CBA and disassociation, and writes the result into ``generalization.json`` and its page.

All records begin as the root of the hierarchy. A partition, whose records are equal so far, expands one of its nodes:
each record gets the children of which it has codes, and equal records form a new partition. Records of partitions below
k stay as they were, together; if they are fewer than k, the largest of the others give them records. The node with the
highest gain is expanded, as long as one gains anything. Our choices, where the description that we had leaves them
open: gain is the fall of the summed NCP; the last records of a partition are given away; what stays together may expand
other nodes, but not this one.
"""

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.disassociation import RECONSTRUCTIONS
from benchmarks.papers.generalization import KS, Queries, Sample, check, drawn_of, records_of, samples
from cloister import CodeSets, PrivacyPolicy, icd9
from cloister.shapes.codes.request import index_codes
from cloister.shapes.disassociation.format.data import DisassociationRequest
from cloister.shapes.disassociation.method.protect import disassociate
from cloister.shapes.disassociation.method.release import reconstruct
from cloister.shapes.generalization.format.data import GeneralizationMethod, GeneralizationRequest
from cloister.shapes.generalization.method.losses import queried_sets
from cloister.shapes.generalization.method.protect import generalize
from cloister.utility import Reading, query_errors

Node = frozenset[str]  # the codes below it
Released = list[tuple[list[int], frozenset[Node]]]  # partitions: places of records, and the nodes that each of them has


@dataclass(frozen=True)
class Nodes:
    """A hierarchy of codes; ``child``: for each node that is no code the child above each of its codes."""

    root: Node
    child: Mapping[Node, Mapping[str, Node]]

    @classmethod
    def of(cls, levels: Sequence[Sequence[str | None]], codes: Sequence[str]) -> "Nodes":
        """Return the nodes of labels by level, fine to coarse; nodes with the same codes are one."""
        above = {code: frozenset([code]) for code in codes}
        child: dict[Node, dict[str, Node]] = {}
        for level in (*levels, ["*"] * len(codes)):
            members = defaultdict(set)
            for code, label in zip(codes, level, strict=True):
                members[label].add(code)
            for label, some in members.items():
                if label is not None and len(some) > len(above[min(some)]):
                    node = frozenset(some)
                    child[node] = {code: above[code] for code in node}
                    above |= dict.fromkeys(node, node)
        return cls(frozenset(codes), child)

    def ncp(self, node: Node) -> float:
        """Return the share of the codes that a node may stand for; 0 for a single code."""
        return len(node) / len(self.root) if len(node) > 1 else 0.0


@dataclass(frozen=True)
class Partition:
    """The algorithm, for these records and nodes."""

    records: Sequence[frozenset[str]]
    nodes: Nodes
    k: int

    @cached_property
    def released(self) -> Released:
        """The partitions; each has k records or more."""
        waiting = [(list(range(len(self.records))), frozenset([self.nodes.root]), frozenset[Node]())]
        found: Released = []
        while waiting:
            rows, shown, closed = waiting.pop()
            tried = {node: self._expand(rows, node) for node in shown - closed if node in self.nodes.child}
            gains = {node: self._gain(node, groups) for node, (groups, _) in tried.items()}
            best = max(gains, key=lambda node: (gains[node], sorted(node)), default=None)
            if best is None or gains[best] <= 0:
                found.append((rows, shown))
                continue
            groups, left = tried[best]
            waiting += [(some, shown - {best} | children, closed) for children, some in groups.items()]
            if left:
                waiting.append((left, shown, closed | {best}))
        return found

    def _expand(self, rows: list[int], node: Node) -> tuple[dict[frozenset[Node], list[int]], list[int]]:
        """Return the records by their children of a node, k or more, and the records that stay as they were."""
        child, groups = self.nodes.child[node], defaultdict(list)
        for row in rows:
            groups[frozenset(child[code] for code in self.records[row] & node)].append(row)
        kept = {children: some for children, some in groups.items() if len(some) >= self.k}
        left = sorted(set(rows).difference(*kept.values()))
        while kept and 0 < len(left) < self.k:
            largest = max(kept, key=lambda children: len(kept[children]))
            spare = len(kept[largest]) - self.k
            n = min(spare, self.k - len(left)) if spare else self.k
            left += kept[largest][-n:]
            kept[largest] = kept[largest][:-n]
            kept = {children: some for children, some in kept.items() if some}
        return kept, left

    def _gain(self, node: Node, groups: Mapping[frozenset[Node], list[int]]) -> float:
        """Return by how much the NCP of all occurrences falls."""
        child, before = self.nodes.child[node], self.nodes.ncp(node)
        return sum(
            before - self.nodes.ncp(child[code])
            for rows in groups.values()
            for row in rows
            for code in self.records[row] & node
        )

    def ncp(self) -> float:
        """Return the mean NCP of all occurrences."""
        lost = sum(
            self.nodes.ncp(node) * len(self.records[row] & node)
            for rows, shown in self.released
            for row in rows
            for node in shown
        )
        return lost / sum(map(len, self.records))

    def answers(self, queries: Sequence[Sequence[str]], reading: Reading) -> list[float]:
        """Return the expected number of records with all codes of each query."""
        expected = [0.0] * len(queries)
        for rows, shown in self.released:
            above = {code: node for node in shown for code in node}
            for number, query in enumerate(queries):
                if all(code in above for code in query):
                    asked = Counter(above[code] for code in query)
                    chances = (reading.chance(len(node), n) for node, n in asked.items() if len(node) > 1)
                    expected[number] += len(rows) * prod(chances)
        return expected


def broken(records: Sequence[frozenset[str]], released: Released, k: int) -> list[str]:
    """Check a result from its definition, slowly: return what is wrong."""
    shown = {row: nodes for rows, nodes in released for row in rows}
    found = []
    if sorted(row for rows, _ in released for row in rows) != list(range(len(records))):
        return ["a record is missing, or released twice"]
    if any(sum(other == nodes for other in shown.values()) < k for nodes in set(shown.values())):
        found.append("fewer than k records are equal")
    for row, codes in enumerate(records):
        if any(sum(code in node for node in shown[row]) != 1 for code in codes):
            found.append("a code is not below exactly one node")
        if any(not node & codes for node in shown[row]):
            found.append("a node stands for no code")
    return found


def measured(sample: Sample, k: int) -> list[dict[str, Any]]:
    """Partition, CBA against knowledge of complete records, and disassociation: NCP and errors of queries."""
    codes, records = sample.codes, [frozenset(record) for record in records_of(sample.codes)]
    bound = icd9().bind("code", codes.vocabulary)
    at = {value: place for place, value in enumerate(bound.values)}
    levels = [[level[at[code]] for code in codes.vocabulary] for level in bound.labels[1:-1]]
    started = time.perf_counter()
    partition = Partition(records, Nodes.of(levels, codes.vocabulary), k)
    ncp, seconds = partition.ncp(), time.perf_counter() - started
    assert not broken(records, partition.released, k)
    request = GeneralizationRequest(k, PrivacyPolicy.records(codes), GeneralizationMethod.CBA)
    cba = generalize(codes, request)
    check(cba, request)
    parts = disassociate(codes, DisassociationRequest(k, 2)).released
    rebuilt = [index_codes(reconstruct(parts, seed)) for seed in range(RECONSTRUCTIONS)]
    rows = [
        {"method": "Partition", "ncp": ncp, "seconds": seconds},
        {"method": "CBA", "ncp": cba.figures.ncp},
        {"method": "disassociation", "ncp": None},
    ]
    for name, queries in (("frequent", sample.queries), ("drawn", drawn_of(codes, np.arange(codes.n_codes)))):
        named = [[codes.vocabulary[code] for code in query] for query in queries]
        estimates = (
            [np.array(partition.answers(named, Reading.SUBSETS))],
            [queried_sets(cba.released).answers(queries)],
            [sets.counts(queries) for sets in rebuilt],
        )
        for row, estimate in zip(rows, estimates, strict=True):
            row[name] = _error(codes, queries, estimate)
    return [{"data": sample.name, "k": k, "partitions": len(partition.released)} | row for row in rows]


def _error(codes: CodeSets, queries: Queries, estimates: Sequence[Any]) -> float:
    return query_errors(index_codes(codes).counts(queries), estimates, queries).average_relative_error


def beside(out: Path) -> None:
    """Measure, and add the results to those that were measured before."""
    path = out / "generalization.json"
    found = json.loads(path.read_text())
    found["partition"] = [row for sample in samples() for k in KS for row in measured(sample, k)]
    path.write_text(json.dumps(found, indent=1) + "\n")


def main() -> None:
    """Measure, and write the page again."""
    from benchmarks.papers.generalization_figures import write_page

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "docs" / "benchmarks")
    out = parser.parse_args().out
    beside(out)
    write_page(json.loads((out / "generalization.json").read_text()), out)


if __name__ == "__main__":
    main()
