"""Laws of whole releases of trajectories over random patients: what is promised holds, and nothing else passes."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples

from cloister import InputError, NoSafeRelease, hierarchy_rows, intervals
from cloister.pipeline.protecting import protect
from cloister.pipeline.trajectories import TrajectoriesProtection
from cloister.shapes.trajectories.format.data import (
    Cost,
    Diversity,
    Method,
    Trajectories,
    TrajectoriesRequest,
    Unknown,
    WrittenTrajectories,
)
from cloister.shapes.trajectories.format.request import AttributesTable, GivenTrajectories

CODES = hierarchy_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"], ["ab", "ab", "*"]])
AGES = intervals(2, 4, top=7)
PAIRS = st.tuples(st.sampled_from(["a", "b", "c", "d", "ab"]), st.sampled_from([0, 1, 2.5, 3, 6, 8, 9]))
RECORDS = st.lists(st.lists(PAIRS, min_size=1, max_size=4), min_size=2, max_size=9)


@st.composite
def asked(draw):
    """Patients, auxiliary attributes, and a request."""
    records = draw(RECORDS)
    side = draw(st.lists(st.sampled_from(["x", "y", None]), min_size=len(records), max_size=len(records)))
    weight = draw(st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1)]))
    request = TrajectoriesRequest(
        k=draw(st.integers(1, len(records))),
        code_hierarchy=CODES,
        age_hierarchy=AGES,
        method=draw(st.sampled_from(list(Method))),
        weights=(weight, 1 - weight),
        cost=draw(st.sampled_from(list(Cost))),
        max_loss=draw(st.sampled_from([None, 0.2, 0.5])),
        drop_empty_pairs=draw(st.booleans()),
        diversity=draw(st.sampled_from([None, Diversity(2, column="s"), Diversity(2, codes=frozenset("a"))])),
    )
    return records, side, request


def release_of(records, side, request):
    """The release of these patients; None where there is no safe one."""
    ids = pl.Series([f"P{number}" for number in range(len(records))])
    table = AttributesTable(pl.DataFrame({"s": pl.Series(side, dtype=pl.String)}), "side")
    given_ = GivenTrajectories(Trajectories.from_records(records, ids), table)
    try:
        return protect(TrajectoriesProtection(given_, replace(request, accept_empty=True)))
    except NoSafeRelease:
        return None


def rows_of(release):
    """The trajectory of each released patient."""
    frame = release.frame.group_by("id", maintain_order=True).agg("code", "age")
    return [tuple(zip(codes, ages)) for codes, ages in frame.select("code", "age").iter_rows()]


ABOVE = {"a": {"a", "ab", "*"}, "b": {"b", "ab", "*"}, "c": {"c", "cd", "*"}, "d": {"d", "cd", "*"}, "ab": {"ab", "*"}}


def covers(label, age):
    """Whether a label of an age stands for it, by the definition of the intervals."""
    if label.startswith("["):
        low, high = map(int, label[1:-1].split("-"))
        return low <= age < high + 1 and age < 7
    return label == "*" or (label == ">=7" and age >= 7) or (age < 7 and label == f"{age:g}")


@examples(60)
@given(asked())
def test_releases_keep_what_is_promised(case):
    """k copies; nobody lost; every row covers a pair of its patient, in order; side rows with their patients."""
    records, side, request = case
    release = release_of(*case)
    assume(release is not None)
    found = rows_of(release)
    number = {name: place for place, name in enumerate(f"P{number}" for number in range(len(records)))}
    origin = [number[name] for name in release.custody.crosswalk["original"]]

    assert min(found.count(rows) for rows in found) >= request.k
    n_left_out = len(records) - len(set(origin))
    assert len(set(origin)) == len(origin)
    assert n_left_out == 0 or (request.max_loss is not None and n_left_out >= request.k)
    assert release.summary()["records"] == {"in": len(records), "released": len(origin), "suppressed": n_left_out}
    assert release.attributes["s"].to_list() == [side[patient] for patient in origin]
    for rows, patient in zip(found, origin):
        pairs = iter(sorted(records[patient], key=lambda pair: (min(pair[1], 7), pair[0])))
        told_nothing = rows == (("*", "*"),)
        assert told_nothing or all(
            any(code in ABOVE[one] and covers(age, at) for one, at in pairs) for code, age in rows
        )


@examples(25)
@given(asked(), st.sampled_from([0.4, 0.7, 0.9]))
def test_a_bound_on_the_loss_leaves_out_whole_clusters(case, most):
    """With a bound some clusters are left out, the others are as without, and lose no more than it together."""
    records, side, request = case
    request = replace(request, max_loss=most)
    release = release_of(records, side, request)
    unbounded = release_of(records, side, replace(request, max_loss=None))
    assume(release is not None)
    losses = release.custody.figures["ilm_exact"], release.custody.figures["alm_exact"]

    assert Counter(rows_of(release)) <= Counter(rows_of(unbounded))
    assert sum(float(weight) * loss for weight, loss in zip(request.weights, losses)) <= request.max_loss + 1e-9


@examples(30)
@given(asked(), st.data())
def test_a_label_of_another_value_is_noticed(case, data):
    """With the original, no cell can be replaced by what does not stand for the patient's own pair."""
    release = release_of(*case)
    assume(release is not None)
    frame = release.frame
    row = data.draw(st.integers(0, frame.height - 1))
    column, label = data.draw(st.sampled_from([("code", "zz"), ("age", "[100-101]"), ("age", "5")]))
    cells = frame[column].to_list()
    assume(cells[row] != "*" or frame.filter(pl.col("id") == frame["id"][row]).height > 1)
    cells[row] = label
    changed = WrittenTrajectories(frame.with_columns(pl.Series(column, cells, dtype=pl.String)), release.attributes)

    assert not release._check(changed).holds


LEAVES = ("a.1", "a.2", "b.1", "a", "A", "x")


@st.composite
def like_labels(draw):
    """A hierarchy with gaps that has some of the codes, and patients with codes named like its labels."""
    row = st.tuples(st.sampled_from(["a", "A", "x", ""]), st.sampled_from(["A", "B", "x", "a", ""]))
    rows = [[leaf, *draw(row), "*"] for leaf in LEAVES if leaf in ("a.1", "a.2") or draw(st.booleans())]
    try:
        hierarchy = hierarchy_rows(rows)
    except InputError:
        assume(False)
    pairs = st.tuples(st.sampled_from(LEAVES), st.sampled_from([0, 1, 2]))
    records = draw(st.lists(st.lists(pairs, min_size=1, max_size=2), min_size=2, max_size=8))
    return hierarchy, [*records, [("a.1", 0)], [("a.2", 0)]]


@examples(150, quick=20)
@given(like_labels(), st.sampled_from([1, 2]))
def test_codes_named_like_labels_are_told_apart(case, k):
    """A recorded code that is a label of the hierarchy, or that it lacks, is released; the figures are as told."""
    hierarchy, records = case
    given_ = GivenTrajectories(Trajectories.from_records(records))
    request = TrajectoriesRequest(k, hierarchy, AGES, weights=(Fraction(1), Fraction(0)))
    release = protect(TrajectoriesProtection(given_, replace(request, on_unknown_code=Unknown.ROOT, accept_empty=True)))

    assert release.verify().holds
    assert release.frame["id"].n_unique() == len(records)
