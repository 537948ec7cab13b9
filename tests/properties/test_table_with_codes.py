"""Tables with a column of codes: nobody is found out by quasi-identifiers and codes together."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.tables_with_codes import METHODS, asked_of, in_class, protect, tables_with_codes
from tests.oracles import disassociation as oracle

from cloister.errors import NoSafeRelease
from cloister.shapes.disassociation.format.data import InferenceCheck, Refine
from cloister.shapes.table_with_codes.format.data import CodesRequested

methods = st.sampled_from(METHODS)
asked_codes = st.builds(
    CodesRequested,
    st.just("codes"),
    st.integers(1, 3),
    refine=st.sampled_from([Refine.TREE, Refine.TREE, Refine.PAPER, Refine.OFF]),
    inference_check=st.sampled_from(list(InferenceCheck)),
)


def protected(frame, request, asked):
    """The release; examples without a safe one are left out."""
    try:
        return protect(frame, request, asked)
    except NoSafeRelease:
        assume(False)


def true_classes(frame, release):
    """Labels of each class that has codes -> the true sets of codes of its patients, by the crosswalk."""
    known = release.custody.crosswalk.with_columns(pl.col("released").cast(pl.Int64))
    rows = release.frame.join(known, left_on="id", right_on="released").join(
        frame.select("id", pl.col("codes").alias("true")), left_on="original", right_on="id"
    )
    found = {}
    for age, sex, true in rows.select("age", "sex", "true").cast(pl.String).rows():
        if true:
            found.setdefault((age, sex), []).append(frozenset(true.split()))
    return found


@examples(30)
@given(tables_with_codes(), asked_codes, methods)
def test_somebody_who_knows_the_class_and_m_codes_has_k_candidates(frame, asked, method):
    """For the class of a patient and any m of its codes some data set has k records of that class with all of them."""
    release = protected(frame, asked_of(2, **method), asked)
    told = oracle.written(release.clusters)
    found = true_classes(frame, release)

    assert sorted(found) == sorted(release.clusters.classes)
    for number, labels in enumerate(release.clusters.classes):
        part = in_class(told, release.clusters.class_of, number)
        assert oracle.unprotected(found[labels], part, 2, asked.m) == {}


@examples(30)
@given(tables_with_codes(most=30), st.integers(2, 4), asked_codes, methods)
def test_classes_hold_patients_with_codes_only_or_without(frame, k, asked, method):
    """Of every combination of labels, k records or more have codes or none has, and so for those without."""
    release = protected(frame, asked_of(k, **method), asked)
    sizes = Counter((age, sex, bool(codes)) for age, sex, codes in release.frame.select("age", "sex", "codes").rows())

    assert min(sizes.values()) >= k
    assert release.verify().holds


@examples(30)
@given(tables_with_codes(most=30, empty=False), methods, st.data())
def test_a_release_that_was_changed_is_rejected(frame, method, data):
    """A code put into another row, a row put into another class, a cluster put into another class: none passes."""
    release = protected(frame, asked_of(2, **method), CodesRequested("codes", 2))
    assume(len(release.clusters.classes) > 1)
    rows = data.draw(st.permutations(range(release.frame.height)))
    one, other = rows[:2]
    shown = release.frame.select("age", "sex").rows()
    assume(shown[one] != shown[other])

    order = list(range(len(rows)))
    order[one], order[other] = other, one
    swapped = release.frame.with_columns(pl.col("age", "sex").gather(order))
    assert not release._check_both(swapped, release.clusters).holds

    more = release.frame["codes"].to_list()
    more[one] = " ".join(sorted({*more[one].split(), "new"}))
    assert not release._check_both(release.frame.with_columns(codes=pl.Series(more)), release.clusters).holds

    class_of = release.clusters.class_of.copy()
    class_of[-1] = class_of[0]
    assume(not np.array_equal(class_of, release.clusters.class_of))
    assert not release._check_both(release.frame, replace(release.clusters, class_of=class_of)).holds


def hidden(release, k):
    """Occurrences of codes of fewer than k patients of their class, by definition; of released patients."""
    return sum(
        count
        for labels, rows in release.items()
        for count in Counter(code for codes in rows for code in codes).values()
        if count < k
    )


@examples(30)
@given(tables_with_codes(most=30), st.integers(2, 4), st.floats(0, 1), st.sampled_from(["full-domain", "mondrian"]))
def test_merging_keeps_the_bound_and_uncovers_codes(frame, k, bound, method):
    """Merging loses no more than the bound, or what was lost before, and hides no more occurrences of codes."""
    request = asked_of(k, method=method)
    before = protected(frame, request, CodesRequested("codes"))
    after = protected(frame, replace(request, merge_bound=bound), CodesRequested("codes"))
    lost = before.custody.figures["loss"]

    assert after.custody.figures["loss"] <= max(bound, lost) + 1e-9
    assert hidden(true_classes(frame, after), k) <= hidden(true_classes(frame, before), k)
    assert set(true_classes(frame, after)) <= set(true_classes(frame, before)) or after.custody.figures["loss"] > lost
