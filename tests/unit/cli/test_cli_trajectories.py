"""``protect trajectories``, from the words of the command to the folder, and ``verify`` on what it wrote."""

import json
import random
import subprocess
import sys

import polars as pl
import pytest
from tests.made.tampering import resealed, restated

import cloister as cl

CODES = ("250.00", "250.01", "401.1", "401.9", "V58.66", "E936.1")


def visits(n_patients, seed=1, oldest=95):
    """Lines of a file of events, in any order."""
    draw = random.Random(seed)
    lines = [
        f"P{patient:04d},{draw.choice(CODES)},{draw.randint(60, oldest)},w{patient % 3}\n"
        for patient in range(n_patients)
        for _ in range(draw.randint(1, 4))
    ]
    draw.shuffle(lines)
    return "id,code,age,ward\n" + "".join(lines)


SAMPLES = "".join(f"P{patient:04d},{'AGT'[patient % 3]}{patient % 5}\n" for patient in range(40))
FILES = {"visits.csv": visits(40), "samples.csv": f"id,dna\n{SAMPLES}"}


@pytest.fixture
def events(tmp_path):
    """A file of 40 patients, and auxiliary attributes."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "visits.csv"


@pytest.fixture
def protect(cloister, events, tmp_path):
    """Protect the patients' trajectories; more words come after."""

    def command(*words, out="release", source=events, k=3):
        return cloister("protect", "trajectories", source, "-k", k, *words, "--out", tmp_path / out)

    return command


@pytest.fixture
def release(released):
    """The folder of a release with side columns, and the crosswalk beside it."""
    words = ("protect", "trajectories", "visits.csv", "-k", "3", "--attributes", "samples.csv")
    return released(*words, "--crosswalk", "map.csv", **FILES)


def test_a_release_is_written(protect, tmp_path, manifest):
    """What was done is said; nobody is lost."""
    ran = protect()
    told, folder = manifest(), tmp_path / "release"

    assert ran.code == 0, ran.err
    assert told["records"] == {"in": 40, "released": 40, "suppressed": 0}
    assert told["guarantee"]["rules"] == [{"model": "k-anonymity", "k": 3}]
    assert "columns not released: ward" in ran.err
    frame = pl.read_csv(folder / "data.csv", infer_schema=False)
    assert frame.columns == ["id", "code", "age"]
    assert frame["id"].n_unique() == 40
    assert frame["age"].str.contains(r"^9[0-9]").sum() == 0


def test_a_release_that_says_next_to_nothing_says_so(protect):
    """Where nearly all of codes and ages is lost, there is no release; whoever accepts it is told what says nothing."""
    refused = protect(k=40)
    assert (refused.code, "would be useless" in refused.err, "--accept-empty" in refused.err) == (1, True, True)
    assert "code, age are empty in this release" in protect("--accept-empty", k=40).err
    assert "empty in this release" not in protect(out="more").err


def test_side_columns_ride_along(release, events, tmp_path):
    """Each patient's row stands in attributes.csv under the released id, and nothing else of the file."""
    side = pl.read_csv(release / "attributes.csv", infer_schema=False)
    truth = dict(pl.read_csv(tmp_path / "samples.csv", infer_schema=False).rows())
    names = dict(pl.read_csv(tmp_path / "map.csv", infer_schema=False).rows())

    assert side.columns == ["id", "dna"]
    assert {number: truth[names[number]] for number in names} == dict(side.rows())
    assert events.read_text().count("P0001") > 0
    assert b"P0001" not in b"".join(path.read_bytes() for path in release.iterdir())


@pytest.mark.parametrize("method", ["a-gs", "baseline"])
@pytest.mark.parametrize("cost", ["paper", "exact"])
def test_every_method_holds(protect, cloister, tmp_path, method, cost):
    """Each method under each cost gives a release that holds, with the original and the crosswalk too."""
    words = ("--method", method, "--cost", cost, "--weights", "0.3,0.7", "--drop-empty-pairs")
    assert protect("-q", *words, "--crosswalk", tmp_path / "map.csv").code == 0

    compared = ("--original", tmp_path / "visits.csv", "--crosswalk", tmp_path / "map.csv")
    assert cloister("verify", tmp_path / "release").code == 0
    assert cloister("verify", tmp_path / "release", *compared, "-k", 3).code == 0
    assert cloister("verify", tmp_path / "release", "-k", 40).code == 1


