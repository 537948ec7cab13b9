"""Disassociation by its definition, and the most candidates that a release leaves to somebody who knows some codes.

Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis (2014), "Disassociation for electronic health record privacy",
Figs. 8 and 9, Guarantee 1; with what cloister makes precise: clusters of k records at least, the condition that no
reconstructed record is empty. Records are sets of codes; a release is written with the codes themselves.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, permutations, product

import numpy as np


def supports(records):
    """Records that hold each code."""
    return Counter(code for record in records for code in record)


@dataclass(frozen=True)
class Node:
    """A split of records in two."""

    left: object
    right: object


def leaves(tree):
    """The clusters of a tree of splits, in its order."""
    return leaves(tree.left) + leaves(tree.right) if isinstance(tree, Node) else [tree]


def horizontal(records, k, limit, constraints=(), current=frozenset()):
    """HORPART as a recursion: a tree of splits with clusters, lists of records, as leaves."""
    if len(records) < limit:
        return records
    counts = supports(records)
    codes = [code for code, count in counts.items() if count >= k and len(records) - count >= k]
    every = frozenset().union(*constraints)
    for preferred in (current, every, frozenset(codes)):
        chosen = sorted((code for code in codes if code in preferred), key=lambda code: (-counts[code], code))
        if chosen:
            break
    else:
        return records
    code = chosen[0]
    own = next((constraint for constraint in constraints if code in constraint), frozenset())
    with_code = [record for record in records if code in record]
    without = [record for record in records if code not in record]
    return Node(
        horizontal(with_code, k, limit, constraints, own), horizontal(without, k, limit, constraints, frozenset())
    )


def shared_places(tree, pooled, k):
    """Where item-chunk codes are shared: for each code what is pending, and the lists of clusters that share it.

    ``pooled`` gives the codes a cluster may give away, with their supports there.
    """
    if not isinstance(tree, Node):
        return {code: (count, []) for code, count in pooled(tree).items()}
    left, right = shared_places(tree.left, pooled, k), shared_places(tree.right, pooled, k)
    found = {}
    for code in left.keys() | right.keys():
        pending = sum(side.get(code, (0, []))[0] for side in (left, right))
        places = [place for side in (left, right) for place in side.get(code, (0, []))[1]]
        if code in left and code in right and (pending >= k or (pending and len(places) == 1)):
            pending, places = 0, [leaves(tree)]
        found[code] = pending, places
    return found


def is_anonymous(subrecords, k, m):
    """k^m-anonymity: every set of up to m codes that occurs, occurs k times."""
    sets = Counter(
        chosen
        for subrecord in subrecords
        for size in range(1, m + 1)
        for chosen in combinations(sorted(subrecord), size)
    )
    return all(count >= k for count in sets.values())


def project(records, domain):
    """The non-empty subrecords of the records."""
    return [record & domain for record in records if record & domain]


def vertical(records, k, m, constraints=(), barred=frozenset()):
    """VERPART: domains of the record chunks, and the item chunk, without repair."""
    counts = supports(records)
    item_chunk = {code for code in counts if counts[code] < k or code in barred}
    group_of = {code: constraint for constraint in constraints for code in constraint}
    groups = {}
    for code in sorted(counts.keys() - item_chunk):
        groups.setdefault(group_of.get(code, code), []).append(code)
    for group in groups.values():
        group.sort(key=lambda code: (-counts[code], code))
    ordered = sorted(groups.values(), key=lambda group: (-counts[group[0]], group[0]))
    remain = [code for group in ordered for code in group]
    domains = []
    while remain:
        current = []
        for code in remain:
            if is_anonymous(project(records, frozenset([*current, code])), k, m):
                current.append(code)
        first = group_of.get(current[0])
        snapshot = set(current)
        for code in snapshot:
            own = group_of.get(code)
            if own is not None and own != first and not (set(remain) & own <= snapshot):
                current.remove(code)
        domains.append(frozenset(current))
        remain = [code for code in remain if code not in current]
    return domains, frozenset(item_chunk)


def leaves_none_empty(size, chunks, k, m, has_items):
    """The condition that the paper omits, for the non-empty subrecords of a cluster's record chunks."""
    h = min(m, len(chunks))
    return has_items or (len(chunks) > 0 and sum(map(len, chunks)) >= size + k * (h - 1))


