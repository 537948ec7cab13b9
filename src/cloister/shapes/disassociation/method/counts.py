"""Counts of records with some codes: exact bounds from disassociated code sets only, for their recipients.

A *reconstruction* is a data set that a release may stand for: the subrecords of each chunk are in different records
of the cluster (of a shared chunk, in different records of the joint cluster, in none of a cluster that holds the code
elsewhere), each code of an item chunk in one record of its cluster or more (a sensitive one in at most one in l, a
second occurrence only with the first), and no record is empty. The bounds are the least and the greatest number of
records with all the codes asked for, over all reconstructions; none of these can be excluded by who has the release.
They say nothing that the chunks do not say.

**A cluster** counts if each code asked for has a place in it: a record chunk, the item chunk, or a shared chunk above;
there is one at most. Codes in one chunk are one place. Let a cluster of s records have h places, of which place i is
matched by a_i records (of a chunk the subrecords with all codes asked for there; of an item chunk any number).

* *Least, h > 1*: max(0, sum(a_i) - (h - 1) s). It cannot be less, as s - a_i records lack place i. It is reached, from
  any reconstruction: while some record matches all places and another one lacks two of them, i and j, exchange what
  both hold of place i. The first is then short of i, the second still of j; both hold something, as the first keeps
  what it has of j, and the second has got i. So the number of matching records falls, until it is 0 or no record
  lacks two places, which is the bound. Item codes count a_i = 1.
* *Greatest, h > 1*: t records match where t <= a_i for all i and the other s - t records can be filled. Where the item
  chunk has a code that is not sensitive, it fills them. Else each record chunk of n subrecords has n - t left for them,
  or min(n, s - t) if nothing is asked of it, and sensitive codes likewise; what else is lacking must come from shared
  chunks. If these sum to s - t or more, rows can be filled one after the other. Without shared chunks, t = 0 lacks
  nothing, by the condition that no reconstructed record is empty (`verify`).
* *h = 1*: the matches of a chunk are a count. Alone in an item chunk, the code has 1 record or more: all that nothing
  else fills, if it is the only code there that may fill any.

**Shared subrecords** are what clusters compete for: at most A_i matches of chunk i go to all clusters together, and
what fills a record of one cluster fills none of another. Clusters that use the same shared chunks count as one: the
greatest sum of t (a flow, or an integer program where a cluster uses several chunks), and the least overlap
max(0, sum_i a_i - c) of a group with room c = sum over its clusters of (h - 1) s - (own matches), which is reached as a
transport of a_i <= sum(s) to clusters exists (Gale: each cluster has room for all but one chunk in every record). To
have the least overlap, chunks leave records of the group for those elsewhere: a transport again, so whole numbers.
Clusters that also lack other codes are examined one by one. If the chunks above them, the lowest first, supply what is
lacking, the bound of the groups is reached; else one integer program over groups and such clusters decides.

The expected count takes places for independent: in a cluster s * prod(a_i / s), with A_i in proportion to sizes. For a
code of an item chunk, a_i is what a binomial that is not 0 expects, s p / (1 - (1 - p)^s), with p the least share of
all records that have the code. It is no mean over all reconstructions, but lies within the bounds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.kernels.ragged import expand_runs, owners, postings, starts_of
from cloister.results import CountBounds
from cloister.shapes.codes.data import Integers, occurrences
from cloister.shapes.disassociation.format.data import ChunkIndex, Disassociation, Pools, lay_out

from .integer_programs import Program, first_these, least_excess, maximize_shares, transport_most

NONE = -1
Mask = NDArray[np.bool_]


class ChunkCounts:
    """Disassociated code sets, ready for queries; they must be verified, as the bounds rely on the complete guarantee.

    ``diversity``: l; at most one record in l of a cluster has a sensitive code
    """

    def __init__(self, released: Disassociation, diversity: int = 1) -> None:
        layout, n_codes, shared = lay_out(released), len(released.vocabulary), released.shared_chunks
        self.released = released
        self._rates: dict[int, float] = {}
        self.number = {code: place for place, code in enumerate(released.vocabulary)}
        self.record, self.shared = (ChunkIndex(one, n_codes) for one in (released.record_chunks, shared))
        self.item = postings(released.item_chunks, owners(released.item_offsets), n_codes)
        self.position, self.cluster = layout.position, np.argsort(layout.position)
        self.sizes = released.sizes[self.cluster]
        self.caps = self.sizes // max(1, diversity)
        self.low, self.high = layout.low[shared.owner], layout.high[shared.owner]
        self.unit, self.level = np.arange(n_codes), np.zeros(n_codes, dtype=np.int64)
        if released.repeats:
            self.unit, self.level = occurrences(released.vocabulary)
        self.is_sensitive = np.zeros(n_codes, dtype=np.bool_)
        self.is_sensitive[released.sensitive] = True
        self.subrecords = np.diff(released.record_chunks.subrecord_offsets)
        self.chunk_starts = np.searchsorted(released.record_chunks.owner, np.arange(released.n_clusters + 1))
        # Item chunks by position: codes, each counted once however often it repeats, that may fill any record, or few.
        units = np.unique(owners(released.item_offsets) * max(1, n_codes) + self.unit[released.item_chunks])
        few = self.is_sensitive[units % max(1, n_codes)]
        at = units // max(1, n_codes)
        self.plain, self.scarce = (
            np.bincount(at[which], minlength=self.position.size)[self.cluster] for which in (~few, few)
        )

    def count(self, codes: Iterable[str], within: Mask | None = None) -> CountBounds:
        """Bound the number of records with all of some codes.

        Parameters
        ----------
        codes : at least one; of codes that repeat ``250.01`` is the first occurrence, and ``250.01#2`` the second
        within : (n_classes,) the classes whose records are counted; all if None
        """
        query = self._numbers(codes)
        if query is None:
            return CountBounds(0, 0.0, 0)
        inside = None if within is None else within[self.released.class_of[self.cluster]]
        asked = self._locate_codes(query, inside)
        lower, upper = asked.least(), asked.greatest()
        return CountBounds(lower, min(max(float(asked.expected_counts.sum()), float(lower)), float(upper)), upper)

    def count_by_class(self, codes: Iterable[str]) -> tuple[Integers, NDArray[np.float64], Integers]:
        """Bound the number of records of each class with all of some codes: (n_classes,) least, expected, greatest.

        Classes share no chunk, so each is counted alone, and the bounds add up to those of `count`.
        """
        query, n_classes = self._numbers(codes), len(self.released.classes)
        if query is None:
            none = np.zeros(n_classes, dtype=np.int64)
            return none, none.astype(np.float64), none
        asked = self._locate_codes(query, None)
        own, expected = self.released.class_of[self.cluster[asked.at]], asked.expected_counts
        least, most, is_bounded = asked.bounds_alone
        sums = [np.bincount(own, weights=each, minlength=n_classes) for each in (least, expected, most)]
        lower, upper = (sums[side].round().astype(np.int64) for side in (0, 2))
        for number in np.unique(own[~is_bounded]).tolist():
            inside = own == number
            part = replace(asked, at=asked.at[inside], place=asked.place[:, inside])
            lower[number], upper[number] = part.least(), part.greatest()
        return lower, np.clip(sums[1], lower, upper), upper

    def rate(self, code: int) -> float:
        """Return the least share of all records that have a code."""
        if code not in self._rates:
            self._rates[code] = self._locate_codes([code], None).least() / int(self.sizes.sum())
        return self._rates[code]

    def _numbers(self, codes: Iterable[str]) -> list[int] | None:
        """Item numbers, of a code that repeats of its last occurrence alone; None if nobody has one."""
        named = list(codes)
        if not named or isinstance(codes, str):
            raise InputError("A count is of one code or more. Give a list of codes.")
        last: dict[int, int] = {}
        for code in named:
            number = self.number.get(code, self.number.get(f"{code}#1") if self.released.repeats else None)
            if number is None:
                return None
            unit = int(self.unit[number])
            last[unit] = max(last.get(unit, number), number, key=lambda one: int(self.level[one]))
        return sorted(last.values())

    def _locate_codes(self, query: list[int], inside: Mask | None) -> "CountQuery":
        """Find the place of each code in each cluster, and keep the clusters that have all."""
        n_record, n_shared = self.subrecords.size, self.low.size
        place = np.full((len(query), self.sizes.size), NONE, dtype=np.int64)
        matches, room = (np.zeros(size, dtype=np.int64) for size in (n_record + n_shared + 1, n_shared))
        for index, shift in ((self.record, 0), (self.shared, n_record)):
            chunks, _, found = index.candidates(query)
            matches[chunks + shift] = found
        for row, code in enumerate(query):
            chunks = self.record.by_code[code]
            place[row, self.position[self.released.record_chunks.owner[chunks]]] = chunks
            place[row, self.position[self.item[code]]] = n_record + n_shared + row
            for chunk in self.shared.by_code[code].tolist():
                span = slice(self.low[chunk], self.high[chunk])
                free = place[row, span] == NONE  # others hold the code elsewhere
                place[row, span][free] = n_record + chunk
                room[chunk] = self.sizes[span][free].sum()
        has_all = (place != NONE).all(axis=0)
        at = np.flatnonzero(has_all if inside is None else has_all & inside)
        place = np.sort(place[:, at], axis=0)
        place[1:][place[1:] == place[:-1]] = NONE  # codes of one chunk are one place
        return CountQuery(self, query, at, place, matches, room)


@dataclass(frozen=True, eq=False, repr=False)
class CountQuery:
    """The clusters in which all codes of a query have a place.

    ``place`` (n_codes, n) is the place of each code, each place once: a record chunk by its number, a shared chunk by
    its number and that of record chunks, and a code of an item chunk after these; ``matches`` are by chunk, ``room``
    the records that a shared chunk may reach.
    """

    of: ChunkCounts
    query: list[int]
    at: Integers  # (n,) positions
    place: Integers
    matches: Integers
    room: Integers

    size: Integers = field(init=False)
    cap: Integers = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", self.of.sizes[self.at])
        object.__setattr__(self, "cap", self.of.caps[self.at])

    @cached_property
    def kinds(self) -> tuple[Mask, Mask, Mask]:
        """Whether each place is a record chunk, a shared chunk or a code of an item chunk."""
        n_record = self.of.subrecords.size
        is_item = self.place >= n_record + self.of.low.size
        return (self.place >= 0) & (self.place < n_record), (self.place >= n_record) & ~is_item, is_item

    @cached_property
    def held(self) -> Integers:
        """The matches of each place: of its chunk, and one of an item chunk."""
        is_record, is_shared, is_item = self.kinds
        return np.where(is_record | is_shared, self.matches[np.where(is_item, NONE, self.place)], is_item)

    @cached_property
    def scarce(self) -> Mask:
        """Places of sensitive codes: (n_codes, n)."""
        rows = np.where(self.kinds[2], self.place - self.of.subrecords.size - self.of.low.size, 0)
        found: Mask = self.kinds[2] & self.of.is_sensitive[np.array(self.query)][rows]
        return found

    @cached_property
    def limit(self) -> Integers:
        """Records that match at most, as the cluster's own chunks say."""
        own = np.where(self.kinds[0], self.held, np.where(self.scarce, self.cap, self.size))
        found: Integers = own.min(axis=0, initial=np.iinfo(np.int64).max)
        return found

    @cached_property
    def groups(self) -> tuple[list[list[int]], Integers]:
        """Shared chunks that clusters use together, and the group of each cluster."""
        used = np.sort(np.where(self.kinds[1], self.place - self.of.subrecords.size, NONE), axis=0)
        group, first = np.zeros(self.size.size, dtype=np.int64), np.zeros(1, dtype=np.int64)
        for row in used[used.max(axis=1, initial=NONE) != NONE]:
            _, first, group = np.unique(
                group * (self.of.low.size + 1) + row + 1, return_index=True, return_inverse=True
            )
        columns = used[:, first].T.tolist() if group.size else []
        return [[chunk for chunk in column if chunk != NONE] for column in columns], group

    @cached_property
    def expected_counts(self) -> NDArray[np.float64]:
        """The count of each cluster if places were independent: (n,)."""
        share = np.where(self.place == NONE, 1.0, self.held / self.size)
        is_item = self.kinds[2]
        share[is_item] = (np.minimum(self._in_item_chunks(), np.where(self.scarce, self.cap, self.size)) / self.size)[
            is_item
        ]
        is_shared = self.kinds[1]
        chunk = self.place[is_shared] - self.of.subrecords.size
        share[is_shared] = self.held[is_shared] / self.room[chunk]
        found: NDArray[np.float64] = self.size * share.prod(axis=0)
        return found

    @cached_property
    def bounds_alone(self) -> tuple[Integers, Integers, Mask]:
        """The least and the greatest number of each cluster, and whether they follow from it alone: (n,).

        They do where no record needs others to fill it, and no shared chunk is asked for, or one is for nothing else:
        then the matches of that chunk count at its first cluster.
        """
        places, uses = (self.place != NONE).sum(axis=0), self.kinds[1].any(axis=0)
        least, most = np.maximum(0, self.held.sum(axis=0) - (places - 1) * self.size), self.limit.copy()
        alone = places == 1
        shared = np.flatnonzero(alone & uses)
        first = shared[np.unique(self.place[:, shared].max(axis=0), return_index=True)[1]]
        most[shared] = 0
        most[first] = least[first]
        least[shared] = most[shared]
        needs_help = np.where(alone, self.lacking_alone, self._lacking(self.limit)) > 0
        return least, most, ~needs_help & (alone | ~uses)

    def _in_item_chunks(self) -> NDArray[np.float64]:
        """How many records of a cluster are expected to have the code of each place, if it is an item chunk's."""
        rates = np.array([self.of.rate(code) for code in self.query])
        rows = np.where(self.kinds[2], self.place - self.of.subrecords.size - self.of.low.size, 0)
        rate = rates[rows]
        found: NDArray[np.float64] = self.size * rate / (1 - (1 - rate) ** self.size)
        return found

    def least(self) -> int:
        """Return the least number of records, over all reconstructions."""
        is_record, is_shared, _ = self.kinds
        own = np.where(is_shared, 0, self.held).sum(axis=0)
        places = (self.place != NONE).sum(axis=0)
        alone, uses = places == 1, is_shared.any(axis=0)
        total = int(np.maximum(0, own - (places - 1) * self.size)[~alone & ~uses].sum())
        total += int(own[alone & is_record.any(axis=0)].sum())
        if (alone & uses).any():
            total += int(self.matches[np.unique(self.place[:, alone & uses].max(axis=0))].sum())
        return total + self._least_alone(alone & ~uses & ~is_record.any(axis=0)) + self._overlap(~alone & uses)

    def _least_alone(self, which: Mask) -> int:
        """Records of a code that is in item chunks: one a cluster, and those that nothing else can fill."""
        if not which.any():
            return 0
        lacking = np.where(which, self.lacking_alone, 0)
        return int(which.sum() + lacking.sum()) - self._help(lacking)

    @cached_property
    def lacking_alone(self) -> Integers:
        """Records beyond one that only the first code of the query may fill, if it is an item chunk's: (n,)."""
        own = np.zeros(self.size.size, dtype=np.int64)
        chunks, at = self._chunks()
        np.add.at(own, at, self.of.subrecords[chunks])
        own += (self.of.scarce[self.at] - self.scarce[0]) * self.cap
        is_only = self.kinds[2][0] & (self.of.plain[self.at] == 1) & (self.of.level[self.query[0]] <= 1)
        found: Integers = np.where(is_only & ~self.scarce[0], np.maximum(0, self.size - own - 1), 0)
        return found

    def _overlap(self, which: Mask) -> int:
        """The least overlap of matches in shared chunks with those of other places."""
        members, group = self.groups
        numbers = np.unique(group[which]).tolist()
        if not numbers:
            return 0
        n_shared = self.kinds[1].sum(axis=0)
        own, places = np.where(self.kinds[1], 0, self.held).sum(axis=0), (self.place != NONE).sum(axis=0)
        # What a group's records hold too much if each shared chunk is in all of them, and what each chunk can do
        # without there, as other records may have it.
        over = np.maximum(0, n_shared * self.size - ((places - 1) * self.size - own))
        excess, sizes = (np.bincount(group, weights=each).astype(np.int64).tolist() for each in (over, self.size))
        chunks = sorted({chunk for number in numbers for chunk in members[number]})
        first = self.of.subrecords.size
        return least_excess(
            {number: excess[number] for number in numbers},
            {chunk: int(self.room[chunk] - self.matches[first + chunk]) for chunk in chunks},
            {number: (members[number], sizes[number]) for number in numbers},
        )

    def greatest(self) -> int:
        """Return the greatest number of records, over all reconstructions."""
        if not self.at.size:
            return 0
        best, shares = self._flow(self.limit)
        if (self.place != NONE).sum(axis=0).max() == 1 or not self._lacking(self.limit).any():
            return best
        easy = self._without_help()
        if self._flow(easy)[0] == best:
            return best
        matching = np.minimum(easy, self.limit)
        for number, total in enumerate(shares.tolist()):
            own = np.flatnonzero(self.groups[1] == number)
            matching[own] = first_these(easy[own], self.limit[own], total)
        lacking = self._lacking(matching)
        return best if self._help(lacking, only_greedy=True) == lacking.sum() else self._program()

    def _flow(self, limit: Integers) -> tuple[int, Integers]:
        """The most matches where clusters take up to a limit each, and those of each group."""
        members, group = self.groups
        limits = np.bincount(group, weights=limit, minlength=len(members)).astype(np.int64)
        first = self.of.subrecords.size
        room = {chunk: int(self.matches[first + chunk]) for chunks in members for chunk in chunks}
        found = maximize_shares(limits, members, room)
        return int(found.sum()), found

    def _chunks(self) -> tuple[Integers, Integers]:
        """The record chunks of the clusters, and the cluster of each, as its place among those of the query."""
        cluster = self.of.cluster[self.at]
        lengths = self.of.chunk_starts[cluster + 1] - self.of.chunk_starts[cluster]
        return expand_runs(self.of.chunk_starts[cluster], lengths), owners(starts_of(lengths))

    @cached_property
    def is_asked(self) -> Mask:
        """Whether something is asked of each record chunk: (n_record_chunks,)."""
        found = np.zeros(self.of.subrecords.size, dtype=np.bool_)
        found[self.place[self.kinds[0]]] = True
        return found

    def _lacking(self, matching: Integers) -> Integers:
        """Records that nothing of the cluster's own can fill, if so many match: (n,)."""
        rest = self.size - matching
        chunks, at = self._chunks()
        count = self.of.subrecords[chunks]
        left = np.where(self.is_asked[chunks], count - matching[at], np.minimum(count, rest[at]))
        filled = np.bincount(at, weights=left, minlength=rest.size).astype(np.int64)
        asked = self.scarce.sum(axis=0)
        filled += (self.of.scarce[self.at] - asked) * np.minimum(self.cap, rest) + asked * (self.cap - matching)
        return np.where(self.of.plain[self.at] > 0, 0, np.maximum(0, rest - filled))

    def _without_help(self) -> Integers:
        """The most matches of each cluster that leave nothing lacking: (n,); fewer lack no more than more do."""
        low, high = np.zeros_like(self.limit), self.limit.copy()
        while (low < high).any():
            middle = (low + high + 1) // 2
            fits = self._lacking(middle) == 0
            low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
        return low

    @cached_property
    def pools(self) -> Pools:
        """What shared chunks of which nothing is asked have."""
        return Pools(self.of.released, self.of.unit, [self.of.shared.by_code[code] for code in self.query])

    def _pools_of(self, number: int) -> list[int]:
        """The pools that may fill records of a cluster, the lowest first."""
        place, released = int(self.at[number]), self.of.released
        cluster = int(self.of.cluster[place])
        record = released.record_chunks
        first, last = self.of.chunk_starts[cluster : cluster + 2]
        own = record.domain[record.domain_offsets[first] : record.domain_offsets[last]]
        held = np.concatenate([own, np.array(released.item_chunk_of(cluster), dtype=np.int64)])
        above = np.flatnonzero((self.of.low <= place) & (self.of.high > place))
        return self.pools.pools_reached(above[np.argsort((self.of.high - self.of.low)[above], kind="stable")], held)

    def _help(self, lacking: Integers, *, only_greedy: bool = False) -> int:
        """How many lacking records shared chunks can fill; if only greedily, no less than so many."""
        left, total = self.pools.counts.copy() if lacking.any() else lacking, 0
        above = {number: self._pools_of(number) for number in np.flatnonzero(lacking).tolist()}
        for number, pools in above.items():
            wanted = int(lacking[number])
            for pool in pools:
                given = min(wanted, int(left[pool]))
                left[pool] -= given
                wanted, total = wanted - given, total + given
        if total == lacking.sum() or only_greedy:
            return total
        place = {pool: at for at, pool in enumerate(dict.fromkeys(pool for pools in above.values() for pool in pools))}
        ends = [int(lacking[number]) for number in above], [int(self.pools.counts[pool]) for pool in place]
        roads = [(at, place[pool], ends[0][at]) for at, pools in enumerate(above.values()) for pool in pools]
        return int(transport_most(*ends, roads).sum()) if roads else 0

    def _program(self) -> int:
        """The greatest number where clusters compete for what fills their records, too."""
        program, first = Program(), self.of.subrecords.size
        members, group = self.groups
        lacks = self._lacking(self.limit) > 0
        used: dict[int, list[int]] = {}  # by shared chunk, the matches of groups and clusters
        spare: dict[int, list[int]] = {}  # by shared chunk of the query, what else of it fills records
        users: dict[int, list[int]] = {}  # by pool
        easy = np.bincount(group[~lacks], weights=self.limit[~lacks], minlength=len(members))
        for number, chunks in enumerate(members):
            together = program.variable(float(easy[number]), 1)
            for chunk in chunks:
                used.setdefault(chunk, []).append(together)
        chunks_of, at = self._chunks()
        for number in np.flatnonzero(lacks).tolist():
            size, cap = int(self.size[number]), int(self.cap[number])
            matching = program.variable(float(self.limit[number]), 1)
            fills, factor, filled = list[int](), 1, 0
            for chunk in chunks_of[at == number].tolist():
                count = int(self.of.subrecords[chunk])
                if self.is_asked[chunk]:
                    factor, filled = factor - 1, filled + count
                else:
                    fills.append(program.variable(float(count)))
                    program.row([(fills[-1], 1), (matching, 1)], high=float(size))
            asked = int(self.scarce[:, number].sum())
            factor, filled = factor - asked, filled + asked * cap
            for _ in range(int(self.of.scarce[self.at[number]]) - asked):
                fills.append(program.variable(float(cap)))
                program.row([(fills[-1], 1), (matching, 1)], high=float(size))
            for pool in self._pools_of(number):
                fills.append(program.variable(float(size)))
                users.setdefault(pool, []).append(fills[-1])
            for chunk in members[group[number]]:
                fills.append(program.variable(float(size)))
                used.setdefault(chunk, []).append(matching)
                spare.setdefault(chunk, []).append(fills[-1])
            program.row([*((one, 1) for one in fills), (matching, factor)], low=float(size - filled))
        counts = np.diff(self.of.released.shared_chunks.subrecord_offsets)
        for chunk, ones in used.items():
            program.row([(one, 1) for one in ones], high=float(self.matches[first + chunk]))
            every = [*ones, *spare.get(chunk, [])]
            program.row([(one, 1) for one in every], high=float(counts[chunk]))
        for pool, ones in users.items():
            program.row([(one, 1) for one in ones], high=float(self.pools.counts[pool]))
        return int(np.dot(program.solve(), program.gain))