def test_json_is_one_object(protect, tmp_path):
    """With --json the manifest is on standard output, and nothing else."""
    ran = protect("--json", "--custodian-dir", tmp_path / "secrets")
    exact = json.loads((tmp_path / "secrets" / "internal.json").read_text())

    assert ran.json["shape"] == "trajectories"
    assert ran.err == ""
    assert abs(exact["ilm_common"] - ran.json["utility"]["ilm_exact"]) <= 0.0005
    assert exact["pairs"] == visits(40).count("\n") - 1


def test_errors_of_a_workload_are_the_custodians(protect, manifest, tmp_path):
    """How far answers are off is told in the internal folder, and not in the release."""
    ran = protect("-q", "--workload", "frequent:5", "--custodian-dir", tmp_path / "secrets")
    accuracy = json.loads((tmp_path / "secrets" / "internal.json").read_text())["accuracy"]

    assert ran.code == 0, ran.err
    assert manifest()["settings"]["workload"] == "frequent:5"
    assert accuracy["queries"] > 0
    assert accuracy["average_relative_error"] >= 0


def test_parquet_comes_back_as_parquet(protect, cloister, tmp_path):
    """A Parquet file gives Parquet, checked in the same way; attributes.csv is CSV."""
    pl.read_csv(tmp_path / "visits.csv").write_parquet(tmp_path / "visits.parquet")
    words = ("--attributes", tmp_path / "samples.csv", "--crosswalk", tmp_path / "map.csv")

    assert protect("-q", *words, source=tmp_path / "visits.parquet").code == 0
    frame = pl.read_parquet(tmp_path / "release" / "data.parquet")
    assert frame.schema == {"id": pl.Int64, "code": pl.String, "age": pl.String}
    compared = ("--original", tmp_path / "visits.parquet", "--attributes", tmp_path / "samples.csv")
    assert cloister("verify", tmp_path / "release", *compared, "--crosswalk", tmp_path / "map.csv").code == 0


def test_dates_become_ages(protect, cloister, tmp_path):
    """Days from each patient's first date, by an own hierarchy of intervals."""
    lines = [f"{patient},{code},2020-01-0{1 + patient % 3}\n" for patient in range(9) for code in CODES[:2]]
    (tmp_path / "dated.csv").write_text("id,code,when\n" + "".join(lines))
    words = ("--date", "when", "--anchor", "first", "--age-unit", "days", "--age-hierarchy", "interval:30,360")

    assert protect("-q", *words, source=tmp_path / "dated.csv").code == 0
    assert cloister("verify", tmp_path / "release", "--original", tmp_path / "dated.csv").code == 0


def test_hierarchies_from_files(protect, cloister, tmp_path):
    """Files are given again to compare with the original; without, it is said which."""
    (tmp_path / "codes.csv").write_text("".join(f"{code};{code[0]};*\n" for code in CODES))
    (tmp_path / "ages.csv").write_text("".join(f"{age};{age // 10}x;*\n" for age in range(60, 96)))
    words = ("--code-hierarchy", tmp_path / "codes.csv", "--age-hierarchy", tmp_path / "ages.csv")
    assert protect("-q", *words, "--crosswalk", tmp_path / "map.csv").code == 0
    compared = ("--original", tmp_path / "visits.csv", "--crosswalk", tmp_path / "map.csv")

    assert cloister("verify", tmp_path / "release").code == 0
    assert cloister("verify", tmp_path / "release", *compared, *words).code == 0
    ran = cloister("verify", tmp_path / "release", *compared)
    assert (ran.code, "codes.csv, that is not in it. Give --code-hierarchy" in ran.err) == (2, True)


