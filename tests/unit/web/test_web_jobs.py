"""Pages of a job: what they save is the job file, and the job does the same from the command line."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from tests.unit.web.conftest import LAST_S, OWN, SHAPED, opened, plain

from cloister.cli.main import run
from cloister.engines import choice
from cloister.jobs.job import SHAPES
from cloister.release.manifest import parse_manifest
from cloister.report.sentences import guarantee_sentences
from cloister.settings.declaration import settings_of
from cloister.web.app import RequestContext
from cloister.web.job_state import load_job
from cloister.web.server import prepare


def made(window, shape="table"):
    """The page that follows a first job of a shape, and the name of the job."""
    job = f"{SHAPED[shape]}.toml"
    page = window.get("/columns" if shape == "table" else "/promise", job=job)
    assert page.status_code == 200, page.text
    return page, job


def words_of(text):
    """The words of a page, without its tags."""
    return " ".join(plain(re.sub(r"<[^>]+>", "", text)).split())


def stepped(window, page, action, **changes):
    """The page that follows when a form is sent as it is, with these changes."""
    return window.post(action, {**window.form_of(page, action), **changes})


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", SHAPED)
def test_a_job_made_by_pages_does_the_same_from_the_command_line(window, shape, monkeypatch):
    """From a file never seen to a verified release in six steps at most; the job makes the same bytes again."""
    page, job = made(window, shape)
    steps = 2
    for action in ("/columns", "/hierarchies", "/promise"):
        if f'action="{action}"' in page.text:
            quick = {"f:plan.risk.draws": "1000", "f:plan.risk.repeats": "10"} if shape == "claims" else {}
            page, steps = stepped(window, page, action, **quick), steps + 1
    promised = words_of(window.get("/promise", job=job).text)
    page, steps = window.wait(stepped(window, page, "/release/run")), steps + 1

    assert "Verified just now" in page.text
    assert "Risk before and after, for an attacker who knows" in page.text.partition('<nav class="jump"')[0]
    assert steps <= 6
    (manifest,) = (window.folder / job.replace(".toml", "-release")).glob("*/release.json")
    for text in guarantee_sentences(parse_manifest(json.loads(manifest.read_text()))):
        assert re.sub(r" \([0-9.]+ in the mean\)", "", text) in promised  # what only a simulation can say
    monkeypatch.chdir(window.folder)
    text = (window.folder / job).read_text()
    name = job.removesuffix(".toml")
    (window.folder / "again.toml").write_text(text.replace(f'output = "{name}-release"', 'output = "again"'))
    assert run(["run", "again.toml", "--quiet"]) == 0
    first, again = window.folder / f"{name}-release", window.folder / "again"
    data = [path.relative_to(first) for path in first.rglob("*.csv")] + [
        path.relative_to(first) for path in first.rglob("clusters.json")
    ]
    assert data
    assert [path for path in data if (first / path).read_bytes() != (again / path).read_bytes()] == []


@pytest.mark.parametrize("method", ["disassociation", "ugaclip"])
def test_a_table_with_codes_promises_on_its_page_what_its_release_states(window, method):
    """Each sentence of the release is on the page before anything is protected, for chunks and for terms."""
    codes = ("250.00 401.9", "401.9", "250.00 V51")
    rows = [f"{40 + n % 4},{'MF'[n % 2]},{codes[n % 3]}" for n in range(120)]
    (window.folder / "both.csv").write_text("\n".join(["age,sex,dx", *rows]))
    part = f'[[protect]]\nshape = "table"\nsource = "p"\ncodes = "dx"\nm = 2\ncodes_method = "{method}"\n'
    head = 'name = "both"\noutput = "both-release"\nk = 3\n[sources.p]\nfile = "both.csv"\n'
    (window.folder / "both.toml").write_text(f'{head}{part}[protect.qi]\nage = "interval:5"\nsex = "suppress"\n')
    promised = words_of(window.get("/promise", job="both.toml").text)
    assert run(["run", str(window.folder / "both.toml"), "--quiet"]) == 0
    (manifest,) = (window.folder / "both-release").glob("*/release.json")
    stated = guarantee_sentences(parse_manifest(json.loads(manifest.read_text())))

    assert stated
    assert [one for one in stated if one not in promised] == []


def test_a_row_index_is_said_where_a_file_is_chosen(window):
    """A first column without a name that numbers the rows is no column of the job, and the page says so."""
    head, *rows = (window.folder / "patients.csv").read_text().splitlines()
    numbered = [f",{head}", *(f"{n},{row}" for n, row in enumerate(rows))]
    (window.folder / "indexed.csv").write_text("\n".join(numbered) + "\n")

    page = window.get("/new", file="indexed.csv")
    assert "numbers the rows and was not read" in page.text
    assert re.search(r'type="checkbox" id="f-row_index"[^>]* checked', page.text)

    job = stepped(window, page, "/new", shape="table", empty="1", **{"f:row_index": "keep"})
    assert job.status_code == 200
    assert 'row_index = "keep"' in (window.folder / "indexed.toml").read_text()


def test_codes_and_claims_with_names_of_their_own_are_met_half_way(window):
    """Two columns, one of diagnoses, are codes; the only other file holds the claims; nobody names an id."""
    for path in [*window.folder.glob("*.csv"), *window.folder.glob("*.toml")]:
        path.unlink()
    rows = [f"AX{n // 3},{code}" for n, code in enumerate(("250.00", "401.9", "E11.9") * 40)]
    (window.folder / "long.csv").write_text("\n".join(["Pseudonym Nr.,Dx (all)", *rows]))
    (window.folder / "other.csv").write_text("a,b\n1,2\n")
    page = window.get("/new", file="long.csv")
    form = window.form_of(page, "/new")

    assert (form["shape"], form["claims"]) == ("codes", "other.csv")
    assert window.wait(window.post("/new", form)).url.path == "/promise"
    assert 'id = "Pseudonym Nr."' in (window.folder / "long.toml").read_text()


def test_columns_of_codes_and_events_can_be_named_where_they_are_not_recognised(window):
    """The refusal names fields of the page that it leads back to, which are open there."""
    rows = [f"{n // 3},{('A10', 'B20', 'C30')[n % 3]},{40 + n % 3}" for n in range(60)]
    (window.folder / "odd.csv").write_text("\n".join(["a,b,c", *rows]))
    form = window.form_of(window.get("/new", file="odd.csv"), "/new") | {"shape": "trajectories"}
    refused = window.wait(window.post("/new", form))
    assert "Name it with Id and Age (or Date, instead of an age)." in words_of(refused.text)
    back = window.client.get(plain(re.search(r'href="(/new\?[^"]+)"', refused.text)[1]))
    assert re.search(r'<details class="of-codes" open>\s*<summary>Columns of codes and trajectories', back.text)

    refused = window.wait(stepped(window, back, "/new", **{"f:id": "a", "f:code": "b"}))
    back = window.client.get(plain(re.search(r'href="(/new\?[^"]+)"', refused.text)[1]))
    assert window.form_of(back, "/new")["f:id"] == "a"
    assert stepped(window, back, "/new", shape="codes", **{"f:age": "c"}).status_code == 400
    made = window.wait(stepped(window, back, "/new", **{"f:age": "c"}))
    assert made.url.path == "/promise"
    assert 'id = "a"' in (window.folder / "odd.toml").read_text()


def test_columns_of_a_query_can_be_named_too(window):
    """The page of a database has the same fields."""
    rows = ", ".join(f"('{n // 3}', '{('A10', 'B20', 'C30')[n % 3]}', {40 + n % 3})" for n in range(60))
    with closing(sqlite3.connect(window.folder / "x.sqlite")) as database:
        database.executescript(f"CREATE TABLE t (a TEXT, b TEXT, c INTEGER); INSERT INTO t VALUES {rows}")
    form = window.form_of(window.get("/new/database"), "/new/database")
    asked = {**form, "url": "x.sqlite", "query": "SELECT * FROM t", "shape": "trajectories", "name": "odd"}
    refused = window.wait(window.post("/new/database", {**asked, "f:id": "a"}))
    assert "Name it with Age" in plain(refused.text)
    link = plain(re.search(r'href="(/new/database\?[^"]+)"', refused.text)[1])
    assert "SELECT" not in link
    elsewhere = window.client.get(f"/new/database?x=1&{link.partition('?')[2]}")
    assert window.form_of(elsewhere, "/new/database")["query"] == ""
    back = window.client.get(link)
    assert window.form_of(back, "/new/database") == {**asked, "f:id": "a"}
    assert window.wait(stepped(window, back, "/new/database", **{"f:age": "c"})).url.path == "/promise"


def test_a_job_from_scratch_has_the_columns_that_were_named(window):
    """Nothing is guessed, and nothing that was typed is lost."""
    (window.folder / "odd.csv").write_text("a,b,c\n1,A10,40\n2,B20,41\n")
    form = window.form_of(window.get("/new", file="odd.csv"), "/new")
    named = {"shape": "trajectories", "f:id": "a", "f:code": "b", "f:age": "c", "empty": "1"}
    assert window.post("/new", form | named).url.path == "/promise"
    written = (window.folder / "odd.toml").read_text()
    assert all(line in written for line in ('id = "a"', 'code = "b"', 'age = "c"'))
    assert window.post("/new", form | named | {"f:date": "c", "f:age": "d"}).status_code == 400
    dated = {**form, **named, "f:age": "", "f:date": "c"}
    assert window.post("/new", dated).url.path == "/promise"
    assert 'anchor = "first"' in (window.folder / "odd-2.toml").read_text()


def test_a_file_called_after_claims_is_proposed_for_them(window):
    """Only where claims are chosen: a table of the other file is what it is."""
    (window.folder / "third.csv").write_text("a,b\n1,2\n")
    form = window.form_of(window.get("/new", file="claim_patients.csv"), "/new")

    assert (form["shape"], form["claims"]) == ("table", "claims.csv")
    assert window.wait(window.post("/new", form)).url.path == "/columns"


def test_without_a_quasi_identifier_the_way_leads_back_to_the_columns(window):
    """The page of hierarchies has one button then, and the alert of undecided columns names them as they are."""
    (window.folder / "codes_only.csv").write_text("x1,asa325\n" + "1,2\n3,4\n" * 20)
    page = window.wait(window.post("/new", {"file": "codes_only.csv", "shape": "table"}))
    assert "has a role: x1, asa325." in plain(page.text)
    page = stepped(window, page, "/columns")
    assert page.url.path == "/hierarchies"
    assert re.search(r'class="button main" href="/columns\?', page.text)


def test_a_long_command_is_folded(window):
    """Its first words are shown, and the rest on demand; a short one is shown as it is."""
    page, job = made(window)
    state = load_job(window.folder / job)
    content = state.with_section(
        "patients", state.section("patients") | {"undecided": [f"x{n}=drop" for n in range(50)]}
    )
    state.with_content(content).save(state.version)
    page = window.get("/data", job=job).text
    folded = re.search(
        r"<details class=\"folded\"><summary><code>([^<]+)</code></summary>\s*<pre[^>]*>(.*?)</pre>", page
    )

    assert folded is not None
    assert folded[1].startswith("cloister protect table ")
    assert folded[1].endswith(" …")
    assert len(folded[1]) <= 80
    assert "x49=drop" in folded[2]
    assert page.count('class="folded"') == 1


def test_the_command_that_is_shown_makes_the_same_bytes(window, monkeypatch, capsys):
    """``cloister protect`` as a page shows it releases what the job does."""
    import html
    import shlex

    page, _ = made(window)
    page = stepped(window, page, "/columns")
    page = stepped(
        window, stepped(window, page, "/hierarchies"), "/promise", **{"f:suppression": "0.1", "f:weight:0": "3"}
    )
    window.wait(stepped(window, page, "/release/run"))
    shown = html.unescape(re.search(r"<pre[^>]*><code>(cloister protect [^<]*)</code>", page.text)[1])
    monkeypatch.chdir(window.folder)
    words = shlex.split(shown.replace("--out patients-release", "--out again"))

    assert run([*words[1:], "--quiet"]) == 0
    first, again = window.folder / "patients-release" / "patients" / "data.csv", window.folder / "again" / "data.csv"
    assert first.read_bytes() == again.read_bytes()


@pytest.mark.parametrize("shape", SHAPED)
def test_every_setting_stands_on_a_page(window, shape):
    """Whatever a job may say of a shape, a page asks for: a new setting is there at once."""
    _, job = made(window, shape)
    pages = "".join(
        window.get(path, job=job).text for path in ("/data", "/columns", "/hierarchies", "/promise", "/release")
    )
    # by column among the columns, and one choice for all undecided columns
    elsewhere = {"table": {"qi", "drop", "sensitive", "keep", "patient", "undecided"}}.get(shape, set())
    asked = {one.word for one in settings_of(SHAPES[shape].options) if one.key is not None} - elsewhere

    assert asked
    assert {word for word in asked if f'name="f:{word}' not in pages} == set()


def test_undecided_columns_are_decided_on_a_page_before_anything_is_protected(window):
    """Protect cannot be pressed, the columns are listed with what was found, and one choice decides them all."""
    text = (window.folder / "patients.toml").read_text()
    assert '    "ethnicity"' in text or '"ethnicity" =' in text
    lines = [line for line in text.splitlines() if '"ethnicity"' not in line]
    (window.folder / "open.toml").write_text("\n".join(lines))
    page = window.get("/release", job="open.toml")

    assert "1 column is undecided" in page.text
    assert "; singles out " in page.text
    assert '<button class="main" disabled>' in page.text
    ran = window.wait(stepped(window, page, "/release/run"))
    assert "undecided, so nothing is released" in ran.text
    assert not (window.folder / "patients-release").exists()

    page = stepped(window, page, "/columns/decide", undecided="drop")
    assert 'undecided = ["drop"]' in (window.folder / "open.toml").read_text()
    assert "undecided</h2>" not in page.text
    assert "Verified just now" in window.wait(stepped(window, page, "/release/run")).text


def test_the_page_of_a_release_shows_every_warning_of_its_run(window, monkeypatch, capsys):
    """What ``cloister run`` warns of is on the first screen, with what else it notes for whoever made the release."""
    page = window.get("/release", job="patients.toml")
    page = window.wait(stepped(window, page, "/release/run")).text
    monkeypatch.chdir(window.folder)
    assert run(["run", "patients.toml", "--overwrite", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    assert next(iter(told)) == "warnings"
    assert told["warnings"]
    above = plain(page.partition('<nav class="jump"')[0])
    assert [one for one in (*told["warnings"], *told["notes"]) if f"{one}." not in above] == []
    assert page.count(told["warnings"][0]) == 1
    again = prepare(window.folder)
    shown = opened(again).get("/check", release="patients-release").text
    again.socket.close()
    assert told["warnings"][0] in shown
    assert "Notes for the custodian" not in shown


def test_what_is_announced_is_what_runs(window, monkeypatch, capsys):
    """The method of a large table is that of its engine, on the page of the release and in the manifest."""
    monkeypatch.chdir(window.folder)
    job = window.folder / "patients.toml"
    job.write_text(job.read_text().replace("attack = true", ""))  # an attack rules out counting
    before = window.get("/release", job="patients.toml").text
    monkeypatch.setattr(choice, "approximate_records", lambda _file: choice.LARGE)
    page = window.get("/release", job="patients.toml").text
    assert run(["run", "patients.toml", "--dry-run", "--json"]) == 0
    (tried,) = json.loads(capsys.readouterr().out)["parts"]
    assert run(["run", "patients.toml", "--quiet"]) == 0
    released = json.loads((window.folder / "patients-release" / "patients" / "release.json").read_text())

    assert "<td>cluster</td>" in before
    assert released["method"] == "full-domain"
    announced = "full-domain (duckdb counts records, which cluster cannot do with; the engine memory can)"
    assert f"<td>{announced}</td>" in page
    assert "counted by duckdb" in page
    assert tried["asked"]["method"] == announced


def test_a_column_that_is_no_role_any_more_is_undecided(window):
    """On the page of columns one column can be left undecided, or all be decided by one choice."""
    page, job = made(window)
    places = [place for place in range(30) if f'name="role-{place}"' in page.text]
    stepped(window, page, "/columns", **{f"role-{places[-1]}": ""}, undecided="sensitive")
    assert 'undecided = ["sensitive"]' in (window.folder / job).read_text()

    page = window.get("/columns", job=job)
    assert '<option value="sensitive" selected>release as recorded (sensitive)</option>' in page.text
    stepped(window, page, "/columns", undecided="")
    assert "undecided" not in (window.folder / job).read_text().partition("[protect.qi]")[0].replace("# ", "")


def test_undecided_columns_are_dropped_and_saved_by_one_button(window):
    """It is there while a column is undecided, and leads on."""
    page, job = made(window)
    names = re.findall(r'<label for="role-\d+">([^<]+)</label>', page.text)
    place = names.index("diagnosis")
    assert "Drop the undecided column and continue" not in page.text
    form = {**window.form_of(page, "/columns"), f"role-{place}": ""}
    assert "Drop the undecided column and continue" in window.post("/columns/list", form).text

    assert window.post("/columns", {**form, "rest": "drop"}).url.path == "/hierarchies"
    assert '"diagnosis"' in (window.folder / job).read_text().partition("drop = [")[2].partition("]")[0]


def test_alerts_and_bulk_changes_set_roles_without_saving(window):
    """A button of an alert, or one role for all columns shown, changes the form; the job file stays as it is."""
    page, job = made(window)
    before = (window.folder / job).read_text()
    form = window.form_of(page, "/columns")
    names = re.findall(r'<label for="role-\d+">([^<]+)</label>', page.text)
    place = names.index("diagnosis")
    unsaved = window.post("/columns/list", {**form, f"role-{place}": ""})
    assert "1 column is undecided. Nothing" in unsaved.text
    fix = plain(re.search(r'name="fix" value="(drop:[\d,]+)"', unsaved.text)[1])
    assert fix == f"drop:{place}"
    fixed = window.post("/columns/list", {**form, f"role-{place}": "", "fix": fix})
    assert "column is undecided. Nothing" not in fixed.text
    shown = window.post("/columns/list", {**form, "set": "shown", "set-role": "drop", "shown": f"0,{place}"})
    chosen = window.form_of(shown, "/columns")
    assert [chosen["role-0"], chosen[f"role-{place}"]] == ["drop", "drop"]
    assert (window.folder / job).read_text() == before
    stepped(window, shown, "/columns", **{f"role-{place}": "keep"})
    assert (window.folder / job).read_text() != before


def copy_age(window):
    """Add a column ``years``, a copy of the age, to the table of patients; its place."""
    patients = window.folder / "patients.csv"
    rows = [line.split(",") for line in patients.read_text().splitlines()]
    age = rows[0].index("age")
    patients.write_text("".join(",".join([*row, row[age] if row[age] != "age" else "years"]) + "\n" for row in rows))
    return len(rows[0])


def test_columns_that_a_run_refuses_are_decided_where_the_page_leads(window):
    """A copy of a quasi-identifier stops the run; one link leads to the alert, one button removes the column."""
    place = copy_age(window)
    page, job = made(window)
    page = stepped(window, page, "/columns", **{f"role-{place}": "sensitive"})
    for action in ("/hierarchies", "/promise"):
        page = stepped(window, page, action)
    failed = window.wait(stepped(window, page, "/release/run"))
    link = plain(re.search(r'href="([^"]*)">Decide on these columns', failed.text)[1])
    page = window.client.get(link)
    assert "1 column is released as recorded in the last run, which refused that: years." in page.text
    form = window.form_of(page, "/columns")
    fixed = window.post("/columns/list", {**form, "fix": f"drop:{place}"})
    assert "which refused that" not in fixed.text
    stepped(window, fixed, "/columns")
    assert "years" in load_job(window.folder / job).section("patients")["drop"]


def test_columns_that_reveal_a_quasi_identifier_are_an_alert_before_a_run(window):
    """A copy of a quasi-identifier is found while it is undecided or recorded; the button of its alert removes it."""
    place = copy_age(window)
    page, _job = made(window)
    form = {**window.form_of(page, "/columns"), f"role-{place}": ""}
    alert = "years reveals age. Released as recorded, this column undoes the protection of age."
    part = window.post("/columns/revealed", form, headers={**OWN, "hx-request": "true"})
    assert alert in part.text
    assert "<html" not in part.text
    whole = window.post("/columns/revealed", form)  # without JavaScript
    assert alert in whole.text
    fixed = {**window.form_of(whole, "/columns"), "fix": f"drop:{place}"}
    without = window.form_of(window.post("/columns/list", fixed), "/columns")
    assert "reveals age" not in window.post("/columns/revealed", without).text


def test_roles_belong_to_names_if_columns_of_the_file_move(window):
    """Whoever saves a page of an earlier state of the file never gives a role to another column."""
    page, _job = made(window)
    patients = window.folder / "patients.csv"
    rows = [line.split(",") for line in patients.read_text().splitlines()]
    form = window.form_of(page, "/columns")
    patients.write_text("".join(",".join(row[::-1]) + "\n" for row in rows))
    refused = window.post("/columns", form)
    assert refused.status_code == 409
    shown = window.post("/columns/list", form)
    for again in (refused, shown):
        sent = window.form_of(again, "/columns")
        by_name = {sent[f"name-{place}"]: sent[f"role-{place}"] for place in range(len(rows[0]))}
        assert by_name == {form[f"name-{place}"]: form[f"role-{place}"] for place in range(len(rows[0]))}


def test_decisions_on_single_columns_are_their_roles(window):
    """`undecided = ["diagnosis=keep"]` is shown as that role, and saved as one."""
    page, job = made(window)
    path = window.folder / job
    text = path.read_text()
    path.write_text(
        text.replace('shape = "table"', 'shape = "table"\nundecided = ["diagnosis=keep", "drop"]').replace(
            '    "diagnosis",', ""
        )
    )
    page = window.get("/columns", job=job)
    form = window.form_of(page, "/columns")
    assert (
        next(form[f"role-{key[5:]}"] for key, name in form.items() if key[:5] == "name-" and name == "diagnosis")
        == "keep"
    )
    assert form["undecided"] == "drop"
    stepped(window, page, "/columns")
    section = load_job(path).section("patients")
    assert (section["keep"], section["undecided"]) == (["diagnosis"], ["drop"])


def test_a_search_hides_rows_and_keeps_their_roles(window):
    """Columns that a search or filter hides are saved with the role that they have."""
    page, _job = made(window)
    form = window.form_of(page, "/columns")
    found = window.post("/columns/list", {**form, "find": "AGE", "sort": "name"})
    assert re.findall(r'<label for="role-\d+">([^<]+)</label>', found.text) == ["age"]
    assert {key: value for key, value in window.form_of(found, "/columns").items() if key.startswith("role-")} == {
        key: value for key, value in form.items() if key.startswith("role-")
    }
    none = window.post("/columns/list", {**form, "show": "codes"})
    assert "No column is shown" in none.text
    words = ["ranges of 5, 10, 20", "5 characters and fewer", "month, quarter, year", "as recorded, or *", "removed"]
    assert [text for text in words if f"<td>{text}</td>" not in page.text] == []


def test_columns_show_their_distribution_before_and_after(window):
    """Once the job has a release, bars of the release stand in those of the original."""
    page, job = made(window)
    assert 'class="after"' not in page.text
    assert "Show the release" not in page.text
    for action in ("/columns", "/hierarchies", "/promise"):
        page = stepped(window, page, action)
    window.wait(stepped(window, page, "/release/run"))
    page = window.get("/columns", job=job, after="1")
    assert page.text.count('class="before"') > page.text.count('class="after"') > 0


def test_every_key_of_a_plan_stands_on_a_page(window):
    """So is every key of the plan of claims."""
    from cloister.shapes.claims.format.plan import ClaimsPlan
    from cloister.web.forms import specs_of_record

    _, job = made(window, "claims")
    page = window.get("/promise", job=job).text
    of_columns = {f"f:plan.{table}.{key}" for table in ("patients", "claims") for key in ("roles", "qi", "derived")}

    names = [spec.name for spec in specs_of_record(ClaimsPlan, ("plan",))]
    assert {name for name in names if f'name="{name}"' not in page} == of_columns
    assert 'name="claims-role-0"' in window.get("/columns", job=job).text


def test_the_promise_says_that_labels_resist(window):
    """Whoever asks for labels that resist downcoding reads what they will leave open."""
    _, job = made(window)
    form = window.form_of(window.get("/promise", job=job), "/promise")
    asked = {"f:method": "mondrian", "f:resist_downcoding": "true"}

    assert "resist downcoding: in every class" not in window.post("/promise/sentence", form).text
    assert "resist downcoding: in every class" in window.post("/promise/sentence", {**form, **asked}).text


WRONG = [
    ("f:k", "1", "a whole number from 2"),
    ("f:k", "many", "a whole number from 2"),
    ("f:suppression", "2", "a number from 0 to 1"),
    ("f:rule", "l-diversity:nothing=2", "nothing"),
    ("f:rule", "k-anonimity=3", "Did you mean"),
    ("f:loss", "none", "loss"),
    ("f:weight:0", "heavy", "a number from 0"),
    ("f:m", "2", "codes"),
]


@pytest.mark.parametrize(("field", "value", "words"), WRONG)
def test_what_cannot_be_right_is_said_at_its_field(window, field, value, words):
    """In the library's words, beside the field; nothing is saved, and what was typed is still there."""
    _, job = made(window)
    before = (window.folder / job).read_text()
    page = stepped(window, window.get("/promise", job=job), "/promise", **{field: value})

    assert page.status_code == 400
    wrong = page.text.partition('class="field wrong"')[2].partition('<div class="field')[0]
    assert f'name="{field}' in wrong or field.partition(":")[2].partition(":")[0] in wrong.lower()
    assert words in wrong
    assert f'value="{value}"' in page.text or value in page.text
    assert (window.folder / job).read_text() == before


