"""A released table beside its original: what is counted before and after."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

import cloister as cl
from cloister.hierarchy import intervals, suppress
from cloister.recipients.labels import LabelledColumn
from cloister.recipients.utility_comparison import MOST, compare_with_original, conditions


@examples(40)
@given(st.lists(st.tuples(st.one_of(st.none(), st.integers(-40, 200)), st.sampled_from("ab")), min_size=1, max_size=60))
def test_of_labels_as_recorded_both_say_the_same(records):
    """Of columns released as they are, shares after are those before, and every record meets one condition at most."""
    frame = pl.DataFrame(records, schema={"number": pl.Int64, "letter": pl.String}, orient="row")
    found = []
    for name, kind in (("number", "number"), ("letter", "text")):
        text = frame[name].cast(pl.String)
        rows = pl.DataFrame(
            {"label": ["-"], "level": ["0"], "meaning": ["as recorded"], "type": [kind], "lower": ["-"], "upper": ["-"]}
        )
        found.append(conditions(frame[name], text, LabelledColumn.of(text, rows)))
    one, other = found
    pairs = [(one.names[a], other.names[b]) for a, b in zip(one.place, other.place) if a < len(one.names)]

    for asked in found:
        assert np.allclose(asked.after(), asked.before())
    if len(set(frame["number"])) <= MOST:
        counted = [records.count((None if name == "missing" else int(name), "a")) for name in one.names]
        if "a" in other.names:
            assert np.allclose(one.together(other)[0][:, other.names.index("a")] * len(records), counted)
    before, after = one.together(other)
    assert np.allclose(before, after)
    assert before.sum() * len(records) == pytest.approx(len(pairs))


def test_ages_in_bands_are_estimated_by_width(tmp_path):
    """A band of ten years says a tenth of its records of each year, surely none and possibly all."""
    frame = pl.DataFrame({"age": [f"{age}" for age in range(20, 40)] * 3})
    cl.protect_table(frame, qi={"age": "interval:10"}, rule=["k-anonymity=5"], levels={"age": 1}, suppression=0).write(
        tmp_path / "out"
    )
    release = cl.open(tmp_path / "out")
    label = release.data["age"].cast(pl.String)
    asked = conditions(frame["age"].cast(pl.Int64), label, LabelledColumn.of(label, release.codebook))

    assert asked.names[0] == "20 to 21"
    assert np.allclose(asked.before(), 0.1)
    assert np.allclose(asked.after()[1], 0.1)
    assert asked.after()[0].sum() == 0
    assert asked.after()[2].max() == pytest.approx(0.5)


@pytest.mark.parametrize("escapes", [False, True])
def test_each_record_of_the_original_fits_a_released_one(tmp_path, escapes):
    """Whatever columns are called and cells begin with, of a release without suppression every record has a match."""
    frame = pl.DataFrame(
        {
            "len": [str(20 + place % 30) for place in range(120)],
            "sex": ["=F" if place % 2 else "M" for place in range(120)],
            "note": ["=x" if place % 3 else "-y" for place in range(120)],
        }
    )
    hierarchies = {"len": intervals(10, 20), "sex": suppress()}
    release = cl.protect_table(frame, qi=hierarchies, sensitive=["note"], k=3, suppression=0, escape_formulas=escapes)
    release.write(tmp_path / "released")
    compared = compare_with_original(tmp_path / "released", frame, hierarchies)

    for place in range(frame.height):
        pair = compared.pair(place)
        assert pair.n_fit >= 1
        assert pair.released is not None
        assert pair.released["note"] == pair.original["note"]
    assert sum(before for _, before, _ in compared.sizes) == frame.height
    assert sum(after for *_, after in compared.sizes) == frame.height