def test_a_detail_of_each_pair(protect, cloister, tmp_path):
    """It is released, checked, queried and attacked; a label that covers another ward is noticed with the original."""
    (tmp_path / "wards.csv").write_text("w0;north;*\nw1;north;*\nw2;south;*\n")
    words = ("--detail", "ward", "--detail-hierarchy", tmp_path / "wards.csv", "--weights", "0.1,0.1,0.8")
    assert protect("-q", *words, "--crosswalk", tmp_path / "map.csv").code == 0
    folder, wards = tmp_path / "release", ("--detail-hierarchy", tmp_path / "wards.csv")
    compared = ("--original", tmp_path / "visits.csv", "--crosswalk", tmp_path / "map.csv", *wards)
    lines = (folder / "data.csv").read_text().splitlines(keepends=True)
    asked = [cloister("query", folder, "--pair", f"401@@{ward}", "--hierarchy", f"detail={wards[1]}", "--json")
             for ward in ("north", "w0")]  # fmt: skip

    assert lines[0] == "id,code,age,detail\n"
    assert cloister("verify", folder).code == cloister("verify", folder, *compared).code == 0
    assert cloister("attack", folder, *compared).code == 0
    assert "--pair CODE@@DETAIL" in cloister("query", folder, "--where", "detail=w0").err
    assert asked[0].json["answers"][0]["expected"] > asked[1].json["answers"][0]["expected"] > 0
    resealed(folder, "data.csv", "".join(line.replace(",w2\n", ",w3\n") for line in lines))
    assert cloister("verify", folder, *compared).code == 1


def test_details_read_in_python_are_compared_in_python(cloister, tmp_path):
    """A release that does not state the column of details says how to compare it with its original."""
    (tmp_path / "stays.csv").write_text(
        "id,code,age,ward\n" + "".join(f"{n},401,{40 + n},w{n % 2}\n" for n in range(6))
    )
    read = cl.Trajectories.read(tmp_path / "stays.csv", detail="ward")
    cl.protect_trajectories(read, k=2, detail_hierarchy="suppress").write(tmp_path / "release")
    told = cloister(
        "verify", tmp_path / "release", "--original", tmp_path / "stays.csv", "--detail-hierarchy", "suppress"
    )

    assert told.code == 2
    assert "Trajectories.read(FILE, detail=" in told.err
    assert cl.verify_folder(tmp_path / "release", original=read, hierarchies={"detail": cl.suppress()}).holds


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("-k", "41"), 1, "fewer than k = 41"),
        (("-k", "0"), 2, "must be a whole number from"),
        (("--method", "best"), 2, "--method must be"),
        (("--weights", "0.5"), 2, "Weights are two numbers"),
        (("--weights", "1e99999999,0"), 2, "Weights are two numbers"),
        (("--weights", "0.5,0.6"), 2, "add up to 1"),
        (("--block", "some"), 2, "--block must be"),
        (("--block", "5"), 2, "(3 k or more) from 9"),
        (("--ids", "drop"), 2, "--ids must be number"),
        (("--ids", "hmac:key"), 2, "--ids must be number"),
        (("--on-unknown-code", "keep"), 2, "--on-unknown-code must be"),
        (("--workload", "random:4"), 2, "A workload is written as frequent:1"),
        (("--workload", "frequent:0"), 2, "A workload is written as frequent:1"),
        (("--age-unit", "weeks"), 2, "--age-unit must be"),
        (("--diversity", "2"), 2, "--diversity needs --sensitive or --sensitive-codes"),
        (("--sensitive", "dna"), 2, "Give one with --attributes"),
        (("--threads", "0"), 2, "--threads must be a whole number from 1, not 0"),
        (("--seed", "-1"), 2, "--seed must be a whole number from 0, not -1"),
        (("--code-hierarchy", "icd10"), 2, "distinct codes are not in the hierarchy icd10 (record"),
        (("--code-hierarchy", "nowhere.csv"), 2, "neither a hierarchy file"),
        (("--date", "age"), 2, "--date and --anchor"),
        (("--detail", "ward"), 2, "Give both: --detail and --detail-hierarchy"),
        (("--detail-hierarchy", "suppress"), 2, "Give both: --detail and --detail-hierarchy"),
        (("--detail", "bed", "--detail-hierarchy", "suppress"), 2, "has no such column"),
        (("--detail", "code", "--detail-hierarchy", "suppress"), 2, "cannot be two things at once"),
        (("--detail", "ward", "--detail-hierarchy", "suppress", "--weights", "1,0"), 2, "Weights are three numbers"),
        (("--detail", "ward", "--detail-hierarchy", "suppress", "--weights", "0.5,0.5"), 2, "Weights are three"),
        (("--id", "ward", "--attributes", "samples.csv"), 2, "must have the same patients"),
        (("--custodian-dir", "release"), 2, "outside the release folder"),
    ],
)
def test_what_cannot_be_is_refused(protect, refused, words, code, said):
    """A refusal is one sentence or two, with its exit code, and leaves nothing behind."""
    ran = protect(*words)

    assert said in refused(ran, code, new=frozenset({"visits.csv", "samples.csv"}))