def test_a_hierarchy_that_does_not_fit_is_said_at_its_column(window):
    """And one that fits is shown with what its levels do, before anything is saved."""
    page, job = made(window)
    page = window.get("/hierarchies", job=job)
    form = window.form_of(page, "/hierarchies")
    live = window.client.post(
        "/hierarchies/preview", data={**form, "place": "0", "spec-0": "interval:10,20"},
        headers={"sec-fetch-site": "same-origin", "hx-request": "true"},
    )  # fmt: skip
    bad = window.post("/hierarchies", {**form, "spec-0": "interval:3,5"})

    assert "Largest" in live.text
    assert bad.status_code == 400
    assert 'class="card hierarchy wrong"' in bad.text
    assert stepped(window, page, "/hierarchies", **{"low-0": "1", "high-0": "2"}).status_code == 200
    assert "@1-2" in (window.folder / job).read_text()


def test_two_windows_do_not_lose_each_others_work(served):
    """Whoever saves second is shown what the other did, keeps what was typed, and may save again."""
    window = opened(served)
    _, job = made(window)
    first, second = window.get("/promise", job=job), window.get("/promise", job=job)
    assert stepped(window, first, "/promise", **{"f:k": "7"}).status_code == 200
    refused = stepped(window, second, "/promise", **{"f:suppression": "0.02"})

    assert refused.status_code == 409
    assert "changed in another window" in refused.text
    assert "k = 7" in (window.folder / job).read_text()
    assert 'value="0.02"' in refused.text
    again = stepped(window, refused, "/promise", **{"f:k": "7"})
    assert again.status_code == 200
    content = load_job(window.folder / job).content["protect"][0]
    assert (content["k"], content["suppression"]) == (7, 0.02)


