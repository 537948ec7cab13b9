"""The application in a real browser, where there is one: three people from start to end; keyboard, narrow, no script.

With CLOISTER_SCREENSHOTS in the environment, the pictures of docs/application.md are made in the folder that it names.
"""

import os
import re
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
from tests.unit.web.conftest import prepare

from cloister.cli.main import run
from cloister.testing import hospital
from cloister.web.server import serve

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

BROWSER = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium is here")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
TAGS = {"light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "dark": ["cat.color"]}
PICTURES = os.environ.get("CLOISTER_SCREENSHOTS")
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 400, "height": 800}
MOST_CLICKS = 6
WAIT_MS = 90_000


@pytest.fixture(scope="module")
def browser():
    """A browser, in which every reader has a context of their own."""
    with sync_api.sync_playwright() as driver, driver.chromium.launch(executable_path=BROWSER, args=FLAGS) as started:
        yield started


LARGE = """
name = "x"
output = "out"
k = 5
attack = true
[sources.p]
file = "patients.csv"
id = "mrn"
[[protect]]
shape = "table"
source = "p"
undecided = ["drop"]
method = "cluster"
[protect.qi]
age = "interval:5,10"
zip = "prefix:5"
admitted = "date:month,year"
"""
"""A job that takes a while."""


class Reader:
    """Somebody at a browser: what the console said, which hosts were asked, how often was clicked."""

    def __init__(self, context, served):
        self.context, self.served = context, served
        self.base = served.address.partition("/open")[0]
        self.said, self.asked, self.clicks = [], [], 0
        self.page = context.new_page()
        self.page.set_default_timeout(WAIT_MS)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(served.address)

    def click(self, what, then):
        """Click, once, and wait for the page that follows."""
        self.clicks += 1
        self.page.click(what)
        self.page.wait_for_url(re.compile(then))

    def go(self, path):
        """Open a page of the application."""
        self.page.goto(f"{self.base}{path}")

    def look(self, name=""):
        """Look at the page, wide and at 400 px, light and dark: nothing is off screen, and axe finds nothing."""
        page = self.page
        page.wait_for_load_state()
        page.evaluate(AXE)
        for scheme, tags in TAGS.items():
            page.emulate_media(color_scheme=scheme)
            found = page.evaluate("tags => axe.run({runOnly: tags})", tags)["violations"]
            told = [(one["id"], node["target"], node["failureSummary"]) for one in found for node in one["nodes"]]
            assert told == [], f"{name} {page.url} {scheme}: {told[:4]}"
        page.emulate_media(color_scheme="light")
        if PICTURES and name:
            page.screenshot(path=f"{PICTURES}/{name}.png", clip={"x": 0, "y": 0, **WIDE})
        page.set_viewport_size(NARROW)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], f"{name} is wider than 400 px"
        if PICTURES and name in ("ui-columns", "ui-promise", "ui-check"):
            page.screenshot(path=f"{PICTURES}/{name}-narrow.png", clip={"x": 0, "y": 0, **NARROW})
        page.set_viewport_size(WIDE)

    def done(self):
        """See that nothing was said on the console, and nobody else was asked."""
        assert self.said == []
        assert [url for url in self.asked if not url.startswith((self.base, "data:"))] == []
        self.context.close()


@pytest.fixture
def reading(browser):
    """What opens a folder in a context of its own."""
    ends = []

    def read(folder, **options):
        served = prepare(folder)
        ready = threading.Event()
        thread = threading.Thread(target=serve, args=(served, 60, ready.set), daemon=True)
        thread.start()
        ready.wait(60)
        context = browser.new_context(viewport=WIDE, **options)
        ends.append((served, context))
        return Reader(context, served)

    yield read
    for served, context in ends:
        context.close()
        served.guard.last = -1e9  # as if nobody had used it for long
        served.app.works.stop()


@pytest.fixture
def patients(tmp_path):
    """A folder with one table that nobody has seen."""
    folder = tmp_path / "my-hospital"
    folder.mkdir()
    hospital().patients.write_csv(folder / "patients.csv")
    return folder