def test_unknown_codes_as_asked(protect, manifest, tmp_path):
    """Codes that the classification lacks go under the root, or are left out, where that is asked for."""
    with (tmp_path / "visits.csv").open("a") as file:
        file.write("P0001,odd code,70,w\n")

    assert protect().code == 2
    assert protect("--on-unknown-code", "root", out="root").code == 0
    assert protect("--on-unknown-code", "drop", out="drop").code == 0
    assert manifest("drop")["settings"]["on_unknown_code"] == "drop"
    assert "odd code" not in (tmp_path / "drop" / "data.csv").read_text()


def test_a_diverse_release(protect, cloister, manifest, tmp_path):
    """Of those who share a trajectory, at most one in two has the same value, and verify counts that."""
    words = ("--attributes", tmp_path / "samples.csv", "--sensitive", "dna", "--diversity", 2)
    assert protect("-q", *words).code == 0
    rule = {"model": "frequency l-diversity", "l": 2, "column": "dna"}

    assert manifest()["guarantee"]["rules"][1] == rule
    assert cloister("verify", tmp_path / "release").code == 0
    resealed(tmp_path / "release", "attributes.csv", "id,dna\n" + "".join(f"{number},A\n" for number in range(1, 41)))
    assert cloister("verify", tmp_path / "release").code == 1


def test_sensitive_codes_are_not_told_of_all(protect, cloister, manifest, tmp_path):
    """Released codes stand for a sensitive one of at most one in two; said in rules and settings, with the codes."""
    words = ("--sensitive-codes", "V58.66,E936.1", "--diversity", 2, "--crosswalk", tmp_path / "map.csv")
    assert protect("-q", *words).code == 0
    told = manifest()
    names = dict(pl.read_csv(tmp_path / "map.csv", infer_schema=False).rows())

    assert told["guarantee"]["rules"][1]["codes"] == told["settings"]["sensitive_codes"] == ["E936.1", "V58.66"]
    assert cloister("verify", tmp_path / "release", "--original", tmp_path / "visits.csv").code == 0
    frame = pl.read_csv(tmp_path / "release" / "data.csv", infer_schema=False)
    assert set(frame["id"]) == set(names)
    assert not frame["code"].is_in(["V58.66", "E936.1"]).any()


def test_a_list_of_sensitive_codes_is_told_as_given(protect, manifest):
    """Codes that do not occur may be sensitive; the manifest has the list, only the screen says how many are absent."""
    ran = protect("--sensitive-codes", "V58.66, E936.1", "--sensitive-codes", " 042,V08")
    told = manifest()

    assert ran.code == 0
    assert told["settings"]["sensitive_codes"] == ["042", "E936.1", "V08", "V58.66"]
    assert told["guarantee"]["rules"][1]["codes"] == told["settings"]["sensitive_codes"]
    assert "Note: 2 of 4 sensitive codes do not occur in the data" in ran.err


@pytest.mark.parametrize("codes", ["", ",", " , "])
@pytest.mark.parametrize("more", [(), ("--diversity", 3)])
def test_sensitive_codes_must_be_named(protect, refused, codes, more):
    """An option that names no code is refused: nothing would be promised of it."""
    ran = protect("--sensitive-codes", codes, *more)

    assert "none or an empty one is named" in refused(ran, new=frozenset({"visits.csv", "samples.csv"}))


def test_codes_of_two_sets_are_not_generalized_together(protect, cloister, manifest, tmp_path):
    """No released label reaches beyond a set of the policy, and the manifest says how many sets that holds for."""
    (tmp_path / "policy.json").write_text(json.dumps({"one": ["401.1"], "other": ["250.00", "250.01"]}))
    assert protect("-q", "--policy", tmp_path / "policy.json", "--custodian-dir", tmp_path / "secrets").code == 0
    frame = pl.read_csv(tmp_path / "release" / "data.csv", infer_schema=False)
    codes = set(frame.filter((pl.col("code") != "*") | (pl.col("age") != "*"))["code"])
    outcomes = json.loads((tmp_path / "secrets" / "internal.json").read_text())["constraints"]

    assert codes.isdisjoint({"401", "*"})
    assert (manifest()["utility"]["constraints"], manifest()["utility"]["constraints_kept"]) == (2, 2)
    assert [(outcome["name"], outcome["kept"]) for outcome in outcomes] == [("one", True), ("other", True)]
    assert cloister("verify", tmp_path / "release").code == 0


