"""Less loss than by CBA and UGACLIP under the same rules: local moves from what both find, and a bound from below.

A *move* replaces some terms by others, and suppresses or releases codes. It is made if the loss (ILM) falls, and every
set of the privacy policy that has one of its codes still leads to k records or to none. Moves: a term is split (by the
nodes of the hierarchy, or by one code); a suppressed code is released alone or joins a term of its group; suppressed
codes of one node are released together; a code is released in place of terms that are in its way. They are repeated
until none is left, or until a fixed number of codes of sets was counted, so that equal data give equal terms.

Searches start from CBA's terms, from UGACLIP's, and from nothing, where nodes of the hierarchy are released first: the
first two never stop at a term that only the order of merging had made, the last one at codes that had to be suppressed
as others had been merged before. CBA and UGACLIP are our own of the paper
(`cloister.shapes.generalization.method.terms`); the moves are not from a paper.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cloister.kernels.ragged import expand_runs
from cloister.kernels.terms import any_below, supports
from cloister.shapes.codes.data import CodeSets, Integers
from cloister.shapes.generalization.format.data import Numbers, Sets, record_bits

from .losses import CodeTree

MOST_COUNTED = 8_000_000_000  # Words of bits that a search from one start counts, some seconds
FROM_TERMS, FROM_NOTHING, BY_SHAKING = 20_000, 120_000, 30_000  # Moves that a search tries, by what it starts from
HALF = 0.5  # Of the shakes, those that make room for one code
MOST_JOINED = 8  # Terms that a suppressed code is tried with, those that cost least
MOST_SPLIT = 64  # Codes of a term from which single ones are tried apart


class TermSearch:
    """Terms that moves make better; losses are whole numbers, ILM times codes, records and height of the hierarchy.

    Parameters
    ----------
    codes : the original; every code of the vocabulary occurs, and none repeats
    group : (n_codes,) codes of one group may share a term
    required : the sets of the privacy policy that some record holds
    """

    def __init__(self, codes: CodeSets, tree: CodeTree, group: Numbers, required: Sets, k: int) -> None:
        self.tree, self.group, self.required, self.k = tree, group, required, k
        self.base, self.occurrences, self.n_codes = record_bits(codes), codes.supports(), codes.n_codes
        self.unit = codes.n_codes * tree.top
        order = np.argsort(required.items, kind="stable")
        self.set_of = required.owners()[order]
        self.starts = np.searchsorted(required.items[order], np.arange(codes.n_codes + 1))
        # What looking at all sets of a code counts, at most; and room for marks of codes.
        self.work = np.bincount(required.items, required.sizes[required.owners()], codes.n_codes).astype(np.int64)
        self.mark = np.zeros(codes.n_codes, dtype=np.bool_)
        self.counted, self.tried, self.most_tried = 0, 0, FROM_TERMS
        self.start(np.full(codes.n_codes, -1, dtype=np.int32))

    def start(self, term_of: Numbers) -> None:
        """Begin with these terms: the smallest code of the term of each code, -1 where it is suppressed."""
        self.term, self.bits = term_of.astype(np.int32), self.base.copy()
        self.members = {int(name): np.flatnonzero(self.term == name) for name in np.unique(self.term[self.term >= 0])}
        for name, own in self.members.items():
            self.bits[name] = np.bitwise_or.reduce(self.base[own])
        self.heights = {name: self.tree.joint_level(own) for name, own in self.members.items()}
        self.prices = {name: self._price(own, self.bits[name]) for name, own in self.members.items()}

    @property
    def loss(self) -> int:
        """What is lost as it is now."""
        return sum(self.prices.values()) + int(self.occurrences[self.term < 0].sum()) * self.unit

    @property
    def _is_over(self) -> bool:
        return self.counted >= MOST_COUNTED or self.tried >= self.most_tried

    def loss_of(self, term_of: Numbers) -> int:
        """Return what terms lose."""
        self.start(term_of)
        return self.loss

    def improve(self, term_of: Numbers, *, nodes_first: bool = False) -> Numbers:
        """Return what moves make of terms; ``nodes_first``: nodes of suppressed codes are released before codes."""
        self.counted, self.tried = 0, 0
        self.most_tried = FROM_TERMS if nodes_first or (term_of >= 0).any() else FROM_NOTHING
        self.start(term_of)
        self._improve(nodes_first=nodes_first)
        return self.term.copy()

    def _improve(self, *, nodes_first: bool = False) -> None:
        """Make moves until none is left."""
        releasing = (self._release_nodes, self._release) if nodes_first else (self._release, self._release_nodes)
        while not self._is_over:
            moved = [step() for step in (self._split, *releasing, self._exchange)]
            if not any(moved):
                return

    def shaken(self, term_of: Numbers, rounds: int) -> Numbers:
        """Suppress some terms at random, move again from there, and return what loses least; the same for equal data.

        Suppressing protects as before: a set that some record holds is then held by no fewer.
        """
        self.counted, self.tried, self.most_tried = 0, 0, BY_SHAKING
        self.start(term_of)
        random = np.random.default_rng(0)
        for _ in range(rounds):
            if self._is_over or not self.members:
                break
            before, least = self.term.copy(), self.loss
            gone = self._suppressed_codes()
            names = sorted(self.members)
            drawn = random.choice(names, min(len(names), int(random.integers(1, 2 + len(names) // 8))), replace=False)
            dropped = {int(name) for name in drawn}
            code = gone[int(random.integers(len(gone)))] if gone and random.random() < HALF else None
            if code is not None:
                dropped = set().union(*self._in_the_way(code))
            for name in sorted(dropped):
                self.term[self.members.pop(name)] = -1
                del self.prices[name]
            if code is not None:
                self._move([], [np.array([code])])
            self._release()
            self._improve()
            if self.loss >= least:
                self.start(before)
        return self.term.copy()

    def _price(self, codes: Integers, bits: NDArray[np.uint64]) -> int:
        if codes.size < 2:
            return 0
        return codes.size * self.tree.joint_level(codes) * int(np.bitwise_count(bits).sum())

    def _move(self, gone: Sequence[int], made: Sequence[Integers]) -> bool:
        """Replace terms by others if less is lost and all is still protected; codes of neither are suppressed."""
        self.tried += 1
        old = np.concatenate([*(self.members[name] for name in gone), np.zeros(0, dtype=np.int64)])
        new = np.concatenate([*made, np.zeros(0, dtype=np.int64)])
        touched = np.concatenate([old, self._beyond(new, old)])
        before = self.term[touched]
        rows = [np.bitwise_or.reduce(self.base[codes]) for codes in made]
        prices = [self._price(codes, row) for codes, row in zip(made, rows, strict=True)]
        suppressed = int(self.occurrences[self._beyond(old, new)].sum() - self.occurrences[touched[before < 0]].sum())
        change = sum(prices) - sum(self.prices[name] for name in gone) + suppressed * self.unit
        if change >= 0 or any(int(np.bitwise_count(row).sum()) < self.k for row in rows):
            return False
        names = [int(codes.min()) for codes in made]
        kept = self.bits[names]
        self.term[touched] = -1
        for name, codes, row in zip(names, made, rows, strict=True):
            self.term[codes], self.bits[name] = name, row
        if self._is_rare(touched):
            self.term[touched], self.bits[names] = before, kept
            return False
        for name in gone:
            del self.members[name], self.prices[name]
        self.members.update(zip(names, made, strict=True))
        self.prices.update(zip(names, prices, strict=True))
        self.heights.update((name, self.tree.joint_level(codes)) for name, codes in zip(names, made, strict=True))
        return True

    def _beyond(self, codes: Integers, others: Integers) -> Integers:
        """The codes that are not among others; NumPy's set operations take longer than all else of a move."""
        self.mark[others] = True
        found: Integers = codes[~self.mark[codes]]
        self.mark[others] = False
        return found

    def _is_rare(self, codes: Integers) -> bool:
        """Whether 1 to k - 1 records hold a set with one of these codes."""
        self.counted += int(self.work[codes].sum()) * self.bits.shape[1]
        return any_below(
            self.term, self.bits, codes, self.starts, self.set_of, self.required.offsets, self.required.items, self.k
        )

    def _rare(self, codes: Integers) -> Integers:
        """The sets with one of these codes that 1 to k - 1 records hold."""
        sets = np.unique(self.set_of[expand_runs(self.starts[codes], self.starts[codes + 1] - self.starts[codes])])
        own = self.required.chosen(sets)
        self.counted += own.items.size * self.bits.shape[1]
        held = supports(self.term, self.bits, own.offsets, own.items, self.k)
        found: Integers = sets[(held > 0) & (held < self.k)]
        return found

    def _suppressed_codes(self) -> list[int]:
        """Suppressed codes, those of most records first."""
        gone = np.flatnonzero(self.term < 0)
        ordered: list[int] = gone[np.argsort(-self.occurrences[gone], kind="stable")].tolist()
        return ordered

    def _split(self) -> int:
        """Split terms by the nodes of a height, then single codes off."""
        moved = 0
        for name in sorted(self.members):
            codes = self.members.get(name, np.zeros(0, dtype=np.int64))
            for nodes in self.tree.paths[codes].T:
                parts = [codes[nodes == node] for node in np.unique(nodes)]
                if len(parts) > 1 and self._move([name], parts):
                    moved += 1
                    break
            for code in codes.tolist() if codes.size <= MOST_SPLIT else ():
                own = self.members[int(self.term[code])]
                if own.size > 1:
                    moved += self._move([int(own.min())], [own[own != code], np.array([code])])
        return moved

    def _release(self) -> int:
        """Release suppressed codes, alone or with a term of their group."""
        moved = 0
        for code in self._suppressed_codes():
            if self._is_over:
                break
            if self._move([], [np.array([code])]):
                moved += 1
                continue
            for name in self._joins(code):
                if self._move([name], [np.sort(np.append(self.members[name], code))]):
                    moved += 1
                    break
        return moved

    def _joins(self, code: int) -> list[int]:
        """The terms of a code's group that cost least with it, and less than it costs suppressed."""
        names = np.array([name for name in self.members if self.group[name] == self.group[code]], dtype=np.int64)
        if not names.size:
            return []
        held = np.bitwise_count(self.bits[names] | self.base[code]).sum(axis=1)
        sizes = np.array([self.members[name].size for name in names.tolist()])
        near = (self.tree.paths[names] == self.tree.paths[code]).argmax(axis=1) + 1
        levels = np.maximum(near, [self.heights[name] for name in names.tolist()])
        added = (sizes + 1) * levels * held - [self.prices[name] for name in names.tolist()]
        order = np.argsort(added, kind="stable")[:MOST_JOINED]
        found: list[int] = names[order[added[order] < self.occurrences[code] * self.unit]].tolist()
        return found

    def _release_nodes(self) -> int:
        """Release the suppressed codes of a node together, as a term or with one of the node."""
        moved = 0
        for height in range(self.tree.top):
            nodes: dict[tuple[int, int], list[int]] = {}
            for code in np.flatnonzero(self.term < 0).tolist():
                nodes.setdefault((int(self.group[code]), int(self.tree.paths[code, height])), []).append(code)
            for (group, node), found in nodes.items():
                codes = np.array(found)
                if self._is_over or codes.size < 2:
                    continue
                here = [
                    name for name in self.members if (self.group[name], self.tree.paths[name, height]) == (group, node)
                ]
                moved += self._move([], [codes]) or any(
                    self._move([name], [np.sort(np.append(self.members[name], codes))]) for name in here[:MOST_JOINED]
                )
        return moved

    def _exchange(self) -> int:
        """Release a suppressed code in place of terms that are in its way and lose less."""
        moved = 0
        for code in self._suppressed_codes():
            if self._is_over or self.occurrences[code] < self.k:
                break
            chosen: set[int] = set()
            for way in sorted(self._in_the_way(code), key=lambda own: (len(own), sorted(own))):
                if way and not way & chosen:
                    # what suppressing a term would lose, first
                    lost = {one: int(self.occurrences[self.members[one]].sum()) * self.unit for one in way}
                    chosen.add(min(way, key=lambda name: (lost[name] - self.prices[name], name)))
            moved += bool(chosen) and self._move(sorted(chosen), [np.array([code])])
        return moved

    def _in_the_way(self, code: int) -> list[set[int]]:
        """For each set that a suppressed code would leave to few records, the other terms of the set."""
        row = self.bits[code].copy()
        self.term[code], self.bits[code] = code, self.base[code]
        ways = [self.term[self.required.members(number)] for number in self._rare(np.array([code])).tolist()]
        self.term[code], self.bits[code] = -1, row
        return [{*own.tolist()} - {-1, code} for own in ways]

    def bound(self) -> int:
        """Return what any terms lose at least, by counting.

        A code that fewer than k records hold, and that some set has, is suppressed, or in a term of two codes or more
        that k records hold, of which it pays one share. Two codes of a set are together in a record; if even all of
        both groups are together in fewer than k, one of the two is suppressed. Each such pair is charged what both can
        still pay, which is no more than any choice of codes that hits all pairs costs (duality).
        """
        everyone = {number: np.bitwise_or.reduce(self.base[self.group == number]) for number in np.unique(self.group)}
        pays = self.occurrences * self.unit
        shares = np.zeros(self.n_codes, dtype=np.int64)
        for code in np.flatnonzero((self.occurrences < self.k) & (np.diff(self.starts) > 0)).tolist():
            shares[code] = min(int(pays[code]), self._least_level(code) * self.k)
        left = pays - shares
        for code in range(self.n_codes):
            if self.starts[code + 1] > self.starts[code] and self._together(everyone, [code]) < self.k:
                shares[code], left[code] = pays[code], 0
        known: dict[tuple[int, int], bool] = {}
        for one, other in self._pairs():
            key = int(self.group[one]), int(self.group[other])
            if key not in known:
                known[key] = self._together(everyone, [one, other]) < self.k
            if known[key] and left[one] and left[other]:
                charged = min(left[one], left[other])
                left[[one, other]] -= charged
                shares[one] += charged
        return int(shares.sum())

    def _together(self, everyone: dict[int, NDArray[np.uint64]], codes: list[int]) -> int:
        rows = [everyone[int(self.group[code])] for code in codes]
        return int(np.bitwise_count(np.bitwise_and.reduce(rows)).sum())

    def _least_level(self, code: int) -> int:
        """The height of the lowest node that a code shares with another of its group; the root's if it has none."""
        others = np.flatnonzero(self.group == self.group[code])
        near = (self.tree.paths[others[others != code]] == self.tree.paths[code]).any(axis=0)
        return int(near.argmax()) + 1 if near.any() else self.tree.top

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """Codes of different groups that some set has together, each pair once, those that lose most first."""
        found: list[NDArray[np.int64]] = [np.zeros((0, 2), dtype=np.int64)]
        for size in np.unique(self.required.sizes).tolist():
            table = self.required.chosen(self.required.sizes == size).items.reshape(-1, size).astype(np.int64)
            first, second = np.triu_indices(size, 1)
            found.append(np.unique(np.stack([table[:, first].ravel(), table[:, second].ravel()], axis=1), axis=0))
        pairs = np.unique(np.concatenate(found), axis=0)
        pairs = pairs[self.group[pairs[:, 0]] != self.group[pairs[:, 1]]]
        order = np.argsort(-self.occurrences[pairs].min(axis=1), kind="stable")
        yield from (tuple(pair) for pair in pairs[order].tolist())
