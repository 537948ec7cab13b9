"""The forms of hierarchy builders, and hierarchy files that are dropped in."""

import re

import pytest
from tests.unit.web.conftest import OWN, plain
from tests.unit.web.test_web_hierarchies import JOB, hierarchy_of, place_of

from cloister.hierarchy.build import BUILDERS
from cloister.web.app import MOST_FILE_BYTES
from cloister.web.builder_forms import BUILDER_FORMS, form_of_spec
from cloister.web.job_state import new_job

BY_HAND = {"keep", "groups"}
"""Builders that name categories: an editor makes such groups."""


def form_page(window, column, name, **more):
    """The page of a form for a column, and the form as it is."""
    page = window.get("/hierarchies/builder", job=JOB, place=str(place_of(window, column)), form=name, **more)
    return page, window.form_of(page, "/hierarchies/builder")


def test_every_builder_has_a_form():
    """Each builder is chosen by a form, or made by the editor of groups."""
    builders = {form.builder for form in BUILDER_FORMS.values()} | {"icd9"}
    assert builders | BY_HAND == {*BUILDERS}


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("interval", "interval:5,10,20/top=90/bottom=0"),
        ("interval", "interval:0.5,1"),
        ("quantile", "quantile:10,5"),
        ("date", "date:month,quarter,year"),
        ("date", "date:day,week/bottom=1937"),
        ("zip", "prefix:5"),
        ("zip", "prefix:5/keep=3,1/pad=0"),
        ("mask", "prefix:9/keep=6,3"),
        ("mask", "prefix:9/side=right"),
        ("mask", "prefix:5/keep=2/side=right/pad=none"),
        ("icd", "icd10"),
        ("icd", "icd9@2-4"),
        ("rare", "rare:20"),
        ("similar", "similar:diagnosis"),
        ("suppress", "suppress"),
    ],
)
def test_a_form_reads_what_it_writes(name, spec):
    """A hierarchy opens the form that it was made with, filled so that it gives the same words."""
    form = BUILDER_FORMS[name]
    assert form_of_spec(spec) == name
    assert form.write(form.read(spec)) == spec


@pytest.mark.parametrize("spec", ["interval:cuts=1,2", "keep:a", "groups:a+b", "zip.csv", "suppress/x.csv", "date", ""])
def test_other_hierarchies_have_no_form(spec):
    """Cut points, named categories and files are not read into a form."""
    assert form_of_spec(spec) == ""


@pytest.mark.parametrize("name", BUILDER_FORMS)
def test_every_form_is_shown_for_any_column(window, name):
    """A form that does not suit the column says so next to its fields, and shows no value."""
    page, form = form_page(window, "zip", name)
    assert page.status_code == 200
    assert form["form"] == name
    assert not re.search(r"\b02\d{3}\b", page.text.partition("Command-line equivalent")[0])


@pytest.mark.parametrize(
    ("column", "title"),
    [("admitted", "Dates"), ("diagnosis", "ICD codes"), ("sex", "Value or *"), ("zip", "ZIP codes")],
)
def test_the_form_that_suits_the_values_is_shown_first(window, column, title):
    """A column that nobody gave a hierarchy opens the form for its values."""
    part = {"shape": "table", "source": "p", "qi": {column: "suppress"}}
    content = {"name": "x", "output": "x", "k": 2, "sources": {"p": {"file": "patients.csv"}}, "protect": [part]}
    new_job(window.folder / "x.toml", content)
    page = window.get("/hierarchies/builder", job="x.toml", place="0")
    assert plain(re.search(r'aria-current="true">([^<]*)</a>', page.text)[1]) == title


def test_levels_of_a_form_are_previewed_and_used(window):
    """What is typed is drawn with the words of the builder; saving puts them into the job."""
    page, form = form_page(window, "admitted", "date")
    assert "date:month,quarter,year" in page.text
    before = hierarchy_of(window, "admitted")
    form["f:units"], form["f:bottom"] = ["year", "decade"], "1950"
    page = window.post("/hierarchies/builder", form)
    assert "<code>date:year,decade/bottom=1950</code>" in page.text
    assert hierarchy_of(window, "admitted") == before
    assert window.post("/hierarchies/builder", {**form, "save": "1"}).status_code == 200
    assert hierarchy_of(window, "admitted") == "date:year,decade/bottom=1950"


