"""Releases by every method, whole: the verifier accepts them, and refuses what was changed."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from statistics import mean, median

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.recoded import recodable_cases
from tests.made.ruled_tables import SENSITIVE, table_rules

import cloister as cl
from cloister.errors import NoSafeRelease
from cloister.io import Source, Tally
from cloister.pipeline.protecting import protect
from cloister.pipeline.tables import TableProtection
from cloister.utility import LOSSES

METHODS = {
    "local": {"local_recoding": True},
    "mondrian": {"method": "mondrian"},
    "cluster": {"method": "cluster"},
    "top-down": {"method": "top-down"},
}
POSSIBLE = sorted(set(LOSSES) - {"dm_star"})
AGES = cl.intervals(10, 20, top=60, bottom=0)


def released(ruled, **options):
    """The release of a case, or None where there is no safe one."""
    frame = options.pop("frame", ruled.frame())
    try:
        return protect(TableProtection(Source(frame, "csv", ",", None, "t.csv"), ruled.request(**options)))
    except NoSafeRelease:
        return None


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", METHODS)
@examples(25)
@given(ruled=recodable_cases(losses=POSSIBLE), data=st.data())
def test_changed_releases_are_refused(name, ruled, data):
    """The verifier accepts the release; it refuses it once a cell is back as recorded or a record is missing."""
    release = released(ruled, **METHODS[name])
    assume(release is not None)
    frame, records = release.frame, release.summary()["records"]
    assert release.verify().holds
    assert isinstance(records["in"], str) or records["in"] == len(ruled.values)
    assert frame.height <= len(ruled.values)
    row = data.draw(st.integers(0, frame.height - 1))
    assert not release._check(Tally(frame[[i for i in range(frame.height) if i != row]])).holds

    column = data.draw(st.sampled_from(ruled.case.names))
    others = [value for value in ("v0", "elsewhere", None) if value != frame[column][row]]
    changed = pl.Series([*frame[column][:row], data.draw(st.sampled_from(others)), *frame[column][row + 1 :]])
    verdict = release._check(Tally(frame.with_columns(changed.alias(column))))
    assert not verdict.holds


@pytest.mark.parametrize("options", [{}, *METHODS.values()], ids=["full-domain", *METHODS])
@examples(12)
@given(ruled=recodable_cases(), about_table=table_rules())
def test_column_order_does_not_matter_under_rules_about_the_table(options, ruled, about_table):
    """A file with its columns turned round gives the same records, also where classes of one size must go."""
    ruled, names = replace(ruled, table_rules=[about_table]), [*ruled.case.names, SENSITIVE]
    one = released(ruled, **options)
    other = released(ruled, frame=ruled.frame().select(reversed(names)), **options)

    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert Counter(one.frame.rows()) == Counter(other.frame.select(names).rows())
        assert one.summary()["utility"]["losses"] == other.summary()["utility"]["losses"]


@examples(30)
@given(ruled=recodable_cases(losses=POSSIBLE))
def test_local_recoding_loses_no_more_in_the_release(ruled):
    """Where figures are exact, the loss is at most that without local recoding, and more records are released."""
    plain, recoded = released(ruled), released(ruled, local_recoding=True)

    assert (plain is None) == (recoded is None)
    if plain is not None and recoded is not None:
        if plain.summary()["utility"]["exact"] and recoded.summary()["utility"]["exact"]:
            assert recoded.summary()["utility"]["loss"] <= plain.summary()["utility"]["loss"] + 1e-12
        if not ruled.table_rules:
            assert recoded.frame.height >= plain.frame.height


numbers = st.one_of(st.none(), st.integers(0, 59).map(str), st.sampled_from(["12.5", "12.25", "0.005", "1e1", "7"]))


@examples(60)
@given(
    rows=st.lists(st.tuples(numbers, st.sampled_from("FM"), st.sampled_from("xyz")), min_size=4, max_size=24),
    how=st.sampled_from(["mean", "median"]),
    method=st.sampled_from([{}, *METHODS.values()]),
)
def test_averages_are_those_of_the_class(rows, how, method):
    """Each record shows the exact average of the recorded values of all records it looks like, to two decimals."""
    frame = pl.DataFrame(rows, schema={"age": pl.String, "sex": pl.String, "dx": pl.String}, orient="row")
    whole = cl.hierarchy_rows([[v or "", "some" if v else "", "*"] for v in sorted({r[0] or "" for r in rows})])
    try:
        release = cl.protect_table(
            frame,
            qi={"age": whole, "sex": cl.suppress()},
            rule=[cl.KAnonymity(2)],
            sensitive=["dx"],
            microaggregate={"age": how},
            **method,
        )
    except cl.NoSafeRelease:
        return
    shown = release.data

    assert release.verify().holds
    assert min(Counter(shown.select("age", "sex").rows()).values()) >= 2
    assert release.summary()["columns"]["age"]["average"] == how
    assert 0 <= release.summary()["utility"]["columns"]["age"]["variance_lost"] <= 1
    assert set(shown["age"].drop_nulls().str.extract(r"^\d+\.(\d\d)$").is_not_null()) <= {True}
    if method == {} and release.summary()["records"]["released"] == len(rows) and None not in frame["age"]:
        exact = Fraction(mean(map(Fraction, frame["age"]))) * len(rows)
        close = sum(map(Fraction, shown["age"]))
        assert how == "median" or abs(exact - close) <= Fraction(len(rows), 200)


@examples(60)
@given(values=st.lists(st.integers(-500, 500), min_size=1, max_size=12), how=st.sampled_from(["mean", "median"]))
def test_averages_are_exact_before_rounding(values, how):
    """Mean and median are exact, and rounded half to even at the second decimal; a missing value empties the class."""
    import numpy as np

    from cloister.shapes.table.method.protect import microaggregate

    texts = [f"{'-' if value < 0 else ''}{abs(value) // 100}.{abs(value) % 100:02}5" for value in values]
    exact = (mean if how == "mean" else median)([Fraction(text) for text in texts])
    rounded = round(exact * 100)
    classes = np.zeros(len(texts), dtype=np.int64)
    found = microaggregate(pl.Series("x", texts), classes, how)

    assert [Fraction(rounded, 100)] * len(texts) == [Fraction(text) for text in found]
    with_missing = microaggregate(pl.Series("x", [*texts, None]), np.append(classes, 0), how)
    assert [None] * (len(texts) + 1) == with_missing.to_list()


@examples(25)
@given(ruled=recodable_cases(losses=("iyengar",)), data=st.data())
def test_averaged_releases_are_refused_where_changed(ruled, data):
    """A number that is not the average of its class is refused."""
    rows = len(ruled.values)
    ages = pl.Series("age", [str(data.draw(st.integers(0, 59))) for _ in range(rows)])
    request = ruled.request(microaggregate={"age": "mean"})
    from cloister.shapes.table.method.data import QuasiIdentifier

    request = replace(request, quasi_identifiers={**request.quasi_identifiers, "age": QuasiIdentifier(AGES)})
    source = Source(ruled.frame().with_columns(ages), "csv", ",", None, "t.csv")
    try:
        release = protect(TableProtection(source, request))
    except NoSafeRelease:
        return
    frame = release.frame
    row = data.draw(st.integers(0, frame.height - 1))
    other = str(Fraction(frame["age"][row]).limit_denominator(1) + 7) + ".00"
    changed = pl.Series("age", [*frame["age"][:row], other, *frame["age"][row + 1 :]])

    assert release.verify().holds
    assert not release._check(Tally(frame.with_columns(changed))).holds


def test_sensitive_values_come_along():
    """The sensitive value of each record is the one recorded, whatever was done to the others."""
    frame = pl.DataFrame({"age": [31, 35, 52, 58], "dx": ["a", "b", "c", "d"]})
    release = cl.protect_table(
        frame,
        qi={"age": AGES},
        rule=[cl.KAnonymity(2)],
        sensitive=["dx"],
        method="mondrian",
        microaggregate={"age": "mean"},
    )

    assert release.data.rows() == [("33.00", "a"), ("33.00", "b"), ("55.00", "c"), ("55.00", "d")]
    assert SENSITIVE not in release.data.columns


def test_clusters_that_leave_nothing_say_so():
    """Where no rows may be joined within the highest levels, the message is that nothing is left, not that too much."""
    frame = pl.DataFrame({"zip": [f"{number:05}" for number in range(60)]})

    with pytest.raises(NoSafeRelease, match="nothing is left to release"):
        cl.protect_table(
            frame,
            qi={"zip": "prefix:5"},
            rule=["k-anonymity=20"],
            method="cluster",
            level_bounds={"zip": (0, 1)},
            suppression=1.0,
        )


@pytest.mark.parametrize("method", ["mondrian", "cluster"])
@pytest.mark.parametrize(
    "rule", ["average-risk=0.2", "sample-uniqueness=0.05", "population-uniqueness:100000=0.001", "average-risk=0.99"]
)
def test_rules_about_the_table_hold_whether_or_not_free_splits_do(method, rule):
    """A rule that splits without it satisfy, and one that they violate, hold in the release."""
    frame = pl.DataFrame({"age": [str(number * number % 60) for number in range(80)], "sex": ["F", "M"] * 40})
    release = cl.protect_table(frame, qi={"age": AGES, "sex": "suppress"}, rule=[rule], method=method)

    assert release.verify().holds
    assert release.summary()["records"]["released"] == 80


@pytest.mark.parametrize(
    ("people", "share", "sizes"),
    [
        (10**8, 0.001, {1: 2, 2: 2, 5: 1}),
        (8 * 10**9, 1e-6, {1: 2, 2: 1, 5: 1, 100: 1}),
        (8 * 10**9, 1e-6, {1: 49, 2: 35, 5: 25, 3: 19}),
    ],
)
def test_a_few_records_of_billions_pass_verification(people, share, sizes):
    """The slide negative binomial model is computed alike by protector and verifier, however few are sampled."""
    ordered = [size for size, classes in sizes.items() for _ in range(classes)]
    values = [f"{number:03}" for number, size in enumerate(ordered) for _ in range(size)]
    release = cl.protect_table(
        pl.DataFrame({"a": values}),
        qi={"a": "suppress"},
        rule=[cl.PopulationUniqueness(share, people, "snb")],
        suppression=1.0,
        levels={"a": 0},
    )

    assert release.verify().holds
