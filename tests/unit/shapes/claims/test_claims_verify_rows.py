"""The verifier of claims: whether released claims and pseudonyms can be those of the original."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.encoded_claims import form_of
from tests.made.examples import examples

from cloister.shapes.claims.format.released_columns import WrittenClaims
from cloister.shapes.claims.verify import original as verify_original
from cloister.shapes.claims.verify.original import ID, KEY, RELEASED_ID, ClaimRows, Pseudonyms
from cloister.shapes.claims.verify.risk import whole_claims
from cloister.shapes.claims.verify.simulation import History, Simulated, Simulation

FORM = form_of((), ("dx", "pos"), ("doctor", "vendor"))
VALUES = st.sampled_from(["a", "b", None])
CLAIM = st.tuples(VALUES, VALUES)
RELEASED = st.tuples(CLAIM, st.tuples(st.booleans(), st.booleans()))


def stand_for_ids(pairs):
    """Whether numbers of released rows can stand for ids of the original's."""
    group = Pseudonyms()
    for own, other in pairs:
        group.add(own, other)
    return group.holds()


def rows_of(released, original, doctors=None, ids=None):
    """Claims of two patients, as released with what was suppressed, and as they were."""
    texts = {
        "id": [str(owner + 1) for owner, _, _ in released],
        "dx": [None if hidden[0] else value[0] for _, value, hidden in released],
        "pos": [None if hidden[1] else value[1] for _, value, hidden in released],
        "sup_dx": [str(int(hidden[0])) for *_, hidden in released],
        "sup_pos": [str(int(hidden[1])) for *_, hidden in released],
        "doctor": [one for one, _ in doctors] if doctors else ["1"] * len(released),
        "vendor": [two for _, two in doctors] if doctors else ["1"] * len(released),
    }
    here = pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String))
    people = pl.DataFrame({"id": ["1", "2"], "claims_truncated": ["1", "1"]})
    there = {
        "dx": [value[0] for _, value in original],
        "pos": [value[1] for _, value in original],
        f"{ID}doctor": [one for one, _ in ids] if ids else ["X"] * len(original),
        f"{ID}vendor": [two for _, two in ids] if ids else ["X"] * len(original),
    }
    claims = pl.DataFrame(there, schema=dict.fromkeys(there, pl.String))
    owners = np.array([owner for owner, _ in original], dtype=np.int64)
    return ClaimRows.of(WrittenClaims(people, here), FORM, claims, owners, np.array([0, 1]))


def fits(released, original):
    """Whether one released claim can be one of the original's."""
    (_, value, hidden), (_, true) = released, original
    return released[0] == original[0] and all(
        is_hidden or one == other for one, other, is_hidden in zip(value, true, hidden, strict=True)
    )


@pytest.fixture(autouse=True, params=[1, 1_000_000])
def at_once(request, monkeypatch):
    """How many claims are compared at once."""
    monkeypatch.setattr(verify_original, "ROWS_AT_ONCE", request.param)


@examples(200)
@given(st.lists(st.tuples(st.integers(0, 1), CLAIM), min_size=1, max_size=5), st.data())
def test_every_released_claim_has_one_of_its_own(original, data):
    """As by trying all ways to pair them: missing values, suppressed cells and repeated claims among them."""
    some = st.tuples(st.integers(0, 1), RELEASED).map(lambda one: (one[0], *one[1]))
    released = data.draw(st.lists(some, min_size=1, max_size=len(original)))
    ways = itertools.permutations(original, len(released))
    can_be = any(all(map(fits, released, way)) for way in ways)

    assert rows_of(released, original).are_own() == can_be


def test_a_claim_released_twice_for_another_is_noticed():
    """One whole, and once more with a suppressed cell, in the place of a claim that is lost."""
    whole, half = (0, ("a", "a"), (False, False)), (0, ("a", None), (False, True))

    assert not rows_of([whole, half], [(0, ("a", "a")), (0, ("b", "b"))]).are_own()
    assert rows_of([whole, half], [(0, ("a", "a")), (0, ("a", "b"))]).are_own()


def test_numbers_of_one_id_cannot_borrow_from_others():
    """Two ids under four numbers are noticed though other ids, which nobody needs, are there (Hall's condition)."""
    keys, numbers = [0, 0, 1, 1], ["1", "2", "3", "4"]
    own = pl.DataFrame({KEY: keys, RELEASED_ID: numbers})
    other = pl.DataFrame({KEY: [*keys, 2, 3], ID: ["A", "B", "A", "B", "C", "D"]})

    assert not stand_for_ids([(own, other)])
    assert stand_for_ids([(own.with_columns(pl.Series(RELEASED_ID, ["1", "2", "1", "2"])), other)])


