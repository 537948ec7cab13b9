"""What a released table still says, beside its original."""

import re

import polars as pl
import pytest
from tests.unit.web.test_web_jobs import made, stepped


@pytest.fixture
def released(window):
    """A window after the first job of the table was protected."""
    page, _ = made(window)
    for action in ("/columns", "/hierarchies", "/promise"):
        page = stepped(window, page, action)
    assert "Verified just now" in window.wait(stepped(window, page, "/release/run")).text
    return window


def test_each_column_is_counted_before_and_after(released):
    """Shares before are those of the file; two columns together, and a model, are there when asked for."""
    page = released.get("/utility", job="patients.toml", a="sex", b="age", target="diagnosis")
    frame = pl.read_csv(released.folder / "patients.csv")
    share = frame["sex"].eq("F").mean()

    assert page.status_code == 200, page.text
    assert f"{100 * share:.1f} %" in page.text
    assert "sex by age" in page.text
    assert len(re.findall(r"<dd>0\.\d{3}</dd>", page.text)) == 3


def test_records_are_shown_before_and_after_when_asked_for(released):
    """Each shown record has a released one whose labels cover it; nothing of single records is there before."""
    hidden = released.get("/utility", job="patients.toml").text
    page = released.get("/utility", job="patients.toml", records="1").text
    table = page.partition("Records before and after</h2>")[2].partition("</table>")[0]
    rows = [re.findall(r"<td>([^<]*)<br><small>([^<]*)</small>", row) for row in table.split("<tr>")[2:]]
    names = re.findall(r'<th scope="col">([^<]+)</th>', table)
    frame = pl.read_csv(released.folder / "patients.csv", infer_schema=False)

    assert "Records before and after" not in hidden
    assert [dict(zip(names, row, strict=True))["age"][1] for row in rows] == frame["age"].gather_every(
        1 + (frame.height - 1) // 8
    ).to_list()
    assert all(after in (before, "*", "suppressed") for row in rows for after, before in row[names.index("sex") :][:1])
    counted = page.partition("equivalence classes of each size")[2].partition("</table>")[0]
    assert re.search(r'<th scope="row">1</th><td class="n">[\d,]+<.*?<td class="n">0<', counted, re.DOTALL)


def test_before_there_is_a_release_it_says_so(window):
    """Nothing is shown of a job that was not protected, or whose release does not hold."""
    made(window)
    assert "no verified release" in window.get("/utility", job="patients.toml").text


def test_of_a_release_that_was_changed_nothing_is_shown(released):
    """What does not hold is not read."""
    data = released.folder / "patients-release" / "patients" / "data.csv"
    data.write_text(data.read_text().replace("F", "M", 1))
    page = released.get("/utility", job="patients.toml").text

    assert 'role="alert"' in page
    assert "by age: share" not in page
