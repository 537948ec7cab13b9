"""What ICD-9-CM and ICD-10-CM have in common as hierarchies: levels, domain, counts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cloister.hierarchy.binding import Leaves, make_ladder, require_cover, texts_in_order
from cloister.hierarchy.classification import Classification, CodePath, load_classification
from cloister.hierarchy.ladder import Ladder


@dataclass(frozen=True)
class IcdHierarchy:
    """Six levels of diagnosis codes: as recorded, 4 digits, category, section, chapter, `*`.

    Codes are read with or without dot, in either case, with spaces around; level 0 keeps what was recorded, the other
    levels are written one way. A code recorded as a bare category is its own label at the 4-digit level, apart from the
    codes under it. Digits after the category are not checked against the list of codes: editions differ, and only
    ranges and counts are kept (see ``data/README.md``). A category that no edition has is outside.

    The domain is the codes of the classification, headings included, because data record headings too. Where more
    distinct values than codes fall under one label (several spellings of a code, codes of another edition), each value
    beyond counts as one more leaf, there and in all labels above: leaves always add up.

    Attributes
    ----------
    kind : `icd9` or `icd10`
    name, example : how the classification and a code of it are called in messages
    """

    kind: str
    name: str
    example: str

    @property
    def spec(self) -> str:
        """As on the command line: `icd9` or `icd10`."""
        return self.kind

    def outside(self, values: Sequence[str | None]) -> list[str]:
        """Those of the distinct values that do not belong to a category of the classification."""
        tables = load_classification(self.kind)
        return [value for value in values if value is not None and tables.path(value) is None]

    def bind(self, column: str, values: Sequence[str | None]) -> Ladder:
        """Return the ladder of these distinct values.

        Raises
        ------
        InputError
            A value is not a code of a known category.
        """
        tables = load_classification(self.kind)
        texts, missing = texts_in_order(values)
        paths = [path for text in texts if (path := tables.path(text)) is not None]
        require_cover(
            column,
            len(texts) - len(paths),
            len(texts),
            f"are not codes of a category of {self.name}",
            f"Write them as in {self.example} (leading zeros kept), or use prefix or a hierarchy file.",
        )
        labels = list(zip(*paths, strict=True)) or [()] * len(CodePath._fields)
        covered, surplus = _covered(tables, paths)
        leaves = [_per_value(level, counts) for level, counts in zip(labels, covered, strict=True)]
        return make_ladder(column, texts, missing, labels, leaves, tables.n_codes + sum(surplus.values()))


def _covered(tables: Classification, paths: Sequence[CodePath]) -> tuple[list[dict[str, int]], dict[str, int]]:
    """Return the leaves of each label present, level by level, and how many each category has beyond the tables."""
    present = Counter(path.four_digits for path in paths)
    four_digits = {label: max(tables.codes_under(label), found) for label, found in present.items()}
    parents = {path.four_digits: path.category for path in paths}
    below = _sums(four_digits, parents)
    category = {label: max(tables.codes[label], found) for label, found in below.items()}
    surplus = {label: found - tables.codes[label] for label, found in category.items()}
    higher = [_with_surplus(tables, surplus, labels) for labels in (tables.sections, tables.chapters)]
    return [four_digits, category, *higher], surplus


def _with_surplus(tables: Classification, surplus: Mapping[str, int], labels: Mapping[str, str]) -> dict[str, int]:
    """Return the codes of the sections or chapters present, with what their categories have beyond the tables."""
    codes = tables.codes_by(labels)
    return {label: codes[label] + extra for label, extra in _sums(surplus, labels).items()}


def _sums(counts: Mapping[str, int], parents: Mapping[str, str]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for label, count in counts.items():
        sums[parents[label]] = sums.get(parents[label], 0) + count
    return sums


def _per_value(labels: Sequence[str], counts: Mapping[str, int]) -> Leaves:
    return np.fromiter((counts[label] for label in labels), dtype=np.int64, count=len(labels))
