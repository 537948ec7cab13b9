"""``protect table --codes`` from the words of the command to the folder, and ``verify`` on what it wrote."""

import re

import polars as pl
import pytest
from tests.made.tampering import resealed, restated

ROWS = [
    (f"P{number:03d}", 20 + 3 * (number % 20), "FM"[number % 2], codes)
    for number, codes in enumerate(["250.00 401.9", "401.9", "250.00 V58.66", "401.9 272.4", ""] * 16)
]
PATIENTS = "id,age,sex,diagnoses\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)
OPTIONS = ("--id", "id", "--qi", "age=interval:10,20", "--qi", "sex", "--codes", "diagnoses", "-k", "4")


@pytest.fixture
def patients(tmp_path):
    """A file of 80 patients, a fifth of them without codes."""
    path = tmp_path / "patients.csv"
    path.write_text(PATIENTS)
    return path


@pytest.fixture
def protect(cloister, patients, tmp_path):
    """Run ``protect table`` on the patients; more words come after."""

    def command(*words):
        return cloister("protect", "table", patients, *OPTIONS, *words, "--out", tmp_path / "release")

    return command


@pytest.fixture
def release(released):
    """The folder of a release."""
    return released("protect", "table", "patients.csv", *OPTIONS, **{"patients.csv": PATIENTS})


def changed(folder, name, change):
    """Change a file of a release, its hash and the report."""
    if name == "release.json":
        restated(folder, change)
    else:
        resealed(folder, name, change((folder / name).read_text()))


@pytest.mark.parametrize(
    "words", [(), ("--method", "mondrian"), ("--merge-classes", "0.6"), ("-m", "3", "--policy", "level:1")]
)
def test_a_release_and_its_verification(protect, cloister, tmp_path, patients, words):
    """Verify accepts it, alone and beside the original."""
    made = protect(*words)
    folder = tmp_path / "release"

    assert made.code == 0
    assert "and of codes" in made.out
    assert cloister("verify", folder).code == 0
    assert cloister("verify", folder, "--original", patients, "-k", "4", "-m", "1").code == 0
    assert pl.read_csv(folder / "data.csv").columns == ["id", "age", "sex", "diagnoses"]


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("data.csv", lambda text: text.replace("401.9 V58.66", "401.9").replace("250.00 V58.66", "250.00"), "codes"),
        ("release.json", lambda m: m["columns"]["diagnoses"].update(role="kept"), "columns, which has unknown keys"),
        ("release.json", lambda m: m["settings"]["hierarchies"].update(diagnoses="icd9"), "settings.hierarchies"),
        ("release.json", lambda m: m["settings"]["level_bounds"].update(diagnoses=[0, 1]), "codes.column"),
        ("clusters.json", lambda text: text.replace('"m": 2', '"m": 2, "repeats": true'), "not that of a table"),
        ("release.json", lambda m: m["codes"]["patients"].update(with_codes=9), "the counts in release.json"),
        ("release.json", lambda m: m["codes"]["settings"].update(policy="level:9"), "settings.policy"),
    ],
)
@pytest.mark.sampled(6)
def test_a_changed_release_is_rejected(release, cloister, name, change, words):
    """Whatever is changed in the folder, hashes and report made to fit, verify says no."""
    before = (release / name).read_text()
    changed(release, name, change)

    assert before != (release / name).read_text()
    rejected = cloister("verify", release)
    assert rejected.code == 1
    assert words in rejected.err


def test_clusters_of_another_kind_are_rejected(protect, cloister, tmp_path, patients):
    """A table has no sensitive codes, of which less is promised."""
    patients.write_text(patients.read_text().replace("250.00 401.9", "042 250.00 401.9", 1))
    assert protect("-q").code == 0
    changed(
        tmp_path / "release", "clusters.json", lambda text: text.replace('"m": 2,', '"m": 2, "sensitive": ["042"],', 1)
    )

    assert "clusters.json is not that of a table with codes" in cloister("verify", tmp_path / "release").err


def test_a_cluster_without_its_class_is_refused(release, cloister):
    """Clusters of which some name no class are a release that does not hold, and no defect of ours."""
    clusters = (release / "clusters.json").read_text()
    without = re.sub(r', "class": \[[^]]*\]|"class": \{[^}]*\}, |"class": \[[^]]*\], ', "", clusters, count=1)
    assert without != clusters
    resealed(release, "clusters.json", without)

    assert cloister("verify", release).code == 1


@pytest.mark.parametrize("words", [("-m", "3"), ("--policy", "level:1"), ("--merge-classes", "0.3")])
def test_options_of_codes_need_a_column_of_codes(cloister, patients, tmp_path, words):
    """Without --codes they are refused."""
    options = ("--id", "id", "--qi", "age=interval:10", "--undecided", "drop", "-k", "4", *words)
    refused = cloister("protect", "table", patients, *options, "--out", tmp_path / "release")

    assert refused.code == 2
    assert "--codes" in refused.err


def test_missing_codes_in_a_cell(protect, cloister, tmp_path, patients):
    """A text that stands for a missing value stands for a missing code, too, also where it is compared again."""
    patients.write_text(patients.read_text().replace("250.00 V58.66", "250.00 ?").replace(",401.9\n", ",? ?\n"))
    assert protect("-q", "--missing", "?").code == 0

    assert "?" not in (tmp_path / "release" / "clusters.json").read_text()
    assert "?" not in (tmp_path / "release" / "data.csv").read_text()
    assert cloister("verify", tmp_path / "release", "--original", patients, "--missing", "?").code == 0
    assert cloister("verify", tmp_path / "release", "--original", patients).code == 1


def test_more_of_a_code_than_a_reconstruction_has(protect, cloister, tmp_path):
    """A code of an item chunk stands in one row of a class, and in more only where it is alone."""
    assert protect("-q", "--max-cluster-size", "100").code == 0
    rows = (tmp_path / "release" / "data.csv").read_text().splitlines()
    row = next(row for row in rows if row.endswith("401.9") and " " in row)
    changed(tmp_path / "release", "data.csv", lambda text: text.replace(row, f"{row} V58.66", 1))

    assert cloister("verify", tmp_path / "release").code == 1


def test_a_release_too_large_to_be_read_at_once(protect, cloister, tmp_path, monkeypatch):
    """Many records are read in pieces elsewhere; records with codes are always read row by row."""
    monkeypatch.setattr("cloister.io.batches.LARGE", 1)
    monkeypatch.setattr("cloister.io.batches.LARGE_BYTES", 1)

    assert protect().code == 0
    assert cloister("verify", tmp_path / "release").code == 0


def test_a_policy_that_nobody_asked_for(protect, cloister, tmp_path):
    """A utility policy is named where its sets are counted, and nowhere else."""
    assert protect().code == 0
    restated(tmp_path / "release", lambda manifest: manifest["codes"]["settings"].update(policy="someone.json"))

    assert "codes.utility.constraints" in cloister("verify", tmp_path / "release").err