def test_undo_goes_back_step_by_step(window):
    """To the very bytes that the file had, comments and all."""
    _, job = made(window)
    path = window.folder / job
    texts = [path.read_text()]
    for k in ("7", "8"):
        stepped(window, window.get("/promise", job=job), "/promise", **{"f:k": k})
        texts.append(path.read_text())
    for text in reversed(texts[:-1]):
        page = stepped(window, window.get("/promise", job=job), "/undo")
        assert page.status_code == 200
        assert path.read_text() == text
    assert 'action="/undo"' not in page.text


def test_data_that_changed_are_noticed(window):
    """A form of the file as it was is refused, and the file is read again."""
    _, job = made(window)
    page = window.get("/columns", job=job)
    with (window.folder / "patients.csv").open("a") as file:
        file.write("M9999999,Patient X,44,F,60610,White,2025-01-01,J90\n")
    refused = stepped(window, page, "/columns")

    assert refused.status_code == 409
    assert "file changed" in refused.text
    assert "301" in window.get("/data", job=job).text
    assert stepped(window, window.get("/columns", job=job), "/columns").status_code == 200


def test_a_file_that_is_gone_is_said(window):
    """Pages about it say so; the job can still be read."""
    _, job = made(window)
    (window.folder / "patients.csv").unlink()

    assert "not there any more" in window.get("/data", job=job).text
    assert window.get("/promise", job=job).status_code == 200


