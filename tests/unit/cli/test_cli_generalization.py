"""``protect codes`` by generalization, from the words of the command to the folder, and ``verify`` on what it wrote."""

import json
import re
import stat
from itertools import cycle

import polars as pl
import pytest
from tests.made.diagnoses import IDS, RECORDS, WIDE
from tests.made.tampering import restated

from cloister.io.columns import CODES_NAMES

METHODS = ("cba", "ugaclip", "apriori")


@pytest.fixture
def protect(cloister, diagnoses, tmp_path):
    """Generalize the patients' codes; more words come after."""

    def command(*words, out="release", source=diagnoses, k=3, method="cba"):
        return cloister("protect", "codes", source, "--method", method, "-k", k, *words, "--out", tmp_path / out)

    return command


@pytest.fixture
def release(released):
    """The folder of a release, and the crosswalk beside it."""
    words = ("protect", "codes", "diagnoses.csv", "--method", "cba", "-k", "3", "--policy", "level:1")
    return released(*words, "--crosswalk", "map.csv", **{"diagnoses.csv": WIDE})


def test_a_release_is_written(release):
    """Records sorted by their text and numbered, terms in brackets."""
    data = pl.read_csv(release / "data.csv", infer_schema=False)
    assert data.columns == ["id", "codes"]
    assert data["codes"].is_sorted()
    assert data["id"].to_list() == [str(number) for number in range(1, len(RECORDS) + 1)]
    assert data["codes"].value_counts().sort("codes").rows() == [
        ("(250.00,250.01) 401.9", 10),
        ("(250.00,250.01) 401.9 E936.1", 7),
        ("(250.00,250.01) 401.9 V58.66", 9),
        ("001", 1),
        ("001 (250.00,250.01)", 6),
    ]


def test_the_manifest(release, manifest):
    """The keys that scripts read; a loss that counts suppressed codes is not told."""
    found = manifest()

    assert (found["shape"], found["method"]) == ("codes", "cba")
    assert found["records"] == {"in": 33, "released": 33, "suppressed": 0}
    assert found["guarantee"]["rules"] == [{"model": "k^m-anonymity", "k": 3, "m": 2}]
    assert found["utility"] == {
        "codes": 8,
        "suppressed_codes": 2,
        "terms": 5,
        "terms_of_several_codes": 1,
        "generalized_codes": 2,
        "largest_term": 2,
        "ilm": None,
        "ilm_terms": pytest.approx(2 / 8 / 4 * 32 / 33),
        "constraints": 5,
        "constraints_satisfied": 5,
        "constraints_preserved": 5,
        "average_relative_error": None,
    }
    assert found["risk"] == {"smallest_term": 7, "terms_below_k": 0, "unique_records": 1}
    assert found["settings"]["privacy"] == "all:2"


def test_suppressed_codes_are_named_nowhere(release):
    """Neither data, codebook, manifest nor report say which codes are suppressed."""
    word = re.compile(rb"(?<![\w.])(?:042|008\.45)(?![\w.])")

    assert word.search(WIDE.encode())
    assert [path.name for path in release.iterdir() if word.search(path.read_bytes())] == []


def test_without_suppressed_codes_the_loss_is_told(protect, manifest, diagnoses):
    """Then it follows from the released records."""
    diagnoses.write_text("id,codes\n" + "".join(f"P{number},250.00 401.9\n" for number in range(5)))
    assert protect("-q").code == 0

    assert manifest()["utility"]["ilm"] == manifest()["utility"]["ilm_terms"] == 0


VISITS = "visit_id,code\n1,250.00\n1,401.9\n2,008.45\n2,001\n"


SETTINGS = [
    (),
    ("-m", "1"),
    ("-m", "3"),
    ("--policy", "level:1"),
    ("--policy", "level:2/icd9"),
    ("--policy", "sim:2"),
    ("--policy", "sup:20"),
    ("--policy", "gwas"),
    ("--repeats",),
    ("--policy", "level:1", "--repeats"),
    ("--ids", "drop"),
    ("--privacy", "all:2"),
    ("--workload", "random:40"),
    ("-k", "2"),
    ("-k", "9"),
]
"""Each is asked of one method, and they take turns; random ones of all are in the laws of releases."""