def test_a_form_that_does_not_cover_the_column_is_not_saved(window):
    """The reason appears at the form, which keeps what was typed."""
    _, form = form_page(window, "admitted", "date")
    before = hierarchy_of(window, "admitted")
    page = window.post("/hierarchies/builder", {**form, "f:units": ["week", "month"], "save": "1"})
    assert page.status_code == 400
    assert "units that nest" in plain(page.text)
    assert 'value="week" checked' in page.text
    assert hierarchy_of(window, "admitted") == before


def test_bounds_of_codes_can_be_removed(window):
    """The form of ICD codes sets the bounds of levels, and its earlier bounds are gone."""
    path = window.folder / JOB
    path.write_text(path.read_text().replace('"zip" = "prefix:5"', '"zip" = "icd9@2-4"'))
    _, form = form_page(window, "zip", "icd")
    assert (form["f:finest"], form["f:coarsest"]) == ("category", "chapter")
    written = [BUILDER_FORMS["icd"].write({"revision": "ICD-9-CM", "finest": word}) for word in ("", "section")]
    assert written == ["icd9", "icd9@3-5"]


def test_a_changed_job_is_not_overwritten_by_an_older_form(window):
    """Whoever saves a form made from an earlier state of the job is refused."""
    _, form = form_page(window, "admitted", "date")
    window.post("/hierarchies/builder", {**form_page(window, "zip", "zip")[1], "save": "1", "f:keep": "3"})
    assert hierarchy_of(window, "zip") == "prefix:5/keep=3"
    assert window.post("/hierarchies/builder", {**form, "save": "1"}).status_code == 409


def file_form(window, column):
    """The address of the form that takes a file for a column, and its other fields."""
    page = window.get("/hierarchies/builder", job=JOB, place=str(place_of(window, column)), form="file")
    action = re.search(r'action="(/hierarchies/file[^"]*)"', page.text)[1]
    form = window.form_of(page, action)
    form.pop("file")
    return plain(action), form


def drop(window, column, content, name="sexes.csv", **more):
    """Send a hierarchy file for a column, as the form does."""
    action, form = file_form(window, column)
    return window.client.post(action, data={**form, **more}, files={"file": (name, content)}, headers=OWN)


SEXES = b"F;person;*\nM;person;*\n"


def test_a_dropped_file_is_copied_and_used(window):
    """The job names a copy that only its owner can read; the same file again is the same copy, another one is not."""
    assert drop(window, "sex", SEXES).status_code == 200
    assert hierarchy_of(window, "sex") == "hierarchies/sexes.csv"
    path = window.folder / "hierarchies" / "sexes.csv"
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (SEXES, 0o600)
    drop(window, "sex", SEXES)
    drop(window, "sex", SEXES.replace(b"person", b"any"))
    assert sorted(one.name for one in path.parent.iterdir()) == ["sexes-2.csv", "sexes.csv"]
    assert hierarchy_of(window, "sex") == "hierarchies/sexes-2.csv"
    assert "sexes.csv" not in window.get("/").text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "There are no rows"),
        (b"F;person;*\nM;person\n", "Most rows have"),
        (b"F;person;*\nF;person;*\nM;person;*\n", "Keep one row for each value"),
        (b"F;secret;a\nM;secret;b\nX;secret;c\n", "last column has 3 different labels"),
        (b"F;a;b;*\nM;a;c;*\n", "do not nest"),
        (b"F;*\n", "are not listed in sexes.csv"),
        (b"PK\x03\x04\x81\x8d\x8f\x90\x9d", "neither UTF-8 nor Windows-1252"),
    ],
)
def test_a_file_that_breaks_a_law_is_refused_at_its_field(window, content, words):
    """The field says what is wrong by lines, without a value; nothing is written."""
    before = (window.folder / JOB).read_text()
    page = drop(window, "sex", content)
    assert page.status_code == 400
    assert words in plain(re.search(r'id="file-help">(.*?)</p>', page.text, re.DOTALL)[1])
    assert "secret" not in page.text
    assert "unmatched_values" not in page.text
    assert "aria-invalid" in page.text
    assert not (window.folder / "hierarchies").exists()
    assert (window.folder / JOB).read_text() == before


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd.csv", "passwd"),
        ("C:\\data\\my file@1-2.csv", "my-file-1-2"),
        (".hidden", "hidden"),
        ("\u00fc\u00fc.csv", "hierarchy"),
        ("x" * 300 + ".csv", "x" * 60),
    ],
)
def test_a_file_is_named_by_plain_letters_in_the_folder_of_hierarchies(window, name, kept):
    """Whatever a browser calls it, no name leads elsewhere or means something to a job."""
    assert drop(window, "sex", SEXES, name).status_code == 200
    assert hierarchy_of(window, "sex") == f"hierarchies/{kept}.csv"
    assert [one.name for one in (window.folder / "hierarchies").iterdir()] == [f"{kept}.csv"]


