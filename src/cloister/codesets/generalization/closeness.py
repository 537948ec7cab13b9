"""How close codes are in meaning: the height of the lowest node above them in a hierarchy.

Source: Loukides, Gkoulalas-Divanis, Malin (2010), IEEE ITAB, Definition 3.3, leaves the weight of a generalized term to
the user. Here it is height(lowest common node) / height(root): for ICD codes of one 3-digit category 1/4, of one
section 2/4, of one chapter 3/4, others 1; 0 for a single code.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cloister.codesets.data import CodeSets
from cloister.codesets.encode import plain_code
from cloister.codesets.policy import CLASSIFICATIONS
from cloister.errors import InputError
from cloister.hierarchy.icd import CodePath, IcdHierarchy, load_classification
from cloister.hierarchy.ladder import Hierarchy

from .sets import Numbers

GIVEN = "given"


@dataclass(frozen=True, eq=False, repr=False)
class CodeTree:
    """The nodes above each code.

    Attributes
    ----------
    paths : (n_codes, top) int32, number of the node above each code at heights 1 to ``top``; at the top one for all
    spec : where it came from: ``icd9``, ``icd10``, the name of a file
    """

    paths: Numbers
    spec: str

    @property
    def top(self) -> int:
        """Height of the root above the codes."""
        return int(self.paths.shape[1])

    def joint_level(self, codes: Numbers) -> int:
        """Return the height of the lowest node above all of these codes, 0 for one code."""
        if len(codes) < 2:
            return 0
        together = np.all(self.paths[codes] == self.paths[codes[0]], axis=0)
        return int(np.argmax(together)) + 1

    def weight(self, level: int) -> float:
        """Return the weight of a term whose codes meet at this height, in [0, 1]."""
        return level / self.top


def icd_tree(codes: CodeSets, classification: str | None = None) -> CodeTree:
    """Return categories, sections, chapters and the root; a code of no category is under the root alone.

    Parameters
    ----------
    classification : ``icd9`` or ``icd10``; None: the one that knows more of the codes
    """
    names = _names(codes)
    kinds = CLASSIFICATIONS if classification is None else (classification,)
    found = {kind: [load_classification(kind).path(name) for name in names] for kind in kinds}
    best = max(kinds, key=lambda kind: len({name for name, path in zip(names, found[kind], strict=True) if path}))
    levels = [
        [_label(path, name, level) for name, path in zip(names, found[best], strict=True)]
        for level in ("category", "section", "chapter")
    ]
    return CodeTree(_numbered([*levels, [("", "")] * len(names)]), best)


def tree_of(codes: CodeSets, hierarchy: Hierarchy) -> CodeTree:
    """Return the nodes of a hierarchy that the user gives; of a classification, those of `icd_tree`.

    Raises
    ------
    InputError
        It does not list a code.
    """
    if isinstance(hierarchy, IcdHierarchy):
        return icd_tree(codes, hierarchy.spec)
    names = _names(codes)
    distinct = sorted(set(names))
    if outside := hierarchy.outside(distinct):
        raise InputError(
            f"{len(outside)} of {len(distinct)} distinct codes are not in the hierarchy {hierarchy.spec} that "
            "--code-hierarchy names. Add them to it, or leave the option out: codes are then taken by ICD-9-CM or "
            "ICD-10-CM, and others are like no other."
        )
    ladder = hierarchy.bind("code", distinct)
    place = {value: number for number, value in enumerate(ladder.values)}
    rows = [place[name] for name in names]
    return CodeTree(_numbered([[labels[row] for row in rows] for labels in ladder.labels[1:]]), _told(hierarchy.spec))


def _told(spec: str) -> str:
    """The words for a hierarchy; a file that is called like a classification is none."""
    return GIVEN if spec in CLASSIFICATIONS else spec


def _names(codes: CodeSets) -> list[str]:
    """The codes as they were recorded, occurrences not told apart."""
    return [plain_code(code, repeats=codes.repeats) for code in codes.vocabulary]


def _label(path: CodePath | None, name: str, level: str) -> tuple[str, str]:
    return (name, "") if path is None else ("", str(getattr(path, level)))


def _numbered(levels: Sequence[Sequence[object]]) -> Numbers:
    """Equal labels of a level -> equal numbers."""
    paths = np.empty((len(levels[0]), len(levels)), dtype=np.int32)
    for height, labels in enumerate(levels):
        number: dict[object, int] = {}
        paths[:, height] = [number.setdefault(label, len(number)) for label in labels]
    return paths