@pytest.mark.parametrize(
    ("words", "method"),
    [*zip(SETTINGS, cycle(METHODS))],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else one,
)
@pytest.mark.sampled(5)
def test_every_setting_gives_a_release_that_holds(protect, cloister, words, method):
    """Whatever is asked for, the folder passes its check, alone, against the original, and patient by patient."""
    ran = protect("-q", *words, "--crosswalk", "map.csv", "--accept-empty", method=method)
    assert ran.code == 0, ran.err

    for more in ((), ("--original", "diagnoses.csv"), ("--original", "diagnoses.csv", "--crosswalk", "map.csv")):
        checked = cloister("verify", "release", "-v", *more)
        assert checked.code == 0, checked.err
        assert "that a record has is that of at least" in checked.out


@pytest.mark.parametrize(
    ("privacy", "method", "uncovered", "loss"),
    [
        ("visits:visits.csv", "cba", "generalize", "ilm"),
        ("visits:visits.csv", "ugaclip", "suppress", "ul"),
        ("sets.json", "cba", "suppress", "ul"),
        ("sets.json", "ugaclip", "generalize", "ilm"),
        ("records", "cba", "generalize", "ul"),
        ("records", "ugaclip", "suppress", "ilm"),
    ],
)
@pytest.mark.sampled(3)
def test_policies_are_given_to_the_verifier(protect, cloister, tmp_path, method, uncovered, loss, privacy, manifest):
    """A privacy policy may tell sets of patients, so that it is not in the release: the check needs it."""
    (tmp_path / "visits.csv").write_text(VISITS)
    (tmp_path / "sets.json").write_text(json.dumps([["250.00", "250.01"], ["042"], ["nowhere", "001"]]))
    (tmp_path / "policy.json").write_text(json.dumps({"diabetes": ["250.00", "250.01"], "other": ["001", "042"]}))
    words = ("--privacy", privacy, "--uncovered", uncovered, "--loss", loss, "--policy", tmp_path / "policy.json")
    assert protect("-q", *words, method=method).code == 0
    alone = cloister("verify", "release")

    assert alone.code == 1
    assert ("Compare with the original" if privacy == "records" else "Give the policy (--privacy), or") in alone.err
    assert "every set of the privacy policy" not in cloister("verify", "release", "-v").out
    given = ("--privacy", privacy) if privacy != "records" else ("--original", "diagnoses.csv")
    for more in ((), ("--policy", "policy.json"), ("--original", "diagnoses.csv")):
        checked = cloister("verify", "release", "-v", *given, *more)
        assert checked.code == 0, checked.err
        assert "every set of the privacy policy" in checked.out
        assert ("the codes of each term are in one set" in checked.out) == ("--policy" in more)
    assert manifest()["guarantee"]["rules"] == [{"model": "privacy-constrained anonymity", "k": 3, "privacy": privacy}]


def test_the_report_is_for_people(release):
    """It says what is promised, what was lost, how rare what is left is, and what became of ids; nothing is loaded."""
    text = " ".join((release / "report.html").read_text().split())

    for words in (
        "<strong>Verified:</strong> Someone who knows 2 codes or fewer of a patient",
        'Suppressed codes</th><td class="n">2</td>',
        'Sets of the utility policy (level:1/icd9)</th><td class="n">5</td>',
        'Unique records (all terms together)</th><td class="n">1</td>',
        "Records are numbered in the order of their contents",
        "The frequency of suppressed codes is not published",
        "The guarantee covers someone who knows up to 2 codes of a patient",
    ):
        assert words in text
    assert "http" not in text.replace("http-equiv", "")
    assert "<script" not in text


def test_what_a_policy_does_not_name_is_said(protect, tmp_path, manifest):
    """Codes outside the privacy policy stay as they are, however rare; the report says so."""
    (tmp_path / "sets.json").write_text(json.dumps([["250.00"]]))
    assert protect("-q", "--privacy", "sets.json").code == 0

    assert manifest()["risk"]["smallest_term"] == 1
    assert manifest()["risk"]["terms_below_k"] == 2
    assert "the privacy policy does not include their codes" in (tmp_path / "release" / "report.html").read_text()


