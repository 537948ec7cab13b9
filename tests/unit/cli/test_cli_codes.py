"""``protect codes`` from the words of the command to the folder, and ``verify`` on what it wrote."""

import json
import stat

import polars as pl
import pytest
from tests.made.diagnoses import IDS, LONG, RECORDS, WIDE
from tests.made.tampering import report_rewritten, resealed


@pytest.fixture
def protect(cloister, diagnoses, tmp_path):
    """Run ``protect codes`` on the patients; more words come after."""

    def command(*words, out="release", source=diagnoses, k=3):
        return cloister("protect", "codes", source, "-k", k, *words, "--out", tmp_path / out)

    return command


@pytest.fixture
def release(released):
    """The folder of a release, and the crosswalk beside it."""
    words = ("protect", "codes", "diagnoses.csv", "-k", "3", "--policy", "level:1", "--crosswalk", "map.csv")
    return released(*words, **{"diagnoses.csv": WIDE})


def data_of(folder):
    """The data file of a release, all as text."""
    return pl.read_csv(folder / "data.csv", infer_schema=False)


def test_a_release_is_written(release):
    """One reconstruction, sorted and numbered, of the same codes; a codebook with a row for each and for the id."""
    data, book = data_of(release), pl.read_csv(release / "codebook.csv", infer_schema=False)
    codes = sorted({code for record in RECORDS for code in record})

    assert data.columns == ["id", "codes"]
    assert data["codes"].is_sorted()
    assert data["id"].to_list() == [str(number) for number in range(1, len(RECORDS) + 1)]
    assert sorted({code for text in data["codes"] for code in text.split()}) == codes
    assert book.select("column", "label").rows() == [("id", None), *(("codes", code) for code in codes)]


def test_the_manifest(release, manifest):
    """The keys that scripts read."""
    found = manifest()

    assert (found["shape"], found["method"]) == ("codes", "disassociation")
    assert found["records"] == {"in": 33, "released": 33, "suppressed": 0}
    assert found["guarantee"]["rules"] == [{"model": "k^m-anonymity", "k": 3, "m": 2}]
    assert found["guarantee"]["verified"] is True
    assert found["utility"]["suppressed_codes"] == 0
    assert 0 <= found["utility"]["occurrences_in_item_chunks"] < 1
    assert found["utility"]["constraints"] == 7
    assert found["utility"]["constraints_preserved"] <= found["utility"]["constraints_satisfied"] <= 7
    assert found["settings"]["policy"] == "level:1"
    assert found["utility"]["average_relative_error"] is None
    assert "exact" not in found["utility"]


def test_the_seed_is_that_of_the_reconstruction(protect, release, tmp_path):
    """Another seed gives another reconstruction of the same clusters."""
    assert protect("-q", "--policy", "level:1", "--seed", "7", out="again").code == 0
    again = tmp_path / "again"

    assert (release / "clusters.json").read_bytes() == (again / "clusters.json").read_bytes()
    assert not data_of(release).equals(data_of(again))


def test_without_ids(protect, tmp_path, manifest):
    """Codes alone are released without ids, and that each record is another patient is said to be assumed."""
    source = tmp_path / "alone.csv"
    source.write_text("codes\n" + "".join(f"{' '.join(codes)}\n" for codes in RECORDS))
    assert protect("-q", source=source).code == 0

    assert (tmp_path / "release" / "data.csv").read_text().startswith("codes\n")
    assert manifest()["guarantee"]["one_row_per_patient"] == "assumed"


def test_ids_can_be_left_out(protect, tmp_path, manifest):
    """``--ids drop`` writes codes alone."""
    assert protect("-q", "--ids", "drop").code == 0

    assert (tmp_path / "release" / "data.csv").read_text().startswith("codes\n")
    assert "id" not in manifest()["columns"]


