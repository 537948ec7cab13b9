"""Pairs of released trajectories."""

from fractions import Fraction
from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.trajectories import FIGURE_3, FIGURE_4, figure_1
from tests.oracles import answers as slow

import cloister as cl
from cloister.recipients.pairs import MOST_PAIRS, ReleasedPairs, average_relative_error
from cloister.release.codebook import codebook_of
from cloister.shapes.trajectories.method.figures import frequent_pairs

CODES = cl.hierarchy_rows(
    [["a1", "a", "x", "*"], ["a2", "a", "x", "*"], ["b1", "b", "x", "*"], ["c1", "c", "y", "*"], ["c2", "c", "y", "*"]]
)
AGES = cl.intervals(2, 4)
CODE_LABELS = sorted({label for row in CODES.rows for label in row})
AGE_LABELS = ["0", "1", "2", "3", "[0-1]", "[2-3]", "[0-3]", "*"]


def released(trajectories):
    """Released pairs of these trajectories."""
    rows = [(f"{number:03}", *pair) for number, pairs in enumerate(trajectories) for pair in pairs]
    frame = pl.DataFrame(rows, ["id", "code", "age"], orient="row")
    book = [(name, "quasi-identifier", kind, None, label, "") for name, kind, labels in
            (("code", "file", CODE_LABELS), ("age", "interval", AGE_LABELS)) for label in labels]  # fmt: skip
    return ReleasedPairs.of(frame, codebook_of(book, {"code": "text"}), {"code": CODES, "age": AGES})


def codes_of(label):
    """The codes that a label covers."""
    return [row[0] for row in CODES.rows if label in row]


def ages_of(label):
    """The ages that a label covers."""
    low, _, high = label.strip("[]").partition("-")
    return [*range(-1, 6)] if label == "*" else [*range(int(low), int(high or low) + 1)]


pair = st.tuples(st.sampled_from(CODE_LABELS), st.sampled_from(AGE_LABELS))
ages_asked = st.one_of(
    st.none(), st.integers(0, 3), st.tuples(st.integers(0, 3), st.integers(0, 3)).map(sorted).map(tuple)
)
question = st.lists(st.tuples(st.sampled_from(CODE_LABELS[1:]), ages_asked), min_size=1, max_size=3)


@examples(400)
@given(st.lists(st.lists(pair, min_size=1, max_size=3), min_size=1, max_size=5), question)
def test_bounds_and_estimate_are_those_of_every_choice(trajectories, asked):
    """The bounds are the least and the most over all that the pairs may stand for, the estimate is their mean."""
    ages = [age for pairs in trajectories for _, age in pairs if age != "*"]
    known = [one for age in ages for one in ages_of(age)]

    def test_of(code, ages):
        low, high = (-9, 9) if ages is None else ages if isinstance(ages, tuple) else (ages, ages)
        return lambda leaf: leaf[0] in codes_of(code) and low <= leaf[1] <= high

    lower = upper = expected = Fraction(0)
    for pairs in trajectories:
        sequence = []
        for code, age in pairs:
            codes, likely = codes_of(code), ages_of(age)
            if age == "*" and known:
                likely = range(min(known), max(known) + 1) if "-" in "".join(ages) else sorted({*known})
            chance = Fraction(1, len(codes) * len(likely))
            sequence.append({(c, a): chance * (a in likely) for c, a in product(codes, ages_of(age))})
        least, mean, most = slow.holding(sequence, [test_of(*one) for one in asked])
        lower, expected, upper = lower + least, expected + mean, upper + most
    found = released(trajectories).count(asked)

    assert (found.lower, found.upper) == (lower, upper)
    if known:
        assert found.expected == pytest.approx(float(expected), abs=1e-9)


def test_one_pair_is_not_two_codes():
    """Of a pair that stands for one of three codes nobody has two, and of two of them the chances add up."""
    frame = pl.DataFrame({"id": ["1", "2"], "code": ["401"] * 2, "age": ["50"] * 2})
    book = [("code", "", "file", None, "401", ""), ("age", "", "interval", None, "50", "")]
    pairs = ReleasedPairs.of(frame, codebook_of(book, {"code": "text"}), {"code": FIGURE_4})

    assert pairs.count([("401.1", None), ("401.9", None)]) == cl.CountBounds(0, 0.0, 0)
    each = [pairs.count([(code, None)]).expected for code in ("401.0", "401.1", "401.9")]
    assert sum(each) == pytest.approx(2)
    with pytest.raises(cl.InputError, match="12 at most"):
        pairs.count([("401.0", age) for age in range(MOST_PAIRS + 1)])


def test_the_figure_of_the_paper(tmp_path):
    """On Fig. 1, 401.1 at 39 is answered 1, which is right, and nobody has 401.1 and 401.9 at 38."""
    made = cl.protect_trajectories(figure_1(), k=2, code_hierarchy=FIGURE_4, age_hierarchy=FIGURE_3)
    made.write(tmp_path / "out")
    release = cl.open(tmp_path / "out", hierarchies={"code": FIGURE_4, "age": FIGURE_3})
    pairs = release._answers._pairs
    original = figure_1()
    workload = frequent_pairs(original, 1)

    assert release.count(["401.1"], ages="39").expected == 1
    assert release.count(["401.1", "401.9"], ages=(38, 38)).expected == 0
    error = average_relative_error(pairs, workload, original.vocabulary, original.age_values)
    each = [
        abs(
            n - release.answer({"pairs": [(original.vocabulary[c], original.age_values[a]) for c, a in query]}).expected
        )
        / n
        for query, n in zip(workload.queries, workload.counts.tolist())
    ]
    assert error == pytest.approx(sum(each) / len(each))
