"""Tables whose labels resist downcoding, from request to verification."""

import numpy as np
import polars as pl
import pytest

import cloister as cl
from cloister.errors import InputError, NoSafeRelease
from cloister.hierarchy.stated_leaves import state_leaves
from cloister.io import Tally
from cloister.testing import hospital_patients

QI = {"age": "interval:5,10,20/top=90/bottom=0", "sex": "suppress", "ethnicity": "suppress"}


def patients(n=900):
    """Made-up patients with an outcome that is their own."""
    return hospital_patients(5, n).select(*QI, "diagnosis")


def protect(frame, **more):
    """A release that resists downcoding."""
    given = {"k": 3, "qi": QI, "sensitive": ["diagnosis"], "resist_downcoding": True}
    return cl.protect_table(frame, **(given | more))


@pytest.fixture(scope="module")
def release():
    """A release of made-up patients."""
    return protect(patients())


def test_the_method_is_mondrian_and_the_manifest_says_that_labels_resist(release):
    """Nobody has to name the method; labels of numbers are those of levels, as joined ones reveal their ends."""
    manifest = release.manifest
    assert (manifest.method, manifest.settings.resist_downcoding, manifest.settings.labels) == ("mondrian", True, None)


def test_the_release_is_verified_against_its_original(release, tmp_path):
    """With the original the questions are asked again; without it, the verdict says that they were not."""
    release.write(tmp_path / "release")
    whole, alone = release.verify(), cl.verify_folder(tmp_path / "release")

    assert whole.holds
    assert any("labels resist downcoding: they are" in check for check in whole.checks)
    assert [name for name, _ in alone.unchecked] == ["resist-downcoding"]
    assert not alone.failures


def test_page_one_of_the_report_says_that_labels_resist(release, tmp_path):
    """Whoever signs reads it next to the guarantee, not as one that anyone verifies."""
    release.write(tmp_path / "release")
    first = (tmp_path / "release" / "report.html").read_text().partition('id="s2"')[0]

    assert "<strong>Checked with the original:</strong> Labels resist downcoding" in first


def test_a_class_with_coarser_labels_than_questions_lead_to_is_refused(release):
    """A class whose records agree at a finer label looks as safe as before, but no question led to it."""
    frame = release.frame
    chosen = frame.group_by(list(QI)).len().filter(pl.col("age") != "*").sort("len", *QI).row(0, named=True)
    is_chosen = pl.all_horizontal(pl.col(column) == chosen[column] for column in QI)
    changed = frame.with_columns(age=pl.when(is_chosen).then(pl.lit("*")).otherwise("age")).sort(frame.columns)
    verdict = release._check(Tally(changed))

    assert not verdict.holds
    assert any("not those of questions" in failure for failure in verdict.failures)


def test_classes_of_plain_mondrian_are_refused(release):
    """Labels as low as possible are not those of questions, though each class has three records."""
    lowest = protect(patients(), resist_downcoding=False, method="mondrian", labels="nested").frame

    assert not lowest.sort(lowest.columns).equals(release.frame.sort(lowest.columns))
    assert any("not those of questions" in failure for failure in release._check(Tally(lowest)).failures)


def test_the_order_of_the_records_does_not_matter(release):
    """Shuffled records have the same release."""
    shuffled = patients().sample(fraction=1, shuffle=True, seed=1)
    assert protect(shuffled).frame.equals(release.frame)


HIDDEN = {
    "prefix:3@1-3": (["101", "102", "103", "201", "202", "203"], ["101", "101", "101", "201", "201", "201"]),
    "date:month,year@1-3": (
        ["2024-01-01", "2024-01-02", "2024-01-03", "2024-02-01", "2024-02-02", "2024-02-03"],
        ["2024-01-01", "2024-01-01", "2024-01-01", "2024-02-01", "2024-02-01", "2024-02-01"],
    ),
    "interval:1,5,10@1-4": (["0.1", "0.2", "0.3", "7.1", "7.2", "7.3"], ["0.1", "0.1", "0.1", "7.1", "7.1", "7.1"]),
    "icd10@2-4": (["E10.1", "E10.2", "E10.3", "I20.1", "I20.8", "I20.9"], ["E10.1"] * 3 + ["I20.1"] * 3),
}
"""By hierarchy: values, and others that have the same labels at all levels allowed; fewer of these are different."""


@pytest.mark.parametrize("built", HIDDEN)
def test_nothing_that_is_published_depends_on_values_that_no_label_shows(built):
    """Two originals that differ only below the lowest level allowed have the same records and the same losses."""
    rng = np.random.default_rng(0)
    place, sex = rng.integers(0, 6, 60), rng.choice(["F", "M"], 60)
    found = []
    for values in HIDDEN[built]:
        frame = pl.DataFrame({"a": [values[one] for one in place], "sex": sex})
        release = cl.protect_table(frame, k=3, qi={"a": built, "sex": "suppress"}, resist_downcoding=True)
        assert release.verify().holds
        found.append((release.frame, release.manifest.utility))

    assert found[0][0].equals(found[1][0])
    assert found[0][1] == found[1][1]