def test_the_crosswalk_maps_patients_to_clusters(release, tmp_path):
    """Each id has the number of the cluster that the patient went to."""
    path = tmp_path / "map.csv"
    table = pl.read_csv(path)
    clusters = json.loads((release / "clusters.json").read_text())["clusters"]

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert table.columns == ["original", "cluster"]
    assert sorted(table["original"]) == IDS
    sizes = table["cluster"].value_counts().sort("cluster")["count"].to_list()
    assert [cluster["size"] for cluster in clusters] == sizes


def test_internal_figures(protect, tmp_path):
    """Exact figures, errors and the input's hash go where the custodian says."""
    assert protect("-q", "--policy", "level:1", "--workload", "random:40", "--custodian-dir", "secret").code == 0
    found = json.loads((tmp_path / "secret" / "internal.json").read_text())

    assert found["records"] == 33
    assert found["occurrences"] == sum(map(len, RECORDS))
    assert found["in_item_chunks"] >= 0
    assert found["accuracy"]["queries"]["answered"] + found["accuracy"]["queries"]["unanswerable"] == 40
    assert sum(found["accuracy"]["matching"].values()) == 7
    assert len(found["sha256"]) == 64


def test_workloads_are_measured(protect, tmp_path, manifest):
    """The errors go to the custodian's folder alone; the summary, the notes and the manifest tell none."""
    ran = protect("--workload", "frequent:2", "--custodian-dir", "secret")
    queries = json.loads((tmp_path / "secret" / "internal.json").read_text())["accuracy"]["queries"]

    assert queries["average_relative_error"] >= 0
    assert manifest()["utility"]["average_relative_error"] is None
    assert "errors of frequent:2 are in --custodian-dir only" in " ".join(ran.out.split())
    assert "the folder that --custodian-dir names" not in ran.err
    assert "the folder that --custodian-dir names" in protect("--workload", "frequent:2", out="again").err


def test_of_frequent_sets_nothing_is_told(protect, tmp_path, manifest):
    """Which sets are frequent does not follow from the clusters: what became of them is the custodian's."""
    ran = protect("--policy", "sup:20", "--custodian-dir", "secret")
    told = manifest()["utility"]
    found = json.loads((tmp_path / "secret" / "internal.json").read_text())["constraints"]

    assert [told[name] for name in ("constraints", "constraints_satisfied", "constraints_preserved")] == [None] * 3
    assert found["sets"] > 0
    assert "sup:20" in ran.out
    assert "of the utility policy" not in ran.err


def test_what_is_told_follows_from_the_clusters(protect, tmp_path, manifest):
    """A pair of codes that one patient has: what is told beside the clusters is worked out from them."""
    path = tmp_path / "pair.csv"
    rare = [f"z{number}" for number in range(5) for _ in range(2)]
    path.write_text("\n".join(["codes", "a b", *"aaabbb", *rare]) + "\n")
    assert protect("-q", "--max-cluster-size", "100", source=path).code == 0
    clusters = json.loads((tmp_path / "release" / "clusters.json").read_text())["clusters"]
    told = manifest()["utility"]
    most = sum(cluster["size"] * len(cluster["item_chunk"]) for cluster in clusters)

    assert most > 0
    assert most / (most + told["occurrences_counted"]) == told["occurrences_in_item_chunks"]


@pytest.mark.parametrize(
    "words",
    [
        ("-m", "1"),
        ("-m", "3"),
        ("--refine", "off"),
        ("--refine", "paper"),
        ("--inference-check", "off"),
        ("--inference-check", "enforce", "--inference-threshold", "0.8"),
        ("--inference-check", "enforce", "--repeats"),
        ("--sensitive", "042,008.45"),
        ("--sensitive", "042", "--sensitive", "E936.1", "--diversity", "3"),
        ("--max-cluster-size", "9"),
        ("--policy", "sim:2"),
        ("--policy", "sup:20"),
        ("--policy", "level:1/icd9"),
        ("--repeats",),
        ("--workload", "random:40"),
    ],
    ids=" ".join,
)
@pytest.mark.sampled(5)
def test_every_setting_gives_a_release_that_holds(protect, cloister, tmp_path, words):
    """Whatever is asked for, the folder passes its check, alone and against the original."""
    assert protect("-q", *words, "--crosswalk", "map.csv").code == 0

    assert cloister("verify", "release").code == 0
    against = cloister("verify", "release", "-v", "--original", "diagnoses.csv", "--crosswalk", "map.csv")
    assert against.code == 0, against.err
    assert "record chunks are the projections of their records" in against.out


