"""What a notebook shows: a few lines, a page with the picture that belongs to it, and charts of Altair."""

import re

import polars as pl
import pytest

import cloister as cl
from cloister.report import plots

PEOPLE = pl.DataFrame(
    {"age": [31, 34, 38, 39, 52, 57] * 4, "sex": ["F", "F", "M", "M", "M", "M"] * 4, "dx": ["PATIENT-1"] * 24}
)
ASKED = {
    "qi": {"age": "interval:5,10,20", "sex": "suppress"},
    "sensitive": ["dx"],
    "purpose": "one-coding",
    "accept_empty": True,
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """One of everything that a user looks at."""
    folder = tmp_path_factory.mktemp("releases") / "three"
    release = cl.protect_table(PEOPLE, k=3, **ASKED)
    release.write(folder)
    return {
        "release": release,
        "released": cl.open(folder),
        "verdict": release.verify(),
        "exploration": cl.explore(PEOPLE, k=[3, 9], **ASKED),
        "comparison": cl.compare(folder, cl.protect_table(PEOPLE, k=9, **ASKED)),
        "facts": cl.open(folder).facts,
    }


EVERY = ("release", "released", "verdict", "exploration", "comparison", "facts")
CHARTS = ("release", "released", "exploration", "comparison")


@pytest.mark.parametrize("name", EVERY)
def test_a_repr_is_a_few_lines_without_values(shown, name):
    """Five lines at most that say what it is, and no value of the data."""
    text = repr(shown[name])

    assert len(text.splitlines()) <= 5
    assert text.startswith((name, "release"))
    assert "PATIENT" not in text


@pytest.mark.parametrize("name", [name for name in EVERY if name != "verdict"])
def test_the_page_of_a_notebook_has_a_picture(shown, name):
    """A frame without scripts, with a drawing that has a title, and no value of a sensitive column but as released."""
    page = shown[name]._repr_html_()

    assert page.startswith("<iframe sandbox ")
    assert "&lt;svg role=&quot;img&quot;" in page
    assert "&lt;script" not in page
    assert name in ("release", "released") or "PATIENT" not in page


def test_a_release_names_and_lists_what_a_user_reads():
    """The last line of a release names where its data are, which ``dir`` lists; steps of writing are not listed."""
    sets = cl.CodeSets.from_records([["401.9", "250.00"]] * 8)
    for release, data in (
        (cl.protect_table(PEOPLE, k=3, **ASKED), "data"),
        (cl.protect_codes(sets, k=3, m=2), "frame"),
    ):
        assert f"next       {data}, codebook" in repr(release)
        assert {data, "plot", "report", "verify", "write"} <= {*dir(release)}
        assert not {"delimiter", "format", "rollback", "write_into"} & {*dir(release)}


def test_words_of_an_exploration_name_hierarchies_as_they_are_typed():
    """A hierarchy as an object has the words of the command line, in lines and on the page."""
    found = cl.explore(PEOPLE, k=3, **{**ASKED, "qi": {"age": [cl.intervals(5, 10), cl.suppress()], "sex": None}})

    assert re.search(r"^recommended +qi\.age=(interval:5,10|suppress):", repr(found), re.MULTILINE)
    assert "interval:5,10" in found._repr_html_()


def titles_of(specification):
    """Every title in a chart: of the chart, its axes and its parts."""
    if isinstance(specification, dict):
        own = specification.get("title")
        found = [own["text"] if isinstance(own, dict) else own] if own else []
        return found + [title for part in specification.values() for title in titles_of(part)]
    if isinstance(specification, list):
        return [title for part in specification for title in titles_of(part)]
    return []


@pytest.mark.parametrize("name", CHARTS)
def test_charts_have_titles_and_axes_with_their_meaning(shown, name):
    """Each axis says what it shows, losses begin at 0, and the figures are those of the release."""
    pytest.importorskip("altair")
    chart = shown[name].plot().to_dict()

    if name in ("release", "released"):
        bands, lost = chart["datasets"].values()
        assert sum(row["count"] for row in bands) == 24
        assert {row["column"] for row in lost} == {"age", "sex"}
        wanted = {"Records by the size of their class", "number of records", "size of their class", "Information loss"}
    else:
        figures = [o.figures for o in shown[name].outcomes] if name == "exploration" else shown[name].figures.values()
        (rows,) = chart["datasets"].values()
        assert [row["risk"] for row in rows] == [one.risk for one in figures]
        wanted = {"Risk against information loss", "highest risk of re-identification", "information loss"}
    assert wanted <= {*titles_of(chart)}
    assert "PATIENT" not in str(chart)


def test_a_plot_without_its_extra_says_what_to_install(shown, monkeypatch):
    """The message has the command to type."""
    monkeypatch.setattr(plots, "find_spec", lambda _name: None)
    for name in CHARTS:
        with pytest.raises(cl.InputError, match=r'pip install "cloister\[plot\]"'):
            shown[name].plot()


def test_what_cannot_be_compared_is_not_plotted(shown):
    """Losses of two measures are never drawn on one axis."""
    codes = cl.protect_codes(cl.CodeSets.from_records([["250.00", "401.9"], ["250.00"]] * 3), k=3)
    found = cl.compare(shown["release"], codes)

    with pytest.raises(cl.InputError, match="nothing to plot"):
        found.plot()
    assert "cannot be compared" in repr(found)


def test_a_release_offers_what_users_call(shown):
    """Steps of writing a release are not offered for completion; plots and reports are."""
    offered = {name for name in dir(shown["release"]) if not name.startswith("_")}

    assert {"codebook", "data", "plot", "report", "summary", "verify", "write"} <= offered
    assert not {"rollback", "commit", "recheck_written", "write_into"} & offered
