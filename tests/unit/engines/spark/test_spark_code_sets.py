"""Disassociation on Spark: the same guarantee as in memory, and where all records fit one part the same bytes."""

import filecmp
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.made.patients_with_codes import RECORDS, long, wide
from tests.oracles import disassociation as oracle

import cloister as cl
from cloister.engines.spark.code_blocks import blocks_of
from cloister.engines.spark.disassociation import SplitRequest, split_top
from cloister.engines.spark.tables import SparkFiles
from cloister.errors import InputError, NoSafeRelease
from cloister.io import CodeColumns
from cloister.kernels.horpart import Records, split_records
from cloister.pipeline.disassociation import DisassociationProtection
from cloister.pipeline.disassociation_on_spark import CodesOnSpark, DisassociationOnSpark
from cloister.pipeline.protecting import protect
from cloister.shapes.codes.data import CodeSets, GivenCodes
from cloister.shapes.disassociation.format.canonical import join_parts
from cloister.shapes.disassociation.format.clusters_file import same_release
from cloister.shapes.disassociation.format.data import DisassociationRequest, InferenceCheck
from cloister.shapes.disassociation.method.protect import disassociate
from cloister.shapes.disassociation.verify.verify import DisassociationSecret, verify
from cloister.verification.folder import verify_folder

SAME = ("clusters.json", "data.csv", "codebook.csv")


def told(manifest):
    """A manifest without what differs between two runs."""
    return {key: value for key, value in manifest.items() if key not in ("seconds", "created", "machine", "files")}


def test_one_part_is_released_as_memory_does(spark, tmp_path):
    """A Parquet file that fits one part gives the bytes of the memory engine, and the same manifest."""
    wide().write_parquet(tmp_path / "codes.parquet")
    codes = CodeSets.read(tmp_path / "codes.parquet")
    request = DisassociationRequest(3, 2, inference_check=InferenceCheck.REPORT)
    here = protect(
        DisassociationProtection(
            GivenCodes(codes, "codes.parquet", CodeColumns("id", "codes"), format="parquet"), request
        )
    )
    there = protect(
        DisassociationOnSpark(CodesOnSpark(SparkFiles(tmp_path / "codes.parquet")), lambda _: request, spark.word)
    )
    here.write(tmp_path / "here")
    there.write(tmp_path / "there")

    assert [filecmp.cmp(tmp_path / "here" / name, tmp_path / "there" / name, False) for name in SAME] == [True] * 3
    assert told(here.summary()) == told(there.summary())
    assert sorted(here.custody.crosswalk.rows()) == there.custody.crosswalk.rows()


def test_parts_keep_the_promise(spark, codes, ask, tmp_path):
    """Several parts make a release that the verifier passes alone, and against the original with the crosswalk."""
    release = protect(DisassociationOnSpark(CodesOnSpark(codes), ask, spark.word, records_a_part=60))
    release.write(tmp_path / "release", crosswalk=tmp_path / "crosswalk.csv")
    wide().write_csv(tmp_path / "codes.csv")
    cluster = release.custody.crosswalk.sort("original")["cluster"].to_numpy()
    files = {"original": tmp_path / "codes.csv", "crosswalk": tmp_path / "crosswalk.csv"}

    assert release.custody.figures["parts"] > 3
    assert verify(release.clusters, DisassociationSecret(codes, cluster, 1)).failures == ()
    assert verify_folder(tmp_path / "release", **files).holds


def test_parts_are_those_of_memory_put_together(classic, codes, ask):
    """A part that is disassociated by itself in memory is what its worker makes of it."""
    release = protect(DisassociationOnSpark(CodesOnSpark(codes), ask, classic.word, records_a_part=60))
    free = np.zeros(codes.n_codes, dtype=np.bool_)
    whole = Records(codes.offsets, codes.items, np.full(codes.n_codes, -1, dtype=np.int32), free)
    split = split_records(whole, 3, 60)
    parts = [split.order[begin:end] for begin, end in zip(split.starts[:-1], split.starts[1:])]
    made = [disassociate(chosen(codes, part), DisassociationRequest(3, 2)).released for part in parts]

    assert same_release(join_parts(made)[0], release.clusters)


def chosen(codes, rows):
    """Some of the records, in numbers of the whole vocabulary."""
    items = [codes.items[codes.offsets[row] : codes.offsets[row + 1]] for row in rows]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in items])]).astype(np.int64)
    return CodeSets(codes.vocabulary, offsets, np.concatenate(items))


