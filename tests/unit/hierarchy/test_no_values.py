"""No value of the data in anything that a refusal carries."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cloister.errors import InputError
from cloister.hierarchy import (
    Hierarchy,
    dates,
    hierarchy_file,
    hierarchy_rows,
    icd9,
    icd10,
    intervals,
    parse_hierarchy,
    prefix,
    preview,
)

MARKER = "PATIENT-7-SECRET"

HIERARCHIES = [intervals(5), prefix(5), dates("month"), icd9(), icd10(), hierarchy_rows([["1", "*"], ["2", "*"]])]

FILES = {
    "ragged": f"1;x;*\n2;x;*\n{MARKER}\n",
    "duplicate": f"{MARKER};x;*\n{MARKER};x;*\n",
    "two roots": f"1;x;*\n2;x;{MARKER}\n",
    "not nested": f"1;x;{MARKER};*\n2;x;y;*\n",
    "no root": f"{MARKER}\n",
    "not text": f"{MARKER};\x81;*\n",
    "field too long": f'1;"{MARKER * 10_000}";*\n',
}


def assert_silent(act: Callable[[], object]) -> None:
    """The act is refused, and nothing that hangs on the refusal holds the marker."""
    with pytest.raises(InputError) as caught:
        act()
    error = caught.value
    held = [str(error), repr(error), repr(error.args), repr(vars(error)), repr(getattr(error, "__notes__", ()))]
    assert error.__cause__ is None
    assert error.__context__ is None
    assert MARKER not in "".join(held)


@pytest.mark.parametrize("hierarchy", HIERARCHIES, ids=lambda hierarchy: hierarchy.kind)
@pytest.mark.parametrize("value", [MARKER, f"2024-99-99 {MARKER}", f"E11.{MARKER}"])
def test_a_value_outside_is_not_told(hierarchy: Hierarchy, value: str) -> None:
    """The refusal of a value outside holds nothing of it, in words, attributes or causes."""
    assert_silent(lambda: hierarchy.bind("column", [value]))
    assert_silent(lambda: preview(hierarchy, [value, None]))


def test_a_date_that_is_none_leaves_no_cause() -> None:
    """What the standard library says of a wrong date is dropped."""
    with pytest.raises(InputError) as caught:
        dates("day").bind("column", ["2023-02-29"])
    assert caught.value.__context__ is None


@pytest.mark.parametrize("problem", FILES)
def test_a_broken_file_is_not_told(tmp_path: Path, problem: str) -> None:
    """The refusal of a hierarchy file holds none of its labels."""
    path = tmp_path / "h.csv"
    path.write_bytes(FILES[problem].encode("latin-1"))

    assert_silent(lambda: hierarchy_file(path))
    assert_silent(lambda: parse_hierarchy(str(path)))