def test_few_patients_without_terms_are_left_out(protect, cloister, diagnoses, tmp_path, manifest):
    """Patients whose codes are all suppressed are left out and not counted if they are fewer than k; else they stay."""
    diagnoses.write_text(WIDE + "Q1,042\nQ2,008.45\n")
    assert protect("-q", "--policy", "level:1", "-k", "5", "--crosswalk", "map.csv").code == 0
    assert manifest()["records"] == {"in": "<38", "released": 33, "suppressed": "<5"}
    assert "Q1" not in (tmp_path / "map.csv").read_text()
    for more in ((), ("--original", "diagnoses.csv"), ("--original", "diagnoses.csv", "--crosswalk", "map.csv")):
        assert cloister("verify", "release", *more).code == 0

    diagnoses.write_text(WIDE + "".join(f"Q{number},E{number:03d}.1\n" for number in range(5)))
    assert protect("-q", "--policy", "level:1", "-k", "5", "--overwrite", "--ids", "drop").code == 0
    assert manifest()["records"] == {"in": 38, "released": 38, "suppressed": 0}
    assert (tmp_path / "release" / "data.csv").read_text().startswith('codes\n""\n""\n""\n""\n""\n')
    assert cloister("verify", "release", "--original", "diagnoses.csv").code == 0


def test_the_crosswalk_maps_records_to_patients(release, tmp_path):
    """Each number has the id of the patient whose record it is."""
    path = tmp_path / "map.csv"
    table = pl.read_csv(path, infer_schema=False)
    data = pl.read_csv(release / "data.csv", infer_schema=False)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert table.columns == ["released", "original"]
    assert table["released"].to_list() == data["id"].to_list()
    assert sorted(table["original"]) == IDS
    codes = dict(zip(IDS, RECORDS))
    for original, text in zip(table["original"], data["codes"]):
        assert {"V58.66", "E936.1", "001"} & {*codes[original]} == {"V58.66", "E936.1", "001"} & {*text.split()}


def test_internal_figures(protect, tmp_path):
    """Exact losses, errors of a workload and the names of suppressed codes go where the custodian says."""
    assert protect("-q", "--policy", "level:1", "--workload", "random:40", "--custodian-dir", "secret").code == 0
    found = json.loads((tmp_path / "secret" / "internal.json").read_text())

    assert found["suppressed"] == ["008.45", "042"]
    assert found["suppressed_occurrences"] == 3
    assert found["ilm"] == pytest.approx(2 / 8 / 4 * 32 / 33 + 3 / 33)
    assert found["accuracy"]["subsets"]["answered"] + found["accuracy"]["subsets"]["unanswerable"] == 40
    assert sum(found["statuses"].values()) > 0
    assert [each["name"] for each in found["outcomes"] if each["suppressed"]] == ["008", "042"]
    assert len(found["sha256"]) == 64


def test_of_frequent_sets_nothing_is_told(protect, manifest):
    """Which sets are frequent does not follow from the release: what became of them is the custodian's."""
    ran = protect("--policy", "sup:20")
    told = manifest()["utility"]

    assert [told[name] for name in ("constraints", "constraints_satisfied", "constraints_preserved")] == [None] * 3
    assert "sup:20: results for its sets are in --custodian-dir only" in " ".join(ran.out.split())


def test_what_is_said(protect):
    """The summary on the screen, and the notes beside it."""
    ran = protect("--policy", "gwas")

    assert ran.code == 0
    for words in ("33 of 33 released", "2 codes or fewer", "of them suppressed", "gwas: 2 of 2 sets", "Report: "):
        assert words in " ".join(ran.out.split())
    assert "Note: 6 codes are in no set of the utility policy." in ran.err
    assert protect("--json", out="again").json["method"] == "cba"


def test_a_term_of_nearly_everything_is_pointed_out(protect):
    """Where most codes share one term, a note says so and what helps."""
    assert "would be useless" in protect(method="apriori").err
    assert "the largest term contains 8 of 8 codes" in protect("--accept-empty", method="apriori").err
    assert "the largest term" not in protect("--policy", "level:1", out="again").err


