"""``run``: a whole job, from its file to one folder whose parts cannot be joined."""

import json
import random
import re
import shutil
import stat
from datetime import date, timedelta

import polars as pl
import pytest
from tests.made.claims_files import write_files
from tests.made.jobs_files import HEAD, JOB, TABLE, hospital, write_hospital

from cloister.cli.main import run
from cloister.jobs import running as jobs
from cloister.release.folder import json_bytes
from cloister.release.release import Release
from cloister.testing import hospital as hospital_of_testing

PARTS = ["patients", "diagnoses", "visits", "both"]
OF_TABLE = (
    *("--purpose", "one-coding"),
    *("--id", "mrn", "--drop", "name", "--drop", "ward", "--sensitive", "diagnosis", "--suppression", "0.1", "-k", "5"),
    *("--qi", "age=interval:10,20/top=90/bottom=0", "--qi", "sex=suppress"),
)
K = 5


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A hospital and the release of its job, made once."""
    folder = write_hospital(tmp_path_factory.mktemp("made"))
    assert run(["run", str(folder / "job.toml"), "-q", "--custodian-dir", str(folder / "secret")]) == 0
    return folder


@pytest.fixture
def place(made, tmp_path):
    """A copy of it all that may be changed."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def bytes_of(folder, *names):
    """The data files of parts."""
    return {name: [path.read_bytes() for path in sorted((folder / name).glob("*.csv"))] for name in names}


def table(path):
    """A file as text."""
    return pl.read_csv(path, infer_schema=False)


def test_each_part_is_what_protect_makes_of_it(cloister, place):
    """A part holds the bytes that the same options give on the command line, and is verified alone and in the job."""
    alone = {
        "patients": ("table", "patients.csv", *OF_TABLE),
        "diagnoses": ("codes", "diagnoses.csv", "-k", "5", "-m", "2"),
        "visits": ("trajectories", "visits.csv", "-k", "5"),
    }
    for name, words in alone.items():
        (place / "alone").mkdir(exist_ok=True)
        assert cloister("protect", *words, "-q", "--out", f"alone/{name}").code == 0
    held = cloister("verify", "release", "--json")

    assert bytes_of(place / "alone", *alone) == bytes_of(place / "release", *alone)
    assert held.json["holds"]
    assert [any(check.startswith(f"{name}: ") for check in held.json["checks"]) for name in PARTS] == [True] * 4
    assert [cloister("verify", f"release/{name}", "-q").code for name in PARTS] == [0] * 4
    original = ("--original", "visits.csv", "--crosswalk", "visits.map.csv")
    assert cloister("verify", "release/visits", *original, "-q").code == 0


def test_the_folder_tells_what_it_holds(place):
    """One manifest with the hashes of all files, one report that needs no network; private; secrets are elsewhere."""
    manifest = json.loads((place / "release" / "release.json").read_text())
    report = (place / "release" / "report.html").read_text()

    assert (manifest["schema"], manifest["shape"], manifest["name"]) == (3, "job", "night-run")
    assert [part["name"] for part in manifest["parts"]] == PARTS
    assert {"patients/data.csv", "patients/release.json", "both/clusters.json"} <= manifest["files"].keys()
    assert [report.count(f'<h3 id="part-{name}-s{section}">') for name in PARTS for section in range(1, 8)] == [1] * 28
    assert report.count("Simulated adversaries tried to find") == len(PARTS)
    assert report.count("Sign-off</h3>") == 1
    assert "<script" not in report
    figures = json.loads((place / "release" / "report.json").read_text())
    alone = {name: json.loads((place / "release" / name / "report.json").read_text()) for name in PARTS}
    reports = {name: manifest["files"].pop(name) for name in ("report.html", "report.json", "README.txt")}
    assert all(reports.values())
    assert figures == {
        "schema": 3,
        "warnings": [f"{name}: {text}" for name, part in alone.items() for text in part["warnings"]],
        "release": manifest,
        "parts": {
            name: {"release": json.loads((place / "release" / name / "release.json").read_text()), "figures": one}
            for name, one in ((name, part["figures"]) for name, part in alone.items())
        },
    }
    assert {0o700} == {
        stat.S_IMODE(path.stat().st_mode) for path in [place / "release", *(place / "release").glob("*/")]
    }
    assert sorted((path.name for path in (place / "secret").iterdir()), key=PARTS.index) == PARTS
    assert "M" in (place / "patients.map.csv").read_text()
    assert [path for path in (place / "release").rglob("*") if path.is_file() and b"Name 1" in path.read_bytes()] == []


