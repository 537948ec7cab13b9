"""What a recipient expects from Python: looked at, or refused where such a release says nothing of it."""

import polars as pl
import pytest

import cloister as cl


def test_an_expectation_that_no_such_release_meets_is_refused(tmp_path):
    """Nobody reads "holds" of a number of codes, or of columns, that the release does not have."""
    frame = pl.DataFrame({"age": [31, 34] * 3, "sex": ["F"] * 6})
    cl.protect_table(frame, k=2, qi={"age": "interval:10"}, drop=["sex"]).write(tmp_path / "table")
    records = [[("401.1", 38)], [("401.9", 38)], [("401.1", 38)]]
    cl.protect_trajectories(cl.Trajectories.from_records(records), k=3).write(tmp_path / "trajectories")

    assert cl.verify_folder(tmp_path / "table", qi=["age"]).holds
    for form, expected in (("table", {"m": 2}), ("trajectories", {"m": 2}), ("trajectories", {"qi": ["age"]})):
        with pytest.raises(cl.InputError, match="not for"):
            cl.verify_folder(tmp_path / form, **expected)


def test_one_name_is_a_list_of_one(tmp_path):
    """A column, or what need not be checked, may be given without a list."""
    frame = pl.DataFrame({"age": [31, 34] * 3})
    cl.protect_table(frame, k=2, qi={"age": "interval:10"}).write(tmp_path / "table")

    assert cl.verify_folder(tmp_path / "table", qi="age").holds
    assert cl.assess(frame, qi="age").prosecutor.largest == 3
    with pytest.raises(cl.InputError, match="nothing unchecked of the name report"):
        cl.verify_folder(tmp_path / "table", accept_unchecked="report")
