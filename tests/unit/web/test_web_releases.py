"""Releases as the application shows them: checked, decided on, compared, explored; levels by hand; anything at all."""

import json
import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.unit.web.conftest import OWN, SHAPED, opened, plain
from tests.unit.web.test_web_jobs import made, stepped

from cloister.cli.main import run
from cloister.web.app import PAGES
from cloister.web.job_state import load_job
from cloister.web.server import prepare

QUERY = {"--qi": ("age=interval:10,20/top=80", "sex"), "--undecided": ("drop",)}


@pytest.fixture(scope="session")
def released(tmp_path_factory, first_jobs):
    """Two releases of the table, as folders."""
    folder = tmp_path_factory.mktemp("released")
    words = [part for option, values in QUERY.items() for value in values for part in (option, value)]
    for k in ("3", "6"):
        out = str(folder / f"k{k}")
        assert (
            run(["protect", "table", str(first_jobs / "patients.csv"), *words, "-k", k, "--out", out, "--quiet"]) == 0
        )
    return folder


@pytest.fixture
def with_releases(window, released):
    """A window of a folder that has both releases."""
    import shutil

    for name in ("k3", "k6"):
        shutil.copytree(released / name, window.folder / name)
    return window


def test_a_release_is_verified_and_its_report_read(with_releases):
    """The page says that it holds, what it promises, and shows all sections of the report, without its styles."""
    page = with_releases.get("/check", release="k3").text

    assert "Verified just now" in page
    assert "shared by at least 3 records" in page
    assert all(f'id="s{number}"' in page for number in range(1, 8))
    assert "style=" not in page
    assert "verified" in with_releases.get("/check/state", release="k3").text


@pytest.mark.parametrize(
    ("manifest", "shape"),
    [
        ({"shape": "table"}, "table"),
        ({"shape": "job", "parts": [{"shape": "table"}]}, "table"),
        ({"shape": "job", "parts": [{"shape": "table"}, {"shape": "codes"}]}, "job of 2 parts"),
        ([], "unreadable"),
    ],
)
def test_a_release_of_one_part_is_listed_by_its_shape(window, manifest, shape):
    """The start page states what was released; only a job of several parts is a job, with their number."""
    made = {**manifest, "created": "2026-05-04T12:00:00"} if manifest else manifest
    (window.folder / "one").mkdir()
    (window.folder / "one" / "release.json").write_text(json.dumps(made))

    (found,) = window.served.app.folder.look().releases
    assert found.shape == shape
    assert f"{shape}, {found.created}" in window.get("/").text


@pytest.mark.parametrize("change", ["data", "report", "manifest", "more"])
def test_a_release_that_was_changed_is_not_shown(with_releases, change):
    """What does not hold is said to, nothing of its report is shown, and it cannot be approved."""
    folder = with_releases.folder / "k3"
    if change == "data":
        (folder / "data.csv").write_text((folder / "data.csv").read_text().replace("F", "M", 1))
    elif change == "report":
        text = (folder / "report.html").read_text()
        (folder / "report.html").write_text(text.replace("<main>", "<main><p>Injected</p><script>alert(1)</script>"))
    elif change == "manifest":
        (folder / "release.json").write_text((folder / "release.json").read_text().replace('"k": 3', '"k": 9'))
    else:
        (folder / "more.txt").write_text("x")
    page = with_releases.get("/check", release="k3")

    assert "Not verified" in page.text
    assert "alert(1)" not in page.text
    assert "Injected" not in page.text
    assert "does not hold" in with_releases.get("/check/state", release="k3").text
    form = {**with_releases.form_of(page, "/check/decide"), "name": "A", "decision": "approved"}
    assert with_releases.post("/check/decide", form).status_code == 400