@pytest.mark.parametrize("n_constraints", [0, 2])
def test_top_splits_are_those_of_horpart(classic, codes, n_constraints):
    """Counts that the workers make lead to the parts that HORPART makes in memory, with and without constraints."""
    constraint = np.full(codes.n_codes, -1, dtype=np.int32)
    for number in range(n_constraints):
        constraint[number :: 3 + number] = number
    barred = np.zeros(codes.n_codes, dtype=np.bool_)
    blocks = blocks_of(classic.session, codes, with_ids=False, records=70)
    splits = split_top(blocks, SplitRequest(3, 40, constraint, barred))
    split = split_records(Records(codes.offsets, codes.items, constraint, barred), 3, 40)
    part = np.empty(codes.n_records, dtype=np.int64)
    part[split.order] = np.repeat(np.arange(split.starts.size - 1), np.diff(split.starts))
    node = splits.of(codes.offsets, codes.items)

    assert len(splits.sizes) == split.starts.size - 1
    assert np.unique(part * 1000 + node).size == len(splits.sizes)
    assert np.bincount(node).tolist() == list(splits.sizes)


def test_nobody_is_found_in_parts(classic):
    """For any two codes of any record some data set that all parts may stand for has k records with them."""
    records = [record[:3] for record in RECORDS[:24]]
    codes = CodeSets.from_records(records)
    request = DisassociationRequest(2, 2, max_cluster_size=4, numbered=False)
    release = protect(DisassociationOnSpark(CodesOnSpark(codes), lambda _: request, classic.word, records_a_part=10))

    assert release.custody.figures["parts"] > 1
    assert oracle.unprotected([frozenset(record) for record in records], oracle.written(release.clusters), 2, 2) == {}


def test_order_and_places_of_records_tell_nothing(classic, codes, ask):
    """Records in another order, from a frame of many partitions, give the same release."""
    expected = protect(DisassociationOnSpark(CodesOnSpark(codes), ask, classic.word, records_a_part=60))
    shuffled = wide().sample(fraction=1, shuffle=True, seed=9)
    frame = classic.session.createDataFrame(shuffled.to_arrow()).repartition(5)
    release = protect(DisassociationOnSpark(CodesOnSpark(frame), ask, "auto", records_a_part=60))

    assert same_release(expected.clusters, release.clusters)
    assert expected.frame.equals(release.frame)


def test_one_code_a_line_is_one_set_a_patient(spark, codes, ask):
    """A frame with one code a line gives what one line a patient gives."""
    expected = protect(DisassociationOnSpark(CodesOnSpark(codes), ask, spark.word))
    frame = spark.session.createDataFrame(long().to_arrow())

    assert same_release(expected.clusters, cl.protect_codes(frame, k=3).clusters)


def test_occurrences_are_numbered(classic, tmp_path):
    """With repeats, the n-th occurrence of a code in a record is an item of its own, as in memory."""
    twice = [record + record[:1] for record in RECORDS]
    pl.DataFrame({"codes": [" ".join(record) for record in twice]}).write_csv(tmp_path / "codes.csv")
    codes = CodeSets.read(tmp_path / "codes.csv", repeats=True)
    request = DisassociationRequest(3, 2, numbered=False)
    source = CodesOnSpark(SparkFiles(tmp_path / "codes.csv"), repeats=True)
    release = protect(DisassociationOnSpark(source, lambda _: request, classic.word))

    assert same_release(disassociate(codes, request).released, release.clusters)


def test_a_folder_of_files_is_one_source(classic, codes, ask, tmp_path):
    """Several CSV files with the same columns, one of them gzip'd, are read as one."""
    folder = tmp_path / "codes"
    folder.mkdir()
    wide()[:100].write_csv(folder / "a.csv")
    wide()[100:].write_csv(folder / "b.csv.gz", compression="gzip")
    expected = disassociate(codes, DisassociationRequest(3, 2)).released

    assert same_release(
        expected, protect(DisassociationOnSpark(CodesOnSpark(SparkFiles(folder)), ask, classic.word)).clusters
    )


def test_settings_are_kept(classic, codes):
    """A policy, sensitive codes and no tied codes are honoured by parts; what is told of them is true."""
    policy = cl.UtilityPolicy.of({"one": codes.vocabulary[:3], "two": codes.vocabulary[5:9]})
    rare = codes.vocabulary[int(np.argmin(codes.supports()))]
    release = cl.protect_codes(
        codes, k=3, policy=policy, inference_check="enforce", sensitive=[rare], engine=classic.word
    )
    here = cl.protect_codes(codes, k=3, policy=policy, inference_check="enforce", sensitive=[rare])

    assert same_release(here.clusters, release.clusters)
    assert here.summary()["utility"] == release.summary()["utility"]
    assert release.verify().holds


