"""The verifier of trajectories: every promise, broken by hand."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.made.trajectories import FIGURE_3, FIGURE_4, figure_1

from cloister.results import Checks
from cloister.shapes.trajectories.format.data import Diversity, WrittenTrajectories
from cloister.shapes.trajectories.verify.statements import ExpectedGuarantee
from cloister.shapes.trajectories.verify.verify import Secret, check_original, exact_losses, verify

FIGURE_1C = [
    (1, "401", "38"),
    (1, "401.1", "40"),
    (2, "401", "38"),
    (2, "401.1", "40"),
    (3, "401.1", "33"),
    (3, "401.1", "34"),
    (3, "401.1", "35"),
    (4, "401.1", "33"),
    (4, "401.1", "34"),
    (4, "401.1", "35"),
    (5, "401.1", "[39-40]"),
    (5, "401.9", "40"),
    (6, "401.1", "[39-40]"),
    (6, "401.9", "40"),
]
"""Fig. 1(c), in the order of a release."""

ORIGIN = np.array([2, 1, 3, 0, 4, 5])
"""Which patient of Fig. 1(a) each is; patients 2 and 3 by their DNA, 1 and 4 too."""

POSITION = np.array([0, 1, 2, 0, 1, 0, 1, 0, -1, 1, 2, 0, 1, 0, 1], dtype=np.int32)
"""Of the fourth patient, (401.9, 33) is suppressed; pairs of one age are read in the order of their codes."""


def written(rows=None, dna=None):
    """Released rows, and auxiliary columns if given."""
    frame = pl.DataFrame(FIGURE_1C if rows is None else rows, schema=["id", "code", "age"], orient="row")
    attributes = None if dna is None else pl.DataFrame({"id": range(1, len(dna) + 1), "dna": dna})
    return WrittenTrajectories(frame, attributes)


ATTRIBUTES = ["AC..A", "GC..A", "CC..A", "CT..A", "GC..C", "TG..A"]


def secret(**changes):
    """Fig. 1(a), and where it went."""
    attributes = pl.DataFrame({"dna": [ATTRIBUTES[list(ORIGIN).index(patient)] for patient in range(6)]})
    known = Secret(figure_1(), FIGURE_4, FIGURE_3, attributes, ORIGIN, POSITION)
    return replace(known, **changes)


def failures(rows=None, promise=None, known=None, dna=None):
    """What the verifier says does not hold."""
    return verify(written(rows, dna), promise or ExpectedGuarantee(2), known).failures


def changed(at, row):
    """Fig. 1(c) with one row replaced."""
    return [*FIGURE_1C[:at], row, *FIGURE_1C[at + 1 :]]


def test_figure_1_holds():
    """Fig. 1(c) keeps what it promises, with whatever is known of the original."""
    assert failures() == ()
    assert failures(dna=ATTRIBUTES) == ()
    for known in (secret(), secret(position=None), secret(origin=None, position=None)):
        assert failures(known=known, dna=ATTRIBUTES) == ()


def test_every_trajectory_is_counted():
    """k is what the rarest trajectory has; one more is too much."""
    assert failures(promise=ExpectedGuarantee(3)) == (
        "not so: every trajectory is that of at least 3 patients (k-anonymity) (3 violations)",
    )


@pytest.mark.parametrize("at", range(len(FIGURE_1C)))
@pytest.mark.parametrize("column", [1, 2])
def test_a_changed_cell_is_noticed_from_the_file_alone(at, column):
    """Any other value in any cell leaves a trajectory that fewer than k have."""
    row = list(FIGURE_1C[at])
    row[column] = "x"

    assert failures(changed(at, tuple(row)))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (FIGURE_1C[1:], "at least 2 patients"),
        (
            [*FIGURE_1C[4:10], *[(number + 2, code, age) for number, code, age in FIGURE_1C[:4]], *FIGURE_1C[10:]],
            "numb",
        ),
        ([(number + 1, code, age) for number, code, age in FIGURE_1C], "numbered 1, 2, 3"),
        ([(number * 2 - 1, code, age) for number, code, age in FIGURE_1C], "numbered 1, 2, 3"),
        ([FIGURE_1C[2], *FIGURE_1C[:2], *FIGURE_1C[3:]], "numbered 1, 2, 3"),
        (changed(0, (1, "401", None)), "a code and an age"),
        (FIGURE_1C[:0], "at least 2 patients"),
    ],
)
def test_form_is_checked(rows, words):
    """Numbers, rows that stand together, no missing cells."""
    assert any(words in failure for failure in failures(rows))


def test_order_tells_nothing():
    """Patients in another order than that of their trajectories, or equal ones than that of attributes, are refused."""
    shuffled = [(1, "401.1", "33"), (2, "401.1", "33"), (3, "401", "38"), (4, "401", "38")]
    assert any("sorted by their trajectories" in failure for failure in failures(shuffled))
    assert any(
        "sorted by their trajectories" in failure
        for failure in failures(dna=[ATTRIBUTES[1], ATTRIBUTES[0], *ATTRIBUTES[2:]])
    )


def test_pairs_of_which_nothing_is_told_stand_alone_where_promised():
    """With empty pairs left out, `*,*` is only what a patient without pairs is written as."""
    rows = [(1, "*", "*"), (2, "*", "*"), (3, "*", "*"), (3, "401", "*"), (4, "*", "*"), (4, "401", "*")]

    assert failures(rows) == ()
    assert failures(rows[:2], ExpectedGuarantee(2, drop_empty=True)) == ()
    assert failures(rows, ExpectedGuarantee(2, drop_empty=True)) == (
        "not so: a pair of * and * stands only for a patient of whom nothing else is released (2 violations)",
    )


def test_diversity_is_counted():
    """A value may be that of one in l who share a trajectory; missing ones are none."""
    promise = ExpectedGuarantee(2, diversity=Diversity(2, column="dna"))
    assert failures(dna=ATTRIBUTES, promise=promise) == ()
    assert failures(dna=[None, None, *ATTRIBUTES[2:]], promise=promise) == ()
    assert failures(dna=["a", "a", *ATTRIBUTES[2:]], promise=promise)
    assert failures(dna=ATTRIBUTES, promise=ExpectedGuarantee(2, diversity=Diversity(3, column="dna")))
    assert failures(dna=ATTRIBUTES, promise=ExpectedGuarantee(2, diversity=Diversity(2, column="rna")))
    assert failures(promise=promise)


@pytest.mark.parametrize("dna", [ATTRIBUTES[:5], [*ATTRIBUTES, "x"]])
def test_what_rides_along_is_one_row_a_patient(dna):
    """No patient without, none twice."""
    assert any("one row for each patient" in failure for failure in failures(dna=dna))


OTHERS = {
    "nobody twice": {"origin": np.array([2, 2, 3, 0, 4, 5])},
    "nobody lost": {"origin": np.array([2, 1, 3, 0, 4, 7])},
    "another patient": {"origin": np.array([2, 1, 3, 4, 0, 5])},
    "another place": {"position": np.where(np.arange(15) == 7, -1, np.where(np.arange(15) == 8, 0, POSITION))},
    "order": {"position": np.array([1, 0, 2, *POSITION[3:]], dtype=np.int32)},
    "a pair in two places": {"position": np.array([0, 0, 2, *POSITION[3:]], dtype=np.int32)},
    "a pair left out": {"position": np.array([0, 1, -1, *POSITION[3:]], dtype=np.int32)},
    "a gap": {"position": np.array([0, 1, 3, *POSITION[3:]], dtype=np.int32)},
    "places missing": {"position": POSITION[1:]},
    "other auxiliary columns": {"attributes": pl.DataFrame({"rna": ATTRIBUTES})},
    "another value beside": {"attributes": pl.DataFrame({"dna": [*ATTRIBUTES[:5], "x"]})},
    "no attributes": {"attributes": None},
}


@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS)
def test_another_secret_is_noticed(changes):
    """Whatever does not fit the released rows, pair by pair, is said."""
    assert failures(known=secret(**changes), dna=ATTRIBUTES)


@pytest.mark.parametrize(
    ("old", "new"),
    [("401", "402"), ("401.9", "401.1"), ("[39-40]", "[37-38]"), ("38", "[37-38]"), ("401.1", "401"), ("33", "*")],
)
def test_labels_must_cover_what_they_replace(old, new):
    """A label beside the truth is noticed where it is wrong, and taken where it is coarser."""
    rows = [tuple(new if cell == old else cell for cell in row) for row in FIGURE_1C]
    coarser = {("38", "[37-38]"), ("401.1", "401"), ("33", "*")}
    expected = sorted(map(tuple, rows), key=lambda row: row[0])
    checks = Checks()
    check_original(checks, written(expected), secret(attributes=None))

    assert any("covers the" in failure for failure in checks.failures) is ((old, new) not in coarser)


@pytest.mark.parametrize(
    "known", [secret(position=None, attributes=None), secret(origin=None, position=None, attributes=None)]
)
def test_without_the_places_as_much_as_can_be_decided(known):
    """A label of no value is noticed without a crosswalk; with one, also a value of another patient."""
    absent = [tuple("402" if cell == "401" else cell for cell in row) for row in FIGURE_1C]
    other = [tuple("401.9" if cell == "401.1" else cell for cell in row) for row in FIGURE_1C]

    assert failures(known=known) == ()
    assert failures(absent, known=known)
    assert bool(failures(other, known=known)) is (known.origin is not None)


def test_trajectories_must_follow_the_order_of_the_original():
    """With a crosswalk alone, pairs that stand in another order than the patient's are noticed."""
    rows = [(1, "401.1", "34"), (1, "401.1", "33"), (2, "401.1", "34"), (2, "401.1", "33")]
    original = replace(secret(attributes=None), origin=np.array([0, 1]), position=None)
    records = [[("401.1", 33), ("401.1", 34)]] * 2
    known = replace(original, trajectories=type(original.trajectories).from_records(records))

    assert any("in their order" in failure for failure in failures(rows, known=known))
    assert failures([(number, "401.1", "33") for number in (1, 2)], known=known) == ()


def test_losses_are_those_of_the_paper():
    """Fig. 1(c) loses 0.2 of codes; two of its pairs lose one age of the five that two patients have, one pair all.

    Where the pairs went need not be known.
    """
    codes, ages = exact_losses(written(), secret(), 2)

    assert (codes.is_bound, ages.is_bound) == (False, False)
    assert (codes.least, ages.least) == (pytest.approx(3 / 15), pytest.approx(1.4 / 15))
    assert exact_losses(written(), secret(position=None, origin=None), 2) == (codes, ages)