def test_a_second_reader_approves_or_refuses_with_a_reason(released, tmp_path):
    """Opened for the release alone, without an original; what was decided stands beside it, with its hash."""
    import shutil

    shutil.copytree(released / "k3", tmp_path / "k3")
    served = prepare(tmp_path / "k3")
    window = opened(served)
    page = window.get("/")
    assert "Verified just now" in page.text
    assert "With the original" not in page.text
    form = {**window.form_of(page, "/check/decide"), "name": "Dr. <b>A</b>", "role": "Second reader"}
    nobody = window.post("/check/decide", {**form, "name": "", "decision": "approved"})
    silent = window.post("/check/decide", {**form, "decision": "refused"})
    refused = window.post("/check/decide", {**form, "decision": "refused", "reason": "k is too low"})
    approved = window.post("/check/decide", {**form, "decision": "approved", "reason": "for the registry"})

    assert (nobody.status_code, silent.status_code, refused.status_code, approved.status_code) == (400, 400, 200, 200)
    assert "Dr. &lt;b&gt;A&lt;/b&gt;" in approved.text
    content = json.loads((tmp_path / "k3.sign-off.json").read_text())["decisions"]
    assert [one["decision"] for one in content] == ["refused", "approved"]
    assert all(len(one["sha256"]) == 64 and one["verified"] for one in content)
    assert run(["verify", str(tmp_path / "k3"), "--quiet"]) == 0
    # a decision is about the release as it was
    shutil.rmtree(tmp_path / "k3")
    shutil.copytree(released / "k6", tmp_path / "k3")
    assert "has changed since" in window.get("/check", release=".").text
    served.socket.close()


def test_a_release_that_was_changed_in_secret_cannot_be_approved(with_releases):
    """A change that keeps size and times of a file is seen on the page, and an approval verifies anew."""
    path = with_releases.folder / "k3" / "data.csv"
    page, times, before = with_releases.get("/check", release="k3"), path.stat(), path.read_bytes()
    form = {**with_releases.form_of(page, "/check/decide"), "name": "A", "role": "Second reader"}
    path.write_bytes(before.replace(b"F", b"M", 1))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert path.stat().st_size == times.st_size
    assert "by A" not in with_releases.get("/check/state", release="k3").text
    assert with_releases.post("/check/decide", {**form, "decision": "approved"}).status_code == 400
    assert "Not verified" in with_releases.get("/check", release="k3").text
    path.write_bytes(before)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert with_releases.post("/check/decide", {**form, "decision": "approved"}).status_code == 200
    assert "approved by A, second reader, 20" in with_releases.get("/check/state", release="k3").text
    signed = json.loads((with_releases.folder / "k3.sign-off.json").read_text())["decisions"][-1]
    assert {*signed["files"]} == {one.name for one in (with_releases.folder / "k3").iterdir()}


def test_the_risk_before_is_on_the_page_and_not_in_the_release(window, monkeypatch):
    """The first screen compares class sizes with the original of the run it made; the released report never does."""
    page = window.wait(stepped(window, window.get("/release", job="patients.toml"), "/release/run")).text
    first = page.partition('<nav class="jump"')[0]
    assert page.count('name="job" value="patients.toml"') == 2  # whoever decides or attacks comes back to it

    assert "records were unique" in first
    assert "The risk of the original is for you alone" in first
    assert first.index("Columns released as recorded") < first.index("Approve or refuse")
    assert "The risk of the original data is confidential" not in page
    reports = [*(window.folder / "patients-release").rglob("report.html")]
    assert len(reports) == 2
    assert all("were unique" not in report.read_text() for report in reports)
    monkeypatch.chdir(window.folder)
    assert run(["run", "patients.toml", "--overwrite", "--quiet"]) == 0
    assert "records were unique" not in window.get("/check", release="patients-release").text


def test_the_first_screen_of_patients_with_several_rows(window):
    """Patients are counted before as after, and looked for by one of their rows."""
    rows = (window.folder / "patients.csv").read_text().splitlines()
    (window.folder / "twice.csv").write_text("\n".join([*rows, *rows[1:9]]) + "\n")
    page = window.wait(window.post("/new", {"file": "twice.csv", "shape": "table"}))
    window.post("/columns/decide", {**window.form_of(page, "/columns"), "undecided": "drop"})
    page = window.wait(stepped(window, window.get("/release", job="twice.toml"), "/release/run")).text

    assert "patients were unique" in page
    assert "of one record" in page


