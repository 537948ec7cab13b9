"""Imputed cells stay inside their labels, whatever the hierarchy, and tables depend on nothing but rows and seed."""

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.oracles.imputation import is_inside, may_be_drawn

import cloister as cl
from cloister.hierarchy.interval import ABOVE, BELOW
from cloister.recipients.admitted import Lists, admit
from cloister.recipients.imputation import Imputation, draw_inside, draw_listed
from cloister.recipients.labels import LabelledColumn
from cloister.release.codebook import codebook_of

WHOLE = [str(number) for number in range(0, 110, 3)]
DAYS = [str(datetime.date(2019, 11, 1) + datetime.timedelta(days=41 * step)) for step in range(40)]
PLACES = [["", "none", "*"], ["a1", "a", "*"], ["a2", "a", "*"], ["b1", "b", "*"], ["b2", "b", "*"], ["c1", "c", "*"]]
HIERARCHIES = {
    "whole": (cl.intervals(5, 10, 20), WHOLE),
    "bounded": (cl.parse_hierarchy("interval:5,10/top=90/bottom=20"), WHOLE),
    "decimals": (cl.parse_hierarchy("interval:0.5,2"), [f"{number / 10:.1f}" for number in range(0, 90, 7)]),
    "dates": (cl.dates("month", "quarter", "year"), DAYS),
    "prefix": (cl.prefix(5), ["00100", "00130", "00170", "01000", "02139", "10001", "10003"]),
    "file": (cl.hierarchy_rows(PLACES), [place for place, *_ in PLACES if place]),
    "icd": (cl.icd9(), ["401.9", "401.1", "250.00", "250.02", "715.9"]),
    "names": (cl.suppress(), ["F", "M", "other"]),
    "numbers": (cl.suppress(), ["0", "1", "2", "5", "11"]),
}


def released(hierarchy, values, levels):
    """The labels of values, each at a level of its own, with their codebook, as a release has them."""
    found = []
    for value, level in zip(values, levels):
        labels = [one[0] for one in hierarchy.bind("x", [value]).labels]
        found.append(labels[min(level, len(labels) - 1)])
    kind = hierarchy.kind
    rows = codebook_of([("x", "quasi-identifier", kind, "0 1", label, "") for label in dict.fromkeys(found)])
    return LabelledColumn.of(pl.Series("x", found, dtype=pl.String), rows, hierarchy), found