@pytest.fixture
def release(tmp_path):
    """A release, in a folder without its original."""
    hospital(n=300).write(tmp_path / "source")
    words = ["--qi", "age=interval:5,10,20/top=90", "--qi", "sex", "--qi", "zip=prefix:5", "--undecided", "drop"]
    data, out = tmp_path / "source" / "patients.csv", tmp_path / "inbox" / "release"
    out.parent.mkdir()
    assert (
        run(
            ["protect", "table", str(data), *words, "--sensitive", "diagnosis", "-k", "5", "--out", str(out), "--quiet"]
        )
        == 0
    )
    return out


def test_a_custodian_from_a_file_never_seen_to_a_verified_release(reading, patients):
    """Six clicks with all guesses accepted; every page on the way is looked at; a release, a report, a job remain."""
    reader = reading(patients)
    reader.look("ui-start")
    reader.click("text=patients.csv", "/new")
    reader.look("ui-new")
    reader.click("text=Suggest settings", "/columns")
    reader.look("ui-columns")
    reader.click("text=Save and continue", "/hierarchies")
    reader.look("ui-hierarchies")
    reader.click("text=Save and continue", "/promise")
    reader.look("ui-promise")
    reader.click("text=Save and continue", "/release")
    reader.look("ui-release")
    reader.click("text=Protect and verify", "/check")
    assert "Verified just now" in reader.page.inner_text("#verdict")
    reader.look("ui-check")

    assert reader.clicks <= MOST_CLICKS
    assert run(["verify", str(patients / "patients-release"), "--quiet"]) == 0
    with reader.page.expect_download() as kept:
        reader.page.click("text=Download the report")
    assert b"<h1>" in Path(kept.value.path()).read_bytes()
    reader.click("text=its utility", "/utility")
    reader.look("ui-utility")
    reader.go("/release?job=patients.toml")
    with reader.page.expect_download() as kept:
        reader.page.click("text=Download the job")
    assert Path(kept.value.path()).read_bytes() == (patients / "patients.toml").read_bytes()
    reader.go("/part?into=patients.toml")
    reader.look("ui-part")
    reader.click("main li >> text=A database", "/new/database")
    reader.look("ui-database")
    reader.click("footer >> text=Glossary", "/glossary")
    reader.look("ui-glossary")
    reader.go("/")
    reader.page.wait_for_selector("text=verified")
    reader.look("ui-start-later")
    reader.done()


def test_a_statistician_looks_at_what_a_stricter_promise_costs(reading, patients):
    """A grid to its frontier, a setting taken, levels moved on sliders with figures that follow."""
    reader = reading(patients)
    page = reader.page
    reader.click("text=patients.csv", "/new")
    reader.click("text=Suggest settings", "/columns")
    page.click("nav.steps >> text=Explore")
    page.wait_for_url(re.compile("/explore"))
    reader.look("ui-explore")
    page.click("text=Compare the frontier of all levels")
    page.wait_for_url(re.compile("/explored"))
    assert page.locator(".frontier .best").count() > 2
    reader.look("ui-frontier")
    reader.go("/explore?job=patients.toml")
    page.fill("#g-k", "3, 11")
    reader.click("button:has-text('Compare') >> nth=0", "/explored")
    reader.look("ui-explored")
    point = page.locator("svg.frontier a[aria-label^='4:']").first
    assert "k=11" in point.locator("title").text_content()
    point.click()
    page.wait_for_url(re.compile("number=4"))
    assert "Setting 4" in page.inner_text(".chosen")
    assert "k\t5\t11" in page.inner_text(".chosen")
    for name, begin in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("CSV", b"setting,k,")):
        with page.expect_download() as kept:
            page.click(f".downloads >> nth=0 >> text={name}")
        assert kept.value.suggested_filename == f"risk-against-loss.{name.lower()}"
        assert Path(kept.value.path()).read_bytes().startswith(begin)
    reader.look()
    for place in (0, 1):
        page.locator("[name=pin]").nth(place).check()
    reader.click("text=Compare selected", "pin=1&pin=2")
    assert "Selected settings" in page.inner_text("main")
    reader.look("ui-side-by-side")
    reader.click("text=Use these settings >> nth=1", "/promise")
    reader.go("/levels?job=patients.toml")
    measured = page.inner_text("#measured")
    page.locator("svg.frontier a:has(.best)").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("at="))
    assert page.inner_text("#measured") != measured
    assert "Compared with" in page.inner_text("#measured")
    reader.click("text=Add to comparison", "pin=")
    reader.click("td >> text=Compare >> nth=2", "pin=.*pin=")
    reader.look("ui-levels")
    before = page.inner_text("#measured")
    page.focus("#level-0")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("before => document.querySelector('#measured').innerText !== before", arg=before)
    assert "records would be suppressed" in page.inner_text("#measured")
    reader.done()


