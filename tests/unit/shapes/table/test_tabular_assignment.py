"""Forged releases whose labels are all right: a flow to the original finds that no records fit them."""

import itertools
import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles.slow_assignment import can_be_assigned, patients_can_be_assigned

import cloister as cl
from cloister.io import Tally
from cloister.shapes.table.format.guarantee import OriginalTable, bound_hierarchies, join_released
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.shapes.table.verify.flow import Flow
from cloister.shapes.table.verify.verify import verify

METHODS = [{"method": "mondrian"}, {"method": "cluster"}, {"method": "top-down"}]
HIERARCHIES = {"age": cl.intervals(5, 20, 40), "sex": cl.suppress()}
RANDOM = random.Random(7)
VISITS = pl.DataFrame(
    [
        (f"p{one}", 20 + one // 2, "FM"[one % 2], "abcdef"[RANDOM.randrange(6)])
        for one in range(60)
        for _ in range(1 + 4 * (one % 3))
    ],
    schema=["whose", "age", "sex", "dx"],
    orient="row",
)


def made(frame, **settings):
    """A release of visits, its guarantee, and what it was made from, without knowledge of whose each record is."""
    asked = {"rule": ["k-anonymity=3"], "sensitive": ["dx"], "accept": ["dx"], "patient": "whose"} | settings
    release = cl.protect_table(frame, qi=HIERARCHIES, **asked)
    bound = join_released(bound_hierarchies(frame, HIERARCHIES), HIERARCHIES, release.frame, {}, Tally(frame), 3)
    source = OriginalTable(Tally(frame), bound)
    return release.frame, guarantee_of(release.manifest), source


def people(n=60):
    """One record for each patient, with diagnoses that follow the age."""
    return pl.DataFrame({"age": range(n), "sex": ["F", "M"] * (n // 2), "dx": [f"d{age // 4}" for age in range(n)]})


def renumbered(frame):
    """The release with every record of its first class another patient, in the order that hides nothing."""
    first = frame.select("age", "sex").head(1)
    here = (pl.col("age") == first["age"][0]) & (pl.col("sex") == first["sex"][0])
    number = pl.when(here).then(pl.int_range(1, pl.len() + 1)).otherwise("whose").cast(pl.Int64)
    return frame.with_columns(number.alias("whose")).sort("age", "sex", "dx", "whose")


@pytest.mark.parametrize("settings", METHODS, ids=str)
def test_patients_that_nobody_is_are_refused(settings):
    """A class of few patients with many records each is not one of as many patients as it has records."""
    frame, guarantee, source = made(VISITS, **settings)
    forged = renumbered(frame)

    assert verify(Tally(frame), guarantee, source).holds
    assert verify(Tally(forged), guarantee).holds
    assert "fit no patient of the original" in verify(Tally(forged), guarantee, source).problem()


@pytest.mark.parametrize("settings", METHODS, ids=str)
def test_without_numbers_a_class_of_too_few_patients_is_refused(settings):
    """Where the release does not say whose its records are, the original says that a class has two patients."""
    frame, guarantee, _ = made(VISITS, ids="drop", **settings)
    few = VISITS.with_columns(whose=pl.when(pl.col("age") < 30).then(pl.lit("p0")).otherwise("whose"))
    source = OriginalTable(Tally(few), bound_hierarchies(few, HIERARCHIES))
    alone = verify(Tally(frame), guarantee)

    assert not alone.holds
    assert not alone.failures
    assert [name for name, _ in alone.unchecked] == ["k-patients"]
    assert alone.accepting(["k-patients"]).holds
    assert "k-patients" in "; ".join(verify(Tally(frame), guarantee, source).failures)


@pytest.mark.parametrize("settings", METHODS, ids=str)
def test_shuffled_values_are_refused(settings):
    """Diagnoses shuffled among the patients are not those of the original, though each label and count is right."""
    frame, guarantee, source = made(people(), patient=None, **settings)
    shuffled = frame.with_columns(dx=pl.Series(frame["dx"].to_list()[30:] + frame["dx"].to_list()[:30]))
    shuffled = shuffled.sort(frame.columns)

    assert verify(Tally(frame), guarantee, source).holds
    assert verify(Tally(shuffled), guarantee).holds
    assert "labels and recorded values together" in verify(Tally(shuffled), guarantee, source).problem()


ROWS = st.lists(st.tuples(st.sampled_from("pqrs"), st.integers(0, 3), st.sampled_from("ab")), min_size=2, max_size=6)
LEVELS = ((0, 1), (0, 1))


@given(original=ROWS, labels=st.data())
@examples(150)
def test_the_flow_is_that_of_all_assignments(original, labels):
    """Records can be given records of the original exactly if one of all permutations does; none is refused wrongly."""
    hierarchy = {"age": cl.intervals(2, 4)}
    frame = pl.DataFrame(original, schema=["whose", "age", "dx"], orient="row")
    bound = bound_hierarchies(frame, hierarchy)["age"]
    covers = {}
    for level in (0, 1):
        for value, label in zip(bound.values, bound.labels[level], strict=True):
            covers.setdefault(label, set()).add(int(value))
    n = labels.draw(st.integers(1, len(original)))
    released = [
        (
            labels.draw(st.sampled_from(sorted(covers))),
            labels.draw(st.sampled_from("ab")),
            labels.draw(st.integers(1, 2)),
        )
        for _ in range(n)
    ]
    fits, of_patients = found_by_flow(released, frame, hierarchy)

    assert fits == can_be_assigned(released, original, covers)
    if patients_can_be_assigned(released, original, covers):
        assert of_patients
    if not fits:
        assert not of_patients


def found_by_flow(released, frame, hierarchy):
    """Whether the verifier gives each record one of the original, and each number of a class a patient."""
    from cloister.results import Checks
    from cloister.shapes.table.format.guarantee import Guarantee
    from cloister.shapes.table.verify.assignment import check_assignment, find_beneath
    from cloister.shapes.table.verify.classes import ReleasedClasses

    guarantee = Guarantee(
        ("age", "dx", "whose"), {"age": 1}, 1, None, None, id="whose", patient="whose", recoded={"age": (0, 1)}
    )
    table = pl.DataFrame(released, schema=["age", "dx", "whose"], orient="row").cast(pl.String)
    source = OriginalTable(Tally(frame.cast(pl.String)), bound_hierarchies(frame, hierarchy))
    checks = Checks()
    check_assignment(find_beneath(ReleasedClasses(Tally(table), ["age"]), guarantee, source), guarantee, checks)
    return not any("labels and recorded" in one for one in checks.failures), not checks.failures


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8, unique=True))
@examples(60)
def test_the_greatest_flow_is_the_greatest_matching(pairs):
    """With one of each, what is lost is what no matching can give a partner."""
    flow, sides = Flow(), [pl.DataFrame({"one": range(4), "records": [1] * 4}) for _ in range(2)]
    flow.supply("left", sides[0], ["one"])
    flow.lead("left", ["one"], "right", ["other"], pl.DataFrame(pairs, schema={"one": int, "other": int}, orient="row"))
    flow.drain("right", sides[1].rename({"one": "other"}), ["other"])
    best = max(sum((i, j) in pairs for i, j in enumerate(order)) for order in itertools.permutations(range(4)))

    assert flow.lost() == 4 - best
