"""Laws of the verifier: it judges every rule as the definition does, and refuses what was changed."""

from collections import Counter
from fractions import Fraction
from math import log

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles import privacy_rules as oracle

from cloister.hierarchy import hierarchy_rows, suppress
from cloister.io import Tally
from cloister.shapes.table.format.guarantee import Guarantee, OriginalTable, bound_hierarchies, escape_name
from cloister.shapes.table.verify.classes import Reference, ReleasedClasses
from cloister.shapes.table.verify.judge import judge
from cloister.shapes.table.verify.rules import table_holds
from cloister.shapes.table.verify.verify import verify

VALUES = st.sampled_from([None, "10", "9", "30", "4", "50"])
GROUPS = st.sampled_from([None, "a", "b", "c", "d"])
RECORDS = st.lists(st.tuples(GROUPS, VALUES), min_size=1, max_size=30)
LARGER = st.lists(st.tuples(st.sampled_from([None, "a"]), VALUES), min_size=8, max_size=30)
NAMES = {
    "10": ("10", "a", "A", "*"),
    "9": ("9", "b", "A", "*"),
    "30": ("30", "a", "A", "*"),
    "4": ("4", "c", "B", "*"),
    "50": ("50", "c", "B", "*"),
    None: ("", "", "", "*"),
}
TREE = hierarchy_rows(NAMES.values(), missing_as="")
PEOPLE = [key for key in ("a", "b", "c", None) for _ in range(4)]
SHARES = [0.05, 0.1, 0.2, 0.25, 0.3, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.75, 0.9]
FACTORS = [0.25, 0.3, 0.5, 1.0, 1.1, 1.5, 2.0, 3.0]


def numbers(records):
    """Records with numbers for values, so that their order is that of numbers."""
    return [(key, None if value is None else int(value)) for key, value in records]


def closeness(t, distance):
    """t-closeness as the manifest describes it, and its definition."""
    rule = {"model": "t-closeness", "column": "dx", "t": t, "distance": distance}
    if distance == "hierarchical":
        rule["hierarchy"] = TREE.spec
        return rule, lambda r, w: oracle.t_closeness(r, w, t, distance, NAMES)
    if distance == "ordered":
        return rule, lambda r, w: oracle.t_closeness(numbers(r), [v for _, v in numbers(w_of(w))], t, distance)
    return rule, lambda r, w: oracle.t_closeness(r, w, t, distance)


def w_of(whole):
    """Values as records."""
    return [(None, value) for value in whole]


def on_dx(model, **numbers):
    """A rule about the diagnosis."""
    return {"model": model, "column": "dx"} | numbers


share, factor, few = st.sampled_from(SHARES), st.sampled_from(FACTORS), st.integers(2, 4)
RULES = {
    "k-anonymity": few.map(lambda k: ({"model": "k-anonymity", "k": k}, lambda r, w: oracle.k_anonymity(r, k))),
    "k-patients": few.map(lambda k: (on_dx("k-patients", k=k), lambda r, w: oracle.k_patients(r, k))),
    "k-map": st.integers(2, 6).map(
        lambda k: ({"model": "k-map", "k": k, "population": "census"}, lambda r, w: oracle.k_map(r, PEOPLE, k))
    ),
    "no-attack": st.sampled_from([(0.3, 0.1), (7.0, 3), (2, 1.0), (1, 2)]).map(
        lambda x: ({"model": "no-attack", "gain": x[0], "cost": x[1]}, lambda r, w: oracle.no_attack(r, *x))
    ),
    "positive-payout": st.tuples(*(st.sampled_from([0.1, 0.3, 1.0, 2, 3, 7.0]) for _ in range(4))).map(
        lambda x: (
            {"model": "positive-payout"} | dict(zip(("gain", "cost", "publisher_benefit", "publisher_loss"), x)),
            lambda r, w: oracle.positive_payout(r, 0, *x),
        )
    ),
    "l-diversity": few.map(lambda n: (on_dx("l-diversity", l=n), lambda r, w: oracle.l_diversity(r, n))),
    "entropy-l-diversity": st.sampled_from([1.2, 1.5, 2.0, 2.5, 3.0, 4.0]).map(
        lambda n: (on_dx("entropy-l-diversity", l=n), lambda r, w: oracle.entropy_l_diversity(r, n))
    ),
    "recursive-l-diversity": st.tuples(factor, few).map(
        lambda x: (on_dx("recursive-l-diversity", c=x[0], l=x[1]), lambda r, w: oracle.recursive_l_diversity(r, *x))
    ),
    "alpha-k-anonymity": st.tuples(share, few).map(
        lambda x: (on_dx("alpha-k-anonymity", alpha=x[0], k=x[1]), lambda r, w: oracle.alpha_k_anonymity(r, *x))
    ),
    "beta-likeness": factor.map(lambda b: (on_dx("beta-likeness", beta=b), lambda r, w: oracle.beta_likeness(r, w, b))),
    "enhanced-beta-likeness": factor.map(
        lambda b: (on_dx("enhanced-beta-likeness", beta=b), lambda r, w: oracle.beta_likeness(r, w, b, enhanced=True))
    ),
    "delta-disclosure": st.sampled_from([0.2, log(2), log(1.5), 1.0, 2.0]).map(
        lambda d: (on_dx("delta-disclosure", delta=d), lambda r, w: oracle.delta_disclosure(r, w, d))
    ),
    "t-closeness equal": share.map(lambda t: closeness(t, "equal")),
    "t-closeness ordered": share.map(lambda t: closeness(t, "ordered")),
    "t-closeness hierarchical": share.map(lambda t: closeness(t, "hierarchical")),
    "delta-presence": st.tuples(st.sampled_from([0.0, 0.25, 0.5]), st.sampled_from([0.5, 0.75, 1.0])).map(
        lambda x: (
            {"model": "delta-presence", "lower": x[0], "upper": x[1], "population": "census"},
            lambda r, w: oracle.delta_presence(r, PEOPLE, *x),
        )
    ),
}


