"""Where codes stand in disassociated code sets: in which chunks, and in how many of their subrecords together."""

from collections.abc import Sequence

import numpy as np

from cloister.codesets.data import Integers, owners, postings

from .data import Chunks


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
