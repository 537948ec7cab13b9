"""``cl.protect_codes``: the release as an object, on disk, and checked again."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples

import cloister as cl
from cloister.errors import InputError
from cloister.release.head import REPORTS
from cloister.shapes.codes.manifest import data_frame
from cloister.shapes.codes.request import index_codes
from cloister.shapes.disassociation.format.clusters_file import read_clusters, same_release

RECORDS = [["250.00", "401.9", "V58.66"]] * 9 + [["250.00", "401.9"]] * 8 + [["001", "250.01"]] * 6 + [["001", "042"]]
RELEASE = "cloister.shapes.disassociation.method.release"


@pytest.fixture
def codes():
    """Code sets of 24 patients with ids."""
    return cl.CodeSets.from_records(RECORDS, pl.Series([f"P{number:02d}" for number in range(len(RECORDS))]))


@pytest.fixture
def release(codes):
    """A release of them."""
    return cl.protect_codes(codes, k=3, m=2, policy=cl.UtilityPolicy.by_level(codes, level=1))


def test_what_a_release_offers(release):
    """Clusters, a reconstruction as a table, the manifest, a verdict."""
    assert release.clusters.n_records == 24
    assert release.frame.columns == ["id", "codes"]
    assert release.summary()["settings"]["delimiter"] == ","
    assert release.summary()["settings"]["policy"] == "level:1"
    assert release.verify().holds
    assert isinstance(release, cl.Release)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "1"])
def test_a_seed_that_is_none_is_refused_at_once(codes, seed):
    """Whatever cannot be a seed is refused before anything is worked out, a workload included."""
    with pytest.raises(InputError, match="must be a whole number from 0"):
        cl.protect_codes(codes, k=3, seed=seed, workload="random:20")


def test_a_numpy_seed_is_a_seed(codes):
    """A seed from an array is taken, and written as a number."""
    assert json.dumps(cl.protect_codes(codes, k=3, seed=np.int64(4)).summary()["seed"]) == "4"


def test_reconstructions(codes, release):
    """They follow from the seed, have the counts of the chunks, and hold no ids."""
    one, again, other = release.reconstruct(1), release.reconstruct(seed=1), release.reconstruct(seed=2)

    assert one.items.tolist() == again.items.tolist()
    assert one.ids is None
    assert (one.n_records, one.vocabulary) == (24, codes.vocabulary)
    assert other.n_records == 24
    exact = [item for item, code in enumerate(codes.vocabulary) if code != "042"]
    assert [codes.supports()[item] for item in exact] == [one.supports()[item] for item in exact]
    with pytest.raises(cl.InputError):
        release.reconstruct(1, item_support="all")


def test_no_record_is_given_a_code_twice():
    """Subrecords of a chunk go to different records, of many records with few of them too."""
    draw = np.random.default_rng(0)
    records = [[f"c{code}" for code in draw.choice(6, 2, replace=False)] for _ in range(400)]
    for record in records:
        record += [code for code, share in (("r1", 0.06), ("r2", 0.05)) if draw.random() < share]
    release = cl.protect_codes(cl.CodeSets.from_records(records), k=5, m=2)
    for seed in range(5):
        found = release.reconstruct(seed)
        pairs = np.repeat(np.arange(found.n_records), np.diff(found.offsets)) * found.n_codes + found.items
        assert np.unique(pairs).size == pairs.size


def test_written_and_read_back(release, tmp_path):
    """What is written is the release, and holds on its own."""
    manifest = release.write(tmp_path / "release")

    assert same_release(release.clusters, read_clusters(tmp_path / "release" / "clusters.json"))
    assert manifest["files"].keys() == {"clusters.json", "data.csv", "codebook.csv", "verify.sql", *REPORTS}
    assert cl.verify_folder(tmp_path / "release").holds
    with pytest.raises(cl.InputError, match="as the file"):
        cl.verify_folder(tmp_path / "release", original=release.frame)
    with pytest.raises(cl.InputError, match="exists already"):
        release.write(tmp_path / "release")
    release.write(tmp_path / "release", overwrite=True)


def test_a_changed_release_does_not_hold(release):
    """Whoever changes the clusters is told."""
    sizes = release.clusters.sizes.copy()
    sizes[0] += 1
    changed = dataclasses.replace(release, clusters=dataclasses.replace(release.clusters, sizes=sizes))
    with pytest.raises(cl.GuaranteeViolation):
        changed.verify()


@pytest.mark.parametrize("field", ["clusters", "frame"])
def test_what_is_read_back_must_be_what_was_verified(release, tmp_path, field, monkeypatch):
    """If files hold something else, that is our bug, and nothing is left."""
    if field == "clusters":
        other = cl.protect_codes(cl.CodeSets.from_records(RECORDS[:9]), k=3).clusters
        monkeypatch.setattr(f"{RELEASE}.read_clusters", lambda _path: other)
    else:
        monkeypatch.setattr(f"{RELEASE}.read_data", lambda *_: pl.DataFrame({"codes": ["001"]}))
    with pytest.raises(cl.InternalError, match="does not hold what was"):
        release.write(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_the_original_is_not_changed(codes):
    """Protecting leaves the code sets as they were."""
    before = codes.items.copy(), codes.offsets.copy()
    cl.protect_codes(codes, k=3, sensitive=["042"], inference_check="enforce")

    assert (before[0] == codes.items).all()
    assert (before[1] == codes.offsets).all()


def test_codes_without_ids():
    """Code sets without ids are released without; that each is another patient is assumed."""
    release = cl.protect_codes(cl.CodeSets.from_records(RECORDS), k=3)

    assert release.frame.columns == ["codes"]
    assert release.summary()["guarantee"]["one_row_per_patient"] == "assumed"
    assert release.custody.crosswalk["original"].to_list() == list(range(1, 25))


WRONG = {
    "no code sets": (lambda codes: cl.protect_codes(RECORDS, k=3), "Code sets are needed"),
    "no records": (lambda codes: cl.protect_codes(cl.CodeSets.from_records([]), k=3), "no records"),
    "k": (lambda codes: cl.protect_codes(codes, k=0), "must be a whole number from"),
    "k is a fraction": (lambda codes: cl.protect_codes(codes, k=2.5), "whole number"),
    "m": (lambda codes: cl.protect_codes(codes, k=3, m=0), "m must be a whole number from 1, not 0"),
    "refine": (lambda codes: cl.protect_codes(codes, k=3, refine="all"), "refine must be"),
    "safe": (lambda codes: cl.protect_codes(codes, k=3, inference_check=True), "inference_check must be"),
    "sensitive": (lambda codes: cl.protect_codes(codes, k=3, sensitive=["999"]), "'999' of the sensitive codes"),
    "policy": (lambda codes: cl.protect_codes(codes, k=3, policy=cl.UtilityPolicy.of({"a": ["x"]})), "'x' of the util"),
    "workload": (lambda codes: cl.protect_codes(codes, k=3, workload="all"), "A workload is"),
}


@pytest.mark.parametrize(("call", "words"), WRONG.values(), ids=WRONG)
def test_wrong_requests(codes, call, words):
    """What cannot be done is refused, with what to do."""
    with pytest.raises(cl.InputError, match=words):
        call(codes)


def test_too_few_patients(codes):
    """Fewer patients than k cannot be released."""
    with pytest.raises(cl.NoSafeRelease):
        cl.protect_codes(codes, k=25)


@examples(30)
@given(st.lists(st.lists(st.sampled_from(["a", "a.b", "c"]), min_size=1, max_size=5), min_size=1, max_size=9))
def test_the_table_of_code_sets(records):
    """One row a record, codes separated by spaces and as often as they occur, rows in the order of their bytes."""
    expected = sorted(" ".join(sorted(record)) for record in records)

    assert expected == data_frame(cl.CodeSets.from_records(records, repeats=True), numbered=False)["codes"].to_list()
    numbered = data_frame(cl.CodeSets.from_records(records), numbered=True)
    assert numbered["id"].to_list() == list(range(1, len(records) + 1))


def test_verification_is_said_in_the_manifest(release, tmp_path):
    """The manifest says that the release was verified; the report says how, in words that no manifest holds."""
    release.write(tmp_path / "release")
    manifest = json.loads((tmp_path / "release" / "release.json").read_text())
    report = (tmp_path / "release" / "report.html").read_text()

    assert manifest["guarantee"]["verified"] is True
    assert manifest["guarantee"].keys() == {"rules", "verified", "one_row_per_patient"}
    assert "recomputed from the released files independently" in report
    assert "{{" not in report


def test_counting_is_over_records(codes):
    """Indexed sets answer for each code what its support is."""
    sets = index_codes(codes)

    assert np.array_equal(codes.supports(), sets.counts([(item,) for item in range(codes.n_codes)]))