def test_the_first_screen_of_several_parts(window):
    """Each part has its risk before and after, recorded columns, losses and attack above the sign-off."""
    page = window.wait(window.post("/new", {"file": "codes.csv", "shape": "codes", "into": "patients.toml"}))
    assert list(load_job(window.folder / "patients.toml").job.parts) == ["patients", "codes"]
    page = window.wait(stepped(window, window.get("/release", job="patients.toml"), "/release/run")).text
    first = page.partition('<nav class="jump"')[0]

    assert first.count('data-label="Attack"') == 2
    assert first.count('data-label="Released as recorded"') == 2
    assert "records were unique" in first
    assert re.search(r"A guess is right for [0-9.]+ % of patients before, for <strong>[0-9.]+ %</strong> after", first)
    assert "Approve or refuse" in first
    assert 'href="#part-codes"' in page.partition('<nav class="jump"')[2].partition("</nav>")[0]
    assert all(
        ("were unique" not in (text := one.read_text())) and "A guess is right" not in text
        for one in window.folder.glob("patients-release/**/report.html")
    )


def test_releases_side_by_side(with_releases):
    """What their manifests state, in one table; one alone is refused."""
    page = with_releases.client.get("/compare?release=k3&release=k6")

    assert "highest risk" in page.text
    assert "guarantee.rules" in page.text or "k" in page.text
    assert with_releases.client.get("/compare?release=k3").status_code == 400


def test_an_attack_with_the_original(with_releases):
    """Runs in a process of its own, and says what adversaries found."""
    page = with_releases.get("/check", release="k3")
    stated = with_releases.form_of(page, "/check/attack")
    page = with_releases.wait(with_releases.post("/check/attack", stated))

    assert "Results of the attack" in page.text, page.text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", SHAPED)
def test_a_release_of_a_job_is_attacked_with_what_the_job_names(window, shape, monkeypatch):
    """Nobody is asked for a file: the job of the folder that made the release says what each part was made from."""
    monkeypatch.chdir(window.folder)
    page, job = made(window, shape)
    if shape == "claims":
        stepped(window, page, "/promise", **{"f:plan.risk.draws": "1000", "f:plan.risk.repeats": "10"})
    assert run(["run", job, "--quiet"]) == 0
    page = window.get("/check", release=f"{SHAPED[shape]}-release")
    form = window.form_of(page, "/check/attack")

    assert "original" not in " ".join(form)
    done = window.wait(window.post("/check/attack", form)).text
    assert "The guarantee holds" in done, done
    assert "results by the knowledge" in done.lower()


def test_parts_of_a_job_are_attacked_together(window, monkeypatch):
    """Of several parts each is shown; without the job each has a file of its own, that of its source's name first."""
    monkeypatch.chdir(window.folder)
    (window.folder / "two.toml").write_text(TWO)
    assert run(["run", "two.toml", "--quiet"]) == 0
    page = window.get("/check", release="out")
    done = window.wait(window.post("/check/attack", window.form_of(page, "/check/attack"))).text
    assert "people: results by the knowledge" in done, done
    assert "sets: results by the knowledge" in done

    (window.folder / "two.toml").unlink()
    form = window.form_of(window.get("/check", release="out"), "/check/attack")
    assert (form["original:people"], form["original:sets"]) == ("patients.csv", "codes.csv")
    assert "sets: results by the knowledge" in window.wait(window.post("/check/attack", form)).text


