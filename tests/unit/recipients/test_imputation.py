"""Complete tables drawn inside the labels of a release."""

import polars as pl
import pytest

import cloister as cl
from cloister.recipients import imputation
from cloister.testing import hospital as made_hospital

QUASI = {"age": "interval:5,10/top=90", "sex": "suppress", "zip": "prefix:5", "admitted": "date:month,year"}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A released table of two hundred made-up patients."""
    folder = tmp_path_factory.mktemp("impute") / "out"
    frame = made_hospital(seed=3, n=200).patients.select(*QUASI, "diagnosis")
    cl.protect_table(frame, qi=QUASI, rule=["k-anonymity=4"], sensitive=["diagnosis"]).write(folder)
    return cl.open(folder)


def test_tables_are_complete_and_typed(release):
    """Numbers are numbers, days are days, names are categories, and recorded columns are as released."""
    tables = release.impute(n=2, seed=1)

    for table in tables:
        assert table.columns == release.data.columns
        assert table["age"].dtype == pl.Int64
        assert table["admitted"].dtype == pl.Date
        assert {table[name].dtype.base_type() for name in ("sex", "zip", "diagnosis")} == {pl.Enum}
        assert table.null_count().sum_horizontal().item() == 0
        assert table["diagnosis"].cast(pl.String).equals(release.data["diagnosis"])
    assert not tables[0].equals(tables[1])


def test_a_seed_gives_the_same_tables(release):
    """Equal seeds give equal tables, the first ones whatever their number; other seeds give others."""
    first, second = release.impute(n=2, seed=5)

    assert first.equals(release.impute(n=1, seed=5)[0])
    assert not second.equals(release.impute(n=1, seed=6)[0])


def test_codes_are_those_of_a_reconstruction(tmp_path):
    """The codes of a class are the reconstructed ones, and patients without codes have none."""
    patients = [("F", 31 + n % 9, "250.00 401.9") for n in range(6)] + [("M", 51 + n % 9, "401.9") for n in range(6)]
    patients += [("F", 35, ""), ("F", 36, ""), ("F", 37, "")]
    frame = pl.DataFrame(patients, ["sex", "age", "codes"], orient="row")
    quasi = {"age": "interval:10", "sex": "suppress"}
    cl.protect_table(frame, qi=quasi, rule=["k-anonymity=3"], codes="codes").write(tmp_path / "out")
    release = cl.open(tmp_path / "out")
    table = release.impute(n=1)[0]

    assert sorted(table["codes"].drop_nulls()) == sorted(release.data["codes"].drop_nulls())
    assert table.filter(pl.col("codes").is_null()).height == 3
    assert table["age"].dtype == pl.Int64


def test_groups_of_unknown_values_stay_labels(tmp_path):
    """Without the file of a hierarchy a group remains; with it, one of its values is drawn."""
    hierarchy = cl.hierarchy_rows([[f"{area}{n}", area, "*"] for area in "ab" for n in range(3)])
    frame = pl.DataFrame({"ward": [f"{area}{n}" for area in "ab" for n in range(3)]})
    cl.protect_table(frame, qi={"ward": hierarchy}, rule=["k-anonymity=3"]).write(tmp_path / "out")
    (unknown,), (known,) = (
        cl.open(tmp_path / "out", hierarchies=given).impute(n=1) for given in ({}, {"ward": hierarchy})
    )

    assert unknown["ward"].to_list() == list("aaabbb")
    assert [str(ward)[0] for ward in known["ward"]] == list("aaabbb")
    assert {len(str(ward)) for ward in known["ward"]} == {2}


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n": 1001}, {"n": 1.5}, {"n": True}, {"seed": -1}])
def test_numbers_that_make_no_sense_are_refused(release, wrong):
    """No table, very many or a seed that is none end with a sentence."""
    with pytest.raises(cl.InputError, match="must be a whole number"):
        release.impute(**wrong)


def test_what_is_missing_is_named(release, tmp_path, monkeypatch):
    """Without scikit-learn the extra is named, and code sets are not imputed."""
    cl.protect_codes(cl.CodeSets.from_records([["401.9"]] * 6), k=3).write(tmp_path / "codes")
    with pytest.raises(cl.InputError, match=r"these are not imputed.*`reconstruct`"):
        cl.open(tmp_path / "codes").impute()
    with pytest.raises(cl.InputError, match=r"no table 'patients' to impute. There are: data"):
        release.impute(table="patients")
    rows = [["401.1", "401", "*"], ["401.9", "401", "*"]]
    records = cl.Trajectories.from_records([[("401.1", 40)], [("401.9", 40)]])
    cl.protect_trajectories(records, k=2, code_hierarchy=cl.hierarchy_rows(rows)).write(tmp_path / "timelines")
    with pytest.raises(cl.InputError, match=r"hierarchy of 'code' is a file.*hierarchies="):
        cl.open(tmp_path / "timelines").impute()
    monkeypatch.setattr(imputation, "find_spec", lambda _: None)
    with pytest.raises(cl.InputError, match=r'pip install "cloister\[analysis\]"'):
        release.impute()