@pytest.mark.parametrize("kind", HIERARCHIES)
@given(data=st.data())
@examples(40)
def test_a_cell_is_drawn_inside_its_label(kind, data):
    """Whatever levels a release mixes: a drawn value is one that its label stands for; missing stays missing."""
    hierarchy, domain = HIERARCHIES[kind]
    values = data.draw(st.lists(st.sampled_from([*domain, None]), min_size=1, max_size=40))
    levels = data.draw(st.lists(st.integers(0, 4), min_size=len(values), max_size=len(values)))
    column, labels = released(hierarchy, values, levels)
    outcome = pl.Series("outcome", data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    frame = pl.DataFrame([pl.Series("x", labels, dtype=pl.String), outcome])
    table = Imputation.of(frame, [admit(column)], ["outcome"]).complete(data.draw(st.integers(0, 9)))

    assert table["outcome"].equals(outcome)
    for label, drawn in zip(labels, table["x"]):
        if set(labels) <= {"*", None} and kind != "file":  # nothing is known
            assert drawn is None
        else:
            text = None if drawn is None else label if label == f"{drawn}.0" else str(drawn)
            assert is_inside(hierarchy, [*domain], label, text), (label, text)
            assert drawn is not None or None in labels


@given(data=st.data())
@examples(200)
def test_a_draw_takes_an_admitted_donor_of_the_nearest_leaf(data):
    """Each position is that of an admitted donor in the leaf, or in the nearest one, or any if there is no donor."""
    spots, small = st.integers(0, 12), st.integers(0, 4)
    donors = data.draw(st.lists(st.tuples(spots, small), min_size=1, max_size=20))
    cells = data.draw(st.lists(st.tuples(spots, spots, small), min_size=1, max_size=10))
    cells = [(min(one, other), max(one, other), leaf) for one, other, leaf in cells]
    arrays = [np.array(part, dtype=np.int64) for part in (*zip(*cells), *zip(*donors))]
    drawn = draw_inside(*arrays, np.random.default_rng(data.draw(small)))

    for cell, position in zip(cells, drawn.tolist()):
        assert position in may_be_drawn(range(cell[0], cell[1] + 1), cell[2], *map(list, zip(*donors)))


@given(data=st.data())
@examples(200)
def test_a_list_takes_a_listed_donor_of_the_nearest_leaf(data):
    """Each position is that of a listed donor in the leaf, or in the nearest one, or any if there is no donor."""
    spots, small = st.integers(0, 12), st.integers(0, 4)
    donors = data.draw(st.lists(st.tuples(spots, small), min_size=1, max_size=20))
    cells = data.draw(st.lists(st.tuples(st.sets(spots, min_size=1, max_size=4), small), min_size=1, max_size=10))
    lists = Lists.of([np.array(sorted(listed), dtype=np.int64) for listed, _ in cells])
    arrays = [np.array(part, dtype=np.int64) for part in ([leaf for _, leaf in cells], *zip(*donors))]
    drawn = draw_listed(lists, *arrays, np.random.default_rng(data.draw(small)))

    for (listed, leaf), position in zip(cells, drawn.tolist()):
        assert position in may_be_drawn(listed, leaf, *map(list, zip(*donors)))


@given(st.permutations(range(30)), st.integers(0, 5))
@examples(40)
def test_the_order_of_rows_changes_nothing(order, seed):
    """A file in another order gives the same complete rows."""
    rng = np.random.default_rng(0)
    values, levels = rng.choice(WHOLE, 30).tolist(), rng.integers(0, 4, 30).tolist()
    sexes = rng.choice(["F", "M"], 30).tolist()

    def rows(places):
        column, labels = released(HIERARCHIES["whole"][0], [values[at] for at in places], [levels[at] for at in places])
        frame = pl.DataFrame({"x": labels, "sex": [sexes[at] for at in places]})
        return sorted(Imputation.of(frame, [admit(column)], ["sex"]).complete(seed).rows())

    assert rows(order) == rows(range(30))


def test_a_star_of_numbers_is_in_the_range_of_the_release():
    """``*`` is drawn among all released numbers, and an open interval ends where the widest closed one would."""
    column, _ = released(cl.parse_hierarchy("interval:10/top=90"), ["31", "95", "47"], [3, 1, 1])
    found = admit(column)

    assert found.values(found.first).to_list() == [40, 90, 40]
    assert found.values(found.last).to_list() == [100, 100, 49]


@pytest.mark.parametrize("kind", ["whole", "bounded", "decimals"])
@given(data=st.data())
@examples(40)
def test_each_end_of_a_joined_label_has_a_record(kind, data):
    """A label spans the intervals of its class, so some imputed cell lies in the first one, and some in the last.

    Not so of open labels, whose first or last interval has no room where the widest closed label is narrow.
    """
    hierarchy, domain = HIERARCHIES[kind]
    groups = data.draw(st.lists(st.lists(st.sampled_from(domain), min_size=2, max_size=6), min_size=1, max_size=6))
    labels = []
    for group in groups:
        begin, end = hierarchy.cells(group, 1)
        ends = int(begin.min()), int(end.max())
        labels += [hierarchy.scale.label(*ends) if {*ends} != {BELOW, ABOVE} else "*"] * len(group)
    rows = codebook_of([("x", "quasi-identifier", "interval", "0 1", label, "") for label in dict.fromkeys(labels)])
    column = LabelledColumn.of(pl.Series("x", labels), rows, hierarchy)
    values = [value for group in groups for value in group]
    joined = {one.label for one in hierarchy.join(hierarchy.bind("x", values), labels).joined}
    frame = pl.DataFrame({"x": labels, "outcome": data.draw(st.permutations(range(len(labels))))})
    drawn = Imputation.of(frame, [admit(column, 1)], ["outcome"]).complete(data.draw(st.integers(0, 9)))["x"].to_list()

    for label in {label for label in labels if label[0] == "["} if any(one[0] == "[" for one in joined) else ():
        own = [str(value) for value, other in zip(drawn, labels) if other == label]
        begin, end = hierarchy.cells(own, 1)
        assert hierarchy.scale.label(int(begin.min()), int(end.max())) == label


@pytest.mark.parametrize("seed", range(3))
def test_a_label_that_limits_nothing_has_a_record_at_each_end(seed):
    """The only label of a column is drawn by another rule, and stated as the others are."""
    hierarchy = cl.intervals(5, 50)
    rows = codebook_of([("x", "quasi-identifier", "interval", "0 1", "[5-39]", "")])
    column = LabelledColumn.of(pl.Series("x", ["[5-39]"] * 20), rows, hierarchy)
    frame = pl.DataFrame({"x": ["[5-39]"] * 20, "y": [0, 1] * 10})
    drawn = Imputation.of(frame, [admit(column, 1)], ["y"]).complete(seed)["x"]

    assert (drawn.min() <= 9, drawn.max() >= 35) == (True, True)


def test_intervals_of_one_number_are_intervals():
    """`[2-2]` is a range that covers 2 and its decimals, and is no value."""
    rows = codebook_of([("x", "quasi-identifier", "interval", "0 1", label, "") for label in ("[2-2]", "[3-3]")])
    column = LabelledColumn.of(pl.Series("x", ["[2-2]", "[3-3]"]), rows, cl.intervals(1, 5))
    found = admit(column)

    assert found.values(found.first).to_list() == [2, 3]
