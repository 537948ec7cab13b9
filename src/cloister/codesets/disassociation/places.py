"""Where codes stand in disassociated code sets: in which chunks, and in how many of their subrecords together."""

from collections.abc import Sequence

import numpy as np

from cloister.codesets.data import Integers, owners, postings

from .data import Chunks, Disassociation


class ChunkIndex:
    """Where the codes of chunks stand: of record chunks or of shared chunks."""

    def __init__(self, chunks: Chunks, n_codes: int) -> None:
        self.chunk_of = owners(chunks.subrecord_offsets)  # the chunk of each subrecord
        # For each code the chunks whose domain has it, and the subrecords that hold it.
        self.by_code = postings(chunks.domain, owners(chunks.domain_offsets), n_codes)
        self.subrecords = postings(chunks.items, owners(chunks.item_offsets), n_codes)

    def candidates(self, codes: Sequence[int]) -> tuple[Integers, Integers, Integers]:
        """The chunks that have some of these codes, of how many, and how many subrecords hold all that they have."""
        involved, needed = np.unique(np.concatenate([self.by_code[code] for code in codes]), return_counts=True)
        subrecords, held = np.unique(np.concatenate([self.subrecords[code] for code in codes]), return_counts=True)
        place = np.searchsorted(involved, self.chunk_of[subrecords])
        whole = held == needed[place] if involved.size else np.zeros(0, dtype=np.bool_)
        return involved, needed, np.bincount(place[whole], minlength=involved.size).astype(np.int64)


class Pools:
    """Subrecords of shared chunks that may fill records, apart from some chunks: the pool of each chunk, and counts.

    Chunks of several codes at one joint cluster are one pool, as none of their codes stands elsewhere beneath.
    ``unit``: for each code the number of the first that stays together with it.
    """

    def __init__(self, released: Disassociation, unit: Integers, apart: Sequence[Integers]) -> None:
        shared = released.shared_chunks
        units, starts = unit[shared.domain], shared.domain_offsets[:-1]
        is_single = np.zeros(starts.size, dtype=np.bool_)
        if starts.size:
            is_single = np.minimum.reduceat(units, starts) == np.maximum.reduceat(units, starts)
        count = np.diff(shared.subrecord_offsets)
        count[np.concatenate(apart).astype(np.int64)] = 0
        self.first, self.unit = units[starts], unit
        self.pool = np.where(is_single, released.n_joints + np.arange(starts.size), shared.owner)
        self.counts = np.bincount(self.pool, weights=count, minlength=released.n_joints + starts.size).astype(np.int64)

    def reached(self, chunks: Integers, held: Integers) -> list[int]:
        """Return the pools of some chunks, in their order, that a cluster with these codes of its own may use."""
        free = ~np.isin(self.first[chunks], self.unit[held])
        return [pool for pool in dict.fromkeys(self.pool[chunks[free]].tolist()) if self.counts[pool]]