def test_several_pseudonyms_of_a_claim_stand_for_ids_of_one_claim():
    """Doctor and vendor swapped between claims that look alike: each by itself may be, both together never were."""
    released, original = (
        [(owner, ("a", "a"), (False, False)) for owner in (0, 0, 1, 1)],
        [(o, ("a", "a")) for o in (0, 0, 1, 1)],
    )
    ids = [("A", "V"), ("B", "W")] * 2
    true = rows_of(released, original, [("1", "1"), ("2", "2")] * 2, ids)
    swapped = rows_of(released, original, [("1", "1"), ("2", "2"), ("1", "2"), ("2", "1")], ids)

    wanted = [["doctor"], ["vendor"], ["doctor", "vendor"]]
    assert [stand_for_ids(pairs) for pairs in zip(*swapped.pseudonyms(wanted), strict=True)] == [True, True, False]
    assert [stand_for_ids(pairs) for pairs in zip(*true.pseudonyms(wanted), strict=True)] == [True, True, True]


def history(lists):
    """One column of claims of each patient."""
    owners = np.repeat(np.arange(len(lists)), [len(own) for own in lists])
    return History(owners, [pl.Series("dx", [text for own in lists for text in own], dtype=pl.String)])


CLAIMS = st.lists(st.tuples(st.integers(0, 2), VALUES, VALUES), min_size=1, max_size=8)


@given(CLAIMS, st.lists(st.tuples(st.integers(0, 2), VALUES, VALUES, st.booleans()), min_size=1, max_size=8))
def test_whole_claims_are_one_value_each(known, released):
    """Claims have one value if they are alike, missing ones included; released ones like no known one are not there."""
    there, here = (
        History(
            np.array([one[0] for one in rows]), [pl.Series([one[h] for one in rows], dtype=pl.String) for h in (1, 2)]
        )
        for rows in (known, released)
    )
    one, other = whole_claims(there, here, np.array([is_whole for *_, is_whole in released]))
    like = [row[:3] for row in released if row[3] and row[1:3] in {own[1:] for own in known}]
    values = {}
    for text, row in zip([*one.columns[0], *other.columns[0]], [*known, *like], strict=True):
        values.setdefault(text, set()).add(row[1:])

    assert other.owners.tolist() == [owner for owner, *_ in like]
    assert all(len(rows) == 1 for rows in values.values())
    assert len(values) == len({row[1:] for row in known})


def chances(sample, there):
    """Share of the samples of this size from what is there that are this one."""
    every = list(itertools.combinations(there, len(sample)))
    return sum(sorted(one) == sorted(sample) for one in every) / len(every) if every else 0.0


def test_who_picks_the_likeliest_is_simulated_by_the_definition():
    """All samples, with the likelihood of each counted out: within four standard errors."""
    shown = [["a", "a", "b"], ["a", "b"], ["a", "b", "b", "b"], ["a"], ["b", "b", "a", "a", "a"]]
    power, risks = np.array([[2], [2], [2], [1], [2]]), []
    for patient, own in enumerate(shown):
        samples = list(itertools.combinations(own, power[patient, 0]))
        for sample in samples:
            likely = [chances(sample, there) for there in shown]
            alike = [abs(one - max(likely)) < 1e-9 for one in likely]
            risks.append((1 / sum(alike) if alike[patient] else 0) / len(samples) / len(shown))
    attacked = Simulation(np.zeros(5, dtype=np.int64), history(shown), history(shown), 3)
    found = Simulated.of(attacked.likeliest(power, 20_000, (1,)), 3)

    assert abs(sum(risks) - found.mean) <= 4 * found.error


def test_who_takes_only_those_who_lack_fewest_is_simulated_by_the_definition():
    """Where nobody fits, of those tolerated the ones who lack least; else who fits exactly."""
    known = [["a", "a", "b"], ["a", "b"], ["b", "b"], ["a", "a"]]
    shown, room = [["a", "b"], ["a"], ["b"], ["a", "a"]], np.array([[1], [2], [1], [0]])
    power, risks = np.array([[2], [2], [2], [2]]), []
    for patient, own in enumerate(known):
        samples = list(itertools.combinations(own, 2))
        for sample in samples:
            short = [sum(max(0, sample.count(t) - there.count(t)) for t in set(sample)) for there in shown]
            tolerated = [lack for lack, spare in zip(short, room[:, 0], strict=True) if lack <= spare]
            risks.append((short[patient] == min(tolerated)) / tolerated.count(min(tolerated)) / len(samples) / 4)
    attacked = Simulation(np.zeros(4, dtype=np.int64), history(known), history(shown), 3, room)
    found = attacked.run(power, 20_000, (1,)).nearest

    assert abs(sum(risks) - found.mean) <= 4 * found.error
