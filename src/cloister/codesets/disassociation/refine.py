"""Refining along the split tree: codes leave item chunks for shared chunks, the lower the better."""

from dataclasses import dataclass

from cloister.kernels.chunking import ITEM_CHUNK, Rule
from cloister.kernels.joining import Pieces, Pool, join
from cloister.kernels.pooling import SHARED, make_fixed, make_pool, mark_shared
from cloister.kernels.splitting import Split
from cloister.kernels.tree import Tree

from .encode_request import Encoded
from .repair import pin_bare
from .verpart import VerticalPartition


@dataclass(frozen=True, eq=False, repr=False)
class Refinement:
    """Shared chunks as pieces of a pool, with the tree whose nodes they stand at."""

    tree: Tree
    pool: Pool
    pieces: Pieces


def refine(encoded: Encoded, split: Split, vertical: VerticalPartition, rule: Rule, tree: Tree) -> Refinement:
    """Move codes from item chunks to shared chunks at the lowest node of the tree where k records hold them.

    Going up the tree, what the parts below a node still hold of a code in item chunks is pooled. A code that reaches k
    leaves them for a shared chunk at that node. What is left of a code below k brings the only shared chunk of the code
    further down up to the node where both meet. Where several shared chunks of a code lie below, they become one as
    soon as what is left reaches k. When all codes have their nodes, those of a node are grouped by VERPART, except that
    a code that a part below holds elsewhere gets a chunk of its own. (Grouping on the way up and lifting whole chunks
    keeps fewer pairs on real data, and takes time that grows with the square of the data.)

    So a code that at least k patients have is published with its exact count, short by fewer than k occurrences that
    never met k outside record chunks, and by codes that the omitted condition keeps back.

    This replaces the paper's refining, of which only an idea and an example are given. It keeps four rules, all of
    them needed: **R1** in each cluster a code lives in one place; **R2** a shared chunk of several codes is
    k^m-anonymous and has no code that a member holds elsewhere; **R3** the condition that the paper omits holds for
    every cluster's own record chunks; **R4** all clusters below the node are members.

    Cost: entries of item chunks times the logarithm of the number of clusters.

    References
    ----------
    Loukides et al. (2014), section 4, "Refining", and Fig. 10.
    """
    entries, unit = vertical.entries, encoded.unit
    while True:
        pool = make_pool(encoded.records, split, entries, unit, encoded.level)
        fixed = make_fixed(entries, unit, encoded.records.constraint)
        pieces = join(tree, pool, fixed, rule)
        mark_shared(entries, pool, pieces)
        if not pin_bare(entries, vertical.marks.needs_item, encoded.records.passed_over, encoded.supports, unit):
            return Refinement(tree, pool, pieces)
        entries.place[entries.place == SHARED] = ITEM_CHUNK
