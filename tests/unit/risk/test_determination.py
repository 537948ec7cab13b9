"""Sets of recorded columns that determine a quasi-identifier: all that are planted are found, nothing else is."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import PROFILE, examples
from tests.made.planted import PLANTS, made

from cloister.risk import determination
from cloister.risk.association import order_values
from cloister.risk.determination import Hidden, find_determinations, preview_revealing

EACH, K = 20, 5
STARTS = range(0, 500 if PROFILE == "all" else 60, EACH)  # 60 plant each kind; 500 take four minutes of two processors


@pytest.mark.sampled(2)
@pytest.mark.parametrize("start", STARTS)
def test_planted_sets_are_found(start):
    """In each made-up table the quasi-identifier that columns determine is found, and columns that do."""
    for seed in range(start, start + EACH):
        table = made(seed, list(PLANTS)[seed % len(PLANTS)])
        found = find_determinations(table.hidden, table.recorded, table.classes, K)
        assert [one.about for one in found if one.about == table.about], (seed, table.kind)
        assert all(one.removed >= determination.DETERMINED for one in found)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("start", STARTS)
def test_ordinary_associations_are_no_determination(start):
    """In no table with laboratory values, diagnoses and lengths of stay is anything found."""
    for seed in range(start, start + EACH):
        table = made(10_000 + seed)
        assert find_determinations(table.hidden, table.recorded, table.classes, K) == [], seed


def test_the_records_in_which_k_fails_are_counted():
    """Of two classes of ten, one has pairs of equal ages behind its label, the other ten equal ones."""
    ages = [*(30 + place // 2 for place in range(40)), *[50] * 40]
    hidden = {"age": Hidden(pl.Series(["a"] * 40 + ["b"] * 40), pl.Series([float(age) for age in ages]))}
    copy = {"copy": pl.Series("copy", [float(age) for age in ages])}
    (revealed,) = find_determinations(hidden, copy, np.repeat([0, 1], 40), K)

    assert (revealed.columns, revealed.n_below) == (("copy",), 40)
    assert [one.n_below for one in find_determinations(hidden, copy, np.repeat([0, 1], 40), 2)] == [0]


def test_a_test_of_the_old_alone_tells_who_is_old():
    """Its results follow from nothing, but where there is one the patient is 65 or older: classes of both are split."""
    ages = [*([70, 71, 72, 40, 41] * 8), *([80, 81, 82, 83, 84] * 8)]
    scores = [place * 37 % 80 / 7 if age >= 65 else None for place, age in enumerate(ages)]
    hidden = {"age": Hidden(pl.repeat("*", 80, eager=True), pl.Series([float(age) for age in ages]))}
    (found,) = find_determinations(hidden, {"score": pl.Series("score", scores)}, np.arange(80) // 5, K)

    assert (found.about, found.columns, found.n_below) == ("age", ("score",), 40)
    at_random = pl.Series("score", [score if place % 3 else None for place, score in enumerate(range(80))])
    assert find_determinations(hidden, {"score": at_random}, np.arange(80) // 5, K) == []


RECORDS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=14)


def alone_left_out(records, *, is_number):
    """Predict each value from the others of its group, by the definition: the mean, or the most frequent category."""
    found = []
    for place, (group, value) in enumerate(records):
        others = [other for at, (own, other) in enumerate(records) if own == group and at != place]
        if not others:
            found.append(None)
        elif is_number:
            found.append(sum(others) / len(others))
        else:
            counts = Counter(others)
            most = max(counts.values())
            best = {each for each, n in counts.items() if n == most}
            found.append((best - {value}) or best)
    return found


@examples(150)
@given(RECORDS, st.booleans())
def test_records_are_predicted_from_others_alone(records, is_number):
    """Each prediction is that of the definition: from the group without the record itself, ties against it."""
    groups = np.array([group for group, _ in records])
    values = np.array([float(value) for _, value in records])
    target = determination._Target(np.zeros(len(records), dtype=np.int64), values, is_number, np.arange(len(records)))
    predicted = determination._from_groups(target, groups)

    for own, wanted in zip(predicted, alone_left_out(records, is_number=is_number), strict=True):
        if wanted is not None:
            assert own == pytest.approx(wanted) if is_number else own in wanted


def test_infinite_numbers_are_values_and_nan_is_missing(recwarn):
    """A column with inf and nan among its numbers is examined without a warning, and reported once."""
    ages = np.random.default_rng(2).integers(18, 95, 400)
    written = [
        "inf" if place % 50 == 0 else "nan" if place % 50 == 1 else str(2 * age) for place, age in enumerate(ages)
    ]
    hidden = Hidden(pl.Series([f"[{age // 20 * 20}-" for age in ages]), pl.Series(ages, dtype=pl.Float64))
    recorded = {"v": order_values(pl.Series(written))}

    found = find_determinations({"age": hidden}, recorded, ages // 20, 5)

    assert recorded["v"].null_count() == 8
    assert recorded["v"].max() == 2 * recorded["v"].filter(recorded["v"] < 200).max() - recorded["v"].min()
    assert [(one.about, one.columns) for one in found] == [("age", ("v",))]
    assert not recwarn.list


def test_the_order_of_the_records_predicts_nothing():
    """In a file sorted by sex, a flag that both sexes have as often reveals no sex, in any order of the records."""
    table = pl.DataFrame({"sex": ["F"] * 300 + ["M"] * 300, "flag": [1.0, 0.0, 0.0] * 200})
    for seed in (None, 1, 2):
        rows = table if seed is None else table.sample(fraction=1, shuffle=True, seed=seed)
        hidden = {"sex": Hidden(pl.repeat("*", rows.height, eager=True), rows["sex"])}
        assert find_determinations(hidden, {"flag": rows["flag"]}, np.zeros(rows.height, dtype=np.int64), K) == []


def test_what_reveals_a_column_is_found_before_anything_is_generalized():
    """Two copies are two sets; a flag that follows from the column reveals nothing."""
    age = np.random.default_rng(3).integers(18, 95, 500)
    columns = {"age": age, "copy": age, "months": 12 * age, "adult": age >= 40, "noise": np.arange(500) % 7}
    table = pl.DataFrame({name: pl.Series(values).cast(pl.Int64).cast(pl.String) for name, values in columns.items()})

    assert sorted(preview_revealing(table, "age")) == [("copy",), ("months",)]
    assert preview_revealing(table, "noise") == []