def test_cut_points_are_dragged_and_clicked(reading, patients):
    """A line that is dragged moves its number, a click adds one, and the levels follow; saving uses them."""
    reader = reading(patients)
    page = reader.page
    reader.click("text=patients.csv", "/new")
    reader.click("text=Suggest settings", "/columns")
    reader.go("/hierarchies/edit?job=patients.toml&place=0")
    reader.look("ui-cuts")
    before = page.input_value("#cuts-1").split(", ")
    grip = page.locator("g.cut .grip").first.bounding_box()
    page.mouse.move(grip["x"] + 5, grip["y"] + 50)
    page.mouse.down()
    page.mouse.move(grip["x"] - 40, grip["y"] + 50, steps=4)
    with page.expect_response("**/hierarchies/cuts"):
        page.mouse.up()
    page.wait_for_selector(f"g.cut >> nth={len(before) - 1}")
    moved = page.input_value("#cuts-1").split(", ")
    assert float(moved[0]) < float(before[0])
    assert moved[1:] == before[1:]
    chart = page.locator("svg.histogram").bounding_box()
    page.mouse.click(chart["x"] + 0.94 * chart["width"], chart["y"] + 30)
    page.wait_for_selector(f"g.cut >> nth={len(before)}")
    assert len(page.input_value("#cuts-1").split(", ")) == len(before) + 1
    reader.click("button.main >> text=Use these cut points", "/hierarchies")
    assert page.input_value("#spec-0").startswith("interval:cuts=")
    reader.go("/hierarchies/edit?job=patients.toml&place=1&groups=1")
    reader.look("ui-groups")
    reader.done()


def test_values_are_dragged_into_order(reading, patients):
    """A value that is dropped on another one takes its place; with the selected ones, if it is one of them."""
    reader = reading(patients)
    page = reader.page
    reader.click("text=patients.csv", "/new")
    reader.click("text=Suggest settings", "/columns")
    reader.go("/hierarchies/edit?job=patients.toml&place=3&groups=1")
    values = page.locator(".groups label .kept")
    before = values.all_inner_texts()
    page.locator(".groups label").nth(2).drag_to(page.locator(".groups label").first)
    page.wait_for_url(re.compile("level=1"))
    assert values.all_inner_texts() == [before[2], *before[:2], *before[3:]]
    page.fill("#size", "2")
    page.click("button >> text=Group neighbours")
    page.wait_for_selector(f"strong >> text={before[2]} - {before[0]}")
    reader.look()
    reader.done()


def open_hierarchy(reader, column, link):
    """Go from the start to the hierarchies of a new job, and follow a link of a column; return the column's place."""
    reader.click("text=patients.csv", "/new")
    reader.click("text=Suggest settings", "/columns")
    reader.click("text=Save and continue", "/hierarchies")
    place = reader.page.locator("section.hierarchy h2").all_inner_texts().index(column)
    reader.click(f"text={link} >> nth={place}", "/builder")
    return place


DROP = """([name, text]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name));
  document.querySelector("h1").dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true}));
}"""
"""Drops a file on the page, next to its field."""


