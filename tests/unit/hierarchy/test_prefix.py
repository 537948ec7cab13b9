"""Prefixes: labels, mixed lengths, refusals."""

import pytest

from cloister import errors
from cloister.hierarchy import parse_hierarchy, prefix


def test_one_character_is_dropped_a_level() -> None:
    """Each level writes a star for one more character, as ARX does; the root is one star."""
    hierarchy = prefix(5).bind("zip", ["81367"])

    assert [level[0] for level in hierarchy.labels] == ["81367", "8136*", "813**", "81***", "8****", "*"]


def test_shorter_codes_join_where_their_length_is_reached() -> None:
    """A short code counts as padded on the right, so levels nest."""
    hierarchy = prefix(5).bind("zip", ["813", "81367"])

    assert hierarchy.labels[1:3] == (("813*", "8136*"), ("813**", "813**"))


def test_domain_is_the_values_present() -> None:
    """A label covers the values present that share it."""
    hierarchy = prefix(2).bind("zip", ["11", "12", "21", None])

    assert hierarchy.leaves.tolist() == [[1, 1, 1, 1], [2, 2, 1, 1], [4, 4, 4, 4]]
    assert hierarchy.labels[1] == ("1*", "1*", "2*", None)


def test_a_refusal_tells_the_longest_length() -> None:
    """Too long codes are counted, and the length that would cover them is named."""
    with pytest.raises(errors.InputError, match=r"1 of 2 distinct values of column 'zip' .* has 9\. Use prefix:9"):
        prefix(5).bind("zip", ["81367", "813670000"])
    assert prefix(5).outside(["81367", "813670000", None]) == ["813670000"]


def test_codes_beyond_any_prefix_get_other_advice() -> None:
    """No length is proposed that would be refused."""
    with pytest.raises(errors.InputError, match="Use suppress"):
        prefix(5).bind("zip", ["8" * 65])


@pytest.mark.parametrize("length", [0, -1, 65, 2.0, "5", True])
def test_length_is_a_small_number(length: int) -> None:
    """The length is a whole number from 1 to 64."""
    with pytest.raises(errors.InputError, match=r"prefix needs .*prefix:5"):
        prefix(length)


def test_spec_is_as_typed() -> None:
    """The specification can be typed again."""
    assert (prefix(5).kind, prefix(5).spec) == ("prefix", "prefix:5")


@pytest.mark.parametrize(
    ("spec", "labels"),
    [
        ("prefix:5/keep=3,1", ["81367", "813**", "8****", "*"]),
        ("prefix:5/keep=2/side=right", ["81367", "***67", "*"]),
        ("prefix:7/keep=4/side=right/pad=0", ["81367", "***1367", "*"]),
    ],
)
def test_levels_keep_as_many_characters_of_a_side_as_stated(spec: str, labels: list[str]) -> None:
    """Levels that are not stated do not exist, and the specification can be typed again."""
    hierarchy = parse_hierarchy(spec)

    assert [level[0] for level in hierarchy.bind("zip", ["81367"]).labels] == labels
    assert hierarchy.spec == spec


@pytest.mark.parametrize(
    "options", ["keep=5", "keep=0", "keep=1,3", "keep=3,3", "keep=", "keep=x", "side=top", "keep=2/keep=1"]
)
def test_other_sides_and_numbers_are_refused(options: str) -> None:
    """Numbers descend between the length and nothing; an option is named once."""
    with pytest.raises(errors.InputError):
        parse_hierarchy(f"prefix:5/{options}")


def test_codes_that_lost_their_leading_zeros_are_refused_or_padded() -> None:
    """2138 is 02138, no neighbour of 21380: it is refused with both cures, and padded where that is asked for."""
    with pytest.raises(errors.InputError, match=r"prefix:5/pad=0 to put the zeros back, or prefix:5/pad=none"):
        prefix(5).bind("zip", ["2138", "21380"])

    padded = parse_hierarchy("prefix:5/pad=0").bind("zip", ["2138", "501", "21380"])
    assert dict(zip(padded.values, padded.labels[2], strict=True)) == {
        "2138": "021**",
        "501": "005**",
        "21380": "213**",
    }
    assert parse_hierarchy("prefix:5/pad=none").bind("zip", ["2138", "21380"]).labels[2] == ("213**", "213**")


@pytest.mark.parametrize("values", [["02138", "2138"], ["813", "81367"], ["A12", "21380", "2138"], ["21380"]])
def test_other_codes_of_unequal_length_are_taken_as_they_are(values: list[str]) -> None:
    """A zero at the beginning, a gap between the lengths or a letter say that no program ate the zeros."""
    assert prefix(5).bind("zip", values).n_levels == 6
