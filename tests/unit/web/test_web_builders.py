"""The forms of hierarchy builders, and hierarchy files that are dropped in."""

import re

import pytest
from tests.unit.web.conftest import plain
from tests.unit.web.test_web_hierarchies import JOB, hierarchy_of, place_of

from cloister.hierarchy.build import BUILDERS
from cloister.web.builder_forms import BUILDER_FORMS, form_of_spec

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
    """The form of ICD codes sets the bounds of levels, and those that it had before are gone."""
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
