"""ICD-10-CM diagnosis codes."""

from cloister.hierarchy.icd import IcdHierarchy


def icd10() -> IcdHierarchy:
    """Return the hierarchy of ICD-10-CM: code as recorded, 4 characters, 3-character category, section, chapter, `*`.

    "4 digits" is the category and one character more (`E11.6` for `E11.65`). Titles are those of the April 2026 list;
    the categories those of 2019 and of 2026. A section is the innermost block of the tabular list. National editions
    other than ICD-10-CM have categories that are outside.

    Examples
    --------
    >>> ladder = icd10().bind("code", ["E1165"])
    >>> [level[0] for level in ladder.labels][1:4]
    ['E11.6', 'E11', 'E08-E13 Diabetes mellitus']
    """
    return IcdHierarchy("icd10", "ICD-10-CM", "E11.65, I10, S72.001A")