def repaired(records, k, m, domains, item_chunk, constraints=()):
    """Record chunks and item chunk after one code was moved if the condition fails."""
    chunks = [project(records, domain) for domain in domains]
    if leaves_none_empty(len(records), chunks, k, m, bool(item_chunk)):
        return domains, item_chunk
    counts = supports(records)
    present = frozenset(counts)

    def breaks_a_kept_constraint(code, domain):
        own = next((constraint & present for constraint in constraints if code in constraint), None)
        return own is not None and own <= domain

    _, code = min(
        ((breaks_a_kept_constraint(code, domain), counts[code], code), code) for domain in domains for code in domain
    )
    left = [domain - {code} for domain in domains]
    return [domain for domain in left if domain], item_chunk | {code}


@dataclass(frozen=True)
class Cluster:
    """A cluster: records, record chunks as lists of subrecords, item chunk."""

    size: int
    chunks: tuple
    items: frozenset


@dataclass(frozen=True)
class Shared:
    """A shared chunk: the clusters that are members, its domain and its subrecords."""

    members: tuple
    domain: frozenset
    subrecords: tuple


@dataclass(frozen=True)
class Written:
    """A release."""

    clusters: tuple
    shared: tuple


def written(released):
    """A `Disassociation` with the codes themselves, joint clusters resolved into their members."""
    names = released.vocabulary

    def sets(chunks, chunk):
        return tuple(frozenset(names[item] for item in subrecord) for subrecord in chunks.subrecords_of(chunk))

    clusters = tuple(
        Cluster(
            int(released.sizes[cluster]),
            tuple(
                sets(released.record_chunks, chunk)
                for chunk in range(len(released.record_chunks))
                if released.record_chunks.owner[chunk] == cluster
            ),
            frozenset(names[item] for item in released.item_chunk_of(cluster)),
        )
        for cluster in range(released.n_clusters)
    )
    members = [(cluster,) for cluster in range(released.n_clusters)]
    for joint in range(released.n_joints):
        members.append(tuple(sorted(c for child in released.children_of(joint) for c in members[child])))
    shared = tuple(
        Shared(
            members[released.n_clusters + released.shared_chunks.owner[chunk]],
            frozenset(names[item] for item in released.shared_chunks.domain_of(chunk)),
            sets(released.shared_chunks, chunk),
        )
        for chunk in range(len(released.shared_chunks))
    )
    return Written(clusters, shared)


