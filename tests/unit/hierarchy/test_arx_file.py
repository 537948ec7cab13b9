"""Hierarchy files: reading, missing values, domain, refusals."""

from pathlib import Path

import pytest

from cloister import errors
from cloister.hierarchy import check_file, hierarchy_file, hierarchy_rows

AGES = [["1", "0-4", "*"], ["2", "0-4", "*"], ["7", "5-9", "*"]]


def written(folder: Path, content: str | bytes, name: str = "age.csv") -> Path:
    """A file with this content."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
def test_delimiter_is_detected(tmp_path: Path, delimiter: str) -> None:
    """Semicolons, tabs and commas are told apart."""
    path = written(tmp_path, "\r\n".join(delimiter.join(row) for row in AGES))

    assert hierarchy_file(path).bind("age", ["1", "7"]).labels == (("1", "7"), ("0-4", "5-9"), ("*", "*"))


def test_a_semicolon_outranks_commas(tmp_path: Path) -> None:
    """Commas inside labels do not split a file that has semicolons; a named delimiter is obeyed."""
    path = written(tmp_path, "1;[0,5);*\n2;[0,5);*\n")

    assert hierarchy_file(path).bind("age", ["1"]).labels[1] == ("[0,5)",)
    assert len(hierarchy_file(written(tmp_path, "a;b,*\nc;d,*\n"), delimiter=",").bind("x", ["a;b"]).labels) == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """UTF-8 with or without a mark, and Windows-1252."""
    path = written(tmp_path, "Köln;NRW;*\n".encode(encoding))

    assert hierarchy_file(path).outside(["Köln"]) == []


def test_quotes_and_blank_lines(tmp_path: Path) -> None:
    """Quoted labels may hold the delimiter and line ends; blank lines do not count."""
    path = written(tmp_path, '"a;b";x;*\n\n"c\nd";x;*\n')

    assert hierarchy_file(path).bind("c", ["c\nd"]).n_leaves == 2


def test_domain_is_the_file() -> None:
    """The domain is what the file lists, not what occurs."""
    hierarchy = hierarchy_rows(AGES).bind("age", ["1"])

    assert hierarchy.leaves[:, 0].tolist() == [1, 2, 3]
    assert hierarchy.n_leaves == 3


def test_the_root_is_the_files_own() -> None:
    """The last column names the root."""
    assert hierarchy_rows([["F", "any"], ["M", "any"]]).bind("sex", ["F"]).labels[-1] == ("any",)


def test_a_label_may_recur_at_several_levels() -> None:
    """Nesting is judged level by level: one label may stand for different sets."""
    rows = [["1", "1", "1", "*"], ["2", "2", "1", "*"], ["3", "2", "1", "*"]]

    assert hierarchy_rows(rows).bind("c", ["1", "3"]).leaves[:, 0].tolist() == [1, 1, 3, 3]


def test_rows_may_hold_numbers_and_none() -> None:
    """Rows written in Python are read as they would stand in a file, and stay as they were."""
    rows = [[1, "low", "*"], [None, None, "*"]]
    hierarchy = hierarchy_rows(rows).bind("c", ["1", None])

    assert hierarchy.labels == (("1", None), ("low", None), ("*", "*"))
    assert rows == [[1, "low", "*"], [None, None, "*"]]


def test_an_empty_cell_lists_missing() -> None:
    """A row for the empty value covers missing, which is a leaf only if it occurs."""
    hierarchy = hierarchy_rows([*AGES, ["", "unknown", "*"]])

    assert hierarchy.bind("age", ["1", None]).labels[1] == ("0-4", "unknown")
    assert hierarchy.bind("age", ["1", None]).n_leaves == 4
    assert hierarchy.bind("age", ["1"]).n_leaves == 3
    assert hierarchy_rows([["", "*"]]).bind("age", []).n_leaves == 1


def test_a_blank_cell_is_an_empty_one(tmp_path: Path) -> None:
    """A value of spaces lists missing, and a label of spaces is none, as in data."""
    bound = hierarchy_file(written(tmp_path, "F; ;*\nM;\t;*\n  ;unknown;*\n")).bind("sex", ["F", "M", None])

    assert bound.labels[1] == (None, None, "unknown")


def test_missing_as_names_the_row_of_missing() -> None:
    """Missing has the labels of that row from level 1 on, and stays missing at level 0."""
    hierarchy = hierarchy_rows([*AGES, ["?", "0-4", "*"]], missing_as="?")
    bound = hierarchy.bind("age", ["1", None])

    assert bound.labels == (("1", None), ("0-4", "0-4"), ("*", "*"))
    assert bound.leaves.tolist() == [[1, 1], [3, 3], [4, 4]]
    assert hierarchy.bind("age", ["1"]).leaves[:, 0].tolist() == [1, 2, 3]


def test_text_for_missing_that_occurs_is_a_leaf_too() -> None:
    """Where the text occurs beside missing, both are leaves."""
    hierarchy = hierarchy_rows([*AGES, ["?", "?", "*"]], missing_as="?")

    assert hierarchy.bind("age", ["?", None]).leaves.tolist() == [[1, 1], [2, 2], [5, 5]]
    assert hierarchy.bind("age", ["?"]).n_leaves == 4


def test_missing_must_be_listed() -> None:
    """Missing that occurs and is not listed is refused with the two ways out."""
    with pytest.raises(errors.InputError, match=r"Column 'age' has missing values.*missing_as") as caught:
        hierarchy_rows(AGES, name="age.csv", missing_as="?").bind("age", ["1", None])
    assert (caught.value.file, caught.value.column) == ("age.csv", "age")


def test_values_must_be_listed() -> None:
    """Values that the file does not list are counted."""
    with pytest.raises(errors.InputError, match=r"2 of 3 distinct values of column 'age' are not listed in age\.csv"):
        hierarchy_rows(AGES, name="age.csv").bind("age", ["1", "8", "9"])


def test_an_illegal_file_is_refused_with_its_line(tmp_path: Path) -> None:
    """The first problem is raised with file and line, blank and quoted lines counted."""
    path = written(tmp_path, '1;0-4;*\n\n"2";"0\n4";*\n1;0-4;*\n')

    with pytest.raises(errors.InputError, match=r"age\.csv: .* again on line 5\.") as caught:
        hierarchy_file(path)
    assert (caught.value.file, caught.value.line) == ("age.csv", 5)
    assert [problem.kind for problem in check_file(path)] == ["duplicate"]


@pytest.mark.parametrize("delimiter", ["", ";;"])
def test_a_delimiter_is_one_character(tmp_path: Path, delimiter: str) -> None:
    """A delimiter that cannot be is refused."""
    with pytest.raises(errors.InputError, match=r"age\.csv cannot be split"):
        hierarchy_file(written(tmp_path, "1;*\n2;*\n"), delimiter=delimiter)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The file is named without its folder, and no cause is kept."""
    with pytest.raises(errors.InputError, match=r"nowhere\.csv cannot be read") as caught:
        hierarchy_file(tmp_path / "nowhere.csv")
    assert caught.value.__context__ is None
    assert str(tmp_path) not in str(caught.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    """What is neither UTF-8 nor Windows-1252 is refused."""
    with pytest.raises(errors.InputError, match="Save it as UTF-8") as caught:
        hierarchy_file(written(tmp_path, b"\x81\x8d;*\n"))
    assert caught.value.__context__ is None


def test_spec_is_the_files_name(tmp_path: Path) -> None:
    """The specification names the file, never its folder; the representation holds no row."""
    hierarchy = hierarchy_file(written(tmp_path, "secret;*\n"))

    assert (hierarchy.kind, hierarchy.spec) == ("file", "age.csv")
    assert "secret" not in repr(hierarchy)


@pytest.mark.realdata
def test_published_hierarchies_are_legal(real_data: Path) -> None:
    """The hierarchies of the adult, fars and diabetes tables pass the check as they are."""
    paths = sorted(real_data.glob("**/*_hierarchy_*.csv"))

    assert paths
    assert [path.name for path in paths if check_file(path)] == []


def test_a_file_of_amnesia_is_read_as_its_tree(tmp_path):
    """Values at less depth are their own labels; a file that only looks so is read as rows."""
    place = tmp_path / "ward.txt"
    place.write_text("name: ward\ntype: distinct string\nheight: 3\n\n* has acute,home\nacute has A1,A2\n")
    bound = hierarchy_file(place).bind("ward", ["A1", "A2", "home"])

    assert dict(zip(bound.values, zip(*bound.labels, strict=True), strict=True)) == {
        "A1": ("A1", "acute", "*"), "A2": ("A2", "acute", "*"), "home": ("home", "home", "*"),
    }  # fmt: skip
    place.write_text("a has b;any\nc;any\n")
    assert hierarchy_file(place).values == ("a has b", "c")


def test_a_tree_in_a_circle_is_refused(tmp_path):
    """Labels that are above each other have no root: the message says so, and names the file."""
    (tmp_path / "tree.txt").write_text("name sex\ntype distinct\nheight 3\n\n* has a,b\nb has c\nc has b,d\n")

    with pytest.raises(errors.InputError, match=r"tree.txt has labels that are above each other, in a circle"):
        hierarchy_file(tmp_path / "tree.txt")