def test_the_bound_on_sensitive_codes_is_checked(protect, cloister, tmp_path):
    """A manifest that promises a stricter bound than the clusters keep does not pass against the original."""
    assert protect("-q", "--sensitive", "001", "--crosswalk", "map.csv").code == 0
    path = tmp_path / "release" / "release.json"
    against = ("verify", "release", "--original", "diagnoses.csv", "--crosswalk", "map.csv")
    assert cloister(*against).code == 0
    path.write_text(path.read_text().replace('"diversity": 2', '"diversity": 9').replace('"l": 2', '"l": 9'))
    report_rewritten(tmp_path / "release")

    assert "in as few records of each cluster" in cloister(*against).err
    path.write_text(path.read_text().replace('"diversity": 9', '"diversity": "9"'))
    assert cloister(*against).code in (1, 2)


def test_repeats_come_out_as_they_went_in(protect, cloister, tmp_path):
    """With ``--repeats`` clusters count occurrences, and the data file repeats codes as patients have them."""
    source = tmp_path / "visits.csv"
    source.write_text("id,code\n" + "".join(f"{i},250.00\n{i},401.9\n{i},250.00\n" for i in range(12)))
    assert protect("-q", "--repeats", source=source, k=2).code == 0

    clusters = json.loads((tmp_path / "release" / "clusters.json").read_text())
    assert clusters["repeats"] is True
    assert "250.00#2" in json.dumps(clusters)
    assert {"250.00 250.00 401.9"} == set(pl.read_csv(tmp_path / "release" / "data.csv", infer_schema=False)["codes"])
    assert cloister("verify", "release").code == 0


def test_a_policy_file(protect, tmp_path, manifest):
    """A policy may be a JSON file; the manifest names the file."""
    (tmp_path / "policy.json").write_text(json.dumps({"diabetes": ["250.00", "250.01"]}))
    assert protect("-q", "--policy", tmp_path / "policy.json").code == 0

    assert manifest()["settings"]["policy"] == "policy.json"
    assert manifest()["utility"]["constraints"] == 1


def test_patients_without_codes_are_left_out_on_request(protect, diagnoses, manifest, cloister):
    """Few of them are not counted in the manifest; many are."""
    diagnoses.write_text(WIDE + "Q1,\n")
    assert protect("-q", "--drop-empty", "--crosswalk", "map.csv").code == 0
    assert manifest()["records"] == {"in": "<36", "released": 33, "suppressed": "<3"}
    assert cloister("verify", "release", "--original", diagnoses, "--crosswalk", "map.csv").code == 0
    diagnoses.write_text(WIDE + "Q1,\nQ2,\nQ3,\n")
    assert protect("-q", "--drop-empty", "--overwrite").code == 0
    assert manifest()["records"] == {"in": 36, "released": 33, "suppressed": 3}


@pytest.mark.parametrize("words", [(), ("--json",)])
@pytest.mark.parametrize(
    ("empty", "k", "said"),
    [
        (1, 3, "fewer than 3 records have no code and are suppressed"),
        (2, 3, "fewer than 3 records have no code and are suppressed"),
        (3, 3, "3 records have no code and are suppressed"),
    ],
)
def test_few_patients_without_codes_are_not_counted_on_the_screen(protect, diagnoses, empty, k, said, words):
    """What the manifest keeps back no note tells, neither of lines nor of patients."""
    diagnoses.write_text(LONG + "".join(f"Q{number},\n" for number in range(empty)))
    ran = protect("--drop-empty", *words, k=k)
    notes = ran.json["notes"] if words else [line.removeprefix("Note: ")[:-1] for line in ran.err.splitlines()]

    assert [note for note in notes if "no code" in note] == [said]
    assert "lines of diagnoses.csv without a code were passed over" in notes