def test_the_first_page_has_what_people_sign_of_every_part(place):
    """One row a part: promise, risk, recorded columns, losses, attack and the way to its details; then the sign-off."""
    page = (place / "release" / "report.html").read_text()
    first = page.partition('class="verdict-card"')[2].partition("</section>")[0]
    rows = re.findall(r'<tr>\s*<th scope="row"><a href="#([^"]*)">([^<]*)</a>(.*?)</tr>', first, re.DOTALL)

    assert [name for _, name, _ in rows] == PARTS
    for anchor, _, row in rows:
        assert f'id="{anchor}"' in page
        assert re.findall('data-label="([^"]*)"', row) == ["Risk", "Released as recorded", "Information lost", "Attack"]
        assert "<strong>Verified:</strong>" in row
        assert "<strong>Simulated</strong>" in row
    assert "diagnosis 17." in rows[0][2]
    assert "Sign-off" in first


def test_nothing_joins_a_row_of_one_part_to_one_of_another(cloister, place):
    """Not the same number, nor the place in the file, nor sizes of groups; and parts do not follow from each other."""
    maps = [dict(table(place / f"{name}.map.csv").iter_rows()) for name in ("patients", "visits")]
    people, visits = (table(place / "release" / name / "data.csv") for name in ("patients", "visits"))
    by_id = sum(maps[1].get(number) == patient for number, patient in maps[0].items())
    places = zip(people["mrn"], visits["id"].unique(maintain_order=True), strict=False)
    by_place = sum(maps[0][one] == maps[1][two] for one, two in places)
    backwards = zip(reversed(people["mrn"].to_list()), maps[1], strict=False)
    by_reverse = sum(maps[0][one] == maps[1][two] for one, two in backwards)

    assert max(by_id, by_place, by_reverse) * K <= len(maps[0])
    assert groups_joined(people, visits, maps) * K <= len(maps[0])
    lines = hospital()
    random.Random(1).shuffle(lines["visits.csv"])
    write_hospital(place, lines=lines | {"visits.csv": [line.replace("M", "Z") for line in lines["visits.csv"]]})
    for secret in place.glob("*.map.csv"):
        secret.unlink()
    before = bytes_of(place / "release", *PARTS)
    assert cloister("run", "job.toml", "--overwrite", "-q").code == 0
    assert before == bytes_of(place / "release", *PARTS)


def groups_joined(people, visits, maps):
    """Patients that are joined rightly by groups of a size that no other group has in either part."""
    classes = people.group_by("age", "sex").agg(pl.col("mrn"))
    sequences = visits.group_by("id", maintain_order=True).agg(pl.concat_str("code", "age").alias("all"))
    clusters = sequences.group_by("all").agg(pl.col("id").alias("mrn"))
    sized = [{}, {}]
    for found, frame in zip(sized, (classes, clusters), strict=True):
        for members in frame["mrn"]:
            found.setdefault(len(members), []).append(members.to_list())
    rightly = 0
    for size in sized[0].keys() & sized[1].keys():
        if len(sized[0][size]) == len(sized[1][size]) == 1:
            own, other = ({maps[part][number] for number in sized[part][size][0]} for part in (0, 1))
            rightly += len(own & other) / size
    return rightly