def test_missing_codes(classic, tmp_path):
    """Patients without codes are refused, or left out where that is asked for; words for missing ones are none."""
    texts = [" ".join(record) for record in RECORDS] + ["", "NA", "NA NA", "   "]
    frame = pl.DataFrame({"id": range(len(texts)), "codes": texts})
    frame.write_parquet(tmp_path / "codes.parquet")
    place, request = SparkFiles(tmp_path / "codes.parquet"), DisassociationRequest(3, 2, drop_empty=True)
    source = CodesOnSpark(place, missing=("NA",), drop_empty=True)
    release = protect(DisassociationOnSpark(source, lambda _: request, classic.word))

    assert release.summary()["records"] == {"in": 304, "released": 300, "suppressed": 4}
    assert same_release(disassociate(CodeSets.from_records(RECORDS), request).released, release.clusters)
    with pytest.raises(InputError, match=r"4 of 304 patients in codes\.parquet have no code"):
        protect(DisassociationOnSpark(replace(source, drop_empty=False), lambda _: request, classic.word))


BAD = {
    "no column of codes": ({"id": [1, 2], "text": ["a", "b"]}, "has no column of codes"),
    "an id is missing": ({"id": ["SECRET", None], "codes": ["a", "b"]}, "1 of 2 lines has none"),
    "an id stands twice": ({"id": ["SECRET", "SECRET"], "codes": ["a", "b"]}, "2 lines and 1 distinct values of 'id'"),
    "codes are decimal numbers": ({"id": [1, 2], "codes": [1.5, 2.5]}, "codes are text"),
    "codes are lists": ({"id": [1, 2], "codes": [["SECRET"], ["b"]]}, "codes"),
    "a code has a space": ({"id": [1, 1], "code": ["SEC RET", "b"]}, "1 of 2 distinct codes of column 'code' have"),
    "a code has a NUL": ({"id": [1, 1], "code": ["SEC\0RET", "b"]}, "holds a NUL character"),
    "no codes at all": ({"id": [1, 2], "codes": ["", None]}, "No patient in the Spark frame has a code"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(classic, ask, case):
    """What cannot be used is refused as in memory, without a value of the data."""
    columns, message = BAD[case]
    frame = classic.session.createDataFrame(pl.DataFrame(columns).to_arrow())
    with pytest.raises(InputError, match=message) as refusal:
        protect(DisassociationOnSpark(CodesOnSpark(frame), ask, "auto"))

    assert "SEC" not in refusal.value.message
    assert (refusal.value.__cause__, refusal.value.__context__) == (None, None)


def test_other_encodings_are_refused(classic, ask, tmp_path):
    """Bytes that are not UTF-8 are no silent replacement characters."""
    (tmp_path / "codes.csv").write_bytes(b"id,codes\n" + b"1,a\n" * 400_000 + "é,b\n".encode("latin-1"))
    with pytest.raises(InputError, match="not in UTF-8"):
        protect(DisassociationOnSpark(CodesOnSpark(SparkFiles(tmp_path / "codes.csv")), ask, classic.word))


def test_fewer_than_k_records(classic, ask):
    """Fewer than k records cannot be released."""
    with pytest.raises(NoSafeRelease, match="k is 3, but there are 2 records"):
        protect(DisassociationOnSpark(CodesOnSpark(CodeSets.from_records([["a"], ["b"]])), ask, classic.word))


def test_what_a_worker_refuses_is_told(classic, codes):
    """A sensitive code that is too frequent is said as in memory, though a worker found it."""
    with pytest.raises(NoSafeRelease, match="one of 400 records at most"):
        cl.protect_codes(codes, k=3, sensitive=[codes.vocabulary[0]], diversity=400, engine=classic.word)


@pytest.mark.parametrize("setting", [{"workload": "random:10"}, {"policy": "sup"}])
def test_what_needs_all_records_is_refused(classic, codes, setting):
    """Workloads and policies of frequent sets are not for Spark."""
    if "policy" in setting:
        setting = {"policy": cl.UtilityPolicy.frequent(codes, 5)}
    with pytest.raises(InputError, match="on Spark"):
        cl.protect_codes(codes, k=3, engine=classic.word, **setting)
