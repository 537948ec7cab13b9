"""The editor of one hierarchy: cut points in a histogram, and groups of values."""

import re
from urllib.parse import unquote

import pytest
from tests.unit.web.conftest import plain

from cloister.hierarchy import hierarchy_file
from cloister.web.job_state import load_job, new_job

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
    assert ">near</strong>" in page.text
    assert (window.folder / JOB).read_text() == before
    form = window.form_of(page, "/hierarchies/edit")
    window.post("/hierarchies/edit", {**form, "act": "save"})
    rows = hierarchy_file(window.folder / hierarchy_of(window, "zip").partition("@")[0]).rows
    assert {row[0] for row in rows if row[1] == "near"} >= set(items[:1])
    assert {row[-1] for row in rows} == {"*"}


def test_values_are_ordered_and_grouped_with_their_neighbours(window):
    """Moved values keep their place after saving, and groups of neighbours are named by their ends."""
    page, form = edited(window, "ethnicity")
    *values, missing = re.findall(r'name="item" value="([^"]*)"', page.text)
    assert missing == ""
    window.post("/hierarchies/edit", {**form, "act": "move", "item": values[-1:], "at": "1"})
    page, form = edited(window, "ethnicity")
    assert re.findall(r'name="item" value="([^"]*)"', page.text) == [values[-1], *values[:-1], missing]
    page = window.post("/hierarchies/edit", {**form, "act": "neighbours", "size": "2"})
    pair = f"{unquote(values[-1])} - {unquote(values[0])}"
    assert f">{pair}</strong>" in plain(page.text)
    window.post("/hierarchies/edit", {**window.form_of(page, "/hierarchies/edit"), "act": "save"})
    rows = hierarchy_file(window.folder / hierarchy_of(window, "ethnicity").partition("@")[0]).rows
    assert [row[1] for row in rows][:2] == [pair, pair]
    page, _ = edited(window, "ethnicity")
    assert re.findall(r'name="item" value="([^"]*)"', page.text) == [values[-1], *values[:-1], missing]


@pytest.mark.parametrize("wrong", [{"act": "move", "at": "0"}, {"act": "move", "at": "x"}, {"act": "neighbours"}])
def test_a_place_that_is_none_is_refused(window, wrong):
    """The message says what is wanted, and the selection stays."""
    page, form = edited(window, "sex")
    items = re.findall(r'name="item" value="([^"]*)"', page.text)[:1]
    refused = window.post("/hierarchies/edit", {**form, **wrong, "item": items})
    assert refused.status_code == 400
    assert 'role="alert"' in refused.text
    assert refused.text.count(" checked>") == 1


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
    window.post(
        "/hierarchies/cuts",
        {**form, "place": str(place_of(window, "age")), "column": "age", "cuts-1": "40", "save": "1"},
    )
    refused = window.post("/hierarchies/edit", {**form, "act": "save"})
    assert refused.status_code == 409


def test_a_draft_of_another_window_is_not_saved_unseen(window):
    """Groups that a page did not show are refused; Cancel forgets them."""
    _, seen = edited(window, "sex")
    page, form = edited(window, "sex")
    items = re.findall(r'name="item" value="([^"]*)"', page.text)
    window.post("/hierarchies/edit", {**form, "act": "group", "item": items, "label": "person"})
    refused = window.post("/hierarchies/edit", {**seen, "act": "save"})
    assert refused.status_code == 409
    _, form = edited(window, "sex")
    window.post("/hierarchies/edit", {**form, "act": "cancel"})
    page, _ = edited(window, "sex")
    assert "person" not in page.text


def test_a_refusal_keeps_what_was_selected_and_typed(window):
    """The ticks, the label and the cut points are still there."""
    page, form = edited(window, "zip")
    items = re.findall(r'name="item" value="([^"]*)"', page.text)[:3]
    refused = window.post("/hierarchies/edit", {**form, "act": "group", "item": items, "label": " "})
    assert refused.text.count(" checked>") == 3
    cuts = window.form_of(
        window.get("/hierarchies/edit", job=JOB, place=str(place_of(window, "age"))), "/hierarchies/cuts"
    )
    stale = window.post("/hierarchies/cuts", {**cuts, "version": "0", "cuts-1": "7, 8 9", "save": "1"})
    assert stale.status_code == 409
    assert window.form_of(stale, "/hierarchies/cuts")["cuts-1"].replace(" ", "") in ("7,8,9", "7,89")
    words = window.post("/hierarchies/cuts", {**cuts, "cuts-1": "18 forty", "save": "1"})
    assert "must be numbers" in words.text


