"""The example hospital: one set of patients in all shapes, the same for a seed, in codes that our hierarchies know."""

import hashlib
import re

import polars as pl
import pytest

import cloister as cl
from cloister.hierarchy import icd9, icd10
from cloister.shapes.claims.format.group_tables import OTHER, place_codes, shipped_groups, words
from cloister.testing import Hospital, hospital, hospital_patients
from cloister.testing.patients import conditions


@pytest.fixture(scope="module")
def made() -> Hospital:
    """A hospital of 2,000."""
    return hospital(seed=5, n=2000)


def test_the_same_for_ever():
    """The files of a seed are the same bytes with every version and on every machine; another seed gives others."""
    digest = hashlib.sha256()
    for _, frame in hospital(seed=7, n=150).files():
        digest.update(frame.write_csv().encode())

    assert digest.hexdigest() == "fef45679414aa48af7907bdf9110c405a7b6aa2e10a2a3a7a3e102d9630b2437"
    assert hospital_patients(7, 150).equals(hospital(7, 150).patients)
    assert not hospital_patients(8, 150).equals(hospital_patients(7, 150))


def test_all_shapes_are_about_the_same_patients(made):
    """Ids are unique and the same everywhere; codes are those of the trajectories; everybody has some of everything."""
    ids = made.patients["mrn"]
    for frame in (made.codes, made.codes_icd10, made.samples, made.claim_patients):
        assert ids.to_list() == frame["patient_id"].to_list()
    for frame in (made.trajectories, made.claims):
        assert ids.to_list() == frame["patient_id"].unique(maintain_order=True).to_list()
    seen = made.trajectories.group_by("patient_id", maintain_order=True).agg(pl.col("code").unique().sort())

    assert ids.n_unique() == 2000
    assert seen["code"].to_list() == [codes.split(" ") for codes in made.codes["codes"]]
    assert (
        made.claims.select("patient_id", code="icd9")
        .join(made.trajectories, on=["patient_id", "code"], how="anti")
        .is_empty()
    )


def test_codes_are_known_to_the_hierarchies_and_groups(made):
    """No code of a condition is outside ICD-9 or ICD-10; procedures, places and specialties have groups."""
    known = conditions()
    nine = [code for condition in known for code in condition.icd9]

    assert icd9().outside(nine) == []
    assert icd10().outside([code for condition in known for code in condition.icd10]) == []
    assert len(set(nine)) == len(nine)
    assert all(len(condition.icd9) == len(condition.icd10) for condition in known)
    assert {len(icd9().bind("code", nine).labels[4])} == {len(nine)}
    chapters = set(icd9().bind("code", nine).labels[4])
    assert len(chapters) == 19
    places = made.claims["place_of_service"].unique()
    assert [
        place for place in places if words(place) not in place_codes() and shipped_groups("place").group(place) == OTHER
    ] == []
    for role, column in (("procedure", "cpt"), ("specialty", "specialty")):
        groups = made.claims[column].drop_nulls().unique().to_list()
        others = [name for name in groups if shipped_groups(role).group(name) == OTHER]
        assert len(others) <= len(groups) // 4


def test_ages_dates_and_stays_agree(made):
    """Nobody has a record before birth or a claim after admission; ages are those of the dates; order is by time."""
    claims = made.claims.join(made.claim_patients, on="patient_id").join(
        made.patients.select(patient_id="mrn", admitted="admitted", age="age"), on="patient_id"
    )
    admitted, born = pl.col("admitted"), pl.col("birth_date")
    is_yet_to_come = born.dt.strftime("%m%d") > admitted.dt.strftime("%m%d")
    age = admitted.dt.year() - born.dt.year() - is_yet_to_come.cast(pl.Int32)
    visits = made.trajectories.join(made.patients.select(patient_id="mrn", now="age"), on="patient_id")

    assert claims.filter(age != pl.col("age")).is_empty()
    assert claims.filter((pl.col("date") > admitted) | (pl.col("date") < born)).is_empty()
    assert claims.filter((pl.col("end_date") < pl.col("date")) | (pl.col("paid_date") <= pl.col("end_date"))).is_empty()
    assert visits.filter((pl.col("age") > pl.col("now")) | (pl.col("age") < 0)).is_empty()
    assert visits["age"].diff().filter(~visits["patient_id"].ne_missing(visits["patient_id"].shift())).min() == 0
    stays = claims.filter((pl.col("date") == pl.col("admitted")) & (pl.col("place_of_service") == "Inpatient Hospital"))
    assert stays["patient_id"].n_unique() == 2000


def test_what_people_have_depends_on_who_they_are(made):
    """Sexes and ages have their conditions, clusters come together, chronic ones persist."""
    who = made.codes.join(made.patients.select(patient_id="mrn", age="age", sex="sex"), on="patient_id").with_columns(
        pl.col("codes").str.split(" ")
    )
    has = {code: pl.col("codes").list.contains(code) for code in ("401.9", "428.0", "V22.1", "600.00", "427.31")}
    old, young = who.filter(pl.col("age") >= 65), who.filter(pl.col("age") < 40)
    failing, others = old.filter(has["428.0"]), old.filter(~has["428.0"])
    years = made.trajectories.group_by("patient_id", "code").agg(pl.col("age").n_unique())

    assert who.filter(has["V22.1"])["sex"].unique().to_list() == ["F"]
    assert who.filter(has["600.00"])["sex"].unique().to_list() == ["M"]
    assert old.select(has["401.9"].mean()).item() > 4 * young.select(has["401.9"].mean()).item()
    assert failing.select(has["427.31"].mean()).item() > 1.3 * others.select(has["427.31"].mean()).item()
    assert years.filter(pl.col("code") == "428.0")["age"].mean() > 1.3
    assert years.filter(pl.col("code") == "410.71")["age"].mean() < 1.2
    assert 0.005 < made.patients["ethnicity"].null_count() / 2000 < 0.06
    assert made.samples["dna"].str.len_chars().unique().to_list() == [12]


def test_written_files_are_read_by_every_shape(tmp_path):
    """What is written is what `cloister` reads, by the usual names of columns; nothing there is written over."""
    made = hospital(seed=1, n=60)
    written = made.write(tmp_path / "new" / "hospital")
    sets = cl.CodeSets.read(written[1])
    timelines = cl.Trajectories.read(written[3])

    assert repr(made) == "Hospital(60 made-up patients)"
    assert [name for name, _ in made.files()] == [path.name for path in written]
    assert (sets.n_records, timelines.n_patients) == (60, 60)
    assert made.trajectories.height == timelines.n_pairs
    assert re.match(r"mrn,name,age,sex,zip,ethnicity,admitted,diagnosis\nM\d{7},Patient 1,", written[0].read_text())
    with pytest.raises(FileExistsError):
        made.write(tmp_path / "new" / "hospital")


@pytest.mark.parametrize(("seed", "n"), [(-1, 10), (0, 0)])
def test_what_cannot_be_is_refused(seed, n):
    """Seeds are from 0, hospitals have a patient."""
    with pytest.raises(ValueError, match="from 0, and n one from 1"):
        hospital(seed, n)
    assert hospital(0, 1).patients.height == 1
