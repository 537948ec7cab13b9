"""Every command on collections of files: they are named as files are, and the releases are those of the same files."""

import json

import pytest

from cloister.cli.main import run
from cloister.sources import read_table

PLAN = """
[patients]
derived = ["age"]
[patients.roles]
patient_id = "id"
birth_date = "birth-date"
sex = "sex"
[patients.qi]
age = "age"
sex = "suppress"
[claims.roles]
patient_id = "id"
date = "date"
end_date = "end-date"
diagnosis = "diagnosis"
diagnoses = "diagnoses"
procedure = "drop"
procedures = "drop"
place_of_service = "drop"
provider = "drop"
[claims.qi]
diagnosis = "diagnosis"
[truncation]
percentiles = [90]
[adversary]
power = 2
[risk]
threshold = 0.1
repeats = 5
"""
TABLE = ("--qi", "sex", "--qi", "birth_year=interval:20", "--undecided", "drop", "-k", "3", "--id", "patient_id")
SHAPES = {
    "table": (*TABLE, "--suppression", "0.2"),
    "codes": ("-k", "2", "-m", "1"),
    "trajectories": ("-k", "2", "--method", "baseline"),
}
PROFILES = ("omop", "fhir", "synthea", "synpuf")
FORMS = {"table": "table", "codes": "codes", "trajectories": "trajectories"}


@pytest.fixture
def cloister(capsys, monkeypatch, tmp_path):
    """Run a command in the test's folder; return its exit code, and what it wrote to the two streams."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        capsys.readouterr()
        code = run([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def _plan(tmp_path, profile):
    """The plan, with the roles of columns that other profiles do not have."""
    more = {"omop": ("specialty",), "synpuf": ("specialty", "vendor")}.get(profile, ())
    own = "".join(f'{name} = "drop"\n' for name in more)
    (tmp_path / "plan.toml").write_text(PLAN.replace("[claims.qi]", f"{own}[claims.qi]"))


def _coding(profile, shape):
    """Codes of ICD-9 where a profile has two, as the hierarchies ask for."""
    column = {"omop": "source_code", "fhir": "icd_code"}.get(profile)
    return ("--code", column) if column and shape != "table" else ()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_collection_gives_the_release_of_its_table(cloister, written, tmp_path, shape, profile):
    """The release is that of the same table as CSV, byte for byte; it verifies, and names no folder."""
    place, words = written.place(profile), (*SHAPES[shape], *_coding(profile, shape))
    read_table(place, FORMS[shape]).frame.write_csv(tmp_path / "own.csv")

    assert cloister("protect", shape, place, *words, "--out", "release", "--crosswalk", "secret.csv")[0] == 0
    assert cloister("protect", shape, "own.csv", *words, "--out", "other")[0] == 0
    assert (tmp_path / "other/data.csv").read_bytes() == (tmp_path / "release/data.csv").read_bytes()
    crosswalk = () if shape == "table" else ("--crosswalk", "secret.csv")
    assert cloister("verify", "release", "--original", place, *crosswalk)[0] == 0
    manifest = (tmp_path / "release/release.json").read_text()
    assert json.loads(manifest)["settings"]["source"] == written.paths[profile].name
    assert str(written.paths[profile].parent) not in manifest


@pytest.mark.sampled(1)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.full
def test_claims_of_a_collection_are_protected(cloister, written, tmp_path, profile):
    """Patients and claims are two tables of one collection, named twice."""
    _plan(tmp_path, profile)
    place = written.place(profile)

    assert cloister("protect", "claims", place, place, "--plan", "plan.toml", "--out", "release")[0] == 0
    assert cloister("verify", "release", "--original", place, place, "--plan", "plan.toml")[0] == 0
    assert {"patients.csv", "claims.csv"} <= {path.name for path in (tmp_path / "release").iterdir()}


def test_a_collection_is_assessed_and_attacked(cloister, written, tmp_path):
    """Risk is assessed, and releases are attacked, with collections as the data."""
    _plan(tmp_path, "synthea")
    place = written.place("synthea")
    cloister("protect", "table", place, *SHAPES["table"], "--out", "release")

    assert cloister("attack", "release", "--original", place)[0] == 0
    assert cloister("assess", "table", place, "--qi", "sex", "--largest-unique", "1")[0] == 0
    assert cloister("assess", "codes", place, "-m", "1")[0] == 0
    assert cloister("assess", "trajectories", place, "-m", "1")[0] == 0
    assert cloister("assess", "claims", place, place, "--plan", "plan.toml", "-m", "1")[0] == 0


@pytest.mark.parametrize(("shape", "profile"), [("table", "omop"), ("codes", "fhir"), ("trajectories", "synthea")])
def test_a_first_job_of_a_collection_runs(cloister, written, tmp_path, shape, profile):
    """``init`` names the collection from the folder of the job, and the job runs dry from elsewhere."""
    (tmp_path / "jobs").mkdir()

    assert cloister("init", shape, written.place(profile), "--out", "jobs/job.toml", "-k", "2")[0] == 0
    assert f'file = "{profile}:../' in (tmp_path / "jobs/job.toml").read_text()
    assert cloister("run", "jobs/job.toml", "--dry-run")[0] == 0


def test_a_first_plan_of_a_collection_is_written(cloister, written, tmp_path):
    """``init claims`` recognises the columns of claims."""
    place = written.place("omop")

    assert cloister("init", "claims", place, place, "--out", "plan.toml")[0] == 0
    plan = (tmp_path / "plan.toml").read_text()
    for column, role in (("birth_date", "birth-date"), ("diagnosis", "diagnosis"), ("place_of_service", "place")):
        assert f'"{column}" = "{role}"' in plan


@pytest.mark.full
def test_one_source_of_a_job_serves_several_shapes(cloister, written, tmp_path):
    """What is read of a source that is a collection is what each part needs; claims take both tables from one."""
    _plan(tmp_path, "omop")
    (tmp_path / "job.toml").write_text(f"""