def test_stopping_leaves_nothing_half(window):
    """Work that is cancelled ends soon, and neither a release nor a remnant of one is left."""
    page, job = made(window)
    name = job.removesuffix(".toml")
    page = window.get("/release", job=job)
    page = stepped(window, page, "/release/run")
    page = stepped(window, page, "/work/cancel") if 'action="/work/cancel"' in page.text else page
    page = window.wait(page)

    left = [path.name for path in window.folder.iterdir() if ".partial-" in path.name]
    assert left == []
    assert ("Back to the settings" in page.text) == (not (window.folder / f"{name}-release").exists())


def test_work_that_ends_while_its_page_is_written_still_leads_on(window, monkeypatch):
    """The page is of one moment: it loads again, and then goes to what was made."""
    job = made(window)[1]
    works, shown = window.served.app.works, RequestContext.shown

    def show_slowly(visit, *words, **filled):
        last = time.monotonic() + LAST_S
        while works.running and time.monotonic() < last:
            time.sleep(0.05)
        return shown(visit, *words, **filled)

    monkeypatch.setattr(RequestContext, "shown", show_slowly)
    page = stepped(window, window.get("/release", job=job), "/release/run")

    assert works.running == []
    assert 'hx-trigger="load delay' in page.text
    assert "Verified just now" in window.wait(page).text


