"""``compare``: releases side by side from their manifests, and in Python."""

import json

import polars as pl
import pytest
from tests.made.claims_files import write_files

import cloister as cl


@pytest.fixture
def two(protect, cloister, data):
    """Two releases of the patients, of different k."""
    assert protect("-q", "--accept", "diagnosis", out="five").code == 0
    assert protect("-q", "-k", "20", "--accept", "diagnosis", out="twenty").code == 0
    return ("five", "twenty")


def test_releases_stand_side_by_side(cloister, two, manifest, tmp_path):
    """Figures are those of the manifests; settings that differ are named, others not; the page has a picture."""
    ran = cloister("compare", *two, "--json", "--out", "page.html")
    shown = cloister("compare", *two)
    told, page = ran.json, (tmp_path / "page.html").read_text()

    assert list(two) == [one["name"] for one in told["releases"]]
    for one in told["releases"]:
        own = manifest(one["name"])
        assert (own["risk"]["highest"], own["risk"]["average"]) == (one["risk"], one["average"])
        losses = [own["utility"]["columns"][name]["loss"] for name in own["settings"]["hierarchies"]]
        assert one["loss"] == pytest.approx(sum(losses) / len(losses))  # whatever weights were minimized
        assert own["records"]["suppressed"] == one["suppressed"]
        assert one["verified"]
    assert {"k": {"five": "5", "twenty": "20"}}.items() <= told["settings_that_differ"].items()
    assert "source" not in told["settings_that_differ"]
    assert all(text in shown.out for text in ("five", "twenty", "highest risk", "k-anonymity (k 20)"))
    assert ("<svg" in page, "five: highest risk " in page, "<script" in page) == (True, True, False)


def test_what_cannot_be_compared_is_refused(cloister, two, tmp_path):
    """One release alone, a folder that is none, a release twice, a page inside a release or over a file."""
    (tmp_path / "none").mkdir()
    for words, said in (
        (("five",), "Name at least two folders to compare"),
        (("five", "nowhere"), "There is no folder nowhere"),
        (("five", "none"), "none is not a release"),
        (("five", "five"), "five is named twice"),
        ((*two, "--out", "five/page.html"), "would be inside a release"),
        ((*two, "--out", "patients.csv"), "exists already"),
    ):
        ran = cloister("compare", *words)
        assert (ran.code, ran.out) == (2, "")
        assert said in ran.err


def test_a_manifest_that_lacks_something_is_refused(cloister, two, tmp_path):
    """What was tampered with is one sentence, whatever stands there instead."""
    path = tmp_path / "five" / "release.json"
    whole = json.loads(path.read_text())
    for key, value in (("risk", {}), ("utility", None), ("records", 3), ("guarantee", {"rules": "x"}), ("shape", [])):
        path.write_text(json.dumps(whole | {key: value}))
        ran = cloister("compare", *two)
        assert (ran.code, ran.err.count("\n")) == (2, 1)


def test_losses_of_other_measures_are_not_compared(cloister, data, tmp_path):
    """A table and code sets stand side by side, without a frontier."""
    table = cl.protect_table(pl.read_csv(data), qi={"age": "interval:10"}, rule=["k-anonymity=5"], undecided="drop")
    codes = cl.protect_codes(cl.CodeSets.from_records([["250.00", "401.9"]] * 9), k=3)
    found = cl.compare(table, codes)

    assert [one.shape for one in found.figures.values()] == ["table", "codes"]
    assert (None, frozenset(), (None, None)) == (found.measure, found.on_frontier, found.losses)
    assert found.figures["2"].risk == 1 / 3


@pytest.mark.full
def test_claims_are_explored_by_keys_of_their_plan(tmp_path):
    """In Python, too, a key of the plan may be in the grid; of other data it is refused."""
    write_files(tmp_path)
    plan = cl.ClaimsPlan.read(tmp_path / "plan.toml")
    claims = cl.Claims.read(tmp_path / "patients.csv", tmp_path / "claims.csv", plan)
    found = cl.explore(cl.protect_claims, claims, grid={"risk.threshold": [0.1, 0.2]}, recommend="knee")

    assert [one.figures.more["threshold"] for one in found.outcomes] == [0.1, 0.2]
    assert found.recommended is not None
    with pytest.raises(cl.InputError, match="no setting risk"):
        cl.explore(cl.protect_table, pl.DataFrame(), grid={"risk.threshold": [0.1]})