class Reconstructions:
    """All data sets that a release may stand for, as an integer program: which row gets which subrecord and code.

    At most one of ``diversity`` rows of a cluster has any one sensitive code, as the release says.
    """

    def __init__(self, release, repeats=False, sensitive=frozenset(), diversity=1):
        self.rows = [cluster for cluster, found in enumerate(release.clusters) for _ in range(found.size)]
        self.n = 0
        self.entries, self.lower, self.upper = [], [], []
        self.holding = [{} for _ in self.rows]
        filled = [[] for _ in self.rows]
        for cluster, found in enumerate(release.clusters):
            own = [row for row, at in enumerate(self.rows) if at == cluster]
            for chunk in found.chunks:
                self._place(chunk, dict.fromkeys(own), filled)
            by_code = {}
            for code in sorted(found.items):
                by_code[code] = {row: self._variable(row, [code], filled) for row in own}
                most = found.size // diversity if code in sensitive else np.inf
                self._constrain(by_code[code].values(), 1, most)
            for code in by_code if repeats else ():
                stem, _, number = code.rpartition("#")
                if int(number) > 1:
                    for row in own:
                        self._constrain([by_code[code][row], by_code[f"{stem}#{int(number) - 1}"][row]], -np.inf, 0, -1)
        for chunk in release.shared:
            held = {
                cluster: release.clusters[cluster].items.union(
                    *(subrecord for part in release.clusters[cluster].chunks for subrecord in part),
                    *(other.domain for other in release.shared if other is not chunk and cluster in other.members),
                )
                for cluster in chunk.members
            }
            places = {row: held[cluster] for row, cluster in enumerate(self.rows) if cluster in held}
            self._place(chunk.subrecords, places, filled)
        for variables in filled:
            self._constrain(variables, 1, np.inf)

    def _variable(self, row, codes, filled):
        for code in codes:
            self.holding[row].setdefault(code, []).append(self.n)
        filled[row].append(self.n)
        self.n += 1
        return self.n - 1

    def _constrain(self, variables, lower, upper, last=1):
        variables = list(variables)
        factors = [1] * (len(variables) - 1) + [last] if variables else []
        self.entries += [(len(self.lower), variable, factor) for variable, factor in zip(variables, factors)]
        self.lower.append(lower)
        self.upper.append(upper)

    def _place(self, subrecords, places, filled):
        """Each subrecord goes to one row, a row gets one at most, and none that it holds a code of elsewhere."""
        of_row = {row: [] for row in places}
        for subrecord, times in sorted(Counter(subrecords).items(), key=lambda item: sorted(item[0])):
            allowed = [row for row, held in places.items() if not (held and held & subrecord)]
            variables = [self._variable(row, subrecord, filled) for row in allowed]
            for row, variable in zip(allowed, variables):
                of_row[row].append(variable)
            self._constrain(variables, times, times)
        for variables in of_row.values():
            self._constrain(variables, 0, 1)

    def most_candidates(self, codes):
        """The most records that hold all the codes, over all data sets; None if there is no data set."""
        entries, lower, upper = list(self.entries), list(self.lower), list(self.upper)
        for row, holding in enumerate(self.holding):
            for code in codes:
                entries.append((len(lower), self.n + row, 1))
                entries += [(len(lower), variable, -1) for variable in holding.get(code, [])]
                lower.append(-np.inf)
                upper.append(0)
        return self._solved(entries, lower, upper, -1)

    def fewest_candidates(self, codes):
        """The fewest records that hold all the codes, over all data sets; None if there is no data set."""
        entries, lower, upper = list(self.entries), list(self.lower), list(self.upper)
        for row, holding in enumerate(self.holding):  # a row counts unless it lacks a code
            entries.append((len(lower), self.n + row, 1))
            entries += [(len(lower), variable, -1) for code in set(codes) for variable in holding.get(code, [])]
            lower.append(1 - len(set(codes)))
            upper.append(np.inf)
        return self._solved(entries, lower, upper, 1)

    def _solved(self, entries, lower, upper, sign):
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array

        size = self.n + len(self.rows)
        places, variables, factors = zip(*entries)
        matrix = coo_array((factors, (places, variables)), shape=(len(lower), size)).tocsr()
        found = milp(
            np.concatenate([np.zeros(self.n), np.full(len(self.rows), sign)]),
            constraints=LinearConstraint(matrix, lower, upper),
            integrality=np.ones(size),
            bounds=Bounds(0, 1),
            options={"mip_rel_gap": 0},
        )
        return None if found.x is None else round(sign * found.fun)


def reconstructions(release, sensitive=frozenset(), diversity=1):
    """Every data set that a release may stand for, as a list of sets of codes; of tiny releases without repeats."""
    rows = [cluster for cluster, found in enumerate(release.clusters) for _ in range(found.size)]
    places = []  # for each chunk and code, all ways to put it: pairs of a row and its codes
    for cluster, found in enumerate(release.clusters):
        own = [row for row, at in enumerate(rows) if at == cluster]
        places += [_placements(chunk, own) for chunk in found.chunks]
        for code in sorted(found.items):
            most = found.size // diversity if code in sensitive else found.size
            sets = [chosen for size in range(1, most + 1) for chosen in combinations(own, size)]
            places.append({frozenset((row, frozenset([code])) for row in chosen) for chosen in sets})
    for chunk in release.shared:
        holds = [
            cluster.items.union(*(subrecord for part in cluster.chunks for subrecord in part))
            for cluster in release.clusters
        ]
        free = [row for row, at in enumerate(rows) if at in chunk.members and not chunk.domain & holds[at]]
        places.append(_placements(chunk.subrecords, free))
    for chosen in product(*places):
        records = [frozenset()] * len(rows)
        for row, codes in (pair for placement in chosen for pair in placement):
            records[row] |= codes
        if all(records):
            yield records


def _placements(subrecords, rows):
    return {frozenset(zip(chosen, subrecords)) for chosen in permutations(rows, len(subrecords))}


def unprotected(records, release, k, m, repeats=False, sensitive=frozenset(), diversity=1):
    """Sets of up to m codes of a record for which no reconstruction has k candidates, each with the most there are.

    Nobody knows sensitive codes.
    """
    worlds = Reconstructions(release, repeats, sensitive, diversity)
    known = {
        chosen
        for codes in (set(record) - sensitive for record in records)
        for chosen in combinations(sorted(codes), min(m, len(codes)))
    }  # fewer codes leave more candidates
    found = {}
    for codes in sorted(known):
        if sum(set(codes) <= set(record) for record in records) < k:  # else the original itself is the witness
            most = worlds.most_candidates(codes)
            if most is None or most < k:
                found[codes] = most
    return found