TWO = """
name = "two"
output = "out"
k = 3
[sources.p]
file = "patients.csv"
id = "mrn"
[sources.c]
file = "codes.csv"
[[protect]]
name = "people"
shape = "table"
source = "p"
undecided = ["drop"]
[protect.qi]
sex = "suppress"
age = "interval:10,20/top=80"
[[protect]]
name = "sets"
shape = "codes"
source = "c"
method = "disassociation"
"""


def test_settings_are_explored_and_one_is_taken(window):
    """A grid gives a frontier with its numbers as a table; taking a setting changes the job."""
    _, job = made(window)
    page = window.get("/explore", job=job)
    page = window.wait(stepped(window, page, "/explore", **{"g:k": "3, 8", "g:suppression": "0.05", "g:qi.age": ""}))

    assert "On the frontier" in page.text
    assert page.text.count("<circle") >= 2
    form = window.form_of(page, "/explored")
    assert window.post("/explored", {**form, "number": "2"}).status_code == 200
    assert load_job(window.folder / job).content["protect"][0]["k"] == 8
    assert window.get("/explored", folder="patients-explored-1").status_code == 200
    assert "patients-explored-1" in window.get("/").text
    assert "Records kept, by k" in page.text
    assert "Selected settings" not in page.text
    pinned = window.get("/explored", folder="patients-explored-1", pin=["2", "1", "none"]).text
    table = pinned.partition("Selected settings")[2].partition("</table>")[0]
    assert re.findall(r"No\. (\d)", table) == ["2", "1"]
    assert re.findall(r">k</th><td>(\d)</td><td>(\d)<", table) == [("8", "3")]


def test_a_setting_of_the_map_is_shown_with_what_changes(window):
    """A point leads to the card of its setting, without equal values; pictures are files."""
    _, job = made(window)
    page = window.get("/explore", job=job)
    window.wait(stepped(window, page, "/explore", **{"g:k": "5, 8", "g:suppression": "0, 0.05"}))
    where = {"job": job, "folder": "patients-explored-1"}
    card = [
        re.sub("<[^>]*>", " ", window.get("/explored", **where, number=number).text.partition("chosen-h")[2])
        for number in ("2", "3", "99")
    ]

    assert "The job has these settings." in card[0]
    assert re.search(r"Now\s+Then\s+k\s+5\s+8\s+suppression\s+0\.05\s+0\s", card[1])
    assert "No setting is chosen" in window.get("/explored", **where, number="99").text
    page = window.get("/explored", **where).text
    assert re.findall(r'name=([a-z-]+)" data-png hidden', plain(page)) == [
        "risk-against-loss",
        "records-kept",
        "settings-side-by-side",
    ]
    for name in ("risk-against-loss", "records-kept", "settings-side-by-side"):
        drawn = window.get("/explored/picture", **where, name=name)
        assert drawn.headers["content-type"] == "image/svg+xml"
        assert "<a " not in drawn.text
        assert 'xmlns="http://www.w3.org/2000/svg"' in drawn.text
    rows = window.get("/explored/picture", **where, name="records-kept", kind="csv").text.splitlines()
    assert rows[0].split(",")[:3] == ["setting", "k", "suppression"]
    assert [row.split(",")[:3] for row in rows[1:]] == [
        ["1", "5", "0"],
        ["2", "5", "0.05"],
        ["3", "8", "0"],
        ["4", "8", "0.05"],
    ]
    assert window.get("/explored/picture", **where, name="../x").status_code == 400


def combinations_drawn(text):
    """How many combinations a picture shows: its dots, and how many more each says are in its place."""
    more = re.findall(r"<title>[^<]*?([\d,]+) more in the same place", text)
    return text.count("<circle class=") - text.count('class="ring"') + sum(int(n.replace(",", "")) for n in more)


def test_the_lattice_is_a_file_too(window):
    """Every combination between the bounds, as a picture with its axes and as rows."""
    _, job = made(window)
    page = window.get("/levels", job=job).text
    picture = re.search(r'href="(/levels/picture[^"]*)"', page)[1].replace("&amp;", "&")
    drawn, rows = window.client.get(picture), window.client.get(f"{picture}&kind=csv").text.splitlines()

    assert "total generalization" in drawn.text
    assert "information loss" in drawn.text
    assert len(rows) - 1 == combinations_drawn(drawn.text) > 10


