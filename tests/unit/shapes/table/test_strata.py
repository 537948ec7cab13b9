"""Strata: which records they hold, and that classes do not cross them."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.recoded import recoding
from tests.made.tables import cases

import cloister as cl
from cloister.shapes.table.method.recoding.strata import LEAST_CLASSES, find_strata, within_strata

N = 900
RNG = np.random.default_rng(5)
AGE = RNG.integers(20, 70, N)
PATIENTS = pl.DataFrame(
    {
        "age": AGE,
        "sex": RNG.choice(["F", "M"], N),
        "ward": RNG.integers(0, 40, N),
        "stage": RNG.choice(["I", "II", "III"], N),
        "died": RNG.random(N) < AGE / 100,
    }
)
ASKED = {
    "qi": {"age": "interval:5,10,20", "sex": "suppress", "ward": "interval:5,20", "stage": "suppress"},
    "sensitive": ["died"],
    "k": 5,
}
DECADE = pl.col("age").cast(pl.String).str.extract(r"(\d+)").cast(pl.Int64) // 10


def _deaths(frame: pl.DataFrame) -> pl.DataFrame:
    """Patients and deaths by age in tens and sex."""
    by = [DECADE.alias("decade"), "sex"]
    return frame.group_by(by).agg(pl.len(), pl.col("died").cast(pl.Boolean).sum()).sort("decade", "sex")


def test_rates_by_age_and_sex_are_those_of_the_original():
    """By default every patient keeps its decade and its sex, so that deaths by both are counted exactly."""
    release = cl.protect_table(PATIENTS, **ASKED)

    assert release.summary()["method"] == "cluster"
    assert release.summary()["settings"]["strata"] == ["age", "sex"]
    assert _deaths(release.data).equals(_deaths(PATIENTS))


def test_any_column_can_be_a_stratum():
    """Named columns take the place of age and sex."""
    release = cl.protect_table(PATIENTS, **ASKED, strata=["stage"])

    counts = [frame.group_by("stage").len().sort("stage").rows() for frame in (release.data, PATIENTS)]
    assert counts[0] == counts[1]
    assert release.summary()["settings"]["strata"] == ["stage"]


def test_an_open_label_is_a_stratum():
    """Ages of 90 and more have one label however fine, and do not put the other ages together."""
    frame = PATIENTS.with_columns(age=pl.when(pl.col("age") > 64).then(pl.col("age") + 35).otherwise(pl.col("age")))
    release = cl.protect_table(frame, **ASKED | {"qi": ASKED["qi"] | {"age": "interval:5,10,20/top=90"}})

    labels = release.data["age"].unique().to_list()
    assert ">=90" in labels
    assert "*" not in labels


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"strata": ["died"]}, "'died' is to be a stratum but is no quasi-identifier"),
        ({"strata": ["sex"], "method": "mondrian"}, "kept by the method cluster, but the method is mondrian"),
        ({"strata": ["sex"], "purpose": "counts"}, "kept by the method cluster, but the method is full-domain"),
    ],
)
def test_strata_that_cannot_be_kept_are_refused(changes, sentence):
    """A stratum is a quasi-identifier, and only clusters keep strata."""
    with pytest.raises(cl.InputError, match=sentence):
        cl.protect_table(PATIENTS, **ASKED, **changes)


@examples(80)
@given(case=cases(), data=st.data())
def test_strata_have_room_for_two_classes(case, data):
    """Each stratum has room for two classes where the table has, and rows of equal values in its columns share one."""
    recoded = recoding(case)
    attributes = data.draw(st.lists(st.integers(0, len(case.names) - 1), min_size=1, unique=True))
    stratum = find_strata(recoded, attributes)
    task = recoded.problem.task
    sizes = np.bincount(stratum, task.rows.records)

    assert sizes.min() >= min(LEAST_CLASSES * task.threshold.k, task.rows.records.sum())
    keys = list(zip(*task.rows.codes[attributes].tolist(), strict=True))
    assert len({*zip(keys, stratum.tolist(), strict=True)}) == len({*keys})


@examples(40)
@given(case=cases())
def test_a_stratum_is_one_more_attribute(case):
    """Rows keep their labels and costs; two strata share a label at no level."""
    recoded = recoding(case)
    stratum = find_strata(recoded, [0])
    within = within_strata(recoded, stratum)
    problem = within.problem

    assert problem.highest[-1] == 0
    assert problem.task.maps.heights[-1] == 1
    assert (within.at(len(case.names), 0, np.arange(within.n_rows)) == stratum).all()
    for j in range(len(case.names)):
        every = np.arange(within.n_rows)
        assert (within.at(j, 0, every) == recoded.at(j, 0, every)).all()
