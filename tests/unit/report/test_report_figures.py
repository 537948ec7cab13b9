"""What the report shows beside the manifest: nothing of the original, and nothing that is not so."""

import json

import polars as pl
import pytest
from tests.made.tampering import report_rewritten

import cloister as cl
from cloister.release.figures import band_sizes
from cloister.release.folder import read_figures
from cloister.release.head import REPORTS


def test_sizes_by_hand():
    """Members of classes, or the classes, by the size of the class."""
    sizes = pl.Series([1, 1, 2, 4, 5, 100, 1000, 3000])

    members, classes = band_sizes(sizes, members=True), band_sizes(sizes, members=False)
    assert {n: c for n, c in members.items() if c} == {
        "1": 2,
        "2-4": 6,
        "5-9": 5,
        "100-499": 100,
        "1000 and more": 4000,
    }
    assert {n: c for n, c in classes.items() if c} == {"1": 2, "2-4": 2, "5-9": 1, "100-499": 1, "1000 and more": 2}


def test_before_and_after_of_a_table(releases):
    """Counts of the original are for the custodian alone, whose report has them exactly."""
    released = read_figures(releases["table"] / "release")["marginals"]
    age, sex = read_figures(releases["table"] / "secret")["marginals"]
    lost = [cell["before"] - cell["after"] for cell in sex["labels"]]

    assert (sorted(lost), age["not_released"]) == ([2, 4], 6)
    assert "before" not in json.dumps(released)
    assert [[cell["after"] for cell in column["labels"]] for column in (age, sex)] == [
        [cell["after"] for cell in column["labels"]] for column in released
    ]


def test_labels_that_nobody_has_are_not_named(releases):
    """No file of the release, nor the custodian's report, names a label that was not released."""
    written = [path.read_text() for path in (releases["table"]).rglob("report.*")]

    assert len(written) == 4
    assert not any(label in text for text in written for label in ("[80-89]", "[90-99]", "[100-109]"))


def test_every_release_verifies_and_shows_the_same_numbers(releases):
    """``report.json`` holds the manifest as it is, and its figures are those of the files."""
    for name, place in releases.items():
        release = place / "release"
        contents = json.loads((release / "report.json").read_text())
        manifest = json.loads((release / "release.json").read_text())
        manifest["files"] = {file: digest for file, digest in manifest["files"].items() if file not in REPORTS}
        assert contents["release"] == manifest, name
        assert contents.keys() == {"schema", "warnings", "release", "figures"}, name
        assert name == "claims" or cl.verify_folder(release).holds, name  # of claims other tests do, for long


def changed_band(figures):
    """One more in the smallest class."""
    figures["class_sizes"]["bands"]["1"] += 1


def changed_label(figures):
    """Another count of a label."""
    figures["marginals"][0]["labels"][0]["after"] += 1


def renamed(figures):
    """Another label."""
    figures["marginals"][0]["labels"][0]["label"] = "x"


def forgotten(figures):
    """A column less."""
    figures["marginals"].pop()


def invented(figures):
    """A sign of an identifier that is not there."""
    sign = {"file": "data", "column": "sex", "letter": "A", "what": "x", "records": 9, "confidence": "certain"}
    figures["identifiers"].append(sign)


def noted(figures):
    """Something else."""
    figures["note"] = "x"


CHANGES = [changed_band, renamed, forgotten, invented, noted]
ALL = [
    "table",
    "mondrian",
    "table_with_codes",
    "table_with_terms",
    "disassociation",
    "generalization",
    "trajectories",
    "claims",
]


@pytest.mark.parametrize(
    ("shape", "change"),
    [*((shape, changed_label) for shape in ALL), *(("disassociation", change) for change in CHANGES)],
)
def test_figures_that_do_not_follow_are_found(releases, shape, change):
    """Whatever is changed in the figures is noticed from the files alone, though page and figures agree."""
    release = releases[shape] / "release"
    kept = {path: path.read_bytes() for path in release.iterdir()}
    figures = read_figures(release)
    change(figures)
    report_rewritten(release, figures)
    with pytest.raises(cl.GuaranteeViolation, match=r"report\.json"):
        cl.verify_folder(release)
    for path, content in kept.items():
        path.write_bytes(content)