def test_a_dropped_file_replaces_a_hierarchy_that_is_gone(window):
    """A job whose file was deleted is repaired by another file."""
    path = window.folder / JOB
    path.write_text(path.read_text().replace(f'"sex" = "{hierarchy_of(window, "sex")}"', '"sex" = "gone.csv"'))
    assert hierarchy_of(window, "sex") == "gone.csv"
    page = window.get("/hierarchies/builder", job=JOB, place=str(place_of(window, "sex")))
    assert page.status_code == 200, page.text[-900:]
    assert drop(window, "sex", SEXES).status_code == 200
    assert hierarchy_of(window, "sex") == "hierarchies/sexes.csv"


def test_no_file_is_a_message_and_an_older_page_a_conflict(window):
    """A form without a file, or about an earlier state of the job, writes nothing."""
    action, form = file_form(window, "sex")
    missing = window.post(action, form)
    assert (missing.status_code, "Choose a file." in missing.text) == (400, True)
    assert drop(window, "sex", SEXES, version="0").status_code == 409
    assert not (window.folder / "hierarchies").exists()


def test_only_the_form_of_files_takes_a_file(window):
    """Another form with a file, or with several, is refused, and so is one of another page."""
    file = {"file": ("x.csv", SEXES)}
    assert window.client.post("/hierarchies/builder", data={"job": JOB}, files=file, headers=OWN).status_code == 400
    two = [("file", ("x.csv", SEXES)), ("file", ("y.csv", SEXES))]
    assert window.client.post("/hierarchies/file", data={"job": JOB}, files=two, headers=OWN).status_code == 400
    stranger = window.client.post("/hierarchies/file", files=file, headers={"sec-fetch-site": "cross-site"})
    assert stranger.status_code == 403


def test_a_file_that_is_too_large_is_refused_at_its_field(window, monkeypatch):
    """A browser without scripts sends it: no byte of it is kept, and the page says what to do with it."""
    monkeypatch.setattr("starlette.requests.Request.form", None)
    page = drop(window, "sex", b"x" * MOST_FILE_BYTES)
    assert page.status_code == 400
    assert "too large" in re.search(r'id="file-help">(.*?)</p>', page.text, re.DOTALL)[1]


def test_a_file_of_two_megabytes_is_never_copied_to_a_disk(window, monkeypatch):
    """What a browser sends stays in memory until it is checked."""
    rolled = []
    monkeypatch.setattr("tempfile.SpooledTemporaryFile.rollover", lambda _: rolled.append(True))
    rows = [b"F;person;*", b"M;person;*", *(b"%d;person;*" % n for n in range(150_000))]
    assert drop(window, "sex", b"\n".join(rows)).status_code == 200
    assert rolled == []
