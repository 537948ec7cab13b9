"""Code sets indexed, so that the patients who hold any codes can be counted."""

from cloister.utility import CountedSets

from .data import CodeSets


def counted(codes: CodeSets) -> CountedSets:
    """Index code sets for counting."""
    return CountedSets.of(codes.offsets, codes.items, codes.n_codes)
