"""``verify.sql`` of claims: what it finds in releases with odd columns, and what it says that it cannot check."""

import json

import polars as pl
import pytest
from tests.made.claims_files import PLAN, write_files
from tests.made.tampering import restated

from cloister.cli.main import run
from cloister.release.folder import read_manifest
from cloister.release.manifest import parse_manifest, script_of

NAMES = ("release.json", "patients.csv", "claims.csv", "patients.parquet", "claims.parquet")
ODD = {
    "mrn": "patients",
    "dx": 'line "owner"',
    "pos": "x/y~z.'w",
    "doctor": "Kind",
    "note": "NOTE",
    "sex": "n",
    "age": "age",
}


def findings(release):
    """Each promise with how often it is broken."""
    found = script_of(parse_manifest(read_manifest(release))).run(release, NAMES)
    return {one.promise: one.violations for one in found}


def protected(folder, kind="csv"):
    """The release of the files in a folder."""
    given = [str(folder / f"{name}.{kind}") for name in ("patients", "claims")]
    words = ["--plan", str(folder / "plan.toml"), "--out", str(folder / "out"), "-q"]
    assert run(["protect", "claims", *given, *words]) == 0
    return folder / "out"


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A release made once."""
    return protected(write_files(tmp_path_factory.mktemp("made")))


def test_a_release_keeps_what_its_files_show(release):
    """No promise is broken, and the ones that the files do not suffice for say so."""
    found = findings(release)
    unchecked = [promise for promise, violations in found.items() if violations is None]

    assert {*found.values()} == {0, None}
    assert all("not checked here, as" in promise for promise in unchecked)
    assert any(promise.startswith("the mean risk of a patient") for promise in unchecked)
    assert (release / "verify.sql").read_text() == script_of(parse_manifest(read_manifest(release))).text()


def test_columns_with_odd_names(tmp_path):
    """Names that SQL or JSON would read otherwise, and those of the script itself, are read as what they are."""
    text = PLAN
    for name, odd in ODD.items():
        text = text.replace(f"\n{name} = ", f"\n{json.dumps(odd)} = ")
    write_files(tmp_path, text)
    for file in ("patients.csv", "claims.csv"):
        head, rest = (tmp_path / file).read_text().split("\n", 1)
        cells = [ODD.get(name, name).replace('"', '""') for name in head.split(",")]
        (tmp_path / file).write_text(",".join(f'"{cell}"' for cell in cells) + "\n" + rest)
    release = protected(tmp_path)

    assert {*findings(release).values()} == {0, None}
    assert run(["verify", str(release), "-q"]) == 0


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_keyed_ids_and_both_formats(tmp_path, kind):
    """Patients with keyed hashes, in either format of files."""
    write_files(tmp_path, PLAN + '[ids]\npatients = "hmac:key"\n')
    (tmp_path / "key").write_bytes(b"k" * 32)
    (tmp_path / "key").chmod(0o600)
    for name in ("patients", "claims"):
        pl.read_csv(tmp_path / f"{name}.csv", infer_schema=False).write_parquet(tmp_path / f"{name}.parquet")
    release = protected(tmp_path, kind)
    found = findings(release)

    assert found["ids of patients are keyed hashes of 64 hexadecimal digits, each once"] == 0
    assert {*found.values()} == {0, None}


@pytest.mark.parametrize(
    ("change", "promise"),
    [
        (
            lambda m: m["utility"]["labels"].update(dx=m["utility"]["labels"]["dx"] + 1),
            "as many labels as release.json",
        ),
        (lambda m: m["sensitivity"]["unbounded"].update(unique=0.25), "who knows all that is released of a patient"),
        (lambda m: m["records"].update(claims=m["records"]["claims"] + 1), "as many patients and claims"),
        (lambda m: m["representativeness"].update(median_claims_released=9.0), "in the median"),
    ],
)
def test_figures_that_do_not_follow_are_found(tmp_path, change, promise):
    """What release.json states otherwise than the files is broken in SQL as well."""
    release = protected(write_files(tmp_path))
    restated(release, change)

    assert [violations for sentence, violations in findings(release).items() if promise in sentence] == [1]
