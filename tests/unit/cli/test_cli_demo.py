"""``cloister demo``: the example hospital in four shapes, protected by a job."""

import json
import shlex

import pytest

PARTS = ["patients", "codes", "trajectories", "claims"]


@pytest.fixture(scope="module")
def demonstrated(tmp_path_factory):
    """The folder of a demonstration, made once."""
    from cloister.cli.main import run

    folder = tmp_path_factory.mktemp("demonstrated") / "demo"
    assert run(["demo", str(folder), "--patients", "100", "--quiet"]) == 0
    return folder


def bytes_of(folder):
    """What was released."""
    return {path: path.read_bytes() for path in sorted(folder.glob("release/*/*.csv"))}


@pytest.mark.full
def test_demo_again_shows_all_parts_and_the_command(cloister, demonstrated):
    """It runs again over itself, with the same data, and ends with a row a part, one report, and the job by hand."""
    before = bytes_of(demonstrated)
    ran = cloister("demo", demonstrated, "--patients", "100")
    hand, browser = ran.out.rstrip().splitlines()[-2:]
    words = shlex.split(hand.removeprefix("The same by hand: "))
    assert browser.startswith(f"The same in a browser: cloister ui {demonstrated}")

    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines() if line.split()[:1] and line.split()[0] in PARTS] == PARTS
    assert ran.out.count("report.html") == 1
    assert words[:2] == ["cloister", "run"]
    assert bytes_of(demonstrated) == before
    assert cloister("verify", demonstrated / "release", "-q").code == 0
    assert cloister(*words[1:], "--dry-run", "-q").code == 0
    assert {path.name for path in demonstrated.iterdir()} >= {"job.toml", "release", "patients.csv", "claims.csv"}


@pytest.mark.full
def test_demo_in_json_prints_one_object(cloister, demonstrated):
    """With ``--json`` standard output is the release as one object, and standard error is silent."""
    ran = cloister("demo", demonstrated, "--patients", "100", "--json")
    told = json.loads(ran.out)

    assert (ran.code, ran.err) == (0, "")
    assert [part["name"] for part in told["parts"]] == PARTS


def test_everybody_of_the_demo_is_looked_for(cloister, demonstrated):
    """``attack`` reads from the job what each part was made from; all guarantees hold, no parts are linkable."""
    found = cloister(
        "attack", demonstrated / "release", "--job", demonstrated / "job.toml", "--targets", "60", "--json"
    )

    assert found.code == 0
    assert list(found.json["parts"]) == PARTS
    assert all(part["holds"] for part in found.json["parts"].values())
    assert [(link["first"], link["second"], link["holds"]) for link in found.json["links"]] == [
        ("patients", "trajectories", True),
        ("patients", "claims", True),
        ("trajectories", "claims", True),
    ]
    refused = cloister("attack", demonstrated / "release", "--job", demonstrated / "job.toml", "--original", "a=b")
    assert (refused.code, "Give either --job or --original" in refused.err) == (2, True)
    alone = cloister("attack", demonstrated / "release" / "codes", "--job", demonstrated / "job.toml")
    assert (alone.code, "Give --original INPUT once" in alone.err) == (2, True)


def test_demo_where_it_cannot_be(cloister, tmp_path):
    """A demonstration that cannot write is one sentence."""
    (tmp_path / "file").write_text("")
    ran = cloister("demo", tmp_path / "file" / "demo", "--patients", "50")

    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert (tmp_path / "file").read_text() == ""


def test_demo_does_not_replace_what_is_not_its_own(cloister, tmp_path):
    """Other people's data and releases are left alone."""
    (tmp_path / "patients.csv").write_text("mine")
    ran = cloister("demo", tmp_path, "--patients", "50")

    assert ran.code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["patients.csv"]
    assert (tmp_path / "patients.csv").read_text() == "mine"
