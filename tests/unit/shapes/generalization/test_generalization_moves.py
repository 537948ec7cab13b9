"""Terms that lose less than those of CBA and UGACLIP, and the bound, against every choice of terms of a few codes."""

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.generalized import ABOVE, CODES, protect, request_for, terms_of
from tests.oracles import generalization as oracle

import cloister as cl
from cloister.cli.main import run
from cloister.shapes.generalization.format.data import GeneralizationMethod, Uncovered
from cloister.shapes.generalization.format.privacy_policy import PrivacyPolicy
from cloister.shapes.generalization.method import exact as exactly
from cloister.shapes.generalization.method import protect as protection

FEW = CODES[:5]
RECORDS = st.lists(st.frozensets(st.sampled_from(FEW), min_size=1, max_size=4), min_size=5, max_size=20)
SETS = st.lists(st.frozensets(st.sampled_from(FEW), min_size=1, max_size=3), min_size=1, max_size=6)
NUMBERS = st.lists(st.integers(-1, 1), min_size=len(FEW), max_size=len(FEW))
OTHERS = GeneralizationMethod.CBA, GeneralizationMethod.UGACLIP


def all_choices(codes, groups):
    """Every way to put codes into terms of their group, or to suppress them."""
    for chosen in product(range(-1, len(codes)), repeat=len(codes)):
        terms = {number: frozenset(c for c, n in zip(codes, chosen) if n == number) for number in {*chosen} - {-1}}
        if all(any(term <= group for group in groups) for term in terms.values()):
            yield frozenset(terms.values())


def groups_of(codes, numbers):
    """Two sets of a utility policy, those that are not empty: of each code its number, below 0 for none."""
    groups = (frozenset(c for c, n in zip(FEW, numbers) if n == number and c in codes) for number in (0, 1))
    return [group for group in groups if group]


@examples(60)
@given(RECORDS, SETS, NUMBERS, st.integers(2, 4), st.sampled_from(Uncovered))
def test_few_codes_lose_the_least_that_is_possible(records, sets, numbers, k, uncovered):
    """Terms are protected, of one group each, lose no more than CBA and UGACLIP, and least of every choice."""
    assume(oracle.required(records, sets))
    codes = sorted(frozenset().union(*records))
    groups = groups_of(codes, numbers)
    rest = frozenset(codes) - frozenset().union(*groups)
    every = [*groups, *([rest] if uncovered is Uncovered.GENERALIZE else [frozenset([code]) for code in rest])]
    privacy = PrivacyPolicy.of(sets)
    method = GeneralizationMethod.GENERALIZATION
    found = protect(records, request_for(k, privacy, method, groups, uncovered))
    others = [protect(records, request_for(k, privacy, other, groups, uncovered)) for other in OTHERS]
    if found is None:
        assert others == [None, None]
        return
    losses = [other.figures.ilm for other in others if other is not None]
    terms = terms_of(found.released)
    allowed = [choice for choice in set(all_choices(codes, every)) if oracle.is_protected(records, choice, sets, k)]
    best = min(oracle.information_loss(records, choice, ABOVE) for choice in allowed)

    assert oracle.is_protected(records, terms, sets, k)
    assert all(any(term <= group for group in every) for term in terms)
    assert all(found.figures.ilm <= loss + 1e-12 for loss in losses)
    assert found.figures.ilm == found.figures.bound == pytest.approx(float(best), abs=1e-12)
    assert found.figures.gap == 0
    assert isinstance(best, Fraction | int)


@examples(40)
@given(RECORDS, SETS, NUMBERS, st.integers(2, 4), st.sampled_from(Uncovered))
def test_without_the_whole_search_the_bound_is_below_every_choice(records, sets, numbers, k, uncovered):
    """Where it is not made, or ends early, terms lose no less than the least possible, and the bound is no more."""
    assume(oracle.required(records, sets))
    groups = groups_of(frozenset().union(*records), numbers)
    request = request_for(k, PrivacyPolicy.of(sets), GeneralizationMethod.GENERALIZATION, groups, uncovered)
    exact = protect(records, request)
    with mock.patch.object(protection, "MOST_CODES", 0):
        moved = protect(records, request)
    with mock.patch.object(exactly, "MOST_COUNTED", 1):
        stopped = protect(records, request)

    for found in (moved, stopped):
        if found is not None:
            assert found.figures.bound <= exact.figures.ilm + 1e-12
            assert exact.figures.ilm <= found.figures.ilm + 1e-12
            gap = 1 - found.figures.bound / found.figures.ilm if found.figures.ilm else 0
            assert found.figures.gap == pytest.approx(gap)


def test_the_least_loss_leaves_enough_patients():
    """Terms that lose least, but leave fewer than k patients, are not chosen: there is a release, which verifies."""
    records = ["250.00", "401.1 402.0 410.1", "410.1", "401.9", "250.00 401.1 401.9 410.1"]
    codes = cl.CodeSets.from_records([codes.split() for codes in records])
    privacy = PrivacyPolicy.of([["401.1", "401.9"]])
    release = cl.protect_codes(codes, method="generalization", k=5, privacy=privacy, accept_empty=True)

    assert release.verify().holds
    assert release.summary()["records"]["released"] == 5


def test_the_bound_is_reached_where_codes_must_go():
    """Two codes that few have together, each alone in its group: one is suppressed, and the bound says so."""
    records = [frozenset("a")] * 4 + [frozenset("d")] * 6 + [frozenset("ad")]
    privacy = PrivacyPolicy.of([["a", "d"]])
    found = protect(records, request_for(2, privacy, GeneralizationMethod.GENERALIZATION, uncovered=Uncovered.SUPPRESS))

    assert terms_of(found.released) == {frozenset("d")}
    assert found.figures.bound == pytest.approx(found.figures.ilm) == pytest.approx(5 / 11)
    assert found.figures.gap == pytest.approx(0)


def test_repeated_codes_take_the_better_of_two():
    """Where codes repeat, occurrences stay together: the better method is taken, and no bound is told."""
    records = [["a", "a", "b"], ["a", "b"], ["a", "a"], ["b"], ["b", "c"], ["a", "c"]]
    codes = cl.CodeSets.from_records(records, repeats=True)
    privacy = cl.PrivacyPolicy.all_combinations(codes, 2)
    found = {
        method: cl.protect_codes(codes, method=method, k=2, privacy=privacy).custody.figures
        for method in ("cba", "ugaclip", "generalization")
    }

    assert found["generalization"]["ilm"] == min(found["cba"]["ilm"], found["ugaclip"]["ilm"])
    assert found["generalization"]["bound"] is None


def test_the_command_line_releases_and_verifies(tmp_path, monkeypatch):
    """The release names its method, verifies with its original, and the custodian gets bound and gap."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{number},{' '.join(sorted({'401.9', '250.00', f'{400 + number % 7}.1'}))}" for number in range(40)]
    Path("codes.csv").write_text("id,codes\n" + "\n".join(rows))
    words = ["protect", "codes", "codes.csv", "--method", "generalization", "-k", "6", "--policy", "level:2"]
    assert run([*words, "--custodian-dir", "own", "--crosswalk", "map.csv", "--out", "out", "--quiet"]) == 0
    exact = json.loads(Path("own/internal.json").read_text())

    assert json.loads(Path("out/release.json").read_text())["method"] == "generalization"
    assert 0 <= exact["bound"] <= exact["ilm"]
    assert run(["verify", "out", "--original", "codes.csv", "--crosswalk", "map.csv", "--quiet"]) == 0