def test_a_value_too_frequent_is_no_safe_release(protect, refused):
    """Where one value is that of more than one in l patients, no clusters will do."""
    ran = protect("--attributes", "samples.csv", "--sensitive", "dna", "--diversity", 20)

    assert "more frequent in the data" in refused(ran, 1, new=frozenset({"visits.csv", "samples.csv"}))


CHANGES = {
    "constraints": lambda told: told["utility"].update(constraints=0, constraints_kept=0),
    "sensitive codes": lambda told: told["settings"].update(sensitive_codes=["401.1"], diversity=2),
    "sensitive": lambda told: told["settings"].update(sensitive="dna", diversity=2),
    "side": lambda told: told["attributes"].update(columns={"rna": {"role": "auxiliary"}}),
    "no side": lambda told: told.pop("attributes"),
    "side file": lambda told: told["settings"].update(side=None),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_manifest_that_says_something_else_is_refused(cloister, release, change):
    """Whatever is changed in the manifest, with the report changed to match: verify does not say that it holds."""
    restated(release, change)

    assert cloister("verify", release).code in (1, 2)


def test_another_value_beside_is_noticed_with_the_original(cloister, release, tmp_path):
    """Auxiliary attributes follow from nothing else in the release; compared with their file, they must."""
    lines = (release / "attributes.csv").read_text().splitlines(keepends=True)
    resealed(release, "attributes.csv", "".join([*lines[:-1], lines[-1].rstrip("\n") + "x\n"]))
    compared = ("--original", tmp_path / "visits.csv", "--attributes", tmp_path / "samples.csv")

    assert cloister("verify", release).code == 0
    assert cloister("verify", release, *compared).code == 1
    assert cloister("verify", release, *compared, "--crosswalk", tmp_path / "map.csv").code == 1


ATTRIBUTES = {
    "a row less": lambda lines: [*lines[:3], *lines[4:]],
    "a row twice": lambda lines: [*lines[:4], *lines[3:]],
    "rows turned": lambda lines: [lines[0], lines[-1], *lines[2:-1], lines[1]],
    "a space": lambda lines: [*lines[:2], lines[2].replace(",", ", ", 1), *lines[3:]],
    "a column": lambda lines: [line.rstrip("\n") + ",x\n" for line in lines],
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("change", ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_auxiliary_attributes_that_were_changed_are_refused(cloister, release, change):
    """Rows are those of the released patients, in their order and in the one way there is to write them."""
    lines = (release / "attributes.csv").read_text().splitlines(keepends=True)
    resealed(release, "attributes.csv", "".join(change(lines)))

    assert cloister("verify", release).code in (1, 2)


@pytest.mark.parametrize(
    "words", [("--qi", "age"), ("-m", "2"), ("--policy", "level:1"), ("--privacy", "all:2"), ("--hierarchies", ".")]
)
def test_words_of_other_shapes_are_refused(cloister, release, words):
    """Verify says which options are for trajectories."""
    ran = cloister("verify", release, *words)

    assert (ran.code, "Trajectories have" in ran.err) == (2, True)


def test_stopped_in_the_middle_of_clustering(tmp_path):
    """Ctrl-C while trajectories are aligned: exit code 130, within seconds, and nothing left."""
    (tmp_path / "many.csv").write_text(visits(20000))
    words = ["protect", "trajectories", str(tmp_path / "many.csv"), "-k", "5", "--block", "off"]
    program = f"""
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
from cloister.cli import main
from cloister.pipeline import trajectories
work = trajectories.anonymize
def told(*arguments, **options):
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    return work(*arguments, **options)
trajectories.anonymize = told
sys.exit(main.run({[*words, "--out", str(tmp_path / "release")]!r}))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)

    assert (ran.returncode, "interrupted; nothing was written" in ran.stderr) == (130, True), ran.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"many.csv"}
