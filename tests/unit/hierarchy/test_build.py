"""The words for hierarchies: every builder, files, and refusals that help."""

from pathlib import Path

import pytest

from cloister import errors
from cloister.hierarchy import describe_builders, parse_hierarchy


@pytest.mark.parametrize(
    "text",
    [
        "interval:5,10,20/top=90/bottom=0",
        "interval:5/bottom=-10",
        "prefix:5",
        "date:month,quarter,year",
        "date:day,week",
        "icd9",
        "icd10",
        "suppress",
    ],
)
def test_specifications_come_back(text: str) -> None:
    """A hierarchy tells the words it was made from."""
    assert parse_hierarchy(text).spec == text
    assert parse_hierarchy(text).kind == text.partition(":")[0]


def test_spaces_are_tolerated() -> None:
    """Spaces around and after commas do not matter."""
    assert parse_hierarchy(" interval:5, 10 ").spec == "interval:5,10"


def test_a_path_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no builder is a path; a folder may be called like a builder, and a file like one needs its folder."""
    (tmp_path / "prefix").mkdir()
    (tmp_path / "prefix" / "zip.csv").write_text("1;?;*\n?;?;*\n")
    (tmp_path / "suppress").write_text("1;*\n2;*\n")
    monkeypatch.chdir(tmp_path)

    assert parse_hierarchy("prefix/zip.csv", missing_as="?").bind("zip", ["1", None]).n_leaves == 2
    assert parse_hierarchy("suppress").kind == "suppress"
    assert parse_hierarchy("./suppress").kind == "file"


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("intervals:5", "interval"),
        ("prefx:5", "prefix"),
        ("icd-9", "icd9"),
        ("Suppress", "suppress"),
        ("dates:year", "date"),
    ],
)
def test_an_unknown_builder_gets_the_nearest(text: str, near: str) -> None:
    """The refusal names the nearest builder and lists all."""
    with pytest.raises(errors.InputError, match=rf"Did you mean {near}\? Builders: interval:5.*suppress"):
        parse_hierarchy(text)


@pytest.mark.parametrize("text", ["", "nowhere.csv", "/", "x" * 5000, "a\0b", "/some/where/nowhere.csv"])
def test_neither_builder_nor_file(text: str) -> None:
    """What is neither is refused, without its folder."""
    with pytest.raises(errors.InputError, match="neither a hierarchy file that exists nor a builder") as caught:
        parse_hierarchy(text)
    assert "/some/where" not in caught.value.message
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    "text",
    [
        "interval",
        "interval:",
        "interval:five",
        "interval:5;10",
        "interval:5/top",
        "interval:5/top=",
        "interval:5/top=old",
        "interval:5/middle=3",
        "interval:5/top=9/top=8",
        "interval:5/",
        "prefix",
        "prefix:5,6",
        "prefix:x",
        "prefix:5/top=3",
        "date",
        "icd9:3",
        "suppress:all",
        "suppress:/top=1",
    ],
)
def test_wrong_arguments_show_the_right_form(text: str) -> None:
    """Wrong arguments are refused with how the builder is written."""
    with pytest.raises(errors.InputError, match=r"hierarchy builder .* (is written like|takes no arguments)"):
        parse_hierarchy(text)


@pytest.mark.parametrize(
    "text", ["interval:5,7", "interval:5/top=3/bottom=8", "prefix:0", "date:week,year", "date:hour"]
)
def test_builders_refuse_for_themselves(text: str) -> None:
    """Arguments of the right form that make no hierarchy are refused by the builder."""
    with pytest.raises(errors.InputError, match=r"needs|takes"):
        parse_hierarchy(text)


def test_every_builder_is_described() -> None:
    """Each usage that help shows can be typed."""
    assert [parse_hierarchy(usage).spec for usage, meaning in describe_builders() if meaning] == [
        usage for usage, _ in describe_builders()
    ]