def test_ending_the_server_ends_its_work(window):
    """What runs is asked to end, and cleans up."""
    _, job = made(window)
    stepped(window, window.get("/release", job=job), "/release/run")
    window.served.app.works.stop()

    assert [path.name for path in window.folder.iterdir() if ".partial-" in path.name] == []


def test_a_dry_run_says_what_would_be_done(window):
    """And writes nothing."""
    _, job = made(window)
    page = window.wait(stepped(window, window.get("/release", job=job), "/release/run", dry="1"))

    assert "quasi-identifiers" in page.text
    assert not (window.folder / "patients-release").exists()


@pytest.mark.full
def test_a_release_is_replaced_only_if_asked(window):
    """Otherwise the command's own words say why not."""
    _, job = made(window)
    window.wait(stepped(window, window.get("/release", job=job), "/release/run"))
    refused = window.wait(stepped(window, window.get("/release", job=job), "/release/run"))
    replaced = window.wait(stepped(window, window.get("/release", job=job), "/release/run", overwrite="1"))

    assert "exists already" in refused.text
    assert "Verified just now" in replaced.text


def test_a_job_written_by_hand_is_taken_with_all_it_says(window):
    """Keys that no page was asked about stay as they are."""
    text = (
        'name = "by hand"\noutput = "out"\nk = 4\nattack = true\n\n[sources.p]\nfile = "patients.csv"\nid = "mrn"\n\n'
        '[[protect]]\nshape = "table"\nsource = "p"\nundecided = ["drop"]\nmethod = "cluster"\naccept = ["zip"]\n'
        '[protect.qi]\nage = "interval:10,20/top=80"\nsex = "suppress"\n[protect.weight]\nage = 2.0\n'
    )
    (window.folder / "own.toml").write_text(text)
    before = load_job(window.folder / "own.toml").content
    for path in ("/columns", "/hierarchies", "/promise"):
        page = stepped(window, window.get(path, job="own.toml"), path)
        assert page.status_code == 200, path
    after = load_job(window.folder / "own.toml").content

    assert {key: after[key] for key in ("name", "output", "attack", "sources")} == {
        key: before[key] for key in ("name", "output", "attack", "sources")
    }
    assert after["protect"][0] == {**before["protect"][0], "k": 4}


