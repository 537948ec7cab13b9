"""Several codes in a cell: split at what people write between them, one patient's codes never one code."""

import polars as pl
import pytest

import cloister as cl
from cloister.errors import InputError
from cloister.io.codes import split_at


@pytest.mark.parametrize(
    "cell",
    ["I10 E11.9", "I10;E11.9", "I10; E11.9", "I10,E11.9", "I10, E11.9", "I10|E11.9", "['I10', 'E11.9']", "{I10,E11.9}"],
)
def test_cells_are_split_at_what_stands_between_codes(cell):
    """Spaces, commas, semicolons, bars and the brackets of lists separate codes."""
    assert split_at(pl.Series([cell, "I10"]), None).str.split(" ").to_list() == [["I10", "E11.9"], ["I10"]]


def test_a_named_separator_is_the_only_one_beside_spaces():
    """With one named, other signs belong to the codes."""
    assert split_at(pl.Series(["a,b;c"]), ";").to_list() == ["a,b c"]
    assert split_at(pl.Series(["a,b;c"]), " ").to_list() == ["a,b;c"]


def test_texts_and_mappings_are_read_as_in_a_file():
    """A Series of texts gives codes and no letters; a mapping gives the patients' ids and their codes."""
    sets = cl.CodeSets.from_records(["I10 E11.9", "I10;J45"])
    assert sets.vocabulary == ("E11.9", "I10", "J45")
    mapped = cl.CodeSets.from_records({"p1": ["I10"], "p2": "I10 E11.9"})
    assert (mapped.vocabulary, mapped.ids.to_list()) == (("E11.9", "I10"), ["p1", "p2"])


def test_a_long_dataframe_has_a_way_in():
    """One code a row, or several, with the column that tells patients apart."""
    frame = pl.DataFrame({"who": [1, 1, 2, 3], "icd": ["I10", "E11.9, J45", "I10", "I10"]})
    sets = cl.CodeSets.from_frame(frame, id="who", code="icd")

    assert (sets.n_records, sets.supports().tolist()) == (3, [1, 3, 1])
    with pytest.raises(InputError, match="no such column"):
        cl.CodeSets.from_frame(frame, id="whom", code="icd")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A file of diagnoses as hospitals export them: a row number, a stay, cells with two codes."""
    monkeypatch.chdir(tmp_path)
    rows = [(90_000 + n, 100 + n // 3, ("401.9, I10", "250.00, E11.9", "486")[n % 3]) for n in range(90)]
    frame = pl.DataFrame(rows, schema=["diagnosisid", "patientunitstayid", "icd9code"], orient="row")
    frame.write_csv(tmp_path / "diagnosis.csv")
    return tmp_path


def test_the_row_number_is_no_code_and_the_job_runs(folder):
    """init names the codes, not the number of the row, and its job splits the cells."""
    made = cl.init(folder / "diagnosis.csv", folder / "job.toml", shape="codes")

    assert {one.column: one.role for one in made.columns if one.role != "not released"} == {
        "patientunitstayid": "id",
        "icd9code": "code",
    }


def test_the_release_of_split_cells_counts_each_code(folder):
    """Every code is one, in the release and in what a recipient may ask."""
    given = cl.CodeSets.read(folder / "diagnosis.csv", id="patientunitstayid", code="icd9code")

    assert given.vocabulary == ("250.00", "401.9", "486", "E11.9", "I10")
    assert set(given.supports().tolist()) == {30}
