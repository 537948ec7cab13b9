"""The editor of one hierarchy: cut points in a histogram, and groups of values."""

import re

from tests.unit.web.conftest import plain

from cloister.web.job_state import load_job

JOB = "patients.toml"


def place_of(window, column):
    """The place of a quasi-identifier in the job."""
    return list(load_job(window.folder / JOB).section("patients")["qi"]).index(column)


def edited(window, column, **query):
    """The page that edits the hierarchy of a column, and the form of its groups as it is."""
    page = window.get("/hierarchies/edit", job=JOB, place=str(place_of(window, column)), groups="1", **query)
    return page, window.form_of(page, "/hierarchies/edit")


def hierarchy_of(window, column):
    """The hierarchy of a column in the job file."""
    return load_job(window.folder / JOB).section("patients")["qi"][column]


def test_cut_points_are_proposed_drawn_and_used(window):
    """Groups of about equal size have round cut points, each drawn as a line; saving writes them into the job."""
    page = window.get("/hierarchies/edit", job=JOB, place=str(place_of(window, "age")))
    form = window.form_of(page, "/hierarchies/cuts")
    cuts = form["cuts-1"].split(", ")
    assert cuts == sorted(cuts, key=float)
    assert page.text.count('class="cut"') == len(cuts) > 1
    wrong = window.post("/hierarchies/cuts", {**form, "cuts-2": "1.5"})
    assert 'role="alert"' in wrong.text
    assert wrong.text.count('class="cut"') == len(cuts)
    again = window.post("/hierarchies/cuts", {**form, "cuts-1": "18, 40,65", "cuts-2": "40", "save": "1"})
    assert again.status_code == 200
    assert hierarchy_of(window, "age") == "interval:cuts=18,40,65/40"


def test_values_are_grouped_named_and_saved_as_a_file(window):
    """Selected values share a label; nothing is written before it is saved, and the file is a legal hierarchy."""
    before = (window.folder / JOB).read_text()
    page, form = edited(window, "zip")
    items = [plain(one) for one in re.findall(r'name="item" value="([^"]*)"', page.text)][:3]
    page = window.post("/hierarchies/edit", {**form, "act": "group", "item": items, "label": "near"})
    assert "<strong>near</strong>" in page.text
    assert (window.folder / JOB).read_text() == before
    form = window.form_of(page, "/hierarchies/edit")
    window.post("/hierarchies/edit", {**form, "act": "save"})
    file = window.folder / hierarchy_of(window, "zip").partition("@")[0]
    rows = [line.split(";") for line in file.read_text().splitlines()]
    assert {row[0] for row in rows if row[1] == "near"} >= set(items[:1])
    assert {row[-1] for row in rows} == {"*"}


def test_a_group_without_a_name_or_members_is_refused(window):
    """The message says what to do, and the draft stays as it was."""
    page, form = edited(window, "zip")
    item = plain(re.search(r'name="item" value="([^"]*)"', page.text)[1])
    unnamed = window.post("/hierarchies/edit", {**form, "act": "group", "item": [item], "label": " "})
    nobody = window.post("/hierarchies/edit", {**form, "act": "group", "label": "x"})
    assert (unnamed.status_code, nobody.status_code) == (400, 400)
    assert "The group has no name" in unnamed.text
    assert "No value is selected" in nobody.text


def test_long_lists_show_what_is_searched_for(window):
    """No page has more than a hundred items; a search finds the others."""
    page, _ = edited(window, "admitted")
    shown = re.findall(r'name="item" value="([^"]*)"', page.text)
    assert len(shown) == 100
    assert " more. Search for them." in page.text
    found, _ = edited(window, "admitted", find=shown[-1])
    assert shown[-1] in re.findall(r'name="item" value="([^"]*)"', found.text)


def test_a_changed_job_is_not_overwritten_by_an_older_page(window):
    """Whoever saves groups made from an earlier state of the job is refused."""
    _, form = edited(window, "zip")
    window.post("/hierarchies/cuts", {**form, "place": str(place_of(window, "age")), "cuts-1": "40", "save": "1"})
    refused = window.post("/hierarchies/edit", {**form, "act": "save"})
    assert refused.status_code == 409