def test_columns_that_would_join_parts_are_refused(cloister, tmp_path):
    """A rare value that two parts release as recorded joins their rows: no release, nothing left, both parts named."""
    lines = hospital()
    lines["patients.csv"] = [line.replace(",W0,", f",{number},") for number, line in enumerate(lines["patients.csv"])]
    again = TABLE.replace('"name", "ward"', '"name", "diagnosis", "sex"').replace('["diagnosis"]', '["ward"]')
    again = again.replace('sex = "suppress"\n', "").replace("patients.map", "again.map") + "[protect.levels]\nage = 1\n"
    first = TABLE.replace('"name", "ward"', '"name"').replace('["diagnosis"]', '["diagnosis", "ward"]')
    write_hospital(tmp_path, HEAD + first + again.replace('shape = "table"', 'shape = "table"\nname = "again"'), lines)
    warned = cloister("run", "job.toml", "--dry-run")
    before = sorted(path.name for path in tmp_path.iterdir())
    refused = cloister("run", "job.toml")

    assert warned.code == 0
    assert "patients and again both release ward as recorded" in warned.err
    assert refused.code == 1
    assert "rows of patients and again can be joined" in refused.err
    assert "ward" in refused.err
    assert before == sorted(path.name for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('sensitive = ["diagnosis"]', 'sensitive = ["diagnosys"]', "part patients: Column 'diagnosys'"),
        ('sensitive = ["diagnosis"]', "", 'or decide all of them at once: undecided = ["drop"]'),
        ('sex = "suppress"', 'sex = "interval:5"', "part patients: "),
        ('codes = "diagnoses"\nm = 2', "m = 2", "part both: Leave out m, or name a column of codes with codes"),
        ('file = "visits.csv"', 'file = "none.csv"', "part visits: There is no file"),
        ('source = "visits"', 'source = "visits"\ncode_hierarchy = "suppres"', "part visits: "),
        ('crosswalk = "visits.map.csv"', 'crosswalk = "patients.map.csv"', "two parts would write the file"),
        ('crosswalk = "visits.map.csv"', 'crosswalk = "release/x.csv"', "outside the release folder"),
        ('sex = "suppress"', 'sex = "suppress"\n[protect.levels]\nage = 1\nsex = 9', "Level 9 of column 'sex'"),
        ('sex = "suppress"', 'sex = "suppress"\n[protect.levels]\nage = 1', "Not named: sex"),
    ],
)
def test_a_dry_run_finds_what_is_wrong_and_writes_nothing(cloister, tmp_path, old, new, words):
    """With the exit code of protect, the part, and options called by their keys."""
    write_hospital(tmp_path, JOB.replace(old, new))
    refused = cloister("run", "job.toml", "--dry-run")

    assert refused.code == 2
    assert words in refused.err
    assert {"job.toml", "patients.csv", "diagnoses.csv", "visits.csv"} == {path.name for path in tmp_path.iterdir()}


def test_a_dry_run_says_what_would_be_done(cloister, tmp_path):
    """Part by part, on the screen and as JSON; nothing is written."""
    write_hospital(tmp_path)
    told = cloister("run", "job.toml", "--dry-run", "--json").json

    assert [part["name"] for part in told["parts"]] == PARTS
    assert told["parts"][3]["asked"]["codes"] == "diagnoses, m = 2"
    assert "Dry run: nothing was protected or written" in cloister("run", tmp_path / "job.toml", "--dry-run").out
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("release.json", "night-run", "day-run"),
        ("release.json", '"verified": true', '"verified": false'),
        ("release.json", '"patients/data.csv"', '"patients/data2.csv"'),
        ("report.html", "night-run", "day-run"),
        ("report.json", '"before"', '"befor"'),
        ("patients/data.csv", "F", "M"),
        ("visits/release.json", '"k": 5', '"k": 6'),
        ("both/report.html", "table", "tables"),
        ("stranger.txt", "", "x"),
        ("both", None, None),
    ],
)
@pytest.mark.sampled(3)
def test_a_changed_job_does_not_hold(cloister, place, name, old, new):
    """Whatever is changed in the folder of a job, in its parts or beside them, verify says no."""
    path = place / "release" / name
    if old is None:
        shutil.rmtree(path)
    else:
        path.write_text(path.read_text().replace(old, new, 1) if path.exists() else new)

    assert cloister("verify", "release", "-q").code == 1


def test_a_job_of_another_version_is_judged_by_its_schema(cloister, place):
    """The version decides nothing: what manifest and report state wrongly is refused, and not repeated."""
    path = place / "release" / "release.json"
    manifest = json.loads(path.read_text()) | {"cloister": "9.9.9"}
    manifest["guarantee"]["sentences"] = ["k = 500"]
    path.write_bytes(json_bytes(manifest))
    (place / "release" / "report.html").write_text("<script>alert('it holds')</script>")
    ran = cloister("verify", "release")

    assert (ran.code, ran.out) == (1, "")
    assert "does not hold" in ran.err
    assert "k = 500" not in ran.err