def test_what_is_said(protect):
    """The summary on the screen, and the notes beside it."""
    ran = protect("--policy", "level:1")

    assert ran.code == 0
    for words in ("33 of 33 released", "any 2 codes or fewer", "clusters", "Report: "):
        assert words in ran.out
    assert "Note: the column 'id' was taken as id." in ran.err
    said = protect("--json", out="again").json
    assert said["shape"] == "codes"
    assert "the column 'codes' was taken as codes" in said["notes"]


def test_other_columns_are_not_released(protect, diagnoses):
    """Further columns are left out, and listed."""
    diagnoses.write_text("id,codes,ward\n" + "".join(f"{line},A\n" for line in WIDE.splitlines()[1:]))

    assert "columns not released: ward" in protect().err


BAD = {
    "no codes": ("id,age\n1,2\n", (), "has no column of codes"),
    "repeated id": (WIDE + "P001,V51\n", (), "34 lines and 33 distinct values"),
    "missing id": (WIDE + ",V51\n", (), "the first is record 34"),
    "empty record": (WIDE + "Q,\n", (), "--drop-empty"),
    "no record": ("id,codes\n", (), "no records"),
    "k of 0": (WIDE, ("-k", "0"), "must be a whole number from"),
    "m of 0": (WIDE, ("-m", "0"), "m must be a whole number from 1, not 0"),
    "small clusters": (WIDE, ("--max-cluster-size", "3"), "--max-cluster-size must be a whole number from 4"),
    "threshold": (WIDE, ("--inference-threshold", "0"), "threshold"),
    "refine": (WIDE, ("--refine", "all"), "--refine must be tree, paper or off"),
    "safe": (WIDE, ("--inference-check", "yes"), "--inference-check must be off, report or enforce"),
    "method": (WIDE, ("--method", "mdav"), "--method must be disassociation"),
    "engine": (WIDE, ("--engine", "sparkle"), "--engine can be auto, memory"),
    "hmac": (WIDE, ("--ids", "hmac:key"), "--ids must be number or drop"),
    "threads": (WIDE, ("--threads", "0"), "--threads must be a whole number from 1, not 0"),
    "policy": (WIDE, ("--policy", "level:9"), "level 1, 2 or 3"),
    "policy file": (WIDE, ("--policy", "nowhere.json"), "is not there"),
    "policy folder": (WIDE, ("--policy", "."), "The utility policy . is a folder"),
    "rare sets": (WIDE, ("--policy", "sup:9"), "Ask for sup:12.1213 or more"),
    "workload": (WIDE, ("--workload", "all"), "A workload is"),
    "seed": (WIDE, ("--seed", "-1"), "--seed must be a whole number from 0, not -1"),
    "sensitive": (WIDE, ("--sensitive", "999"), "'999' of the sensitive codes does not occur"),
    "column": (WIDE, ("--codes", "code"), "Did you mean 'codes'?"),
    "two columns": (WIDE, ("--codes", "codes", "--code", "id"), "Give one"),
    "crosswalk inside": (WIDE, ("--crosswalk", "release/map.csv"), "must be outside"),
    "delimiter": (WIDE, ("--delimiter", "::"), "one ASCII character"),
}


@pytest.mark.parametrize(("content", "words", "said"), BAD.values(), ids=BAD)
def test_bad_input(protect, diagnoses, refused, content, words, said):
    """One sentence that says what to do, exit code 2, and nothing written."""
    diagnoses.write_text(content)

    assert said in refused(protect(*words), new=frozenset({"diagnoses.csv"}))


def test_too_frequent_sensitive_codes(protect, refused):
    """A sensitive code that most patients have cannot be kept apart: exit code 1."""
    refused(protect("--sensitive", "401.9"), code=1, new=frozenset({"diagnoses.csv"}))