def test_the_parts_of_a_job_are_edited_apart(window):
    """A job of several shapes has a page for each, and saving one leaves the others."""
    import shutil
    from importlib.resources import files

    shutil.copy(str(files("cloister.cli").joinpath("demo.toml")), window.folder / "job.toml")
    for part, path in (
        ("patients", "/columns"),
        ("codes", "/promise"),
        ("trajectories", "/promise"),
        ("claims", "/promise"),
    ):
        before = load_job(window.folder / "job.toml").content["protect"]
        page = window.get(path, job="job.toml", part=part)
        assert page.status_code == 200
        assert stepped(window, page, path).status_code == 200
        after = load_job(window.folder / "job.toml").content["protect"]
        own = [one.get("name", one.get("source")) for one in before].index(part)
        assert [one for n, one in enumerate(after) if n != own] == [one for n, one in enumerate(before) if n != own]


def test_a_part_is_added_and_taken_out(window):
    """With guesses of its own, under a name that is free; the job then releases both together."""
    page = window.get("/part", into="patients.toml").text
    assert "codes.csv" in page
    empty = window.post("/new", {"file": "codes.csv", "shape": "codes", "into": "patients.toml", "empty": "1"})
    assert (empty.status_code, "starts with suggested settings" in empty.text) == (400, True)
    page = window.wait(window.post("/new", {"file": "codes.csv", "shape": "codes", "into": "patients.toml"}))
    assert page.status_code == 200, page.text
    state = load_job(window.folder / "patients.toml")
    assert list(state.job.parts) == ["patients", "codes"]
    window.wait(window.post("/new", {"file": "codes.csv", "shape": "codes", "into": "patients.toml"}))
    state = load_job(window.folder / "patients.toml")
    assert list(state.job.parts) == ["patients", "codes", "codes-2"]
    assert [path.name for path in window.folder.glob(".*.part.toml")] == []

    form = {"job": "patients.toml", "part": "codes-2", "version": state.version}
    assert window.post("/part/remove", form).status_code == 200
    state = load_job(window.folder / "patients.toml")
    assert (list(state.job.parts), list(state.job.sources)) == (["patients", "codes"],) * 2
    page = window.get("/release", job="patients.toml")
    page = window.wait(stepped(window, page, "/release/run"))
    assert "Verified just now" in page.text, page.text
    assert {path.parent.name for path in (window.folder / "patients-release").glob("*/release.json")} == {
        *state.job.parts
    }


