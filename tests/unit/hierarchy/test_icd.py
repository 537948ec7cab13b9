"""ICD-9-CM and ICD-10-CM: labels, spellings, counts, and agreement with the published grouping."""

import csv
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from cloister import errors
from cloister.hierarchy import IcdHierarchy, icd9, icd10
from cloister.hierarchy.icd import load_classification
from cloister.testing.hierarchy_laws import assert_lawful

Builder = Callable[[], IcdHierarchy]


def path_of(hierarchy: IcdHierarchy, code: str) -> list[str | None]:
    """The labels of one code."""
    return [level[0] for level in hierarchy.bind("code", [code]).labels]


def test_levels_of_an_icd9_code() -> None:
    """A code is named by 4 digits, category, section and chapter."""
    assert path_of(icd9(), "008.61") == [
        "008.61",
        "008.6",
        "008",
        "001-009 Intestinal infectious diseases",
        "001-139 Infectious and parasitic diseases",
        "*",
    ]


def test_levels_of_an_icd10_code() -> None:
    """A code is named by 4 characters, category, section and chapter."""
    assert path_of(icd10(), "S72.001A") == [
        "S72.001A",
        "S72.0",
        "S72",
        "S70-S79 Injuries to the hip and thigh",
        "S00-T88 Injury, poisoning and certain other consequences of external causes",
        "*",
    ]


@pytest.mark.parametrize(
    ("code", "four", "category", "section"),
    [
        ("V58.66", "V58.6", "V58", "V50-V59"),
        ("E936.1", "E936.1", "E936", "E930-E949"),
        ("E000.0", "E000.0", "E000", "E000"),
        ("042", "042", "042", "042"),
        ("250", "250", "250", "249-259"),
    ],
)
def test_kinds_of_icd9_codes(code: str, four: str, category: str, section: str) -> None:
    """V codes have 3-character categories, E codes 4; a bare category stands for itself."""
    labels = path_of(icd9(), code)

    assert labels[1:3] == [four, category]
    assert str(labels[3]).split(" ")[0] == section


@pytest.mark.parametrize(
    ("code", "section"),
    [
        ("C4A.0", "C43-C4A"),
        ("C47.0", "C45-C49"),
        ("C7A.1", "C7A"),
        ("C79.1", "C76-C80"),
        ("D3A.0", "D3A"),
        ("M1A.0", "M05-M1A"),
        ("M15.0", "M15-M19"),
        ("Z3A.20", "Z30-Z3A"),
        ("O9A.1", "O94-O9A"),
        ("U07.1", "U00-U49"),
    ],
)
def test_letters_inside_icd10_categories(code: str, section: str) -> None:
    """Categories with a letter in third place belong to the block of the tabular list, not to the one between."""
    assert str(path_of(icd10(), code)[3]).split(" ")[0] == section


@pytest.mark.parametrize("spelling", ["250.01", "25001", " 25001 ", "250.01 "])
def test_spellings_share_labels(spelling: str) -> None:
    """Dots and spaces do not matter above level 0, which keeps what was recorded."""
    assert path_of(icd9(), spelling)[:3] == [spelling, "250.0", "250"]


def test_lower_case_is_read() -> None:
    """Small letters are read as capitals."""
    assert path_of(icd9(), "v5866")[:3] == ["v5866", "V58.6", "V58"]
    assert path_of(icd10(), "e1165")[:3] == ["e1165", "E11.6", "E11"]


@pytest.mark.parametrize(
    "text", ["", "8", "25", "250.012", "250.0x", "E95", "V5", "000", "V99", "25 0", "٠٠١", "E11.6"]
)
def test_outside_icd9(text: str) -> None:
    """What has no category of ICD-9-CM is outside."""
    assert icd9().outside(["250", text, None]) == [text]


@pytest.mark.parametrize("text", ["", "E1", "250.00", "E11.65123", "B62", "I99-", "ZZZ"])
def test_outside_icd10(text: str) -> None:
    """What has no category of ICD-10-CM is outside."""
    assert icd10().outside(["E11", "E11.", text, None]) == [text]


def test_a_refusal_counts() -> None:
    """The refusal tells column and count and recalls the leading zeros."""
    with pytest.raises(errors.InputError, match=r"1 of 2 distinct values of column 'dx' are not codes .*leading zeros"):
        icd9().bind("dx", ["250", "8"])


def test_leaves_are_codes_of_the_classification() -> None:
    """Labels cover the codes below them, headings included, whether they occur or not."""
    hierarchy = icd9().bind("dx", ["001.0"])

    assert hierarchy.leaves[:3, 0].tolist() == [1, 1, 4]
    assert hierarchy.n_leaves == 17_561


def test_values_beyond_the_list_of_codes_are_leaves() -> None:
    """Spellings of one code count as leaves where the label has no room for them, up to the root."""
    once, twice = icd9().bind("dx", ["001.0"]), icd9().bind("dx", ["001.0", "0010", " 001.0", None])

    assert twice.leaves[1].tolist() == [3, 3, 3, 1]
    assert twice.leaves[2].tolist() == [4, 4, 4, 1]
    assert twice.n_leaves == once.n_leaves + 1
    full = icd9().bind("dx", ["001", "001.0", "0010", "001.1", "001.9"])
    assert full.leaves[2].tolist() == [5] * 5
    assert (full.leaves[2:] - once.leaves[2:] == 1).all()


@pytest.mark.parametrize("kind", ["icd9", "icd10"])
def test_tables_are_whole(kind: str) -> None:
    """Every category has one section and one chapter, and its 4-digit counts do not exceed its own."""
    tables = load_classification(kind)
    fours: dict[str, int] = {}
    for prefix, codes in tables.codes.items():
        if prefix not in tables.chapters:
            category = tables.path(prefix).category
            fours[category] = fours.get(category, 0) + codes

    assert tables.sections.keys() == tables.chapters.keys()
    assert all(codes <= tables.codes[category] for category, codes in fours.items())


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("builder", "name"), [(icd9, "icd9cm_generalization.csv.gz"), (icd10, "icd10cm2019_generalization.csv.gz")]
)
def test_grouping_agrees_with_the_published_lists(real_data: Path, builder: Builder, name: str) -> None:
    """All codes of the lists are covered, and share category, section and chapter here where they do there.

    No exceptions: the ICD-10-CM sections are those of 2026, and no category of 2019 changed its block since.
    """
    rows = _published(real_data, name)
    hierarchy = builder().bind("code", [row["code"] for row in rows])
    position = {value: number for number, value in enumerate(hierarchy.values)}

    assert_lawful(hierarchy)
    for level, column in ((2, "category"), (3, "sub_chapter"), (4, "chapter")):
        pairs = {(hierarchy.labels[level][position[row["code"]]], row[column]) for row in rows}
        assert len(pairs) == len({ours for ours, _ in pairs}) == len({theirs for _, theirs in pairs})


@pytest.mark.realdata
def test_counts_agree_with_the_published_list(real_data: Path) -> None:
    """Bound to the whole of ICD-9-CM, every label covers just the codes present and the domain is the list."""
    rows = _published(real_data, "icd9cm_generalization.csv.gz")
    hierarchy = icd9().bind("code", [row["code"] for row in rows])

    assert hierarchy.n_leaves == len(rows)
    for level in range(hierarchy.n_levels):
        covered = dict(zip(hierarchy.labels[level], hierarchy.leaves[level].tolist(), strict=True))
        assert sum(covered.values()) == len(rows)


def _published(folder: Path, name: str) -> list[dict[str, str]]:
    with gzip.open(folder / "icd" / name, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