@pytest.mark.parametrize(
    "content",
    [
        "codes\n" + (" ".join(["250.00"] * 200_000) + "\n") * 5,
        "codes\n" + " ".join(f"{number:05d}" for number in range(10_000)) + "\n" + "00001 00002\n" * 30,
        "codes\n" + "V51\n" * 50,
    ],
    ids=["one code a million times", "a record with 10,000 codes", "a vocabulary of one"],
)
def test_unusual_sizes(protect, cloister, tmp_path, content):
    """One code very often, a record of very many codes, and a single code give releases that hold."""
    (tmp_path / "odd.csv").write_text(content)

    assert protect("-q", source=tmp_path / "odd.csv", k=2).code == 0
    assert cloister("verify", "release").code == 0


def test_verifying_reads_the_original_as_it_was_read(protect, cloister, diagnoses):
    """A text that stands for a missing code is given again."""
    diagnoses.write_text(WIDE.replace(" V58.66", " ?", 1))
    assert protect("-q", "--missing", "?", "--crosswalk", "map.csv").code == 0
    against = ("verify", "release", "--original", diagnoses, "--crosswalk", "map.csv")

    assert cloister(*against, "--missing", "?").code == 0
    assert cloister(*against).code == 2
    assert "-m must be a whole number from 1, not 0" in cloister("verify", "release", "-m", "0").err


def test_verifying_takes_no_quasi_identifiers(release, cloister):
    """What only tables have is refused, and so is what only code sets have."""
    assert cloister("verify", "release", "--qi", "age").code == 2
    assert cloister("verify", "release", "--original", "diagnoses.csv").code == 2
    assert "crosswalk" in cloister("verify", "release", "--original", "diagnoses.csv").err


def test_another_original_is_refused(release, cloister, tmp_path):
    """An original that is not the one released does not pass, nor a crosswalk that does not fit."""
    header, first, second, *rest = WIDE.splitlines(keepends=True)
    swapped = header + first.replace("V58.66", "E936.1") + "".join([second, *rest])
    (tmp_path / "other.csv").write_text(swapped)
    ran = cloister("verify", "release", "--original", "other.csv", "--crosswalk", "map.csv")
    assert ran.code == 1
    (tmp_path / "map.csv").write_text("original,cluster\nP000,0\n")
    ran = cloister("verify", "release", "--original", "diagnoses.csv", "--crosswalk", "map.csv")
    assert ran.code == 2
    assert "does not map each patient" in ran.err


def test_the_original_does_not_pass_for_a_reconstruction(protect, cloister, tmp_path):
    """A code of an item chunk stands in one record of a reconstruction; in the original two patients have it."""
    records = ["a b"] * 8 + ["a b c"] * 2
    source = tmp_path / "original.csv"
    source.write_text("id,codes\n" + "".join(f"P{number},{codes}\n" for number, codes in enumerate(records)))
    assert protect("-q", source=source).code == 0
    lines = (f"{number},{codes}\n" for number, codes in enumerate(sorted(records), start=1))
    resealed(tmp_path / "release", "data.csv", "id,codes\n" + "".join(lines))
    ran = cloister("verify", "release")

    assert ran.code == 1
    assert "data.csv has each code as often as the chunks; one that is only listed is in one row" in ran.err
    assert "(1 violation)" in ran.err


def test_an_original_that_was_read_otherwise(protect, cloister, diagnoses, tmp_path):
    """If texts stood for missing codes, the refusal says how to name them."""
    diagnoses.write_text(WIDE.replace("P000,", "P000,? "))
    assert protect("-q", "--missing", "?", "--crosswalk", "map.csv").code == 0
    check = ("verify", "release", "-q", "--original", diagnoses, "--crosswalk", "map.csv")

    assert "--missing" in cloister(*check).err
    assert cloister(*check, "--missing", "?").code == 0


def test_a_nul_is_in_the_column_that_has_it(protect, tmp_path):
    """A character that CSV cannot hold is reported of the user's column."""
    source = tmp_path / "nul.parquet"
    pl.DataFrame({"id": ["1", "2", "3"], "dx": ["a", "a", "a\0b"]}).write_parquet(source)
    refused = protect("--codes", "dx", source=source)

    assert refused.code == 2
    assert "Column 'dx' holds a NUL character" in refused.err