def original_of(records):
    """The records as an original: one quasi-identifier that can only be suppressed, and a diagnosis."""
    schema = {"qi": pl.String, "dx": pl.String}
    frame = pl.DataFrame(records, schema=schema, orient="row")
    groups = {("dx", TREE.spec): bound_hierarchies(frame, {"dx": TREE})["dx"]}
    return OriginalTable(Tally(frame), bound_hierarchies(frame, {"qi": suppress()}), groups)


CENSUS = pl.DataFrame({"qi": PEOPLE}, schema={"qi": pl.String})
POPULATIONS = {"census": OriginalTable(Tally(CENSUS), bound_hierarchies(CENSUS, {"qi": suppress()}))}


def in_order(frame):
    """Records as they are released: by their values, missing first."""
    return frame.sort(pl.all().fill_null(""))


def kept(records, rules):
    """Records of the classes that satisfy all rules."""
    whole = [value for _, value in records]
    judged = [definition(records, whole) for _, definition in rules]
    return [record for record in records if all(found[record[0]] for found in judged)]


def guarantee_of(records, released, rules):
    """The promise of a release of these records."""
    return Guarantee(
        ("qi", "dx"), {"qi": 0}, 2, len(released), len(records) - len(released), tuple(rule for rule, _ in rules)
    )


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", RULES)
@given(records=RECORDS, data=st.data())
@examples(60)
def test_each_class_is_judged_by_the_definition(name, records, data):
    """Whether a class satisfies a rule is what the definition says, also where shares meet the threshold."""
    rule, definition = data.draw(RULES[name])
    original = original_of(records)
    placed = original.frame.rename(escape_name)
    classes = ReleasedClasses(Tally(placed), [escape_name("qi")])
    order = pl.Series([v for v in ["4", "9", "10", "30", "50"] if v in placed[escape_name("dx")]], dtype=pl.String)
    reference = Reference(
        len(records),
        len(records),
        Tally(placed),
        {"dx": order},
        original.groups,
        {"census": Tally(CENSUS.rename(escape_name))},
    )

    judged = judge([rule], classes, reference)[0]

    assert definition(records, [v for _, v in records]) == dict(
        zip(classes.sizes[escape_name("qi")], judged, strict=True)
    )