@pytest.mark.full
def test_claims_are_explored_and_a_setting_goes_into_the_plan(window):
    """The plan of the job is written beside what was found, so that the command goes on; a key of it is taken."""
    page, job = made(window, "claims")
    stepped(window, page, "/promise", **{"f:plan.risk.draws": "1000", "f:plan.risk.repeats": "10"})
    page = window.get("/explore", job=job)
    grid = {"g:adversary.power": "2", "g:risk.threshold": "0.2, 0.3"}
    page = window.wait(stepped(window, page, "/explore", **grid))

    assert "On the frontier" in page.text, page.text
    out = f"{job.removesuffix('.toml')}-explored-1"
    assert (window.folder / f"{out}.plan.toml").stat().st_mode & 0o777 == 0o600
    number = re.search(r'name="number" value="(\d)"', page.text)[1]
    form = window.form_of(page, "/explored")
    assert window.post("/explored", {**form, "number": number}).status_code == 200
    plan = load_job(window.folder / job).content["protect"][0]["plan"]
    assert (plan["risk"]["threshold"], plan["risk"]["draws"]) == ({"1": 0.2, "2": 0.3}[number], 1000)


@pytest.mark.parametrize("content", ["{}", "[]", "null", '{"settings": []}', '{"settings": [{}]}', "no JSON"])
def test_an_exploration_that_is_damaged_is_said(window, content):
    """In a sentence."""
    folder = window.folder / "explored"
    folder.mkdir()
    (folder / "exploration.json").write_text(content)
    answer = window.get("/explored", folder="explored")

    assert (answer.status_code, "cannot be read" in answer.text) == (400, True)


def test_a_grid_that_is_wrong_is_said(window):
    """Before anything is started, or in the command's own words."""
    _, job = made(window)
    page = window.get("/explore", job=job)
    nothing = window.post("/explore", {**window.form_of(page, "/explore"), "g:k": "", "g:suppression": ""})
    wrong = window.wait(window.post("/explore", {**window.form_of(page, "/explore"), "g:k": "many"}))

    assert nothing.status_code == 400
    assert 'role="alert"' in wrong.text


def test_levels_give_what_a_release_with_them_gives(window):
    """The figures on the page are those of the manifest of a release by the same levels."""
    _, job = made(window)
    page = window.get("/levels", job=job)
    assert "proven" in page.text
    loss = float(re.search(r"<dt>loss</dt><dd>([\d.]+)", page.text)[1])
    left_out = int(re.search(r"(\d+) of 300 records would be suppressed", page.text)[1])
    page = stepped(window, page, "/levels")
    page = window.wait(stepped(window, page, "/release/run"))
    manifest = json.loads((window.folder / "patients-release" / "patients" / "release.json").read_text())

    assert manifest["method"] == "full-domain"
    assert manifest["utility"]["loss"] == pytest.approx(loss, abs=0.02)  # rounded where few are left out
    assert manifest["records"]["suppressed"] in (left_out, "<5")


def test_a_slider_gives_figures_at_once(window):
    """A part of the page, for the levels that are on the sliders; what is beyond the ends is taken as the ends."""
    _, job = made(window)
    form = window.form_of(window.get("/levels", job=job), "/levels")
    live = {**OWN, "hx-request": "true"}
    fine = window.client.post(
        "/levels/measure",
        data={**form, **dict.fromkeys(form.keys() & {f"level-{n}" for n in range(9)}, "0")},
        headers=live,
    )
    beyond = window.client.post("/levels/measure", data={**form, "level-0": "99999"}, headers=live)

    assert fine.status_code == beyond.status_code == 200
    assert "Does not satisfy the privacy models" in fine.text
    assert "<html" not in fine.text