BAD = {
    "k of 0": (WIDE, ("-k", "0"), "must be a whole number from"),
    "m of 0": (WIDE, ("-m", "0"), "m must be a whole number from 1, not 0"),
    "m beside privacy": (WIDE, ("-m", "2", "--privacy", "records"), "Give one of them"),
    "privacy": (WIDE, ("--privacy", "all:x"), "needs a whole number from 1 on after the colon"),
    "privacy file": (WIDE, ("--privacy", "nowhere.json"), "is not there"),
    "privacy folder": (WIDE, ("--privacy", "."), "is a folder"),
    "visits": (WIDE, ("--privacy", "visits:nowhere.csv"), "nowhere.csv"),
    "by records": (WIDE, ("--method", "apriori", "--privacy", "records"), "Give -m, or choose the method cba"),
    "uncovered": (WIDE, ("--uncovered", "keep"), "--uncovered must be generalize or suppress"),
    "loss": (WIDE, ("--loss", "arx"), "--loss must be ilm or ul"),
    "hierarchy": (WIDE, ("--code-hierarchy", "nowhere.csv"), "nowhere.csv"),
    "max_cluster_size": (WIDE, ("--max-cluster-size", "9"), "--max-cluster-size is for the method disassociation"),
    "refine": (WIDE, ("--refine", "tree"), "--refine is for the method disassociation, but --method cba was asked for"),
    "safe": (WIDE, ("--inference-check", "report"), "--inference-check is for"),
    "safe threshold": (WIDE, ("--inference-threshold", "1"), "--inference-threshold is for"),
    "sensitive": (WIDE, ("--sensitive", "042"), "--sensitive is for"),
    "diversity": (WIDE, ("--diversity", "2"), "--diversity is for"),
    "uncovered by levels": (
        WIDE,
        ("--method", "apriori", "--uncovered", "suppress"),
        "--uncovered is for the method cba, ugaclip or",
    ),
    "loss by levels": (WIDE, ("--method", "apriori", "--loss", "ul"), "--loss is for the method cba or ugaclip"),
    "privacy of parts": (WIDE, ("--method", "disassociation", "--privacy", "records"), "--privacy is for"),
    "policy": (WIDE, ("--policy", "level:9"), "level 1, 2 or 3"),
    "no disease": ("id,codes\n" + "1,V51\n2,V51\n3,V51\n", ("--policy", "gwas"), "18 diseases"),
    "rare sets": (WIDE, ("--policy", "sup:9"), "Ask for sup:12.1213 or more"),
    "brackets": (WIDE.replace("042", "(042)"), (), "1 of 8 distinct codes have a bracket or a comma"),
    "hmac": (WIDE, ("--ids", "hmac:key"), "--ids must be"),
    "workload": (WIDE, ("--workload", "all"), "A workload is"),
    "crosswalk inside": (WIDE, ("--crosswalk", "release/map.csv"), "must be outside"),
}


@pytest.mark.parametrize(("content", "words", "said"), BAD.values(), ids=BAD)
def test_bad_input(protect, diagnoses, refused, content, words, said):
    """One sentence that says what to do, exit code 2, and nothing written."""
    diagnoses.write_text(content)

    assert said in refused(protect(*words), new=frozenset({"diagnoses.csv"}))


@pytest.mark.parametrize("words", [("-k", "34"), ("-k", "33", "--policy", "level:1")])
def test_no_safe_release(protect, refused, words):
    """Fewer patients than k, or nothing left: exit code 1."""
    refused(protect(*words), code=1, new=frozenset({"diagnoses.csv"}))


def test_the_recipient_may_expect_m_of_a_policy_by_sets(protect, cloister):
    """The recipient's own m is checked besides what is promised, and does not take its place."""
    assert protect("-q", "--privacy", "records").code == 0
    unknown = cloister("verify", "release", "-m", "2")

    assert unknown.code == 1
    assert "Sets of up to 2 terms hold, but that is not what is promised." in unknown.err
    assert cloister("verify", "release", "-m", "2", "--original", "diagnoses.csv").code == 0
    assert cloister("verify", "release", "-m", "2", "-k", "30").code == 1


def test_a_policy_file_may_be_called_like_a_policy(protect, cloister, tmp_path):
    """A file whose name begins like a policy that can be made anew is not taken for it."""
    (tmp_path / "gwas_mine.json").write_text(json.dumps({"diabetes": ["250.00", "250.01"]}))
    assert protect("-q", "--policy", "gwas_mine.json").code == 0
    (tmp_path / "gwas_mine.json").write_text("nothing")

    assert cloister("verify", "release").code == 0


