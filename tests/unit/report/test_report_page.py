"""The report: one page that needs nothing else, whatever the manifest says."""

import re
from html.parser import HTMLParser

import polars as pl
import pytest

import cloister as cl
from cloister.release.manifest import parse_manifest
from cloister.report import render_report

NASTY = "<b>\"age\" & 'sex'</b><script>alert(1)</script>"
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Balanced(HTMLParser):
    """Collects tags that are opened and not closed in order, and all text."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.tags, self.text = [], [], set(), []

    def handle_starttag(self, tag, attrs):
        """Remember what was opened."""
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Remember what was closed out of order."""
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        """Remember text."""
        self.text.append(data)


def parsed(page):
    """A page as a parser sees it."""
    parser = Balanced()
    parser.feed(page)
    parser.close()
    return parser


def manifest(column="age", n_rare=0, **options):
    """The manifest of a small release."""
    frame = pl.DataFrame(
        {column: ["x"] * 20 + ["y"] * 20 + [f"r{i}" for i in range(n_rare)], "dx": ["d", "e"] * 20 + ["d"] * n_rare}
    )
    wanted = {"qi": {column: "suppress"}, "rule": ["k-anonymity=5"], "undecided": "drop"}
    return parse_manifest(
        cl.protect_table(frame, **wanted | {"suppression": 0.2, "purpose": "one-coding"} | options).summary()
    )


VARIANTS = {
    "plain": {},
    "suppressed": {"n_rare": 6},
    "withheld": {"n_rare": 2},
    "kept columns": {"sensitive": ["dx"]},
    "fixed levels": {"levels": {"age": 0}},
    "fixed levels, withheld": {"levels": {"age": 0}, "n_rare": 2},
    "time limit": {"time_limit": 60.0},
    "weight": {"weight": {"age": 2}},
    "stars": {"keep_suppressed": True, "n_rare": 6},
    "arx": {"loss": "arx"},
    "two rules": {"rule": ["k-anonymity=5", "k-anonymity=7"]},
    "a rule about a column": {"rule": ["k-anonymity=5", "l-diversity:dx=2"], "undecided": ()},
    "a loss of classes": {"loss": "discernibility"},
    "a heuristic": {"search": "igreedy"},
    "local recoding": {"local_recoding": True, "n_rare": 6},
    "mondrian": {"method": "mondrian"},
}


def assert_whole(page):
    """A page closes what it opens, and asks for nothing besides itself."""
    found = parsed(page)

    assert (found.open, found.wrong) == ([], [])
    assert found.tags & {"script", "img", "link", "iframe", "object", "base", "form"} == set()
    assert not re.search(r"https?:|//\w|\bsrc\s*=|\bhref\s*=|url\(|@import|<script|\bon\w+\s*=", page)
    assert "Content-Security-Policy" in page
    assert "None" not in "".join(found.text)


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_every_manifest_has_a_page(options):
    """The page of every sort of release is whole, and needs no network, picture or script."""
    assert_whole(render_report(manifest(**options)))


@pytest.mark.parametrize("gap", [0.125, 0.0, None])
@pytest.mark.parametrize("bound", [0.25, None])
def test_a_search_that_was_stopped(gap, bound):
    """A search that a time limit ended is said to be, with its bound where that may be told."""
    said = manifest()
    if bound is not None and gap is None:
        return
    search = said.search.model_copy(update={"optimal": False, "bound": bound, "gap": gap if bound else None})
    page = render_report(said.model_copy(update={"search": search}))

    assert "reached its time limit" in page
    assert ("loss below 0.25" in page) == (bound is not None)


def test_names_are_text():
    """A column's name is shown as it is and never becomes a part of the page."""
    page = render_report(manifest(column=NASTY, sensitive=["dx"]))
    found = parsed(page)

    assert "<b>" not in page
    assert "b" not in found.tags
    assert NASTY in "".join(found.text)


@pytest.mark.parametrize("place", [("settings", "source"), ("settings", "not_released"), ("machine", "system")])
def test_everything_is_escaped(place):
    """Whatever else comes from outside is text as well."""
    said, (section, name) = manifest(), place
    nasty = getattr(said, section).model_copy(update={name: (NASTY,) if name == "not_released" else NASTY})
    page = render_report(said.model_copy(update={section: nasty}))

    assert "<script" not in page
    assert NASTY in "".join(parsed(page).text)


def test_what_is_kept_back_is_kept_back_here_too():
    """Where the number of suppressed records is below k, the page says no more than the manifest."""
    said = manifest(n_rare=2).model_copy(update={"created": "2026-01-01T00:00:00+00:00"})
    text = " ".join(parsed(render_report(said)).text)

    assert "<5" in text
    assert "<45" in text
    assert "about" in text
    assert not re.search(r"\b42\b", text)


def test_a_guarantee_that_does_not_hold_has_no_page():
    """What was not verified is no manifest, and no page can be made of it."""
    said = manifest().as_json()
    said["guarantee"]["verified"] = False

    with pytest.raises(cl.InputError, match=r"guarantee\.verified"):
        parse_manifest(said)


def test_the_guarantee_is_in_words():
    """The page says what is promised, and what is not."""
    text = " ".join(" ".join(parsed(render_report(manifest())).text).split())

    assert "is shared by at least 5 records" in text
    assert "Assumptions and limits" in text
    assert "One row per patient: assumed" in text


def test_what_rules_see_to_is_not_said_to_be_open():
    """Where a rule bounds what a class discloses of a column, the page says so; without one it says what may happen."""
    alone = render_report(manifest())
    bounded = render_report(manifest(rule=["k-anonymity=5", "l-diversity:dx=2"], undecided=()))

    assert "may have the same sensitive value" in alone
    assert "may have the same sensitive value" not in bounded
    assert "limit what a class discloses about dx" in bounded


def test_a_search_that_proves_nothing_is_named():
    """The page of a policy found by a heuristic does not claim that none is better."""
    page = render_report(manifest(search="igreedy"))

    assert "The search igreedy found the transformation" in page
    assert "proven optimal" not in page


def test_the_page_of_a_manifest_is_always_the_same():
    """A page follows from its manifest alone, so that anybody can check it."""
    said = manifest()

    assert render_report(said) == render_report(said)


def test_columns_stand_by_role():
    """Of 75 columns, quasi-identifiers have a row each; the others are counted and named in one line a role."""
    kept = [f"question_{number}" for number in range(70)]
    frame = pl.DataFrame(
        {"age": ["x", "y"] * 20} | dict.fromkeys([*kept, "hiv", "dx", "zip", "income"], ["a", "b"] * 20)
    )
    release = cl.protect_table(
        frame,
        qi={"age": "suppress"},
        sensitive=["hiv", "dx"],
        drop=["zip", "income"],
        undecided="keep",
        rule=["k-anonymity=5"],
        purpose="one-coding",
    )
    page = "".join(parsed(render_report(parse_manifest(release.summary()))).text)

    listed = page.partition("Released as recorded, kept (70):")[2].partition("Not released")[0]
    assert listed.split() == kept
    assert "Released as recorded, sensitive (2): hiv, dx." in page
    assert "Not released (2): zip, income." in page


def test_the_top_says_what_says_nothing():
    """Columns that say nothing are named in the first section; where each says something, there is no such line."""
    empty = "".join(parsed(render_report(manifest(levels={"age": 1}, accept_empty=True))).text)

    assert "Warning: age is empty in this release" in empty.partition("2. Records and columns")[0]
    assert "empty in this release" not in render_report(manifest())
