"""Codes that imply one another in disassociated code sets: against every data set that a release may stand for."""

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.plain_clusters import random_release
from tests.oracles.disassociation import Reconstructions, reconstructions, written

import cloister as cl
from cloister.attacks.implied_codes import count_implied, find_implied
from cloister.shapes.codes.data import CodeSets


def named(release):
    """Each pair of a code and one that it implies, by name."""
    names = release.vocabulary
    return {(names[code], names[other]) for code, found in find_implied(release).items() for other in found}


def test_what_is_implied_holds_in_every_data_set():
    """In tiny releases all data sets are listed: each patient with the code has the codes that it implies."""
    n_implied = 0
    for seed in range(60):
        made = random_release(random.Random(seed), largest=2, clusters=3)
        if made is None:
            continue
        release, diversity = made
        sensitive = {release.vocabulary[item] for item in release.sensitive}
        worlds = list(itertools.islice(reconstructions(written(release), sensitive, diversity), 20_001))
        if not 0 < len(worlds) <= 20_000:
            continue
        n_implied += len(named(release))
        for code, other in named(release):
            assert all(other in record for world in worlds for record in world if code in record)
    assert n_implied > 0


@examples(40)
@given(st.integers(0, 2**32))
def test_what_is_implied_holds_by_an_exact_solver(seed):
    """In larger releases no data set has fewer records with both codes than with the first one at the least."""
    made = random_release(random.Random(seed))
    if made is not None:
        release, diversity = made
        sensitive = {release.vocabulary[item] for item in release.sensitive}
        worlds = Reconstructions(written(release), sensitive=sensitive, diversity=diversity)
        for code, other in sorted(named(release))[:6]:
            assert worlds.fewest_candidates((code, other)) == worlds.fewest_candidates((code,))
            assert worlds.most_candidates((code, other)) == worlds.most_candidates((code,))


def test_a_code_that_a_whole_cluster_has_is_implied():
    """All have a; b to e are each in another chunk, or too rare for one, and imply it, though no chunk has a pair."""
    codes = CodeSets.from_records([["a", "b"], ["a", "b"], ["a", "c"], ["a", "c"], ["a", "d"]])
    release = cl.protect_codes(codes, k=2, m=2, inference_check="enforce", max_cluster_size=6).clusters
    found = count_implied(release, codes)

    assert named(release) == {("b", "a"), ("c", "a"), ("d", "a")}
    assert (found.codes, found.implying, found.pairs, found.patients) == (4, 3, 3, 5)


def test_repeated_codes_are_counted_once():
    """Whoever knows a code knows its first occurrence; that a second one implies it is no news."""
    records = [["a", "a", "b"]] * 3 + [["a", "a", "d", "d"]] * 3 + [["a", "a", "b", "b"]] * 2
    codes = CodeSets.from_records(records, repeats=True)
    found = count_implied(cl.protect_codes(codes, k=2, m=2, max_cluster_size=20).clusters, codes)

    assert (found.codes, found.implying, found.pairs, found.patients) == (3, 2, 2, 8)