def test_all_combinations_are_drawn(window):
    """A lattice of a few hundred is drawn whole, and its best safe ones are listed."""
    _, job = made(window)
    page = window.get("/levels", job=job).text
    count = int(re.search(r"of ([\d,]+) combinations satisfy", page)[1].replace(",", ""))

    assert combinations_drawn(page) == count


def test_a_lattice_too_large_to_be_drawn_is_drawn_between_bounds(window, monkeypatch):
    """Around the best at first; what is too much to wait for is said; bounds draw what lies between them."""
    from cloister.web import data_read

    _, job = made(window)
    monkeypatch.setattr(data_read, "MOST_DRAWN", 20)
    page = window.get("/levels", job=job).text
    wide = window.get(
        "/levels", job=job, **{f"low-{n}": "0" for n in range(9)}, **{f"high-{n}": "99" for n in range(9)}
    )
    ends = re.findall(r'name="(low-\d)">.*?selected>(\d+)<', page)
    one = window.get("/levels", job=job, **dict(ends), **{name.replace("low", "high"): level for name, level in ends})

    assert 0 < combinations_drawn(page) <= 20
    assert "Too many combinations" in wide.text
    assert "<circle" not in wide.text
    assert combinations_drawn(one.text) == 1


def test_combinations_are_pinned_side_by_side(window):
    """By a button as by a link; each stands with what the sliders said of it, and can be taken away."""
    _, job = made(window)
    page = stepped(window, window.get("/levels", job=job), "/levels", keep="1")
    loss = re.search(r"<dt>loss</dt><dd>([\d.]+)", page.text)[1]
    page = stepped(window, page, "/levels", keep="1", **{"level-0": "0"})
    table = page.text.partition("Selected combinations")[2].partition("</table>")[0]

    assert re.search(rf'>loss</th><td class="n">{re.escape(loss)}</td><td class="n">[\d.]+<', table), table
    assert str(page.url).count("pin=") == 2
    away = window.client.get(plain(re.findall(r'href="([^"]+)" aria-label="Remove', table)[0]))
    assert str(away.url).count("pin=") == 1


TEXT = st.text(max_size=12) | st.sampled_from(
    [
        *("patients.toml", "patients.csv", "patients", "codes.toml", "k3", "0", "-1", "../x", "{{7*7}}"),
        *("<script>", "\0", "1e999"),
    ]
)
FIELDS = """job part file release folder place key version shape values profile role-0 spec-0 low-0 high-0 f:k f:rule
f:weight:0 f:decimal g:k level-0 number name decision width height l-0-0 source stamp fear go step
find show sort fix set set-role selected shown after view act item label level equal cuts-1
name-0 undecided column seen refused viewed"""
NAMES = st.sampled_from(FIELDS.split())
STARTING = ("POST /release/run", "POST /explore", "POST /new", "POST /check/attack")
"""Pages that start processes."""


@pytest.fixture(scope="module")
def robust(tmp_path_factory, first_jobs):
    """One window for many requests."""
    import shutil

    folder = tmp_path_factory.mktemp("robust") / "data"
    shutil.copytree(first_jobs, folder)
    served = prepare(folder)
    yield opened(served)
    served.app.works.stop()
    served.socket.close()


@settings(examples(150), deadline=None)
@given(
    page=st.sampled_from([name for name in PAGES if name not in STARTING]),
    said=st.dictionaries(NAMES, TEXT, max_size=6),
    good=st.booleans(),
)
def test_no_page_fails_whatever_is_asked(robust, page, said, good):
    """Any words in any field give a page or a refusal in words, never a defect; what was typed is never a tag."""
    method, path = page.split()
    said = {**said, **({"job": "patients.toml", "file": "patients.csv"} if good else {})}
    answer = robust.get(path, **said) if method == "GET" else robust.post(path, said)

    assert answer.status_code in (200, 400, 409), answer.text
    assert "<script>" not in answer.text.replace("<script src", "")
