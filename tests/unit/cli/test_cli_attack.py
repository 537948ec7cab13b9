"""``attack``, and ``protect --attack``: what is said, what is told in a release, and the exit codes."""

import json

import pytest
from tests.made.claims_files import write_files

import cloister as cl
from cloister.cli.main import run

QI = ("--qi", "age=interval:10/top=90/bottom=0", "--qi", "sex", "--qi", "zip=prefix:5")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Patients, their codes and their timelines, forty of each; two of them have what nobody else has."""
    monkeypatch.chdir(tmp_path)
    people = [f"Q{n:03d},{30 + 10 * (n % 2) + n % 3},{'FM'[n % 2]},0213{n % 2},{'xyz'[n % 3]}\n" for n in range(38)]
    people += ["Q900,77,F,99999,x\n", "Q901,88,M,88888,y\n"]
    codes = [f"Q{n:03d},{('401.9 250.00', '401.9', '250.00 272.4')[n % 3]}\n" for n in range(40)]
    pairs = [f"Q{n:03d},{('401.9', '401.1')[n % 2]},{40 + n % 4}\n" for n in range(40)]
    (tmp_path / "people.csv").write_text("mrn,age,sex,zip,dx\n" + "".join(people))
    (tmp_path / "codes.csv").write_text("id,codes\n" + "".join(codes))
    (tmp_path / "visits.csv").write_text("id,code,age\n" + "".join(pairs))
    return tmp_path


SHAPES = {
    "table": ("table", "people.csv", "--id", "mrn", "--sensitive", "dx", *QI, "--suppression", "0.2"),
    "mondrian": ("table", "people.csv", "--id", "mrn", "--sensitive", "dx", *QI, "--method", "mondrian"),
    "codes": ("codes", "codes.csv", "--method", "disassociation"),
    "generalized": ("codes", "codes.csv", "--method", "cba"),
    "trajectories": ("trajectories", "visits.csv"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_an_attack_stands_in_release_and_report(files, capsys, name):
    """With --attack the release says that it held; the figures of ``attack`` are in the custodian's folder."""
    words = [*SHAPES[name], "-k", "4", "--out", "release", "--attack", "--crosswalk", "crosswalk.csv", "--quiet"]
    assert run(["protect", *words, "--custodian-dir", "secret"]) == 0
    told = json.loads((files / "release" / "release.json").read_text())["attack"]
    kept = json.loads((files / "secret" / "internal.json").read_text())["attack"]
    report = (files / "release" / "report.html").read_text()

    assert told == {"targets": 1000, "holds": True}
    assert "of the source in the released files" in report
    secret = (files / "secret" / "report.html").read_text()
    assert "Confidential" in secret
    is_table = SHAPES[name][0] == "table"  # which has group sizes before instead
    assert ("Risk by the attacker's knowledge" in report, "Risk by the attacker's knowledge" in secret) == (
        False,
        not is_table,
    )
    assert run(["verify", "release", "--quiet"]) == 0
    original = ["--original", SHAPES[name][1], "--crosswalk", "crosswalk.csv"]
    assert run(["attack", "release", *original, "--json"]) == 0
    exact = json.loads(capsys.readouterr().out)
    assert exact["holds"] is True
    assert exact["is_known_who"] is True
    assert exact == kept
    assert run(["attack", "release", *original]) == 0
    shown = capsys.readouterr()
    assert "Confidential" in shown.out
    assert not {word for word in ("Q900", "99999", "401.9") if word in shown.out + shown.err + json.dumps(told)}


def test_two_releases_of_the_same_patients_are_attacked_together(files, capsys):
    """One original is that of both, ids or not; a link between them is exit code 1, what does not exist 2."""
    shown = [word for word in SHAPES["mondrian"] if word not in ("--id", "mrn")]
    for name, more in (("one", ()), ("two", ("--local-recoding",))):
        words = shown[:-2] if more else shown
        assert run(["protect", *words, *more, "--drop", "mrn", "-k", "4", "--out", name, "--quiet"]) == 0
    code = run(["attack", "one", "two", "--original", "people.csv", "--json"])
    found = json.loads(capsys.readouterr().out)
    (link,) = found["links"]

    assert code == (0 if found["holds"] else 1)
    assert (link["first"], link["second"], found["not_compared"]) == ("one", "two", [])
    assert [(each["first"], each["targets"]) for each in link["intersections"]] == [("dx", 38)]  # two are suppressed
    assert run(["attack", "one", "two", "--original", "one=people.csv", "--original", "two=people.csv"]) == code
    assert "one + two" in capsys.readouterr().out
    for words, reason in (
        (["one", "nowhere", "--original", "people.csv"], "does not exist"),
        (["one", "people.csv", "--original", "people.csv"], "A file of claims was given"),
        (["one", "two"], "has no original"),
        (["one", "two", "--job", "job.toml"], "give --original"),
    ):
        assert run(["attack", *words]) == 2
        assert reason in capsys.readouterr().err