def test_a_hierarchy_file_is_dropped_in_and_used(reading, patients):
    """A file that breaks a law is refused at its field; the next one is used, and what follows is verified with it."""
    reader = reading(patients)
    page = reader.page
    place = open_hierarchy(reader, "sex", "Drop in a file")
    reader.look("ui-file")
    page.evaluate(DROP, ["sexes.csv", "F;person;*\nM;other;**\n"])
    page.wait_for_selector(".field.wrong .error >> text=last column has 2 different labels")
    reader.look()
    page.evaluate(DROP, ["sexes.csv", "F;person;*\nM;person;*\n"])
    page.wait_for_selector("#spec-0")
    assert page.input_value(f"#spec-{place}") == "hierarchies/sexes.csv"
    page.click("nav.steps >> text=Release")
    page.wait_for_url(re.compile("/release"))
    reader.click("text=Protect and verify", "/check")
    assert "Verified just now" in page.inner_text("#verdict")
    released = [one.read_text() for one in (patients / "patients-release").rglob("release.json")]
    assert any("sexes.csv" in text for text in released)
    reader.said = [text for text in reader.said if "400" not in text]  # the browser itself reports the refusal
    reader.done()


def test_levels_are_chosen_in_a_form(reading, patients):
    """The units of dates are ticked by keyboard, the levels follow, and the job has the words of the builder."""
    reader = reading(patients)
    page = reader.page
    place = open_hierarchy(reader, "admitted", "Choose levels")
    assert page.inner_text("nav.chips [aria-current]") == "Dates"
    reader.look("ui-levels-of-dates")
    page.focus("input[value=quarter]")
    page.keyboard.press("Space")
    page.wait_for_selector("#preview >> text=date:month,year")
    page.focus("input[value=week]")
    page.keyboard.press("Space")
    page.wait_for_selector("#preview .error >> text=units that nest")
    page.keyboard.press("Space")
    page.wait_for_selector("#preview .error", state="detached")
    for name in ("ICD codes", "Masks", "ZIP codes", "Intervals"):
        page.click(f"nav.chips >> text={name}")
        reader.look()
    page.go_back()
    page.click("nav.chips >> text=Dates")
    page.uncheck("input[value=month]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#spec-0")
    assert page.input_value(f"#spec-{place}") == "date:quarter,year"
    reader.done()


def test_promises_and_columns_follow_what_is_typed(reading, patients):
    """The sentence, the levels of a hierarchy and the separation change while they are edited, not yet saved."""
    reader = reading(patients)
    page = reader.page
    reader.click("text=patients.csv", "/new")
    reader.click("text=Suggest settings", "/columns")
    job = (patients / "patients.toml").read_text()
    page.select_option("#role-5", "drop")
    page.wait_for_selector("text=4 quasi-identifiers")
    kept = (patients / "patients.csv").rename(patients / "elsewhere.csv")
    page.select_option("#role-6", "keep")
    page.wait_for_selector("#problem >> text=is not there any more")
    assert page.locator(".spine select").count() > 5
    kept.rename(patients / "patients.csv")
    page.select_option("#role-6", "quasi-identifier")
    page.wait_for_selector("#problem .alert", state="detached")
    page.type("#find", "diag")
    page.wait_for_selector("#role-5", state="detached")
    assert page.input_value("#find") == "diag"
    assert page.locator(".spine tbody tr").count() == 1
    reader.go("/hierarchies?job=patients.toml")
    page.fill("#spec-0", "interval:nothing")
    page.wait_for_selector("#levels-0 .error")
    page.fill("#spec-0", "interval:10,20")
    page.wait_for_selector("#levels-0 table")
    reader.go("/promise?job=patients.toml")
    page.fill("[name='f:k']", "9")
    page.wait_for_selector("#promised >> text=at least 9 records")
    page.check("input[value='l-diversity:diagnosis=2']")
    page.wait_for_selector("#promised >> text=diagnosis")
    page.fill("[name='f:k']", "1")
    page.click("text=Save and continue")
    page.wait_for_selector(".field.wrong .error")
    reader.look("ui-wrong")
    assert (patients / "patients.toml").read_text() == job
    reader.said = [text for text in reader.said if "400" not in text]  # the browser tells of the refusal itself
    reader.done()