@given(records=RECORDS, data=st.data())
@examples(120)
def test_a_release_holds_if_and_only_if_it_is_what_the_rules_leave(records, data):
    """Released whole classes pass with the original exactly where they are those that the definitions leave."""
    rules = [data.draw(RULES[name]) for name in data.draw(st.lists(st.sampled_from([*RULES]), min_size=1, max_size=2))]
    expected = kept(records, rules)
    if any(rule.get("lower", 0) > 0 for rule, _ in rules) and len(expected) < len(records):
        expected = []
    classes = {key for key, _ in records}
    released = (
        data.draw(st.sets(st.sampled_from(sorted(classes, key=str)), min_size=1))
        if data.draw(st.booleans())
        else {key for key, _ in expected}
    )
    left = [record for record in records if record[0] in released]
    assume(left)
    frame = in_order(pl.DataFrame(left, schema={"qi": pl.String, "dx": pl.String}, orient="row"))

    verdict = verify(
        Tally(frame), guarantee_of(records, left, rules), original_of(records), POPULATIONS, every_rule=True
    )

    assert verdict.holds == (sorted(left, key=str) == sorted(expected, key=str)), verdict.failures


@given(records=LARGER, data=st.data())
@examples(100)
def test_what_was_changed_is_refused(records, data):
    """A good release is refused once a record is gone, a sensitive value is another, or a record changed its class."""
    rules = [
        data.draw(
            RULES[
                data.draw(
                    st.sampled_from(["k-anonymity", "k-map", "l-diversity", "entropy-l-diversity", "alpha-k-anonymity"])
                )
            ]
        )
    ]
    expected = kept(records, rules)
    assume(expected)
    promise = guarantee_of(records, expected, rules)
    place = data.draw(st.integers(0, len(expected) - 1))
    changed = list(expected)
    how = data.draw(st.sampled_from(["gone", "value", "class"]))
    key, value = changed.pop(place)
    if how == "value":
        changed.append((key, data.draw(VALUES.filter(lambda other: other != value))))
    if how == "class":
        changed.append((data.draw(GROUPS.filter(lambda other: other != key)), value))
    assume(changed)
    frame = in_order(pl.DataFrame(changed, schema={"qi": pl.String, "dx": pl.String}, orient="row"))

    assert not verify(Tally(frame), promise, original_of(records), POPULATIONS).holds


@given(records=RECORDS, data=st.data())
@examples(100)
def test_a_broken_class_is_seen_without_the_original(records, data):
    """From the file alone, a release passes a rule about its own classes where the definition does."""
    rule, definition = data.draw(
        RULES[
            data.draw(
                st.sampled_from(["l-diversity", "entropy-l-diversity", "recursive-l-diversity", "alpha-k-anonymity"])
            )
        ]
    )
    frame = in_order(pl.DataFrame(records, schema={"qi": pl.String, "dx": pl.String}, orient="row"))
    promise = guarantee_of(records, records, [(rule, definition)])

    assert verify(Tally(frame), promise).holds == all(definition(records, None).values())


TABLE_RULES = {
    "average-risk": (
        lambda share: {"model": "average-risk", "risk": share},
        lambda share: lambda sizes: oracle.average_risk(sizes) <= Fraction(share) + oracle.NEAR,
    ),
    "sample-uniqueness": (
        lambda share: {"model": "sample-uniqueness", "share": share},
        lambda share: lambda sizes: oracle.unique_share(sizes) <= Fraction(share) + oracle.NEAR,
    ),
    "zayatz": (
        lambda share: {"model": "population-uniqueness", "share": share, "population_size": 100, "estimator": "zayatz"},
        lambda share: lambda sizes: not sizes.count(1) or oracle.zayatz(sizes, 100) <= Fraction(share) + oracle.NEAR,
    ),
}


@pytest.mark.parametrize("name", TABLE_RULES)
@given(keys=st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=20), share=share)
@examples(40)
def test_the_smallest_classes_are_left_out(name, keys, share):
    """A rule about the table passes where just as many of the smallest classes are gone as must be, ties by value."""
    describe, definition = TABLE_RULES[name][0](share), TABLE_RULES[name][1](share)
    records = [(key, "10") for key in keys]
    by_size = sorted(Counter(keys).items(), key=lambda item: (item[1], item[0]))
    n_gone = oracle.n_to_suppress([size for _, size in by_size], definition)
    for n in range(len(by_size)):
        released = [record for record in records if record[0] in {key for key, _ in by_size[n:]}]
        frame = in_order(pl.DataFrame(released, schema={"qi": pl.String, "dx": pl.String}, orient="row"))
        promise = guarantee_of(records, released, [(describe, None)])

        assert verify(Tally(frame), promise, original_of(records), every_rule=True).holds == (n == n_gone)
        assert table_holds(describe, [size for _, size in by_size[n:]]) == definition([s for _, s in by_size[n:]])
