"""``init claims``: a plan that runs as it is, whatever the columns are called."""

import json
import stat
import tomllib

import pytest
from tests.made.claims_data import CLAIMS, OF_CLAIMS, OF_PATIENTS, PATIENTS

from cloister.shapes.claims.format.data import Claims
from cloister.shapes.claims.format.plan import ClaimsPlan
from cloister.shapes.claims.method.encode import encode
from cloister.shapes.claims.method.prepare import prepare


def written(path, columns, rows):
    """A CSV file of rows, missing values empty."""
    lines = [",".join(columns), *(",".join(cell or "" for cell in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def files(tmp_path):
    """Patients and claims with the usual names of columns."""
    of_claims = [
        "member_id", "service_date", "thru_date", "paid_date", "icd9", "icd9_all", "cpt", "place_of_service",
        "specialty", "provider", "remark",
    ]  # fmt: skip
    return (
        written(tmp_path / "patients.csv", ["member_id", "birth_date", "sex"], PATIENTS),
        written(tmp_path / "claims.csv", of_claims, CLAIMS),
    )


def test_a_plan_is_written_that_runs_as_it_is(cloister, files, tmp_path):
    """The columns are recognised, what can be worked out is, and the steps take the files by it."""
    found = cloister("init", "claims", *files, "--out", tmp_path / "plan.toml")
    plan = ClaimsPlan.read(tmp_path / "plan.toml")

    assert found.code == 0
    assert plan.patients.roles == {"member_id": "id", "birth_date": "birth-date", "sex": "sex"}
    assert plan.claims.roles == {
        "member_id": "id", "service_date": "date", "thru_date": "end-date", "paid_date": "paid-date",
        "icd9": "diagnosis", "icd9_all": "diagnoses", "cpt": "procedure", "place_of_service": "place",
        "specialty": "specialty", "provider": "provider", "remark": "drop",
    }  # fmt: skip
    assert plan.patients.derived == ("age", "days_in_hospital")
    assert plan.claims.derived == ("days_since_first_claim", "length_of_stay", "pay_delay")
    assert plan.claims.qi["pay_delay"] == "pay-delay"
    assert plan.weights == {"icd9": 4, "cpt": 2, "age": 2, "pay_delay": 0.5}
    assert encode(prepare(Claims.read(*files, plan)).claims).claims.n_patients == 2
    sections = (tmp_path / "plan.toml").read_text().split("\n[")
    assert [section.partition("]")[0] for section in sections if "# " not in section] == []
    assert stat.S_IMODE((tmp_path / "plan.toml").stat().st_mode) == 0o600
    assert "plan.toml was written." in found.out


def test_what_was_guessed_is_told_as_json(cloister, files, tmp_path):
    """With ``--json`` each column comes with its role, how sure that is, and why."""
    found = cloister("init", "claims", *files, "--out", tmp_path / "plan.toml", "--json")
    told = json.loads(found.out)

    assert told["plan"] == "plan.toml"
    assert told["roles"]["claims"]["remark"] == {"role": "drop", "sureness": "not sure", "why": "nothing known of it"}


def test_odd_names_of_columns_are_quoted(cloister, tmp_path):
    """Names with quotes, equal signs, umlauts and line ends stand in the plan as TOML wants them."""
    odd = ['"a ""b"" = c"', "späte [Notiz]", '"two\nlines"']
    patients = written(tmp_path / "patients.csv", ["member_id", "birth_date", "sex"], PATIENTS)
    claims = written(
        tmp_path / "claims.csv",
        ["member_id", "date", *odd, "icd9"],
        [(row[0], row[1], None, None, "x", row[4]) for row in CLAIMS],
    )
    found = cloister("init", "claims", patients, claims, "--out", tmp_path / "plan.toml", "-q")
    roles = tomllib.loads((tmp_path / "plan.toml").read_text())["claims"]["roles"]

    assert (found.code, found.out) == (0, "")
    assert [*roles][2:5] == ['a "b" = c', "späte [Notiz]", "two\nlines"]


@pytest.mark.parametrize(
    ("columns", "role"),
    [({"birth_date": "age"}, "age"), ({"birth_date": "zip"}, "quasi-identifier"), ({"birth_date": "remark"}, "drop")],
)
def test_columns_are_told_by_name_and_content(cloister, files, tmp_path, columns, role):
    """The same digits are an age, a postal code or nothing known, by the name above them."""
    names = [columns.get(name, name) for name in ("member_id", "birth_date", "sex")]
    written(files[0], names, [(who, str(40 + number), sex) for number, (who, _, sex) in enumerate(PATIENTS)])
    assert cloister("init", "claims", *files, "--out", tmp_path / "plan.toml", "-q").code == 0

    assert ClaimsPlan.read(tmp_path / "plan.toml").patients.roles[names[1]] == role


def test_of_two_columns_the_one_that_tells_more_is_taken(cloister, files, tmp_path):
    """Categories of three digits before the codes do not become the diagnosis, but are looked through as well."""
    names = ["member_id", "date", "icd9_3", "icd9"]
    rows = [(row[0], row[1], row[4][:3], row[4]) for row in CLAIMS]
    written(files[1], names, [*rows, ("P1", "2008-03-05", "410", "410.02")])
    assert cloister("init", "claims", *files, "--out", tmp_path / "plan.toml", "-q").code == 0
    roles = ClaimsPlan.read(tmp_path / "plan.toml").claims.roles

    assert (roles["icd9_3"], roles["icd9"]) == ("diagnoses", "diagnosis")


def test_files_that_do_not_belong_together_are_refused(cloister, files, tmp_path):
    """Where no column joins the two, nothing is written."""
    written(files[0], ["who", *OF_PATIENTS[1:]], PATIENTS)
    found = cloister("init", "claims", *files, "--out", tmp_path / "plan.toml")

    assert found.code == 2
    assert "No column joins patients.csv and claims.csv" in found.err
    assert not (tmp_path / "plan.toml").exists()


def test_files_in_the_other_order_are_named(cloister, files, tmp_path):
    """Who gives the claims first reads which file has the patients."""
    found = cloister("init", *reversed(files), "--out", tmp_path / "plan.toml")

    assert found.code == 2
    assert "Name the file of patients first." in found.err
    assert "To read otherwise" not in found.err


def test_claims_without_anything_to_know_are_refused(cloister, tmp_path):
    """Without a quasi-identifier of claims there is nothing to plan."""
    patients = written(tmp_path / "patients.csv", OF_PATIENTS, PATIENTS)
    claims = written(tmp_path / "claims.csv", [OF_CLAIMS[0], "remark"], [row[:2] for row in CLAIMS])
    found = cloister("init", "claims", patients, claims, "--out", tmp_path / "plan.toml")

    assert found.code == 2
    assert "No column of claims was recognised as a quasi-identifier" in found.err


def test_a_plan_is_not_written_over(cloister, files, tmp_path):
    """A file that is there stays as it is."""
    (tmp_path / "plan.toml").write_text("mine")
    found = cloister("init", "claims", *files, "--out", tmp_path / "plan.toml")

    assert found.code == 2
    assert (tmp_path / "plan.toml").read_text() == "mine"


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("files", "patients", "without"),
    [
        (("small_patients.csv.gz", "small_claims.csv.gz"), 930, set()),
        (("patients.parquet", "claims.parquet"), 47_883, {"hcpcs"}),
    ],
)
def test_synpuf_gets_a_sensible_plan(cloister, real_data, tmp_path, files, patients, without):
    """Both pairs of the DE-SynPUF get the plan that a person would write, and go through the steps by it."""
    pair = [real_data / "synpuf" / name for name in files]
    assert cloister("init", "claims", *pair, "--out", tmp_path / "plan.toml", "-q").code == 0
    plan = ClaimsPlan.read(tmp_path / "plan.toml")
    done = prepare(Claims.read(*pair, plan))

    assert plan.patients.qi == {
        "sex": "suppress", "race": "suppress", "state_ssa": "suppress", "age": "age",
        "days_in_hospital": "days-in-hospital",
    }  # fmt: skip
    assert plan.claims.qi.keys() == {
        "icd9", "hcpcs", "place_of_service", "specialty_proxy", "length_of_stay", "days_since_first_claim"
    } - without  # fmt: skip
    assert tuple(plan.claims.column(role) for role in ("vendor", "pcp", "provider")) == (
        "vendor",
        "pcp",
        "operating_physician",
    )
    assert patients == done.claims.n_patients == encode(done.claims).claims.n_patients