def test_files_too_large_to_be_read_are_refused(protect, refused, monkeypatch):
    """Terms are spelled out in each record, so that there is a largest size; the message says what to do."""
    monkeypatch.setattr("cloister.shapes.generalization.method.release.MOST_BYTES", 400)

    assert "Give a utility policy with smaller sets" in refused(protect(), new=frozenset({"diagnoses.csv"}))


def test_policies_do_not_fit_other_releases(release, cloister, protect):
    """What only generalized code sets have is refused elsewhere."""
    assert cloister("verify", "release", "--qi", "age").code == 2
    assert protect("-q", out="parts", method="disassociation").code == 0
    assert cloister("verify", "parts", "--privacy", "records").code == 2
    assert cloister("verify", "parts", "--original", "diagnoses.csv").code == 2


def test_another_original_is_refused(release, cloister, tmp_path):
    """An original that is not the one released does not pass, nor a crosswalk that does not fit."""
    (tmp_path / "other.csv").write_text(WIDE.replace("P000,250.00 401.9 V58.66", "P000,250.00 401.9 E936.1"))
    assert cloister("verify", "release", "--original", "other.csv").code == 1
    (tmp_path / "other.csv").write_text(WIDE.replace("E936.1", "E936.2"))
    assert cloister("verify", "release", "--original", "other.csv").code == 1
    table = (tmp_path / "map.csv").read_text()
    (tmp_path / "swapped.csv").write_text(table.replace("P000", "x").replace("P030", "P000").replace("x", "P030"))
    against = ("verify", "release", "--original", "diagnoses.csv", "--crosswalk")
    assert cloister(*against, "swapped.csv").code == 1
    (tmp_path / "short.csv").write_text("released,original\n1,P000\n")
    assert cloister(*against, "short.csv").code == 2
    (tmp_path / "strange.csv").write_text("original,cluster\nP000,0\n")
    assert cloister(*against, "strange.csv").code == 2


MANIFEST_CHANGES = {
    "privacy by records": lambda m: m["settings"].update(privacy="records", m=None),
    "no suppressed codes": lambda m: m["utility"].update(suppressed_codes=0, codes=6),
    "constraints": lambda m: m["utility"].update(constraints=99, constraints_satisfied=99),
    "a finer policy": lambda m: m["settings"].update(uncovered="suppress", policy=None),
}


@pytest.mark.parametrize("change", MANIFEST_CHANGES.values(), ids=MANIFEST_CHANGES)
def test_a_manifest_that_says_other_things_does_not_pass(release, cloister, change):
    """What the manifest says must be what the data file says, also where the report says the same."""
    restated(release, change)

    assert cloister("verify", "release").code == 1


def test_what_the_original_tells_is_compared(release, cloister):
    """How many codes are suppressed, and of how many sets, cannot be seen in the files; the original shows it."""
    against = ("verify", "release", "--original", "diagnoses.csv")
    restated(release, lambda m: m["utility"].update(constraints_preserved=4))
    assert cloister("verify", "release").code == 0
    assert cloister(*against).code == 1


def test_codebook(release):
    """One row for each term and one for the id."""
    rows = pl.read_csv(release / "codebook.csv", infer_schema=False)

    assert rows["column"].to_list() == ["id", *CODES_NAMES * 5]
    assert rows["label"].drop_nulls().to_list() == ["001", "(250.00,250.01)", "401.9", "E936.1", "V58.66"]
    assert rows["meaning"][2] == "one or more of these 2 codes"


def test_a_hierarchy_file(protect, cloister, tmp_path, manifest):
    """How close codes are may come from a file; AA then generalizes along it."""
    codes = sorted({code for record in RECORDS for code in record})
    groups = {code: "common" if code[0] == "2" else "other" for code in codes}
    (tmp_path / "closeness.csv").write_text("".join(f"{code};{groups[code]};*\n" for code in codes))
    for method in METHODS:
        words = ("--code-hierarchy", "closeness.csv", "--overwrite")
        assert protect("-q", *words, method=method).code == 0
        assert manifest()["settings"]["code_hierarchy"] == "closeness.csv"
        assert cloister("verify", "release", "--original", "diagnoses.csv").code == 0