@pytest.mark.full
def test_claims_are_attacked_as_they_are_written(tmp_path, capsys):
    """``protect claims --attack`` and ``attack`` with both files and the plan."""
    files = write_files(tmp_path, n_patients=80)
    places = [str(files / name) for name in ("patients.csv", "claims.csv", "plan.toml", "release")]
    words = [*places[:2], "--plan", places[2], "--out", places[3], "--attack", "--quiet"]
    assert run(["protect", "claims", *words]) == 0
    assert run(["verify", places[3], "--quiet"]) == 0

    assert run(["attack", places[3], places[1], "--original", places[0], "--plan", places[2]]) == 0
    assert "holds on average" in capsys.readouterr().out


def test_a_release_that_does_not_hold_is_found_out(files, capsys):
    """Where a class lost records, the exit code is 1, and how many targets it concerns is said, not who."""
    # Labels that overlap would leave a record that lost its class among others.
    asked = ["-k", "4", "--labels", "nested", "--out", "release", "--quiet"]
    assert run(["protect", *SHAPES["table"], *asked]) == 0
    data = files / "release" / "data.csv"
    lines = data.read_text().splitlines(keepends=True)
    kept = [line for line in lines[1:] if line.split(",")[1:4] != lines[1].split(",")[1:4]]
    data.write_text("".join([lines[0], lines[1], *kept]))

    assert run(["attack", "release", "--original", "people.csv"]) == 1
    shown = capsys.readouterr().out
    assert "does NOT hold" in shown
    assert "Q0" not in shown
    assert run(["attack", "release", "--original", "people.csv", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["broken"] > 0
    told = json.loads((files / "release" / "release.json").read_text())
    (files / "release" / "release.json").write_text(json.dumps(told | {"attack": {"note": "Q900"}}))
    assert run(["verify", "release"]) == 1
    assert "attack, which has unknown keys" in capsys.readouterr().err


def test_the_parts_of_a_job_are_attacked_together(files, capsys):
    """Each part needs its original; what leads from one to another is said."""
    job = files / "job"
    job.mkdir()
    parts = [{"name": name, "folder": name} for name in ("people", "visits")]
    (job / "release.json").write_text(json.dumps({"schema": 2, "shape": "job", "parts": parts, "files": {}}))
    for name, words in (("people", SHAPES["table"]), ("visits", SHAPES["trajectories"])):
        assert run(["protect", *words, "-k", "4", "--out", f"job/{name}", "--quiet"]) == 0
    originals = ["--original", "people=people.csv", "--original", "visits=visits.csv"]

    assert run(["attack", "job", *originals]) == 0
    assert "people + visits" in capsys.readouterr().out
    assert run(["attack", "job", *originals[:2]]) == 2
    assert "The part visits has no original" in capsys.readouterr().err
    assert run(["attack", "job", "--original", "people.csv"]) == 2
    assert "PART=FILE" in capsys.readouterr().err
    assert run(["attack", "nowhere", "--original", "people.csv"]) == 2
    assert run(["attack", "job/people", "--original", "people.csv", "--targets", "0"]) == 2


@pytest.mark.full
def test_what_claims_keep_leads_to_another_part(cloister, tmp_path):
    """A rare text that claims keep and a table releases as recorded joins their rows; whose they are is not asked."""
    write_files(tmp_path, n_patients=120)
    claims = (tmp_path / "claims.csv").read_text().splitlines()
    claims[1] = claims[1].rpartition(",")[0] + ",rare"
    (tmp_path / "claims.csv").write_text("\n".join(claims) + "\n")
    patient = claims[1].split(",")[0]
    lines = (tmp_path / "patients.csv").read_text().splitlines()[1:]
    people = [f"{line},{'rare' if line.startswith(patient) else f'n{place % 2}'}" for place, line in enumerate(lines)]
    (tmp_path / "people.csv").write_text("mrn,born,sex,note\n" + "\n".join(people) + "\n")
    (tmp_path / "job.toml").write_text(
        'name = "n"\noutput = "out"\nk = 5\n[sources.a]\nfile = "patients.csv"\n[sources.b]\nfile = "claims.csv"\n'
        '[sources.c]\nfile = "people.csv"\nid = "mrn"\n'
        '[[protect]]\nshape = "claims"\npatients = "a"\nclaims = "b"\nplan = "plan.toml"\n'
        '[[protect]]\nshape = "table"\nsource = "c"\nundecided = ["drop"]\nsensitive = ["note"]\n'
        '[protect.qi]\nsex = "suppress"\n'
    )
    assert cloister("run", "job.toml", "-q").code == 0
    found = cloister("attack", "out", "--job", "job.toml", "--json")
    (link,) = found.json["links"]

    assert (found.code, link["holds"], link["targets"]) == (1, False, 0)
    assert link["columns"] == [["note", "note"]]
    assert link["joined"] > 0


ONE = """
name = "one"
output = "out"
k = 4
[sources.p]
file = "people.csv"
id = "mrn"
[[protect]]
name = "people"
shape = "table"
source = "p"
sensitive = ["dx"]
suppression = 0.2
method = "full-domain"
[protect.qi]
age = "interval:10/top=90/bottom=0"
sex = "suppress"
zip = "prefix:5"
"""


def test_a_job_of_one_part_needs_no_name(files, capsys):
    """Its release is attacked, verified, queried, compared and opened as one that was made without a job."""
    (files / "job.toml").write_text(ONE)
    assert run(["run", "job.toml", "--quiet"]) == 0
    assert run(["protect", *SHAPES["table"], "-k", "4", "--out", "alone", "--quiet"]) == 0

    for words in (["--original", "people.csv"], ["--original", "people=people.csv"], ["--job", "job.toml"]):
        assert run(["attack", "out", *words, "--json"]) == 0, capsys.readouterr().err
        assert json.loads(capsys.readouterr().out)["levels"]
    assert run(["verify", "out", "--original", "people.csv", "-k", "4", "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert "the manifest of the job, and the figures of its report, say what its parts say" in checks
    assert not [check for check in checks if check.startswith("people: ")]
    assert run(["verify", "out", "-k", "39"]) == 1
    assert "k" in capsys.readouterr().err
    assert run(["query", "out", "--where", "sex=F", "--json"]) == 0
    assert run(["compare", "out", "alone", "--json"]) == 0
    assert '"out"' in capsys.readouterr().out
    assert run(["protect", *SHAPES["table"], "-k", "4", "--levels-from", "out", "--out", "again", "--quiet"]) == 0
    assert cl.open("out").data.equals(cl.open("out/people").data)
    assert cl.attack("out", "people.csv").holds


@pytest.fixture
def linked(files):
    """A release of timelines with its crosswalk, summaries and a register; the words of an attack on it."""
    people = [f"Q{n:03d},{'FM'[n % 2]},{1950 + n % 5}\n" for n in range(40)]
    (files / "summaries.csv").write_text("id,sex,born\n" + "".join(people))
    (files / "register.csv").write_text("name,born,sex\n" + "A,1950, F\n" * 3 + "B,1951,M\nC,1888,F\n")
    assert run(["protect", *SHAPES["trajectories"], "-k", "4", "--out", "release", "--crosswalk", "map.csv", "-q"]) == 0
    return ["attack", "release", "--original", "visits.csv", "--crosswalk", "map.csv", "--summaries", "summaries.csv"]


def test_linkage_in_two_steps(linked, capsys):
    """Summaries lead to k people or more, a register to no fewer; without one the patients are the register."""
    rates = []
    alone, further = "people, all of them patients", "people, by a register too"
    for more, name in (([], alone), (["--register", "register.csv"], further)):
        assert run([*linked, *more, "--json"]) == 0
        first, second = json.loads(capsys.readouterr().out)["levels"][-2:]
        assert (first["known"], second["known"]) == ("people, by summaries", name)
        assert second["released"]["rate"] <= first["released"]["rate"] <= 1 / 4
        assert first["released"]["fewer"] == second["released"]["none"] == 0
        assert first["covered"] == second["covered"] == 40
        rates.append((first["released"]["rate"], second["released"]["rate"]))
    assert rates[0][0] == rates[1][0]
    assert rates[0][1] < rates[1][1]


def test_a_released_demographic_narrows_down_who_fits(linked, files, capsys):
    """Where the release has a column of the summaries, the guarantee does not cover linkage, which the page says."""
    alone = [f"Q{n:03d},{'X' if n == 7 else 'F'},1950\n" for n in range(40)]
    (files / "summaries.csv").write_text("id,sex,born\n" + "".join(alone))
    attributes = ["--attributes", "summaries.csv"]
    words = [*SHAPES["trajectories"], *attributes, "-k", "4", "--out", "more", "--crosswalk", "more.csv", "-q"]
    assert run(["protect", *words]) == 0
    linked[1], linked[5] = "more", "more.csv"
    capsys.readouterr()

    assert run([*linked, *attributes]) == 0
    assert "people, by summaries (*)" in capsys.readouterr().out
    assert run([*linked, *attributes, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["levels"][-2]
    assert (first["covered"], first["released"]["alone"], first["released"]["least"]) == (0, 1, 1)


def test_linkage_that_cannot_be_simulated(linked, files, capsys):
    """Each refusal says what to give."""
    (files / "other.csv").write_text("name,gender\nA,F\n")
    (files / "few.csv").write_text("id,sex\nQ000,F\n")
    assert run(["protect", *SHAPES["table"], "-k", "4", "--out", "people", "-q"]) == 0
    of_table = ["attack", "people", "--original", "people.csv", "--summaries", "few.csv"]
    refused = {
        "has none of the columns of the summaries: sex, born": [*linked, "--register", "other.csv"],
        "39 of 40 patients of the original are not in few.csv": [*linked[:-1], "few.csv"],
        "other.csv has no column of patients": [*linked[:-1], "other.csv"],
        "Give --summaries": [*linked[:-2], "--register", "register.csv"],
        "Give --crosswalk": [*linked[:4], *linked[-2:]],
        "this release is of table": of_table,
    }
    for message, words in refused.items():
        assert run(words) == 2
        assert message in " ".join(capsys.readouterr().err.split())
