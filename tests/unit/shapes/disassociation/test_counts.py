"""How many records hold some codes, from chunks alone: against every data set that these may stand for."""

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.plain_clusters import Chunk, Plain, random_release

import cloister as cl
from cloister.shapes.disassociation.method.counts import ChunkCounts
from cloister.shapes.disassociation.method.integer_programs import Program, maximize_shares
from oracles.disassociation import Reconstructions, reconstructions, written


def bounds(release, codes, diversity=1):
    """The least and the greatest number."""
    found = ChunkCounts(release, diversity).count(codes)
    assert found.lower <= found.expected <= found.upper
    return found.lower, found.upper


def some_queries(rng, vocabulary, n=6):
    """Sets of codes, at random."""
    every = [query for size in (1, 2, 3, 4) for query in itertools.combinations(vocabulary, size)]
    return rng.sample(every, min(n, len(every)))


@pytest.mark.parametrize("seed", range(60))
def test_bounds_are_those_of_all_reconstructions(seed):
    """In tiny releases, all that they may stand for are listed: no record more or less is possible."""
    rng = random.Random(seed)
    made = random_release(rng, largest=2, clusters=3)
    if made is None:
        return
    release, diversity = made
    sensitive = {release.vocabulary[item] for item in release.sensitive}
    worlds = list(itertools.islice(reconstructions(written(release), sensitive, diversity), 200_001))
    if len(worlds) > 200_000:
        return
    for query in some_queries(rng, release.vocabulary):
        counts = [sum(set(query) <= record for record in world) for world in worlds]
        assert bounds(release, query, diversity) == (min(counts), max(counts)), query


@examples(60)
@given(st.integers(0, 2**32))
def test_bounds_are_those_of_an_exact_solver(seed):
    """In larger releases a program over every record finds the same bounds, shared chunks and sensitive codes too."""
    rng = random.Random(seed)
    made = random_release(rng)
    if made is not None:
        release, diversity = made
        sensitive = {release.vocabulary[item] for item in release.sensitive}
        worlds = Reconstructions(written(release), sensitive=sensitive, diversity=diversity)
        for query in some_queries(rng, release.vocabulary, 4):
            found = worlds.fewest_candidates(query), worlds.most_candidates(query)
            assert bounds(release, query, diversity) == found, query


@examples(25)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from(["tree", "paper", "off"]))
def test_bounds_hold_for_what_is_protected(seed, repeats, refine):
    """Of releases as they are made the bounds are exact, hold the original, and count repeated codes by number."""
    rng = random.Random(seed)
    records = [
        rng.choices("abcdef", weights=(6, 5, 4, 3, 2, 1), k=rng.randint(1, 5)) for _ in range(rng.randint(8, 24))
    ]
    codes = cl.CodeSets.from_records(records, repeats=repeats)
    release = cl.protect_codes(codes, k=2, m=2, refine=refine).clusters
    worlds = Reconstructions(written(release), repeats)
    bounds_of = itertools.pairwise(codes.offsets.tolist())
    held = [{codes.vocabulary[item] for item in codes.items[first:last]} for first, last in bounds_of]
    for query in some_queries(rng, release.vocabulary, 4):
        found = bounds(release, query)
        assert found == (worlds.fewest_candidates(query), worlds.most_candidates(query)), query
        assert found[0] <= sum(set(query) <= record for record in held) <= found[1]


def test_the_counterexample_by_hand():
    """{ab, a, a, b, b} with a in the item chunk: of the three with b and the one to five with a, up to three agree."""
    release = Plain(2, 2, ("a", "b"), [5], [Chunk(0, [1], [[1]] * 3)], [[0]]).pack()

    assert bounds(release, ["b"]) == (3, 3)
    assert bounds(release, ["a"]) == (2, 5)  # two records have no b
    assert bounds(release, ["a", "b"]) == (0, 3)


def test_three_shared_chunks_that_cross():
    """Clusters that use two of three chunks each, in a ring: the whole numbers are fewer than halves would give."""
    sizes, joint = [1, 1, 1, 1], [[0, 1, 2, 3]]
    own = [Chunk(cluster, [cluster], [[cluster]]) for cluster in range(3)]
    release = Plain(
        1, 1, ("a", "b", "c", "d"), sizes, [*own, Chunk(3, [3], [[3]])], [[], [], [], []], joint,
        [Chunk(0, [code], [[code]]) for code in range(3)],
    ).pack()  # fmt: skip

    assert bounds(release, ["a", "b", "c"]) == (0, 1)
    assert maximize_shares(np.array([1, 1, 1]), [[0, 1], [1, 2], [0, 2]], {0: 1, 1: 1, 2: 1}).sum() == 1


def test_a_program_without_variables_is_solved():
    """Nothing to decide is decided."""
    assert Program().solve().size == 0


def test_codes_that_nobody_has_are_counted():
    """A code that is not in the release is that of nobody; no code at all is no question."""
    counts = ChunkCounts(Plain(1, 1, ("a",), [2], [Chunk(0, [0], [[0], [0]])], [[]]).pack())

    assert counts.count(["z"]).upper == 0
    assert counts.count(["a", "z"]).is_exact
    with pytest.raises(cl.InputError, match="one code or more"):
        counts.count([])
    with pytest.raises(cl.InputError, match="Give a list"):
        counts.count("a")


@examples(80)
@given(st.integers(0, 2**32))
def test_classes_are_counted_at_once_as_alone(seed):
    """The bounds of all classes at once are those of each class alone, and add up to those of the release."""
    rng = random.Random(seed)
    made = random_release(rng, clusters=8)
    if made is not None:
        release, diversity = made
        own = np.arange(release.n_clusters + release.n_joints) % 4
        for joint in reversed(range(release.n_joints)):
            own[release.children_of(joint)] = own[release.n_clusters + joint]
        classes = tuple((str(number),) for number in range(4))
        release = replace(release, class_columns=("c",), classes=classes, class_of=own[: release.n_clusters])
        counts = ChunkCounts(release, diversity)
        for query in [*release.vocabulary, *some_queries(rng, release.vocabulary), "z"]:
            lower, expected, upper = counts.count_by_class([*query])
            for number in range(4):
                alone = counts.count(query.split() if isinstance(query, str) else query, np.arange(4) == number)
                assert (lower[number], upper[number]) == (alone.lower, alone.upper), query
                assert expected[number] == pytest.approx(alone.expected)
            whole = counts.count([*query])
            assert (whole.lower, whole.upper) == (lower.sum(), upper.sum())