name = "all"
output = "release"
k = 2
[sources.cdm]
file = "{written.place("omop")}"
id = "patient_id"
[[protect]]
name = "people"
shape = "table"
source = "cdm"
undecided = ["drop"]
suppression = 0.2
qi = {{ sex = "suppress" }}
[[protect]]
name = "codes"
shape = "codes"
source = "cdm"
m = 1
[[protect]]
name = "bills"
shape = "claims"
patients = "cdm"
claims = "cdm"
plan = "plan.toml"
""")

    code, out, err = cloister("run", "job.toml", "--json")
    assert (code, err) == (0, "")
    assert {path.name for path in (tmp_path / "release").iterdir() if path.is_dir()} == {"people", "codes", "bills"}
    assert str(written.paths["omop"].parent) not in (tmp_path / "release/release.json").read_text() + out


def test_what_only_the_custodian_may_see_of_a_collection(cloister, written, tmp_path):
    """``--custodian-dir`` tells the path and a hash of all files of a collection."""
    for profile in ("omop", "synthea"):
        place = written.place(profile)
        words = ("--out", f"{profile}-release", "--custodian-dir", f"{profile}-internal")
        assert cloister("protect", "table", place, *SHAPES["table"], *words)[0] == 0
        told = json.loads((tmp_path / f"{profile}-internal" / "internal.json").read_text())
        assert told["path"] == place
        assert len(told["sha256"]) == 64


def test_settings_are_explored_on_a_collection(cloister, written, tmp_path):
    """The files of a folder are those by which ``explore`` tells whether the data are the same."""
    words = ("--id", "patient_id", "--qi", "sex", "--undecided", "drop", "--grid", "k=2,5")

    assert cloister("explore", "table", written.place("synthea"), *words, "--out", "explored")[0] == 0
    first = json.loads((tmp_path / "explored/settings.jsonl").read_text().splitlines()[0])
    assert len(first["files"]) == len(list(written.paths["synthea"].iterdir()))


@pytest.mark.parametrize("shape", ["table", "codes", "trajectories"])
def test_a_collection_that_is_not_there_is_an_error(cloister, tmp_path, shape):
    """Nothing is written, and the message names the collection without its folder."""
    code, _, said = cloister("protect", shape, f"omop:{tmp_path}/none.zip", *SHAPES[shape], "--out", "release")

    assert (code, said) == (2, "cloister: There is no file or folder none.zip.\n")
    assert not (tmp_path / "release").exists()
