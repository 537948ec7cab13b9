"""Rare categories: together as one group, by the records or by name."""

import polars as pl
import pytest

import cloister as cl
from cloister.errors import InputError
from cloister.hierarchy import parse_hierarchy
from cloister.hierarchy.categories import RareHierarchy


def test_categories_that_are_not_kept_are_one_group() -> None:
    """What is kept stays itself until the root; missing stays missing."""
    hierarchy = parse_hierarchy("keep:White,Hispanic").bind("race", ["Asian", "Black", "White", None])

    assert hierarchy.labels[1:] == (("other", "other", "White", None), ("*",) * 4)
    assert hierarchy.leaves[1].tolist() == [2, 2, 1, 1]


def test_rare_categories_are_found_by_their_records() -> None:
    """Categories with fewer records than asked, or than k, are not kept."""
    texts = ["a"] * 30 + ["b"] * 20 + ["c"] * 19 + ["d"]

    assert RareHierarchy(20).cut("x", texts, 5).spec == "keep:a,b"
    assert RareHierarchy(2).cut("x", texts, 25).spec == "keep:a"
    with pytest.raises(InputError, match="keeps no category of column 'x': none has 50 records"):
        RareHierarchy(50).cut("x", texts, 5)


@pytest.mark.parametrize("value", ["secret,b", "secret/b", "secret=b", " secret", "secret@1"])
def test_categories_that_no_words_can_say_are_refused_without_them(value) -> None:
    """A category that words cannot say needs a file; the message does not show it."""
    with pytest.raises(InputError, match="Use a hierarchy file") as caught:
        RareHierarchy(2).cut("x", [value] * 9, 2)
    assert "secret" not in caught.value.message


def test_a_table_is_released_by_the_categories_that_are_kept() -> None:
    """The release names what is kept, and is verified by that."""
    races = ["White"] * 20 + ["Black"] * 12 + [f"r{n}" for n in range(8)]
    frame = pl.DataFrame({"race": races})
    release = cl.protect_table(frame, qi={"race": "rare:10"}, rule=[cl.KAnonymity(5)], suppression=0)

    assert release.summary()["settings"]["hierarchies"] == {"race": "keep:Black,White"}
    assert sorted(release.data["race"].unique()) == ["Black", "White", "other"]
    assert release.verify().holds


@pytest.mark.parametrize("spec", ["rare:0", "rare:x", "rare", "keep", "keep:"])
def test_what_makes_no_group_is_refused(spec) -> None:
    """Words that say no number and no category are refused."""
    with pytest.raises(InputError):
        parse_hierarchy(spec)
    with pytest.raises(InputError, match="needs the records"):
        parse_hierarchy("rare:5").bind("x", ["a"])