def test_a_second_reader_refuses_with_a_reason(reading, release):
    """Opens a release without its original, reads what is not promised, and says why not."""
    reader = reading(release)
    page = reader.page
    assert "Verified just now" in page.inner_text("#verdict")
    reader.look()
    page.click("text=Assumptions and limits")
    page.fill("#who", "Second Reader")
    page.select_option("#role", "Statistician")
    page.fill("#reason", "The ZIP code is finer than agreed.")
    page.click("button[value=refused]")
    page.wait_for_selector(".decision")
    assert "Refused by Second Reader, Statistician" in page.inner_text(".decision")
    page.locator("#decide").scroll_into_view_if_needed()
    reader.look()
    assert "finer than agreed" in (release.parent / "release.sign-off.json").read_text()
    assert run(["verify", str(release), "--quiet"]) == 0
    reader.done()


def test_a_recipient_reads_what_may_be_counted(reading, release):
    """Back, reload and links work; the guarantee stands in words, and what may be counted is in the report."""
    reader = reading(release)
    page = reader.page
    assert "shared by at least 5 records" in page.inner_text(".first-screen")
    page.click("nav.jump >> text=Counts")
    assert page.evaluate("document.querySelector(location.hash).getBoundingClientRect().top") < 400
    assert "Count" in page.inner_text("#a1 >> xpath=..")
    page.go_back()
    page.reload()
    assert "Verified just now" in page.inner_text("#verdict")
    page.emulate_media(media="print")
    assert not page.is_visible("#decide form")
    assert page.is_visible("#s1")
    reader.done()


def test_a_changed_release_is_told_from_a_verified_one(reading, release):
    """One letter of the data is enough, and nothing of it can be approved."""
    text = (release / "data.csv").read_text()
    (release / "data.csv").write_text(text.replace("F", "M", 1))
    reader = reading(release)

    assert "Not verified" in reader.page.inner_text("#verdict")
    assert reader.page.is_disabled("button[value=approved]")
    reader.look("ui-changed")
    reader.done()


def test_a_custodian_without_a_mouse(reading, patients):
    """With the keyboard alone from the start to a verified release; the focus can be seen."""
    reader = reading(patients)
    page = reader.page

    def reach(text, presses=80):
        for _ in range(presses):
            page.keyboard.press("Tab")
            found = page.evaluate(
                "[document.activeElement.innerText || '', getComputedStyle(document.activeElement).outlineStyle]"
            )
            if found[0].strip() == text:
                assert found[1] != "none"
                page.keyboard.press("Enter")
                return
        raise AssertionError(f"{text} cannot be reached")

    reach("patients.csv")
    page.wait_for_url(re.compile("/new"))
    steps = ["/hierarchies", "/promise", "/release"]
    for text, then in (
        ("Suggest settings", "/columns"),
        *(("Save and continue", step) for step in steps),
        ("Protect and verify", "/check"),
    ):
        reach(text)
        page.wait_for_url(re.compile(then))
    assert "Verified just now" in page.inner_text("#verdict")
    reader.done()


def test_a_custodian_without_scripts(reading, patients):
    """All but live previews works without JavaScript: forms post, and pages about work load again by themselves."""
    reader = reading(patients, java_script_enabled=False)
    page = reader.page
    reader.click("text=patients.csv", "/new")
    reader.click("text=Suggest settings", "/columns")
    for then in ("/hierarchies", "/promise", "/release"):
        reader.click("text=Save and continue", then)
    reader.click("text=Protect and verify", "/check")
    assert "Verified just now" in page.inner_text("#verdict")
    page.goto(f"{reader.base}/hierarchies/builder?job=patients.toml&place=0&form=interval")
    page.fill("[name='f:widths']", "10, 20")
    page.click("button:has-text('Preview')")
    assert "interval:10,20" in page.inner_text("#preview")
    page.goto(f"{reader.base}/hierarchies/builder?job=patients.toml&place=1&form=file")
    (patients / "large.txt").write_bytes(b"x" * 2**25)
    page.set_input_files("#file", patients / "large.txt")
    reader.click("text=Check and use the file", "/hierarchies/file")
    assert "too large" in page.inner_text(".field.wrong .error")
    reader.said.clear()  # the browser itself reports the refusal
    page.set_input_files("#file", {"name": "all.csv", "mimeType": "text/csv", "buffer": b"F;*\nM;*\n"})
    reader.click("text=Check and use the file", "/hierarchies")
    assert "all.csv" in page.content()
    page.goto(f"{reader.base}/levels?job=patients.toml")
    page.click("button:has-text('Measure')")
    assert "records would be suppressed" in page.inner_text("#measured")
    page.locator("svg.frontier a:has(.best)").last.click()
    page.wait_for_url(re.compile("at="))
    page.goto(f"{reader.base}/explore?job=patients.toml")
    reader.click("button:has-text('Compare') >> nth=0", "/explored")
    page.locator("svg.parallel a").last.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("number="))
    assert page.locator(".downloads a:visible").all_inner_texts() == ["SVG", "CSV"] * 3
    page.click(".chosen >> text=Use these settings")
    page.wait_for_url(re.compile("/promise"))
    reader.done()