def test_a_database_becomes_a_job(window):
    """What a SELECT gives is guessed about and released as a file's columns are."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect(str(window.folder / "hospital.duckdb")) as made_of:
        made_of.execute(f"CREATE TABLE patients AS SELECT * FROM read_csv('{window.folder / 'patients.csv'}')")
    form = {"url": "hospital.duckdb", "query": "SELECT age, sex, diagnosis FROM patients", "shape": "table"}
    page = window.wait(window.post("/new/database", form | {"name": "from base"}))
    assert page.status_code == 200, page.text
    assert 'name="role-2"' in page.text
    assert "SELECT" not in window.get("/work", key=next(iter(window.served.app.works._all))).text.partition("<nav")[0]
    state = load_job(window.folder / "from_base.toml")
    assert (state.job.name, state.job.sources["data"].query) == ("from_base", form["query"])
    assert list(window.folder.glob(".*.sql")) == []
    sample = window.served.app.data.sample
    source = state.job.sources["data"]
    before = sample(window.folder, "data", source).records
    with duckdb.connect(str(window.folder / "hospital.duckdb")) as changed:
        changed.execute("DELETE FROM patients WHERE sex = 'F'")
    assert sample(window.folder, "data", source).records < before
    assert "needs a file" in window.post("/explore", {"job": "from_base.toml", "g:k": "3"}).text
    page = window.wait(stepped(window, window.get("/release", job="from_base.toml"), "/release/run"))
    assert "Verified just now" in page.text, page.text


def test_adding_and_saving_at_once_lose_nothing(window, monkeypatch):
    """What another window saves while a part is added stays."""
    from cloister.web import job_state

    job, real = window.folder / "patients.toml", job_state.add_part

    def meanwhile(state, made):
        content = real(state, made)
        if "seed" not in load_job(job).content:
            now = load_job(job)
            now.with_content({"seed": 7, **now.content}).save(now.version)
        return content

    monkeypatch.setattr(job_state, "add_part", meanwhile)
    window.wait(window.post("/new", {"file": "codes.csv", "shape": "codes", "into": "patients.toml"}))

    assert load_job(job).content["seed"] == 7
    assert list(load_job(job).job.parts) == ["patients", "codes"]


def test_an_id_set_in_one_part_is_not_that_of_another(window):
    """A part with another id of a shared file gets a source of its own; how the file is read stays alike in both."""
    job = window.folder / "two.toml"
    part = '[[protect]]\nshape = "table"\nname = "{}"\nsource = "p"\nundecided = ["drop"]\n[protect.qi]\n{}\n'
    job.write_text(
        'name = "j"\noutput = "out"\nk = 3\n[sources.p]\nfile = "patients.csv"\n'
        + part.format("ages", 'age = "interval:20"')
        + part.format("places", 'zip = "prefix:5"')
    )
    page = window.get("/columns", job=job.name, part="places")
    place = re.search(r'name="name-(\d+)" value="mrn"', page.text)[1]
    stepped(window, page, "/columns", **{f"role-{place}": "id"})
    parts, sources = load_job(job).job.parts, load_job(job).job.sources

    assert {name: part.sources["source"] for name, part in parts.items()} == {"ages": "p", "places": "p-2"}
    assert (sources["p"].id, sources["p-2"].id) == (None, "mrn")
    ids = [window.get("/columns", job=job.name, part=name).text.count('value="id" selected') for name in parts]
    assert ids == [0, 1]


def test_columns_saved_as_undecided_are_shown_as_undecided(window):
    """What evidence suggests is no decision: it is used by a button, not by opening the page."""
    page, job = made(window)
    form = {**window.form_of(page, "/columns"), "set": "shown", "set-role": ""}
    blank = window.post("/columns/list", form)
    stepped(window, blank, "/columns")
    page = window.get("/columns", job=job)
    count = page.text.count('name="name-')

    assert "qi" not in load_job(window.folder / job).content["protect"][0]
    assert page.text.count('<option value="" selected>undecided</option>') == count
    fix = plain(re.search(r'name="fix" value="(suggested:[\d,]+)"', page.text)[1])
    used = window.post("/columns/list", {**window.form_of(page, "/columns"), "fix": fix})
    assert 'value="quasi-identifier" selected' in used.text
    assert used.text.count('<option value="" selected>undecided</option>') < count


def test_a_part_takes_only_its_own_sources_with_it(window):
    """Those of a table joined with its codes stay, as do those that no part is read from."""
    job = window.folder / "joined.toml"
    job.write_text(
        'name = "j"\noutput = "out"\nk = 3\n[sources.p]\nfile = "patients.csv"\nid = "mrn"\n[sources.c]\nfile = '
        '"codes.csv"\n[sources.t]\nfile = "trajectories.csv"\n[sources.spare]\nfile = "x.csv"\n[[protect]]\nshape = '
        '"table"\nsource = "p"\ncodes = "c"\nundecided = ["drop"]\n[protect.qi]\nsex = "suppress"\n[[protect]]\n'
        'shape = "trajectories"\nsource = "t"\n'
    )
    state = load_job(job)
    assert window.post("/part/remove", {"job": job.name, "part": "t", "version": state.version}).status_code == 200
    assert list(load_job(job).job.sources) == ["p", "c", "spare"]


def test_pages_of_tables_lead_on_for_parts_of_other_shapes(window):
    """What is read is shown in their place; a part that is gone is said to be."""
    window.wait(window.post("/new", {"file": "codes.csv", "shape": "codes", "into": "patients.toml"}))
    version = load_job(window.folder / "patients.toml").version
    for path in ("/columns", "/hierarchies", "/levels", "/utility"):
        answer = window.get(path, job="patients.toml", part="codes")
        assert (answer.status_code, answer.url.path) == (200, "/data")
    undone = window.post("/undo", {"job": "patients.toml", "part": "codes", "version": version, "step": "data"})
    assert (undone.status_code, undone.url.path) == (200, "/release")
    gone = window.get("/data", job="patients.toml", part="codes")
    assert (gone.status_code, "no part of that name" in gone.text) == (400, True)


def test_an_error_nobody_expected_ends_the_work(window, monkeypatch):
    """The page says so, and the server can stop; stopping amid the last step stops that as well."""
    from cloister.web import start_pages

    def broken(*_):
        raise OSError("no space left")

    monkeypatch.setattr(start_pages, "_add_part", broken)
    page = window.wait(window.post("/new", {"file": "codes.csv", "shape": "codes", "into": "patients.toml"}))

    assert "An unexpected OSError occurred" in page.text
    assert window.served.app.works.running == []
    assert [path.name for path in window.folder.glob(".*.part.toml")] == []


@pytest.mark.parametrize(
    ("url", "query", "words"),
    [
        ("", "SELECT 1", "address"),
        ("../other.duckdb", "SELECT 1", "outside this folder"),
        ("duckdb:/tmp/other.duckdb", "SELECT 1", "outside this folder"),
        ("sqlite:../other.db", "SELECT 1", "outside this folder"),
        ("postgresql://me:hunter2@host/base", "SELECT 1", "contains a password"),
        ("postgresql://host/base", "DELETE FROM patients", "SELECT"),
        ("postgresql://host/base", "", "SELECT"),
    ],
)
def test_a_database_that_cannot_be_read_is_refused(window, url, query, words):
    """Before anything is started: another folder's, a password in the address, anything but one SELECT."""
    page = window.post("/new/database", {"url": url, "query": query, "shape": "table"})

    assert page.status_code == 400
    assert words in page.text
    assert "hunter2" not in re.sub(r'value="[^"]*"', "", page.text)


