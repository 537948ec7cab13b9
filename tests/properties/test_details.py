"""Laws of releases whose pairs have a detail, a third attribute: each cell is checked, queried and attacked."""

import itertools

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles.attacks import sequences_with

import cloister as cl
from cloister.attacks.attack_parts import open_release
from cloister.recipients.pairs import ReleasedPairs
from cloister.shapes.trajectories.format.data import WrittenTrajectories
from cloister.verification.driver import Request

CODES = cl.hierarchy_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]])
PLACES = cl.hierarchy_rows([["icu", "in", "*"], ["ward", "in", "*"], ["out", "out", "*"]])
UNDER = {"a": {"a"}, "b": {"b"}, "c": {"c"}, "ab": {"a", "b"}, "*": {"a", "b", "c", "icu", "ward", "out"}}
UNDER |= {"in": {"icu", "ward"}, "icu": {"icu"}, "ward": {"ward"}, "out": {"out"}}
PAIRS = st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.sampled_from(["icu", "ward", "out"]))
RECORDS = st.lists(st.lists(PAIRS, min_size=1, max_size=3), min_size=3, max_size=7)


def released(records, **options):
    """A release of these patients, who have ids."""
    original = cl.Trajectories.from_records(records, ids=[f"P{number}" for number in range(len(records))])
    hierarchies = {"code_hierarchy": CODES, "age_hierarchy": cl.intervals(2), "detail_hierarchy": PLACES}
    return original, cl.protect_trajectories(original, k=2, accept_empty=True, **hierarchies, **options)


@examples(40)
@given(RECORDS, st.data())
def test_no_other_cell_passes(records, data):
    """A release verifies; with a label in one cell that does not cover the value behind it, it does not."""
    _, release = released(records)
    assert release.verify().holds
    frame = release.frame
    row = data.draw(st.integers(0, frame.height - 1))
    name = data.draw(st.sampled_from(["code", "age", "detail"]))
    other = data.draw(st.sampled_from(["a", "ab", "c", "[0-1]", "5", "icu", "in", "out", None]))
    if other != frame[name][row]:
        cells = frame[name].to_list()
        cells[row] = other
        forged = frame.with_columns(pl.Series(name, cells, dtype=pl.String))

        assert not release._check(WrittenTrajectories(forged, None)).holds


@examples(40)
@given(RECORDS, st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 5), st.sampled_from(["icu", "in", "out"])))
def test_counts_are_those_of_all_originals(records, wanted):
    """What a released pair may stand for is equally likely; bounds and estimates follow from all possibilities."""
    _, release = released(records)
    hierarchies = {"code": CODES, "age": cl.intervals(2), "detail": PLACES}
    pairs = ReleasedPairs.of(release.frame.cast(pl.String), release.derived.codebook(), hierarchies)
    found = pairs.count([(wanted[0], None if wanted[1] is None else str(wanted[1]), wanted[2])])
    assume("*" not in release.frame["age"])
    surely = expected = possibly = 0
    for _, *columns in release.frame.group_by("id").agg("code", "age", "detail").rows():
        shares = [share_of(pair, wanted) for pair in zip(*columns, strict=True)]
        surely += 1 in shares
        possibly += any(shares)
        missing = 1
        for share in shares:
            missing *= 1 - share
        expected += 1 - missing

    assert (found.lower, found.upper) == (surely, possibly)
    assert found.expected == pytest.approx(expected)


def share_of(pair, wanted):
    """The share of the values that a released pair may stand for that are wanted; every label is read as it is."""
    code, age, detail = pair
    values = [sorted(UNDER[code] & set("abc")), ages_of(age), sorted(UNDER[detail] & {"icu", "ward", "out"})]
    fits = [
        one[0] == wanted[0] and wanted[1] in (None, one[1]) and one[2] in UNDER[wanted[2]]
        for one in itertools.product(*values)
    ]
    return sum(fits) / len(fits)


def ages_of(label):
    """The ages that a label covers."""
    low, _, high = label.strip("[]").partition("-")
    return list(range(int(low), int(high or low) + 1))


@examples(40)
@given(RECORDS)
def test_details_are_known_to_adversaries(records):
    """Matches are the sequences in which all three attributes of the known pairs may stand, and the guarantee holds."""
    original, release = released(records)
    opened = open_release(release, original, Request(hierarchies={"code": CODES, "detail": PLACES}))
    rows = release.frame.group_by("id", maintain_order=True).agg("code", "age", "detail").rows()
    sequences = [list(zip(*columns, strict=True)) for _, *columns in rows]
    for target, own in enumerate(records):
        known = [(code, str(age), detail) for code, age, detail in own]
        like = sequences_with(sequences, known, UNDER)

        assert len(like) == opened.adversaries[1].released.match(target, range(len(own))).matches
        assert len(like) == 0 or len(like) >= 2


@pytest.mark.parametrize("records", [[[("a", 1)], [("a", 1, "icu")]], [[("a", 1, "icu", "b")]], [[("a", 1, 2)]]])
def test_what_is_no_detail_is_refused(records):
    """All pairs have a detail or none has, and it is text."""
    with pytest.raises(cl.InputError):
        cl.Trajectories.from_records(records)


def test_weights_are_of_three():
    """With details there are three weights, equal ones if none are given; what weighs most is kept best."""
    records = [[("a", 1, "icu")], [("a", 1, "out")], [("b", 1, "icu")], [("b", 1, "out")]]
    equal, last = released(records)[1], released(records, weights="0,0.1,0.9")[1]

    assert equal.manifest.settings.weights == ("1/3", "1/3", "1/3")
    assert last.frame["detail"].to_list() == ["icu", "icu", "out", "out"]
    assert set(last.frame["code"]) == {"ab"}
    with pytest.raises(cl.InputError, match="Weights are three numbers"):
        released(records, weights="0.5,0.4")
