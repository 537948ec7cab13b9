"""ICD-9-CM diagnosis codes."""

from cloister.hierarchy.icd import IcdHierarchy


def icd9() -> IcdHierarchy:
    """Return the hierarchy of ICD-9-CM: code as recorded, 4 digits, 3-digit category, section, chapter, `*`.

    Numeric categories have three digits (`250`), V codes a letter and two (`V58`), E codes a letter and three (`E936`);
    "4 digits" is the category and one digit more (`250.0`, `V58.6`, `E936.1`). Titles are those of the final edition
    (2015). Leading zeros belong to a code: `8` is outside, `008` is a category.

    Examples
    --------
    >>> ladder = icd9().bind("code", ["250.01"])
    >>> [level[0] for level in ladder.labels][1:4]
    ['250.0', '250', '249-259 Diseases of other endocrine glands']
    """
    return IcdHierarchy("icd9", "ICD-9-CM", "250.01, V58.66, E936.1")
