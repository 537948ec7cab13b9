"""Tables whose labels resist downcoding, from request to verification."""

import numpy as np
import polars as pl
import pytest

import cloister as cl
from cloister.errors import InputError
from cloister.io import Tally
from cloister.testing import hospital_patients

QI = {"age": "interval:5,10,20/top=90/bottom=0", "sex": "suppress", "ethnicity": "suppress"}


def patients(n=600):
    """Made-up patients with an outcome that is their own."""
    return hospital_patients(3, n).select(*QI, "diagnosis")


def protect(frame, **more):
    """A release that resists downcoding."""
    given = {"k": 5, "qi": QI, "sensitive": ["diagnosis"], "resist_downcoding": True}
    return cl.protect_table(frame, **(given | more))


@pytest.fixture(scope="module")
def release():
    """A release of made-up patients."""
    return protect(patients())


def test_the_method_is_mondrian_and_the_manifest_says_that_labels_resist(release):
    """Nobody has to name the method; labels of numbers are those of levels, as joined ones reveal their ends."""
    manifest = release.manifest
    assert (manifest.method, manifest.settings.resist_downcoding, manifest.settings.intervals) == (
        "mondrian",
        True,
        None,
    )


def test_the_release_is_verified_against_its_original(release, tmp_path):
    """With the original the questions are asked again; without it, the verdict says that they were not."""
    release.write(tmp_path / "release")
    whole, alone = release.verify(), cl.verify_folder(tmp_path / "release")

    assert whole.holds
    assert any("labels resist downcoding: they are" in check for check in whole.checks)
    assert [name for name, _ in alone.unchecked] == ["resist-downcoding"]
    assert not alone.failures


def test_a_class_with_coarser_labels_than_questions_lead_to_is_refused(release):
    """A class whose records agree at a finer label looks as safe as before, but no question led to it."""
    frame = release.frame
    chosen = frame.group_by(list(QI)).len().filter(pl.col("age") != "*").sort("len", *QI).row(0, named=True)
    is_chosen = pl.all_horizontal(pl.col(column) == chosen[column] for column in QI)
    changed = frame.with_columns(age=pl.when(is_chosen).then(pl.lit("*")).otherwise("age")).sort(frame.columns)
    verdict = release._check(Tally(changed))

    assert not verdict.holds
    assert any("not those of questions" in failure for failure in verdict.failures)


def test_classes_have_three_records_where_two_are_asked_for():
    """Of two different records it would follow what each label hides: one of either."""
    release = protect(patients(), k=2)
    sizes = release.frame.group_by(list(QI)).len()["len"]

    assert sizes.min() >= 3


def test_the_order_of_the_records_does_not_matter(release):
    """Shuffled records have the same release."""
    shuffled = patients().sample(fraction=1, shuffle=True, seed=1)
    assert protect(shuffled).frame.equals(release.frame)


def test_rarely_is_more_lost_than_without(release):
    """At k = 5 the labels lose little more than those of nested levels by Mondrian."""
    without = protect(patients(), resist_downcoding=False, method="mondrian", intervals="nested")
    assert release.manifest.utility.loss <= 1.1 * without.manifest.utility.loss


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
        ({"method": "cluster"}, "the method cluster"),
        ({"rule": ["l-diversity:diagnosis=2"]}, "the rule l-diversity"),
        ({"target": "diagnosis"}, "a target"),
        ({"loss": "entropy"}, "the loss entropy"),
        ({"intervals": "joined"}, "joined intervals"),
        ({"microaggregate": {"age": "mean"}}, "averages"),
        ({"qi": QI | {"age": "quantile:4"}}, "the hierarchy of column 'age'"),
    ],
)
def test_what_would_reveal_more_is_refused(more, what):
    """Each of these looks at what labels leave open; the message names it and the setting."""
    with pytest.raises(InputError, match=what) as refused:
        protect(patients(), **more)
    assert "resist_downcoding" in str(refused.value)


def test_suppressed_records_are_those_that_violate_at_the_highest_levels():
    """With bounded levels, records in groups of fewer than k are suppressed, and the others verified."""
    frame = patients()
    release = protect(frame, qi=QI | {"sex": "suppress@0", "ethnicity": "suppress@0"}, suppression=0.3)
    kept = frame.filter(pl.len().over("sex", "ethnicity") >= 5).height

    assert np.sum(release.frame["age"].len()) == kept
    assert release.verify().holds