@pytest.mark.parametrize("is_asked", [False, True])
def test_a_process_of_the_server_ends_on_a_signal(window, is_asked):
    """``cloister ui`` prints an address that opens once, serves, and ends without a word, even amid a request.

    With ``--json`` it prints nothing else.
    """
    command = [sys.executable, "-m", "cloister", "ui", str(window.folder), *["--json"] * is_asked]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        printed = "".join(iter(process.stdout.readline, "}\n")) + "}" if is_asked else process.stdout.readline()
        link = json.loads(printed)["link"] if is_asked else printed
        address = re.search(r"http://127\.0\.0\.1:\d+/open\?token=\S{40,}", link)[0]
        if is_asked:
            with closing(HTTPConnection(urlsplit(address).netloc)) as connection:
                connection.request("GET", f"/open?{urlsplit(address).query}")
                cookie = connection.getresponse().headers["set-cookie"].partition(";")[0]
            waiting = HTTPConnection(urlsplit(address).netloc)
            waiting.request("GET", "/levels?job=patients.toml", headers={"cookie": cookie})
            time.sleep(0.3)
        process.send_signal(signal.SIGTERM if is_asked else signal.SIGINT)
        out, err = process.communicate(timeout=60)
        if is_asked:
            waiting.close()
    finally:
        process.kill()
    assert (process.returncode, err) == (0, "")
    assert "Stopped." in out or (is_asked and not out)


def test_what_was_made_is_for_its_owner_alone(window):
    """History and edited files too."""
    _, job = made(window)
    stepped(window, window.get("/promise", job=job), "/promise", **{"f:k": "7"})
    history = window.folder / ".cloister-ui"
    for path in (history, *history.rglob("*"), window.folder / job):
        assert os.stat(path).st_mode & 0o077 == 0, path.name
    assert time.time() - os.stat(window.folder / job).st_mtime < 600