@pytest.mark.parametrize("late", [False, True])
def test_interrupted_anywhere_nothing_is_left(cloister, place, monkeypatch, late):
    """A stop while a part is written, or after all are: the earlier release stays, and no file more is there."""
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and ".map." not in path.name}
    for secret in place.glob("*.map.csv"):
        secret.unlink()
    write_into, calls = Release.write_into, []

    def stop(release, *places):
        calls.append(release)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return write_into(release, *places)

    def stop_late(folder, engine=None):
        raise KeyboardInterrupt

    if late:
        monkeypatch.setattr(jobs, "verify_folder", stop_late)
    else:
        monkeypatch.setattr(Release, "write_into", stop)

    assert cloister("run", "job.toml", "--overwrite", "--custodian-dir", "secret").code == 130
    assert before == {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert list(place.glob(".*")) == []


def test_data_that_changed_since_the_release_that_is_replaced_are_told(cloister, tmp_path):
    """The same data again: no note. Other data, or other settings: a note that both releases can be compared."""
    job = HEAD + TABLE.replace('crosswalk = "patients.map.csv"\n', "")
    write_hospital(tmp_path, job)
    assert cloister("run", "job.toml", "-q").code == 0
    same = cloister("run", "job.toml", "--overwrite", "--json").json["notes"]
    (tmp_path / "job.toml").write_text(job.replace("interval:10,20", "interval:20,40"))
    settings = cloister("run", "job.toml", "--overwrite", "--json").json["notes"]
    lines = hospital()
    write_hospital(
        tmp_path, job.replace("interval:10,20", "interval:20,40"), lines | {"patients.csv": lines["patients.csv"][:-7]}
    )
    data = cloister("run", "job.toml", "--overwrite", "--json").json["notes"]

    assert not any("replaced" in text for text in same)
    assert any("by its settings or by its data" in text for text in settings)
    assert any("the data of patients changed since the release that was replaced" in text for text in data)
    assert cloister("run", "job.toml").code == 2
    assert cloister("verify", "release", "-k", "5").code == 0


@pytest.mark.full
def test_claims_are_a_part_with_two_sources_and_a_plan(cloister, tmp_path):
    """The plan stands in a file or in the job; names of files are taken from the job's folder."""
    data = tmp_path / "data"
    data.mkdir()
    write_files(data, n_patients=60)
    plan = (data / "plan.toml").read_text().replace("\n[", "\n[protect.plan.")
    job = (
        'name = "c"\noutput = "../out"\nseed = 7\n[sources.people]\nfile = "patients.csv"\n'
        '[sources.events]\nfile = "claims.csv"\n'
        '[[protect]]\nshape = "claims"\npatients = "people"\nclaims = "events"\n'
    )
    (data / "job.toml").write_text(job + 'plan = "plan.toml"\n')
    (data / "inline.toml").write_text(job.replace("../out", "../inline") + plan)

    assert cloister("run", "data/job.toml", "-q").code == 0
    assert cloister("verify", "out", "-q").code == 0
    assert json.loads((tmp_path / "out" / "claims" / "release.json").read_text())["seed"] == 7
    assert "out exists already" in cloister("run", "data/job.toml", "--dry-run").err
    told = [cloister("run", f"data/{name}.toml", "--dry-run", "--overwrite", "--json") for name in ("job", "inline")]
    assert told[0].json == told[1].json
    (data / "inline.toml").write_text(job.replace("../out", "../in") + plan.replace("threshold =", "thresholt ="))
    refused = cloister("run", "data/inline.toml", "--dry-run")
    assert (refused.code, "protect[1].plan.risk.thresholt. Did you mean" in refused.err) == (2, True)
    (data / "plan.toml").write_text((data / "plan.toml").read_text() + '[ids]\npatients = "hmac:key"\n')
    refused = cloister("run", "data/job.toml", "--overwrite")
    assert (refused.code, "part claims: plan.toml: ids.patients must be number or drop" in refused.err) == (2, True)


def test_a_job_takes_the_policy_of_an_earlier_release(cloister, place):
    """With like, the levels are those of that release, whatever would be found now."""
    like = TABLE.replace("suppression = 0.1", 'suppression = 0.1\nlevels_from = "release/patients"').replace(
        "patients.map", "m"
    )
    (place / "like.toml").write_text((HEAD + like).replace('output = "release"', 'output = "again"'))

    assert cloister("run", "like.toml", "-q").code == 0
    assert bytes_of(place / "release", "patients") == bytes_of(place / "again", "patients")


@pytest.mark.parametrize("with_ids", [True, False])
def test_columns_of_other_names_that_say_the_same_are_refused(cloister, tmp_path, with_ids):
    """The same diagnoses under another name in a second part: refused before anything is protected."""
    hospital_of_testing(n=120).write(tmp_path)
    frame = pl.read_csv(tmp_path / "patients.csv", infer_schema=False).rename({"diagnosis": "dx"})
    (frame.reverse() if with_ids else frame).write_csv(tmp_path / "again.csv")
    part = '[[protect]]\nshape = "table"\nsource = "{}"\nundecided = ["drop"]\nsensitive = ["{}"]\n[protect.qi]\n{}\n'
    job = (
        'name = "n"\noutput = "out"\nk = 5\n[sources.one]\nfile = "patients.csv"\nid = "mrn"\n'
        '[sources.two]\nfile = "again.csv"\nid = "mrn"\n'
        + part.format("one", "diagnosis", 'age = "interval:20"')
        + part.format("two", "dx", 'zip = "prefix:5"')
    )
    (tmp_path / "job.toml").write_text(job if with_ids else job.replace('id = "mrn"\n', ""))
    for more in ((), ("--dry-run",)):
        refused = cloister("run", "job.toml", "-q", *more)
        assert (refused.code, "diagnosis of one and dx of two say the same of a patient" in refused.err) == (1, True)
    assert not (tmp_path / "out").exists()


def test_a_dry_run_lists_no_unmatched_values(cloister, tmp_path):
    """Values that are in no hierarchy are written by a run that was to protect them, and by no other."""
    (tmp_path / "data.csv").write_text("age\n" + "31\n" * 9 + "p007\n")
    (tmp_path / "job.toml").write_text(
        'name = "n"\noutput = "out"\nk = 2\n[sources.one]\nfile = "data.csv"\n[[protect]]\nshape = "table"\n'
        'source = "one"\nunmatched_values = "outside.csv"\n[protect.qi]\nage = "interval:20"\n'
    )
    assert cloister("run", "job.toml", "--dry-run").code == 2
    assert not (tmp_path / "outside.csv").exists()
    assert cloister("run", "job.toml").code == 2
    assert (tmp_path / "outside.csv").read_text() == "column,value\nage,p007\n"


def test_roles_of_all_parts_are_checked_before_the_first_is_protected(cloister, tmp_path, monkeypatch):
    """An undecided column of the last part is refused at once: nobody waits for the others."""
    hospital_of_testing(n=120).write(tmp_path)
    part = '[[protect]]\nshape = "table"\nname = "{}"\nsource = "one"\n{}[protect.qi]\nage = "interval:20"\n'
    (tmp_path / "job.toml").write_text(
        'name = "n"\noutput = "out"\nk = 5\n[sources.one]\nfile = "patients.csv"\nid = "mrn"\n'
        + part.format("first", 'undecided = ["drop"]\n')
        + part.format("last", "")
    )
    monkeypatch.setattr("cloister.pipeline.tables.protect", lambda *_: 1 / 0)
    refused = cloister("run", "job.toml")

    assert refused.code == 2
    assert "part last" in refused.err
    assert "undecided" in refused.err


@pytest.mark.parametrize("with_ids", [True, False])
def test_parts_without_ids_are_said_not_to_be_tested_for_links(cloister, tmp_path, with_ids):
    """Whoever asks for an attack reads on the screen and in the report which parts it did not look at together."""
    hospital_of_testing(n=120).write(tmp_path)
    part = '[[protect]]\nshape = "table"\nname = "{}"\nsource = "one"\nundecided = ["drop"]\n[protect.qi]\n{}\n'
    (tmp_path / "job.toml").write_text(
        'name = "n"\noutput = "out"\nk = 5\nattack = true\n[sources.one]\nfile = "patients.csv"\n'
        + ('id = "mrn"\n' if with_ids else "")
        + part.format("ages", 'age = "interval:20"')
        + part.format("places", 'zip = "prefix:5"')
    )
    ran = cloister("run", "job.toml")
    page = (tmp_path / "out" / "report.html").read_text()
    pairs = [["ages", "places"]]

    assert ran.code == 0
    assert ("Not tested for links by the attack: ages and places." in ran.out.replace("\n", " ")) != with_ids
    assert ("<strong>Not tested</strong> for links by an attack: ages and places." in page) != with_ids
    manifest = json.loads((tmp_path / "out" / "release.json").read_text())
    assert manifest["links"] == {"tested": pairs if with_ids else [], "not_tested": [] if with_ids else pairs}
    manifest["links"]["tested"], manifest["links"]["not_tested"] = [], []
    (tmp_path / "out" / "release.json").write_bytes(json_bytes(manifest))
    assert cloister("verify", "out", "-q").code == 1


def test_columns_that_two_systems_spell_differently_join_parts(cloister, tmp_path):
    """One system writes days as another does not: the rows of both lead to each other, and nothing is released."""
    made = hospital_of_testing(n=120)
    made.write(tmp_path)
    frame = pl.read_csv(tmp_path / "patients.csv", infer_schema=False)
    days = pl.Series("seen", [date(2020, 1, 1) + timedelta(days=place) for place in range(frame.height)])
    for name, form in (("patients", "%Y-%m-%d"), ("again", "%d.%m.%Y")):
        frame.with_columns(days.dt.strftime(form)).write_csv(tmp_path / f"{name}.csv")
    part = '[[protect]]\nshape = "table"\nsource = "{}"\nundecided = ["drop"]\nsensitive = ["seen"]\n[protect.qi]\n{}\n'
    job = 'name = "n"\noutput = "out"\nk = 5\n[sources.one]\nfile = "patients.csv"\n[sources.two]\nfile = "again.csv"\n'
    (tmp_path / "job.toml").write_text(
        job + part.format("one", 'age = "interval:20"') + part.format("two", 'zip = "prefix:5"')
    )
    refused = cloister("run", "job.toml", "-q")

    assert (refused.code, "values of seen lead to fewer than 5" in refused.err) == (1, True)
    assert not (tmp_path / "out").exists()


def test_a_part_with_more_records_tells_of_few_who_are_left_out(cloister, tmp_path):
    """Said to the custodian, and not promised in the report."""
    hospital_of_testing(n=200).write(tmp_path)
    job = (
        'name = "n"\noutput = "out"\nk = 8\n[sources.people]\nfile = "patients.csv"\nid = "mrn"\n'
        '[[protect]]\nname = "some"\nshape = "table"\nsource = "people"\nundecided = ["drop"]\nsuppression = 0.09\n'
        '[protect.qi]\nage = "interval:10,20,40"\nsex = "suppress"\n[protect.levels]\nage = 2\nsex = 0\n'
        '[[protect]]\nname = "all"\nshape = "table"\nsource = "people"\nundecided = ["drop"]\n'
        '[protect.qi]\nsex = "suppress"\n'
    )
    (tmp_path / "job.toml").write_text(job)
    told = cloister("run", "job.toml", "--json").json

    records = json.loads((tmp_path / "out" / "some" / "release.json").read_text())["records"]
    assert isinstance(records["suppressed"], str)
    assert any("some suppresses few patients" in text and "all has more records" in text for text in told["warnings"])
    report = (tmp_path / "out" / "report.html").read_text()
    assert "a part keeps back" in report


def test_a_release_goes_where_the_command_line_says(cloister, made, tmp_path, monkeypatch):
    """Not to the output of the job: relative to where the command runs, with the same data."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    ran = cloister("run", str(write_hospital(tmp_path / "data") / "job.toml"), "--out", "other")

    assert (ran.code, "Report: other/report.html" in ran.out) == (0, True)
    assert bytes_of(tmp_path / "other", *PARTS) == bytes_of(made / "release", *PARTS)
    assert not (tmp_path / "data" / "release").exists()