def test_stopping_in_the_browser_leaves_nothing(reading, tmp_path):
    """Stop ends what runs, and no folder is there that was not there before."""
    folder = tmp_path / "large"
    folder.mkdir()
    hospital(n=100_000).patients.write_csv(folder / "patients.csv")
    (folder / "job.toml").write_text(LARGE)
    reader = reading(folder)
    reader.go("/release?job=job.toml")
    before = {path.name for path in folder.iterdir()}
    reader.click("text=Protect and verify", "/work")
    (work,) = reader.served.app.works.running
    while work.doing == "starting":
        time.sleep(0.05)
    work.process.send_signal(signal.SIGSTOP)  # else it may be done before all was looked at
    reader.look("ui-work")
    reader.page.click("text=Stop")
    work.process.send_signal(signal.SIGCONT)  # only now: else it may be done before it is stopped
    reader.page.wait_for_selector("[role=alert]")

    assert {path.name for path in folder.iterdir()} == before
    reader.done()


@pytest.mark.full
def test_long_names_and_many_columns(reading, tmp_path):
    """Sixty columns with names of seventy letters stay on the page, at any width."""
    import polars as pl

    folder = tmp_path / "wide"
    folder.mkdir()
    frame = {f"{'very_long_name_' * 4}{n:02d}": [f"value {n} {row % 7}" for row in range(60)] for n in range(58)}
    pl.DataFrame({"age": [row % 40 + 20 for row in range(60)], "sex": ["F", "M"] * 30, **frame}).write_csv(
        folder / "wide.csv"
    )
    reader = reading(folder)
    reader.click("text=wide.csv", "/new")
    reader.look()
    reader.click("text=Suggest settings", "/columns")
    for path in ("/data", "/columns", "/hierarchies", "/promise", "/release", "/explore"):
        reader.go(f"{path}?job=wide.toml")
        reader.look()
    reader.done()


def test_a_custodian_of_three_files_reads_one_verdict(reading, tmp_path):
    """Three files become parts of one job; promise, risk, losses and attack of each are on one screen, to be signed."""
    folder = tmp_path / "hospital"
    hospital(n=300).write(folder)
    reader = reading(folder)
    reader.click('main >> text="patients.csv"', "/new")
    reader.click("text=Suggest settings", "/columns")
    for file in ("codes.csv", "trajectories.csv"):
        reader.go("/part?into=patients.toml")
        reader.click(f'main >> text="{file}"', "/new")
        reader.look()
        reader.click("text=Suggest settings", "/promise")
    reader.go("/release?job=patients.toml")
    reader.look()
    reader.click("text=Protect and verify", "/check")

    page = reader.page
    rows = page.locator("table.parts tbody tr")
    assert [rows.nth(place).get_by_role("link").first.inner_text() for place in range(3)] == [
        "patients",
        "codes",
        "trajectories",
    ]
    boxes = [rows.nth(place).bounding_box() for place in range(3)]
    assert max(box["y"] + box["height"] for box in boxes) <= WIDE["height"]
    reader.look("ui-parts")
    page.fill("#who", "Second Reader")
    page.fill("#reason", "For the registry of stays")
    page.click("button[value=approved]")
    page.wait_for_selector(".decision")
    assert run(["verify", str(folder / "patients-release"), "--quiet"]) == 0
    reader.done()
