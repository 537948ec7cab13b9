"""Imputed trajectories and claims: inside every label, in the order of age, and from the release folder alone."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st
from tests.made.claims_files import PLAN, write_files
from tests.made.examples import examples
from tests.made.trajectories import FIGURE_3, FIGURE_4
from tests.oracles.imputation import in_order, is_inside, levels_above

import cloister as cl
from cloister.recipients.admitted import AdmittedColumn, admit
from cloister.recipients.imputed_events import by_number, in_order_of_age, with_numbers
from cloister.recipients.labels import LabelledColumn
from cloister.release.codebook import codebook_of
from cloister.shapes.claims.format.hierarchies import OF_NUMBERS
from cloister.shapes.claims.format.released_columns import ReleasedColumn

ICD = ("250.00", "250.01", "401.9", "401.1", "428.0", "486", "V58.66")
KINDS = {
    "icd": (cl.icd9(), ICD, cl.intervals(5, 10, 20), [str(age) for age in range(30, 70)]),
    "file": (FIGURE_4, ("401.0", "401.1", "401.9"), FIGURE_3, [str(age) for age in range(33, 41)]),
    "top": (cl.prefix(5), ("40100", "40110", "25000"), cl.parse_hierarchy("interval:5/top=50"), ["41", "49.5", "77"]),
}


def opened(folder, kind, records):
    """A release of records, in a folder, opened with the hierarchies that it does not have."""
    codes, _, ages, _ = KINDS[kind]
    try:
        release = cl.protect_trajectories(
            cl.Trajectories.from_records(records), k=2, code_hierarchy=codes, age_hierarchy=ages
        )
    except cl.NoSafeRelease:  # all labels would be ``*``
        reject()
    release.write(folder / "out")
    given = {"code": codes, "age": ages} if kind == "file" else {}
    return cl.open(folder / "out", verify=False, hierarchies=given)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@examples(48, quick=6)
def test_pairs_are_drawn_inside_their_labels_and_in_order(kind, data):
    """Each released pair has one code and one age inside its labels, ages do not fall, and ``*`` alone is nothing."""
    codes, domain, ages, years = KINDS[kind]
    pairs = st.lists(st.tuples(st.sampled_from(domain), st.sampled_from(years)), min_size=1, max_size=5)
    records = data.draw(st.lists(pairs, min_size=4, max_size=14))
    order, seed = data.draw(st.permutations(records)), data.draw(st.integers(0, 9))
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        release = opened(Path(one), kind, records)
        (table,), again = release.impute(n=1, seed=seed), release.impute(n=2, seed=seed)
        (turned,) = opened(Path(other), kind, order).impute(n=1, seed=seed)

    assert table.equals(again[0])
    assert table.equals(turned)
    assert table["id"].equals(release.data["id"])
    assert table["age"].dtype.is_numeric() or not table["age"].count()
    assert table["code"].dtype == pl.Enum
    shown = release.data.cast(pl.String).rows()
    only_stars = {"*"} == {code for _, code, _ in shown}, {"*"} == {age for *_, age in shown}
    for (_, code, age), (_, drawn_code, drawn_age) in zip(shown, table.rows()):
        if code == age == "*":
            assert (drawn_code, drawn_age) == (None, None)
            continue
        assert only_stars[0] or is_inside(codes, [*domain], code, drawn_code), (code, drawn_code)
        text = f"{drawn_age:g}"
        assert only_stars[1] or is_inside(ages, years, age, text), (age, drawn_age)
    for _, rows in table.drop_nulls("age").group_by("id", maintain_order=True):
        assert rows["age"].is_sorted()


spans = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(sorted)


@given(st.lists(st.lists(spans, min_size=1, max_size=5), min_size=1, max_size=3))
@examples(200)
def test_ages_are_narrowed_to_what_the_others_admit(patients):
    """The narrowed labels have exactly the ages of the sequences in order; contradictions are an error."""
    whose = pl.Series([number for number, labels in enumerate(patients) for _ in labels])
    first, last = (np.array([label[side] for labels in patients for label in labels]) for side in (0, 1))
    possible = [ages for labels in patients for ages in in_order(labels)]
    column = AdmittedColumn("age", first, last, 5)
    if not all(possible):
        with pytest.raises(cl.InputError, match="contradict"):
            in_order_of_age(column, whose)
        return
    narrow = in_order_of_age(column, whose)
    assert [{*range(low, high + 1)} for low, high in zip(narrow.first, narrow.last)] == possible


def test_ages_of_a_file_are_numbers_in_their_order():
    """Names of groups in any order do not matter, and a group with gaps is refused."""
    rows = [["9", "young", "*"], ["10", "young", "*"], ["11", "elderly", "*"], ["100", "elderly", "*"]]
    texts = pl.Series("age", ["young", "elderly", "*", "100"])
    book = codebook_of([("age", "quasi-identifier", "file", None, label, "") for label in texts])
    column = admit(LabelledColumn.of(texts, book, cl.hierarchy_rows(rows)))
    found = by_number(column)

    assert found.values(found.first).to_list() == [9, 11, 9, 100]
    assert found.values(found.last).to_list() == [10, 100, 100, 100]
    gaps = LabelledColumn.of(texts, book, cl.hierarchy_rows([*rows[:3], ["100", "young", "*"], ["50", "elderly", "*"]]))
    with pytest.raises(cl.InputError, match="not a range of ages"):
        by_number(admit(gaps))


@pytest.mark.parametrize("hierarchy", OF_NUMBERS, ids=lambda one: one.kind)
@given(st.data())
@examples(40)
def test_numbers_of_claims_have_the_label_that_they_are_drawn_from(hierarchy, data):
    """Both ends of what a label admits have that label, at every level; top-coded labels begin where they say."""
    level = data.draw(st.integers(1, len(hierarchy.levels)))
    days = data.draw(st.lists(st.integers(0, 900).map(str), min_size=1, max_size=6))
    days += ["162+"] if hierarchy.numbers.top_coded is None else ["15+"]
    labels = [levels_above(hierarchy, day)[level] for day in days]
    book = codebook_of(
        [("x", "quasi-identifier", hierarchy.kind, str(level), label, "") for label in sorted({*labels})]
    )
    column = LabelledColumn.of(pl.Series("x", labels), book)
    numbers = with_numbers(column, ReleasedColumn(role="quasi-identifier", hierarchy=hierarchy.kind, level=level))

    assert numbers.kind == "number"
    found = admit(numbers)
    assume(found.named is None)  # single numbers alone are no ranges
    for label, low, high in zip(labels, found.first.tolist(), found.last.tolist()):
        for drawn in (low, high):
            is_top = label == "162+" and drawn >= 162
            assert is_top or levels_above(hierarchy, str(drawn))[level] == label


@pytest.fixture(scope="module")
def claims(tmp_path_factory):
    """A release of claims with ages and days in ranges, whose originals are gone."""
    folder = tmp_path_factory.mktemp("claims")
    plan = PLAN.replace('age = "age"', 'age = "age@2-3"').replace(
        "[claims]\n", '[claims]\nderived = ["days_since_first_claim"]\n', 1
    )
    plan = plan.replace('pos = "place"\ndx', 'days_since_first_claim = "days-since-first-claim@2-3"\npos = "place"\ndx')
    write_files(folder, plan=plan.replace("0.1\n", "0.5\n"), n_patients=400)
    data = cl.Claims.read(
        patients=folder / "patients.csv", claims=folder / "claims.csv", plan=cl.ClaimsPlan.read(folder / "plan.toml")
    )
    cl.protect_claims(data).write(folder / "out")
    shutil.move(folder / "out", tmp_path_factory.mktemp("alone") / "out")
    shutil.rmtree(folder)
    return cl.open(tmp_path_factory.getbasetemp() / "alone0" / "out")


@pytest.mark.parametrize("seed", range(3))
def test_claims_are_drawn_inside_their_labels(claims, seed):
    """Patients and claims are those of the release; numbers have the label of their cell, all other cells are equal."""
    for table, ranges in (("patients", "age"), ("claims", "days_since_first_claim")):
        (drawn,), shown = claims.impute(n=1, seed=seed, table=table), claims.tables[table]
        column = claims.manifest.columns.of(table)[ranges]
        hierarchy = next(one for one in OF_NUMBERS if one.kind == column.hierarchy)

        assert drawn[ranges].dtype == pl.Int64
        assert drawn.equals(claims.impute(n=2, seed=seed, table=table)[0])
        assert drawn.drop(ranges).cast(pl.String).equals(shown.drop(ranges).cast(pl.String))
        labels = [None if one is None else levels_above(hierarchy, str(one))[column.level] for one in drawn[ranges]]
        assert labels == shown[ranges].to_list()
    assert claims.impute(n=1, seed=seed)[0].equals(claims.impute(n=1, seed=seed, table="claims")[0])


def test_an_imputation_is_of_the_folder_alone(claims, tmp_path, monkeypatch):
    """A copy elsewhere, read from another place, gives the same tables."""
    copy = shutil.copytree(claims.folder, tmp_path / "copy")
    monkeypatch.chdir(tmp_path)
    for table in ("patients", "claims"):
        assert cl.open(copy).impute(n=1, seed=4, table=table)[0].equals(claims.impute(n=1, seed=4, table=table)[0])


def test_patients_and_claims_have_different_random_numbers(claims):
    """Equal seeds do not make the draws of both files depend on each other."""
    first = claims.impute(n=1, table="patients")[0]["age"].to_numpy() % 20
    second = claims.impute(n=1, table="claims")[0].unique("mrn", maintain_order=True)["days_since_first_claim"]
    assert abs(np.corrcoef(first, second.fill_null(0).to_numpy() % 90)[0, 1]) < 0.2


def test_a_changed_release_of_contradicting_ages_is_refused(tmp_path):
    """A folder that nobody verified, whose ages fall, ends with a sentence."""
    release = opened(tmp_path, "icd", [[("250.00", "40"), ("401.9", "60")]] * 4)
    text = (tmp_path / "out" / "data.csv").read_text()
    (tmp_path / "out" / "data.csv").write_text(text.replace("40", "80"))
    changed = cl.open(tmp_path / "out", verify=False)
    with pytest.raises(cl.InputError, match="contradict"):
        replace(changed, codebook=release.codebook).impute(n=1)