def test_a_row_for_missing_values_is_a_leaf_whether_or_not_any_are_missing():
    """A file says by itself what its labels cover: a loss must not tell that no value is missing."""
    rows = cl.hierarchy_rows([["a", "x", "*"], ["b", "x", "*"], ["", "x", "*"], ["c", "y", "*"]])
    some, none = (state_leaves(rows.bind("column", values), rows) for values in (["a", "c", None], ["a", "c"]))

    assert (some.n_leaves, none.n_leaves) == (4, 4)
    assert some.leaves[:, :2].tolist() == none.leaves.tolist() == [[1, 1], [3, 1], [4, 4]]


def test_losses_are_stated_by_the_hierarchy_alone():
    """Six records, of which the loss would say that two of a class are in one interval."""
    values = ["0.1", "0.2", "0.3", "0.4", "1.5", "2.5"]
    losses = set()
    for last in ("2.5", "1.5", "0.4"):
        frame = pl.DataFrame({"a": [*values[:5], last], "b": [*"xxxyyy"]})
        given = {"a": "interval:2,4@1-2", "b": "suppress"}
        release = cl.protect_table(frame, k=3, qi=given, resist_downcoding=True)
        losses.add((tuple(map(tuple, release.frame.rows())), release.manifest.utility.columns["a"].loss))

    assert len({records for records, _ in losses}) == len(losses)


def test_the_attack_deduces_nothing_from_a_rule_that_the_method_does_not_follow(release, tmp_path):
    """Labels are not the lowest at which records agree, so that no count is deduced from that."""
    release.write(tmp_path / "release")
    assert cl.attack(tmp_path / "release", original=patients()).refinement is None


def test_a_thousand_records_of_one_value_are_narrowed_to_it():
    """With as many records as k, the doubt of a large part asks for more than there are: what is alike is not lost."""
    frame = pl.DataFrame({"age": ["40"] * 1000, "sex": ["F"] * 1000})
    release = cl.protect_table(frame, k=1000, qi={"age": "interval:5,10/top=90/bottom=0", "sex": "suppress"},
                               resist_downcoding=True)  # fmt: skip
    assert release.frame.unique().rows() == [("40", "F")]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"k": 2}, "k is 2. Ask for 3 or more"),
        ({"method": "cluster"}, "the method is cluster"),
        ({"purpose": "one-coding"}, "the purpose is one-coding"),
        ({"purpose": "counts"}, "the purpose is counts"),
        ({"rule": ["average-risk=0.1"]}, "there is a rule average-risk"),
        ({"target": "diagnosis"}, "classes depend on target"),
        ({"loss": "entropy"}, "the loss is entropy. Take iyengar, arx or precision"),
        ({"labels": "joined"}, "labels are joined"),
        ({"microaggregate": {"age": "mean"}}, "columns are averaged"),
        ({"merge_classes": 0.5}, "classes are merged"),
        ({"qi": QI | {"age": "quantile:4"}}, "the hierarchy of column 'age' is made of the records"),
    ],
)
def test_what_would_reveal_more_is_refused(more, what):
    """Each of these looks at what labels leave open; the message names it, the setting and what to do."""
    with pytest.raises(InputError, match=what) as refused:
        protect(patients(), **more)
    assert str(refused.value).startswith("resist_downcoding is for the method mondrian")


def test_a_rule_about_a_sensitive_column_changes_no_label():
    """Where all classes satisfy it the records are the same as without it, and both programs agree."""
    ruled, plain = protect(patients(), k=8, rule=["l-diversity:diagnosis=2"]), protect(patients(), k=8)

    assert ruled.frame.equals(plain.frame)
    assert ruled.verify().holds


def test_a_rule_that_a_class_violates_leaves_no_safe_release():
    """Nothing is suppressed or made coarser for a rule: the message counts the classes, and names no value."""
    with pytest.raises(
        NoSafeRelease, match=r"But \d+ of \d+ classes fall short .* larger k or a weaker rule"
    ) as refused:
        protect(patients(), rule=["l-diversity:diagnosis=3"], suppression=1)
    assert not any(value in str(refused.value) for value in patients()["diagnosis"].unique())


def test_suppressed_records_are_those_that_violate_at_the_highest_levels():
    """With bounded levels, records in groups of fewer than k are suppressed, and the others verified."""
    frame = patients()
    release = protect(frame, qi=QI | {"sex": "suppress@0", "ethnicity": "suppress@0"}, suppression=0.3)
    kept = frame.filter(pl.len().over("sex", "ethnicity") >= 5).height

    assert np.sum(release.frame["age"].len()) == kept
    assert release.verify().holds