def test_weights_of_codes(protect, cloister, tmp_path, manifest):
    """Codes of one category weigh what was stated, in the loss and in the manifest; another loss is refused."""
    assert protect("-q", "--policy", "level:1", "--code-weights", "0.5,0.5,0.8,1").code == 0
    told = manifest()
    held = sum("250.00" in codes or "250.01" in codes for codes in RECORDS)
    assert told["settings"]["code_weights"] == [0.5, 0.5, 0.8, 1.0]
    assert told["utility"]["largest_term"] == 2
    assert told["utility"]["ilm_terms"] == pytest.approx(2 / told["utility"]["codes"] * 0.5 * held / len(RECORDS))
    assert cloister("verify", "release", "--original", "diagnoses.csv").code == 0

    restated(tmp_path / "release", lambda it: it["settings"].update(code_weights=[0.4, 0.5, 0.8, 1.0]))
    assert cloister("verify", "release").code == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--code-weights", "0.5,0.2,0.8,1"), "each no less than the one before"),
        (("--code-weights", "0.1,0.2,0.3,0.4"), "the last 1"),
        (("--code-weights", "0.123,0.2,0.3,1"), "at most two decimals"),
        (("--code-weights", "0,x,0.3,1"), "at most two decimals"),
        (("--code-weights", "0.5,1"), "2 weights of codes were given, but the hierarchy icd9 has 4 levels"),
    ],
)
def test_weights_that_are_none(protect, words, problem):
    """Weights rise to 1, one for each level of the hierarchy."""
    ran = protect("-q", "--policy", "level:1", *words)

    assert ran.code == 2
    assert problem in " ".join(ran.err.split())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("words", [("--policy", "level:1"), ("-m", "1")], ids=" ".join)
def test_repeated_codes(protect, cloister, diagnoses, method, words, tmp_path):
    """Occurrences of a code are counted; the release holds alone and against the original, and says what is known."""
    twice = WIDE.replace("250.01 401.9", "250.01 401.9 401.9").replace("001 250.01", "001 250.01 001")
    diagnoses.write_text(twice)
    ran = protect("-q", "--repeats", *words, "--crosswalk", "map.csv", "--accept-empty", method=method)
    assert ran.code == 0, ran.err

    assert "401.9#2" in (tmp_path / "release" / "data.csv").read_text()
    for more in ((), ("--original", "diagnoses.csv"), ("--original", "diagnoses.csv", "--crosswalk", "map.csv")):
        checked = cloister("verify", "release", "-v", *more)
        assert checked.code == 0, checked.err
        assert "has those of all earlier ones" in checked.out


def test_attributes_beside_the_codes(protect, cloister, diagnoses, tmp_path, manifest):
    """They are released as they are, said to be, compared with the original, and not taken for terms."""
    samples, others, secret = (tmp_path / name for name in ("samples.csv", "others.csv", "map.csv"))
    samples.write_text("id,sample\n" + "".join(f"{name},S{number}\n" for number, name in enumerate(IDS)))
    assert protect("--attributes", samples, "--crosswalk", secret).code == 0
    out, original = tmp_path / "release", ("--original", diagnoses, "--crosswalk", secret)
    rows = pl.read_csv(out / "data.csv")
    one, two = rows["sample"][0], rows["sample"][-1]  # of patients with other terms
    swapped = {f",{one}\n": f",{two}\n", f",{two}\n": f",{one}\n"}
    others.write_text(re.sub(f",({one}|{two})\n", lambda found: swapped[found[0]], samples.read_text()))

    assert rows.columns == ["id", "codes", "sample"]
    assert rows["codes"][0] != rows["codes"][-1]
    assert manifest()["attributes"] == {"columns": {"sample": {"role": "auxiliary"}}}
    assert "Released as recorded, in addition to codes: sample." in (out / "report.html").read_text()
    assert cloister("verify", out).code == 0
    assert cloister("verify", out, *original, "--attributes", samples).code == 0
    assert "auxiliary attributes are not those" in cloister("verify", out, *original, "--attributes", others).err
    assert "of the patients with these terms" in cloister("verify", out, *original[:2], "--attributes", others).err
    assert cloister("verify", out, *original[:2], "--attributes", samples).code == 0
    assert "Give --attributes" in cloister("verify", out, *original).err
    samples.write_text(samples.read_text().replace("id,sample", "id,codes"))
    assert "Rename it" in protect("--attributes", samples, out="again").err