def test_bounds_of_levels_end_at_the_highest_level(window):
    """A hierarchy with fewer levels has no bound beyond its root."""
    path = window.folder / JOB
    path.write_text(path.read_text().replace(hierarchy_of(window, "age"), "interval:5,10,20@2-3"))
    cuts = window.form_of(
        window.get("/hierarchies/edit", job=JOB, place=str(place_of(window, "age"))), "/hierarchies/cuts"
    )
    window.post("/hierarchies/cuts", {**cuts, "cuts-1": "40,60", "save": "1"})
    assert hierarchy_of(window, "age") == "interval:cuts=40,60@2-2"


def test_no_file_is_written_through_a_link(window, tmp_path):
    """A folder of hierarchies that leads elsewhere is refused before anything is written."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (window.folder / "hierarchies").symlink_to(outside)
    _, form = edited(window, "sex")
    assert window.post("/hierarchies/edit", {**form, "act": "save"}).status_code == 400
    assert list(outside.iterdir()) == []


def test_open_groups_at_the_ends_lead_to_cut_points(window):
    """A hierarchy whose last group is open is not edited value by value: the page says so, with cut points to use."""
    page = window.get("/hierarchies/edit", job=JOB, place=str(place_of(window, "age")), groups="1")
    assert page.status_code == 400
    assert "open groups at its ends" in page.text
    assert window.form_of(page, "/hierarchies/cuts")["cuts-1"]


ROWS = 40
LINES = ("A\nnorth", "A\r\nnorth", "A\rnorth", "A north", "100%41")


@pytest.fixture
def broken_lines(window):
    """A job about a table with line breaks in values, and in the name of a column."""
    column = "ward\r\nof stay"
    rows = [f'"{LINES[row % len(LINES)]}",{row % 3}' for row in range(ROWS)]
    (window.folder / "lines.csv").write_bytes("\n".join([f'"{column}",age', *rows, ""]).encode())
    quasi = {column: "suppress", "age": "suppress"}
    part = {"shape": "table", "source": "lines", "qi": quasi, "weight": {column: 2}, "accept": [column]}
    sources = {"lines": {"file": "lines.csv"}}
    new_job(
        window.folder / "lines.toml",
        {"name": "lines", "output": "lines-release", "k": 2, "sources": sources, "protect": [part]},
    )
    return column


def test_values_with_line_breaks_are_grouped_apart(window, broken_lines):
    """Values that differ in their line breaks alone are different, on the page and in the file that is saved."""
    ask = {"job": "lines.toml", "place": "0", "groups": "1"}
    page = window.get("/hierarchies/edit", **ask)
    items = re.findall(r'name="item" value="([^"]*)"', page.text)
    assert len(items) == len(LINES)
    form = window.form_of(page, "/hierarchies/edit")
    chosen = [one for one in items if "north" in one and "%0" in one]
    page = window.post("/hierarchies/edit", {**form, "act": "group", "item": chosen[:2], "label": "north"})
    assert page.status_code == 200
    form = window.form_of(window.get("/hierarchies/edit", **ask), "/hierarchies/edit")
    assert window.post("/hierarchies/edit", {**form, "act": "save"}).status_code == 200
    section = load_job(window.folder / "lines.toml").section("lines")
    rows = hierarchy_file(window.folder / section["qi"][broken_lines]).rows
    assert {row[0] for row in rows} == {*LINES}
    assert {row[0] for row in rows if row[1] == "north"} == {unquote(one) for one in chosen[:2]}


def test_columns_with_line_breaks_in_their_names_keep_their_roles_and_weights(window, broken_lines):
    """Saving the columns and the promise as they are changes nothing of a column whose name has line breaks."""
    before = load_job(window.folder / "lines.toml").section("lines")
    for step in ("columns", "promise"):
        page = window.get(f"/{step}", job="lines.toml")
        assert window.post(f"/{step}", window.form_of(page, f"/{step}")).status_code == 200
    after = load_job(window.folder / "lines.toml").section("lines")
    assert (after["qi"], after["weight"], after["accept"]) == (before["qi"], before["weight"], before["accept"])
