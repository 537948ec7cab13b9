"""A release folder of code sets that somebody changed, hashes and report with it: the check says no, and why."""

import hashlib
import json

import pytest

import cloister as cl
from cloister.codesets.disassociation.clusters_file import cluster_lines, read_clusters
from cloister.codesets.disassociation.reconstruct import reconstruct
from cloister.errors import CloisterError, GuaranteeViolation, InputError
from cloister.report import render_report

RECORDS = [["250.00", "401.9", "V58.66"]] * 9 + [["250.00", "401.9"]] * 8 + [["001", "250.01"]] * 6 + [["001", "042"]]
REPEATED = [["250.00", "250.00", "401.9"]] * 9 + [["250.00", "401.9", "042", "042"]] + [["250.00", "401.9"]] * 8


@pytest.fixture
def folder(tmp_path):
    """A release with a policy."""
    codes = cl.CodeSets.from_records(RECORDS)
    cl.disassociate(codes, k=3, m=2, policy=cl.UtilityPolicy.by_level(codes, level=1)).write(tmp_path / "release")
    return tmp_path / "release"


@pytest.fixture
def repeated(tmp_path):
    """A release of occurrences, with a sensitive code."""
    codes = cl.CodeSets.from_records(REPEATED, repeats=True)
    cl.disassociate(codes, k=3, m=2, sensitive=["042"], diversity=3).write(tmp_path / "repeated")
    return tmp_path / "repeated"


def sealed(folder, change=lambda manifest: None):
    """Change the manifest of a folder, and make hashes and report fit what is there."""
    manifest = json.loads((folder / "release.json").read_text())
    manifest["files"] = {
        name: f"sha256:{hashlib.sha256((folder / name).read_bytes()).hexdigest()}" for name in manifest["files"]
    }
    change(manifest)
    (folder / "report.html").write_text(render_report(manifest))
    (folder / "release.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def clusters_replaced(folder, old, new):
    """Replace a text in the clusters, and write them as a release does where they can be read."""
    path = folder / "clusters.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    try:
        written = b"".join(cluster_lines(read_clusters(path)))
    except InputError:
        return
    path.write_bytes(written)


def test_repeats_and_sensitive_codes_hold(repeated):
    """A sensitive code that repeats is asked for by its name, and each of its occurrences is listed."""
    head = json.loads((repeated / "clusters.json").read_text())

    assert head["sensitive"] == ["042#1", "042#2"]
    assert cl.verify_folder(repeated).holds


@pytest.mark.parametrize("listed", ["042#1", "042#2"])
def test_every_occurrence_of_a_sensitive_code_is_sensitive(repeated, listed):
    """One that is not listed would be open to a chunk of its own."""
    clusters_replaced(repeated, '"sensitive": ["042#1", "042#2"]', f'"sensitive": ["{listed}"]')
    sealed(repeated)

    with pytest.raises(GuaranteeViolation, match="all occurrences of a sensitive code are sensitive"):
        cl.verify_folder(repeated)


@pytest.mark.parametrize(
    "code", ["250.00", "250.00#", "#2", "250.00#02", "250.00#+2", "250.00#²", "250.00#٢", "250.00#" + "9" * 5000]
)
def test_numbers_of_occurrences(repeated, code):
    """A code that is not numbered as a release numbers it is refused, and not quoted."""
    clusters_replaced(repeated, '"250.00#2"', f'"{code}"')
    sealed(repeated)

    with pytest.raises(GuaranteeViolation, match="codes that repeat are numbered") as refusal:
        cl.verify_folder(repeated)
    assert "250" not in str(refusal.value)


def test_codes_said_to_repeat(folder):
    """Plain codes under a head that says that they are numbered are refused, not read as if they were."""
    clusters_replaced(folder, '"m": 2,', '"m": 2, "repeats": true,')
    sealed(folder, lambda manifest: manifest["settings"].update(repeats=True))

    with pytest.raises(GuaranteeViolation, match="codes that repeat are numbered"):
        cl.verify_folder(folder)
    with pytest.raises(CloisterError):
        reconstruct(read_clusters(folder / "clusters.json"))


def test_more_diversity_than_there_are_records(repeated):
    """At most one record in l has a sensitive code, so that its cluster has l records or more."""

    def change(manifest):
        manifest["settings"]["diversity"] = manifest["guarantee"]["rules"][1]["l"] = 19
        sentences = manifest["guarantee"]["sentences"]
        sentences[1] = sentences[1].replace("in 3 of", "in 19 of")

    sealed(repeated, change)

    with pytest.raises(GuaranteeViolation, match="clusters with a sensitive code have records enough for it"):
        cl.verify_folder(repeated)
