"""``cloister assess trajectories`` and ``assess claims`` as users type them."""

import json

import pytest
from tests.made import claims_files

import cloister as cl
from cloister.cli.main import run

VISITS = "".join(f"{i},{code},{30 + i % 3}\n" for i in range(40) for code in ("401.1", f"25{i % 4}.0"))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with visits, and patients with their claims."""
    (tmp_path / "visits.csv").write_text(f"id,code,age\n{VISITS}99,V51,77\n")
    claims_files.write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys, *words):
    """Run ``assess`` with ``--json`` and return what it prints."""
    capsys.readouterr()
    assert run(["assess", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


CLAIMS = ("claims", "patients.csv", "claims.csv", "--plan", "plan.toml")


def test_trajectories_from_the_command_line_and_python(place, capsys):
    """The JSON of the command is the summary of the function; patient 99 is found by one pair."""
    found = told(capsys, "trajectories", "visits.csv", "-m", "1,2", "-k", "3")
    assessed = cl.assess(cl.Trajectories.read("visits.csv"), m=[1, 2], k=3)

    assert (found.pop("source"), found.pop("notes") != []) == ("visits.csv", True)
    assert found == json.loads(json.dumps(assessed.summary()))
    assert (found["patients"], found["events"]) == (41, 81)
    alone = {one["what"]: one["risks"][0]["records_unique"]["value"] for one in found["partial_knowledge"]}
    assert alone["codes"] == alone["ages"] == 1 / 41


def test_claims_from_the_command_line_and_python(place, capsys):
    """The same for claims, which are known whole or by column, with the patient's quasi-identifiers or without."""
    found = told(capsys, *CLAIMS, "-m", "1,2", "--repeats")
    plan = cl.ClaimsPlan.read("plan.toml")
    assessed = cl.assess(cl.Claims.read("patients.csv", "claims.csv", plan), m=[1, 2], repeats=True)

    assert found.pop("source") == "patients.csv, claims.csv"
    assert any("removed by the steps of the plan" in note for note in found.pop("notes"))
    assert found == json.loads(json.dumps(assessed.summary()))
    kinds = [(one["what"], one["with_patient"]) for one in found["partial_knowledge"]]
    assert kinds == [(what, known) for known in (False, True) for what in ("claims", "pos", "dx")]
    assert found["of_patients"]["quasi_identifiers"] == ["age", "sex"]


def test_whoever_knows_more_finds_no_fewer(place, capsys):
    """More values, and the patient besides, never hide anybody."""
    found = told(capsys, *CLAIMS, "-m", "1,2,3")["partial_knowledge"]
    shares = {
        (one["what"], one["with_patient"]): [r["records_below_k"]["value"] for r in one["risks"]] for one in found
    }

    for (what, with_patient), below in shares.items():
        assert below == sorted(below)
        if with_patient:
            assert all(more >= less for more, less in zip(below, shares[what, False], strict=True))


@pytest.mark.full
def test_releases_are_looked_at_as_they_are(place, capsys):
    """--released takes labels for what they are; without it files of a release are refused, and it is said."""
    assert run(["protect", *CLAIMS, "--out", "claims_out", "--quiet"]) == 0
    words = ("claims", "claims_out/patients.csv", "claims_out/claims.csv", "--plan", "plan.toml")
    found = told(capsys, *words, "--released", "-m", "1")
    assert all(
        one["risks"][0]["records_unique"]["value"] == 0 for one in found["partial_knowledge"] if one["what"] == "dx"
    )
    assert run(["assess", *words]) == 2
    assert "--released" in capsys.readouterr().err

    protect = ["protect", "trajectories", "visits.csv", "-k", "4", "--out", "out", "--quiet"]
    assert run([*protect, "--code-hierarchy", "icd9", "--on-unknown-code", "root"]) == 0
    released = told(capsys, "trajectories", "out/data.csv", "--released", "-k", "4", "-m", "1,2")
    assert {risk["records_below_k"]["value"] for one in released["partial_knowledge"] for risk in one["risks"]} == {0}
    assert run(["assess", "trajectories", "out/data.csv"]) == 2
    assert "--released" in capsys.readouterr().err


def test_the_screen_tells_it_in_two_tables(place, capsys):
    """One number for each thing known and each number of it, and for whom it is."""
    for words in (("trajectories", "visits.csv"), CLAIMS):
        assert run(["assess", *words, "-m", "1,4"]) == 0
        shown = capsys.readouterr().out
        assert "Most identifying sets" in shown
        assert "Random sets" in shown
        assert "Confidential" in shown


REFUSED = {
    "m": ("trajectories", "visits.csv", "-m", "x"),
    "k": ("trajectories", "visits.csv", "-k", "1"),
    "seed": (*CLAIMS, "--seed", "-1"),
    "no file": ("trajectories", "nothing.csv"),
    "unit": ("trajectories", "visits.csv", "--age-unit", "weeks"),
    "dates of a release": ("trajectories", "visits.csv", "--released", "--date", "age", "--anchor", "first"),
    "no plan": ("claims", "patients.csv", "claims.csv", "--plan", "visits.csv"),
    "not of the plan": ("claims", "visits.csv", "claims.csv", "--plan", "plan.toml", "--released"),
    "the two files changed round": ("claims", "claims.csv", "patients.csv", "--plan", "plan.toml"),
}


@pytest.mark.parametrize("words", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused(place, capsys, words):
    """Bad settings and files end with exit code 2 and one sentence."""
    assert run(["assess", *words]) == 2
    assert capsys.readouterr().err.startswith("cloister: ")


def test_settings_of_tables_are_refused():
    """Python says what does not belong to the data, and refuses data of nobody."""
    trajectories = cl.Trajectories.from_records([[("401.1", 40)]])
    with pytest.raises(cl.InputError, match="qi, threads: not for trajectories"):
        cl.assess(trajectories, qi=["age"], threads=1)
    with pytest.raises(cl.InputError, match="no patients"):
        cl.assess(cl.Trajectories.from_records([]))
    with pytest.raises(cl.InputError, match="repeats: not for code sets"):
        cl.assess(cl.CodeSets.from_records([["401.1"]]), repeats=True)
