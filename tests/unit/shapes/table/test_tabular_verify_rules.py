"""The verifier's own rules: what each counts, what it cannot judge, and that it never tells a value."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles import privacy_rules as oracle

from cloister.hierarchy import hierarchy_rows, suppress
from cloister.io import Tally
from cloister.privacy.uniqueness import Sample, estimated_share
from cloister.shapes.table.format.guarantee import Guarantee, OriginalTable, bound_hierarchies
from cloister.shapes.table.verify.classes import Reference, ReleasedClasses, natural_order
from cloister.shapes.table.verify.judge import judge
from cloister.shapes.table.verify.statements import find_broken
from cloister.shapes.table.verify.uniqueness import population_uniqueness
from cloister.shapes.table.verify.verify import verify

WARDS = hierarchy_rows([["wardA", "*"], ["wardB", "*"], ["wardC", "*"]])
TABLE = pl.DataFrame(
    {
        "ward": ["wardA"] * 4 + ["wardB"] * 4 + ["wardC"] * 2,
        "dx": ["flu", "flu", "gout", "mumps", "flu", "gout", "gout", "mumps", "flu", "flu"],
    }
)
TREE = hierarchy_rows([["flu", "viral", "*"], ["mumps", "viral", "*"], ["gout", "other", "*"]])
ORIGINAL = OriginalTable(
    Tally(TABLE),
    bound_hierarchies(TABLE, {"ward": WARDS}),
    {("dx", TREE.spec): bound_hierarchies(TABLE, {"dx": TREE})["dx"]},
)
PEOPLE = pl.DataFrame({"ward": ["wardA"] * 8 + ["wardB"] * 8})
POPULATIONS = {"census.csv": OriginalTable(Tally(PEOPLE), bound_hierarchies(PEOPLE, {"ward": WARDS}))}
GOOD = TABLE.head(8)

ON_DX = [
    {"model": "l-diversity", "column": "dx", "l": 2},
    {"model": "entropy-l-diversity", "column": "dx", "l": 2.5},
    {"model": "recursive-l-diversity", "column": "dx", "c": 2.0, "l": 2},
    {"model": "alpha-k-anonymity", "column": "dx", "alpha": 0.5, "k": 3},
]
AGAINST_ORIGINAL = [
    {"model": "t-closeness", "column": "dx", "t": 0.25, "distance": "equal"},
    {"model": "t-closeness", "column": "dx", "t": 0.25, "distance": "ordered"},
    {"model": "t-closeness", "column": "dx", "t": 0.25, "distance": "hierarchical", "hierarchy": TREE.spec},
    {"model": "beta-likeness", "column": "dx", "beta": 0.8},
    {"model": "enhanced-beta-likeness", "column": "dx", "beta": 0.8},
    {"model": "delta-disclosure", "column": "dx", "delta": 0.8},
]
AGAINST_POPULATION = [
    {"model": "k-map", "k": 8, "population": "census.csv"},
    {"model": "delta-presence", "lower": 0.0, "upper": 0.5, "population": "census.csv"},
]
RULES = [*ON_DX, *AGAINST_ORIGINAL, *AGAINST_POPULATION]


def promise(*rules, **changes):
    """What the good release promises, with these rules."""
    return replace(Guarantee(("ward", "dx"), {"ward": 0}, 2, 8, 2, rules, limit=2), **changes)


def is_broken_once(failure, rule):
    """Whether a failure says that one class breaks a rule: of SQL, or of what compares with more than the release."""
    model = rule["model"]
    return failure.endswith(f"({model}) (1 violation)") or failure.startswith(f"1 of 3 classes violate {model}")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule['model']} {rule.get('distance', '')}")
def test_a_rule_decides_what_is_released(rule):
    """With the third class left out as the rule asks, the release holds; with all or fewer classes it does not."""

    def failures(frame, **changes):
        stated = promise(rule, released=frame.height, suppressed=10 - frame.height, **changes)
        return verify(Tally(frame), stated, ORIGINAL, POPULATIONS, every_rule=True).failures

    assert failures(GOOD) == ()
    assert is_broken_once(failures(TABLE)[0], rule)
    assert "1 classes differ from the original generalized" in failures(GOOD.head(4), limit=6)[0]


@pytest.mark.parametrize("rule", [one for one in AGAINST_ORIGINAL if "hierarchy" not in one])
def test_a_release_without_suppressed_records_is_the_whole_input(rule):
    """Where nothing was suppressed, what a rule compares with is in the file: the original is not needed."""
    verdict = verify(Tally(TABLE), promise(rule, released=10, suppressed=0), every_rule=True)

    assert is_broken_once(verdict.failures[0], rule)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule['model']} {rule.get('distance', '')}")
def test_a_changed_sensitive_value_is_seen(rule):
    """A release in which one diagnosis was changed is not what the original gives."""
    changed = GOOD.with_columns(dx=pl.Series(["flu", "flu", "flu", "mumps", "flu", "gout", "gout", "mumps"]))
    verdict = verify(Tally(changed), promise(rule), ORIGINAL, POPULATIONS)

    assert "2 combinations of values differ" in verdict.failures[-1]


@pytest.mark.parametrize("rule", AGAINST_ORIGINAL, ids=lambda rule: f"{rule['model']} {rule.get('distance', '')}")
def test_what_needs_the_original_is_said(rule):
    """Without the original a rule about its distribution is said not to be recomputed; where it must be, that fails."""
    alone = verify(Tally(GOOD), promise(rule))
    told = [why for _, why in alone.unchecked if "was not recomputed: it compares with the original" in why]

    assert not alone.holds
    assert not alone.failures
    assert alone.accepting([rule["model"]]).holds
    assert alone.how.endswith("rules that could not be recomputed: 1")
    assert [check.split(" of ")[0] for check in told] == [rule["model"]]
    assert not verify(Tally(GOOD), promise(rule), every_rule=True).holds


@pytest.mark.parametrize("rule", AGAINST_POPULATION, ids=lambda rule: rule["model"])
def test_what_needs_the_population_is_said(rule):
    """Without the population, also with the original, the rest is checked and the rule is said to be left out."""
    verdict = verify(Tally(GOOD), promise(rule), ORIGINAL)
    incomplete = verify(Tally(GOOD.head(7)), promise(rule, released=7, suppressed=3, limit=3), ORIGINAL)

    assert not verdict.failures
    assert [name for name, _ in verdict.unchecked] == [rule["model"]]
    assert "; ".join(verdict.checks).count("was not recomputed") == 1
    assert not verify(Tally(GOOD), promise(rule), ORIGINAL, every_rule=True).holds
    assert "1 classes differ" in incomplete.failures[0]
    assert verify(Tally(GOOD), promise(rule), None, POPULATIONS, every_rule=True).holds


def test_presence_of_everybody_lets_nobody_be_suppressed():
    """With a lower bound above 0, people whose class was left out would be absent for certain."""
    rule = {"model": "delta-presence", "lower": 0.2, "upper": 0.5, "population": "census.csv"}
    whole = OriginalTable(Tally(GOOD), bound_hierarchies(GOOD, {"ward": WARDS}))
    half = promise(rule, released=4, suppressed=4, limit=4)

    assert verify(Tally(GOOD), promise(rule, suppressed=0), whole, POPULATIONS, every_rule=True).holds
    assert "1 of 1 classes violate delta-presence" in verify(Tally(GOOD.head(4)), half, whole, POPULATIONS).failures[0]
    assert not verify(Tally(GOOD), promise(rule), ORIGINAL, POPULATIONS).holds


def test_no_rules_promise_nothing():
    """A release without rules is refused, and so is a rule about a column that was generalized or not released."""
    assert verify(Tally(GOOD), promise()).failures == ("no privacy rule is declared",)
    absent = {"model": "l-diversity", "column": "sex", "l": 2}
    assert verify(Tally(GOOD), promise(absent)).failures == (
        "l-diversity of 'sex' (l 2) is about a column that was not released as recorded",
    )
    generalized = absent | {"column": "ward"}
    assert "was not released as recorded" in verify(Tally(GOOD), promise(generalized), ORIGINAL).failures[0]


def test_no_check_tells_a_value():
    """Nothing that is said of rules that hold or fail holds a value of the release, the original or the population."""
    for rule in RULES:
        for frame in (GOOD, TABLE, TABLE.tail(2), GOOD.with_columns(dx=pl.lit("scurvy"))):
            for original in (None, ORIGINAL):
                verdict = verify(Tally(frame), promise(rule), original, POPULATIONS)
                said = "; ".join([verdict.how, *verdict.checks, *verdict.failures])
                assert not [value for value in ("ward", "flu", "gout", "mumps", "scurvy", "viral") if value in said]


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (pl.Series(["10", "9", None, "1e1", "-3.5"]), ["-3.5", "9", "10", "1e1"]),
        (pl.Series(["10", "9", "x", None]), ["10", "9", "x"]),
        (pl.Series([10, 9, None, 100]), ["9", "10", "100"]),
        (pl.Series([1.5, float("nan"), -2.0]), ["-2", "1.5"]),
        (pl.Series(["2024-02-01", "1999-12-31"]).str.to_date(), ["1999-12-31", "2024-02-01"]),
    ],
)
def test_values_have_their_natural_order(values, order):
    """Numbers and dates are ordered by size, also as text, other text by its bytes; missing has no place."""
    assert order == natural_order(values).to_list()


@pytest.mark.parametrize("infinite", ["Infinity", "inf", "+INF", "1e999"])
def test_infinity_is_a_number_to_the_statements(infinite):
    """The statements order texts of numbers by size, also an infinite one: 9 is next to 10, and 10 is not first."""
    dx = sorted(["9", "9", infinite, infinite])
    frame = pl.DataFrame({"qi": ["a"] * 4 + ["b"] * 4, "dx": ["10"] * 4 + dx})
    rule = {"model": "t-closeness", "t": 0.3, "column": "dx", "distance": "ordered"}
    promised = Guarantee(("qi", "dx"), {"qi": 0}, 2, 8, 0, (rule,))
    assert {one.violations for one in find_broken(Tally(frame), promised, (4, 4))} == {0}


@given(
    k=st.integers(2, 12),
    n_people=st.sampled_from([40, 100, 1000, 10**6]),
    significance=st.sampled_from([0.001, 0.01, 0.05, 0.5]),
    withheld=st.booleans(),
)
def test_k_map_by_size_asks_for_what_the_poisson_test_says(k, n_people, significance, withheld):
    """Each class needs the size of the test; where the number of records is kept back, that of an end of its range."""
    table = pl.DataFrame({"c0": [str(size) for size in range(1, 8) for _ in range(size)]})
    n = table.height
    rule = {"model": "k-map", "k": k, "population_size": n_people, "significance": significance}
    least, most = (oracle.poisson_class(k, records, n_people, significance) for records in (n, n + 4 * withheld))
    reference = Reference(n, n + 4 * withheld)
    for smallest in (1, 3, 5):
        classes = ReleasedClasses(Tally(table.filter(pl.col("c0").cast(pl.Int64) >= smallest)), ["c0"])
        judged = judge([rule], classes, reference)[0]
        if isinstance(judged, str):
            assert least <= smallest < most
            assert "withheld" in judged
        else:
            assert [size >= (most if smallest >= least else least) for size in classes.sizes["records"]] == [*judged]


def test_a_class_size_that_does_not_follow_is_refused():
    """The class size that k-map states must be that of the number of records."""
    classes = ReleasedClasses(Tally(pl.DataFrame({"c0": ["x"] * 9})), ["c0"])
    rule = {"model": "k-map", "k": 5, "population_size": 20, "significance": 0.01}

    assert judge([rule | {"class_size": 5}], classes, Reference(9, 9))[0].all()
    assert not judge([rule | {"class_size": 4}], classes, Reference(9, 9))[0].any()


@pytest.mark.parametrize("estimator", ["zayatz", "pitman", "snb", "dankar"])
@given(sizes=st.lists(st.sampled_from([1, 1, 1, 2, 2, 3, 5, 8, 40]), min_size=1, max_size=40), times=st.data())
@examples(25)
def test_estimates_agree_with_those_of_the_rule(estimator, sizes, times):
    """Two independent computations of an estimator, with and without gamma functions, give the same share."""
    people = int(sum(sizes) * times.draw(st.sampled_from([1, 1.2, 3, 9, 12, 1000])))
    by_size = Counter(sizes)
    sample = Sample(np.array(sorted(by_size)), np.array([by_size[size] for size in sorted(by_size)]), people)

    assert estimated_share(sample, estimator) == pytest.approx(population_uniqueness(by_size, people, estimator), 1e-6)


def test_too_few_people_are_a_violation():
    """A population of fewer people than there are records cannot be that of the release."""
    rule = {"model": "population-uniqueness", "share": 0.9, "population_size": 7, "estimator": "zayatz"}

    assert "the release violates population-uniqueness" in verify(Tally(GOOD), promise(rule)).failures[0]


def test_missing_values_count_for_nothing():
    """Classes of missing values have no diversity, and those of missing quasi-identifiers are classes."""
    table = pl.DataFrame({"ward": [None] * 3 + ["x"] * 3, "dx": ["a", "b", None] + [None] * 3})
    source = OriginalTable(Tally(table), bound_hierarchies(table, {"ward": suppress()}))
    rule = {"model": "l-diversity", "column": "dx", "l": 2}
    good = table.head(3)[[2, 0, 1]]

    assert verify(Tally(good), promise(rule, released=3, suppressed=3, limit=3), source).holds
    strict = {"model": "l-diversity", "column": "dx", "l": 3}
    assert "(l-diversity) (1 violation)" in verify(Tally(good), promise(strict, released=3)).failures[0]
