"""Policies of ``protect codes`` by generalization, as they are given, told and checked again."""

import json

import pytest
from tests.made.tampering import restated

HEADER = "id,codes\n"
RARE = ["A00.0", "B01.1", "C02.2", "E10.9", "I10.0", "J45.0", "K50.0"]
COMMON = ["250.00 401.9", "250.01 401.9", "250.00 401.1", "250.02 401.9"]
MIXED = (
    HEADER + "".join(f"P{n},{COMMON[n % 4]}\n" for n in range(20)) + "".join(f"R{n},{c}\n" for n, c in enumerate(RARE))
)


@pytest.fixture
def data(tmp_path):
    """Write a file of patients."""

    def write(text):
        (tmp_path / "data.csv").write_text(text)

    write(MIXED)
    return write


@pytest.fixture
def protect(cloister, data, tmp_path):
    """Generalize the patients' codes; more words come after."""

    def command(*words, k=3, out="release", method="cba"):
        return cloister("protect", "codes", "data.csv", "--method", method, "-k", k, *words, "--out", tmp_path / out)

    return command


@pytest.mark.parametrize("method", ["cba", "ugaclip", "apriori"])
def test_classifications_by_their_words(protect, cloister, manifest, method):
    """``--code-hierarchy icd9`` is the tree that weights are taken from without it; the release holds."""
    words = ("--code-hierarchy", "icd9", "--policy", "level:1/icd9", "--accept-empty")
    assert protect("-q", *words, method=method).code == 0
    assert manifest()["settings"]["code_hierarchy"] == "icd9"

    assert cloister("verify", "release").code == 0
    assert cloister("verify", "release", "--original", "data.csv").code == 0


def test_a_hierarchy_file_called_like_a_classification(protect, cloister, data, tmp_path):
    """From Python a file may be called icd9; it is not taken for the classification."""
    import cloister as cl

    data(HEADER + "".join(f"P{n},{COMMON[n % 4]}\n" for n in range(20)))
    codes = ["250.00", "250.01", "250.02", "401.1", "401.9"]
    (tmp_path / "icd9").write_text("".join(f"{code};one;*\n" for code in codes))
    given = cl.CodeSets.read(tmp_path / "data.csv")
    release = cl.protect_codes(given, k=7, code_hierarchy=cl.hierarchy_file(tmp_path / "icd9"), method="cba")
    release.write(tmp_path / "release")

    assert release.summary()["settings"]["code_hierarchy"] == "given"
    assert cl.verify_folder(tmp_path / "release").holds


def test_levels_of_codes_that_are_suppressed(protect, cloister, tmp_path, manifest):
    """Most codes are of ICD-10-CM and suppressed; the policy is checked by that all the same, also with a hierarchy."""
    codes = sorted({code for line in MIXED.splitlines()[1:] for code in line.partition(",")[2].split(" ")})
    (tmp_path / "closeness.csv").write_text("".join(f"{code};one;*\n" for code in codes))
    words = ("--policy", "level:1", "--code-hierarchy", "closeness.csv")
    assert protect("-q", *words, k=7).code == 0
    assert manifest()["settings"]["policy"] == "level:1/icd10"

    for more in ((), ("--policy", "level:1"), ("--original", "data.csv")):
        checked = cloister("verify", "release", *more)
        assert checked.code == 0, checked.err


def test_a_privacy_policy_that_hardly_fits_is_pointed_out(protect, cloister, tmp_path):
    """Sets whose codes the data write otherwise protect nothing: a note says how many, and a check of none is none."""
    (tmp_path / "sets.json").write_text(json.dumps([["250.00", "401.9"], ["25000"], ["4019"]]))
    (tmp_path / "other.json").write_text(json.dumps([["25000", "4019"]]))
    told = "1 of 3 sets of the privacy policy have codes that occur; the others protect nothing"
    assert told in protect("--privacy", "sets.json").err
    assert told in protect("--privacy", "sets.json", "--json", "--overwrite").json["notes"]
    (tmp_path / "one.json").write_text(json.dumps([["250.00"]]))
    assert "protect nothing" not in protect("--privacy", "one.json", out="again").err

    checked = cloister("verify", "release", "-v", "--privacy", "sets.json")
    assert "of the privacy policy 1 of 3 sets have codes of the release" in checked.out
    refused = cloister("verify", "release", "--privacy", "other.json")
    assert refused.code == 2
    assert "None of the 1 sets" in refused.err
    assert "holds" not in refused.out


def test_a_policy_of_suppressed_codes_is_checked_with_the_original(protect, cloister, tmp_path):
    """Where all codes of a policy are suppressed, the original shows that they were codes of the data."""
    (tmp_path / "rare.json").write_text(json.dumps([["A00.0"], ["B01.1"]]))
    assert protect("-q", "--privacy", "rare.json", "--uncovered", "suppress", k=3).code == 0

    assert cloister("verify", "release", "--privacy", "rare.json").code == 2
    assert cloister("verify", "release", "--privacy", "rare.json", "--original", "data.csv").code == 0


def cloister_folder(protect):
    """The folder that was written."""
    from pathlib import Path

    return Path("release")


def lines(few, empty):
    """Twenty patients, and some with rare codes only or with none."""
    kept = [f"P{n},250.00 401.9\n" for n in range(20)]
    rare = [f"R{n},E{n}0.1\n" for n in range(few)]
    return HEADER + "".join([*kept, *rare, *(f"N{n},\n" for n in range(empty))])


LEFT_OUT = {
    "nobody": (0, 0, {"in": 20, "released": 20, "suppressed": 0}),
    "few without codes": (0, 2, {"in": "<25", "released": 20, "suppressed": "<5"}),
    "many without codes": (0, 7, {"in": 27, "released": 20, "suppressed": 7}),
    "few with rare codes": (3, 0, {"in": "<25", "released": 20, "suppressed": "<5"}),
    "few of both": (3, 4, {"in": "<29", "released": 20, "suppressed": "<9"}),
    "many and few": (3, 7, {"in": "<32", "released": 20, "suppressed": "<12"}),
    "many and fewer": (1, 7, {"in": "<32", "released": 20, "suppressed": "<12"}),
}


@pytest.mark.parametrize(("few", "empty", "told"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_how_many_are_left_out(protect, cloister, data, manifest, few, empty, told):
    """No number tells of fewer than k patients with rare codes, also where those without codes are known."""
    data(lines(few, empty))
    words = ("--drop-empty", "--policy", "level:1", "--uncovered", "suppress")
    assert protect("-q", *words, k=5).code == 0

    assert manifest()["records"] == told
    assert cloister("verify", "release").code == 0
    assert cloister("verify", "release", "--original", "data.csv").code == 0


@pytest.mark.parametrize("stated", ["<6", "<8", "<0", "8", 3, {"in": 23, "suppressed": 3}])
def test_other_numbers_left_out_do_not_pass(protect, cloister, data, stated):
    """A bound that tells of few, or a number of its own, is refused; another possible one by the original."""
    data(lines(3, 4))
    assert protect("-q", "--drop-empty", "--policy", "level:1", "--uncovered", "suppress", k=5).code == 0
    parts = stated if isinstance(stated, dict) else {"suppressed": stated}
    if isinstance(stated, str) and stated[0] == "<":
        parts["in"] = f"<{20 + int(stated[1:])}"
    restated(cloister_folder(protect), lambda m: m["records"].update(parts))
    assert cloister("verify", "release").code == 1


def test_the_original_shows_how_many_were_left_out(protect, cloister, data):
    """A bound that could be, but is not that of the original, passes without it only."""
    data(lines(3, 4))
    assert protect("-q", "--drop-empty", "--policy", "level:1", "--uncovered", "suppress", k=5).code == 0
    restated(cloister_folder(protect), lambda m: m["records"].update({"in": "<32", "suppressed": "<12"}))

    assert cloister("verify", "release").code == 0
    assert "records are not those of the original" in cloister("verify", "release", "--original", "data.csv").err


DISEASES = HEADER + "".join(f"P{n},493.00 401.9\n" for n in range(20)) + "Q0,296.00 401.9\n"


def test_diseases_of_few_are_not_counted(protect, cloister, data, manifest):
    """Everybody knows the 18 diseases, so that one that is suppressed is not among those that are counted."""
    data(DISEASES)
    assert protect("-q", "--policy", "gwas", "--uncovered", "suppress").code == 0
    told = manifest()["utility"]
    assert (told["suppressed_codes"], told["constraints"], told["constraints_preserved"]) == (1, 1, 1)
    assert cloister("verify", "release").code == 0
    assert cloister("verify", "release", "--original", "data.csv").code == 0

    restated(cloister_folder(protect), lambda m: m["utility"].update(constraints=2, constraints_satisfied=2))
    assert cloister("verify", "release").code == 1
    assert cloister("verify", "release", "--original", "data.csv").code == 1


VISITS = [("V1", "250.00"), ("V1", "401.9"), ("V2", "250.01"), ("V2", "401.9"), ("V3", "A00.0")]


@pytest.mark.parametrize(
    ("name", "header", "between", "words"),
    [
        ("latin", "visit,code", ",", ("--encoding", "latin-1")),
        ("semicolon", "encounter;dx", ";", ("--visit", "encounter", "--code", "dx")),
        ("bar", "visit_id|code", "|", ("--delimiter", "|")),
        ("usual", "visit_id,code", ",", ()),
        ("missing", "stay,code", ",", ("--visit", "stay", "--missing", "NA")),
    ],
)
def test_files_of_visits(protect, cloister, data, tmp_path, name, header, between, words):
    """A file of visits is read as the options say, by ``protect`` and again by ``verify``."""
    rows = [*VISITS, *([("V9", "NA")] if name == "missing" else [])]
    text = header + "\n" + "".join(f"{visit}{between}{code}\n" for visit, code in rows)
    (tmp_path / "visits.csv").write_bytes(text.encode("latin-1"))
    column = "dx" if "--code" in words else "code"
    pairs = [(f"P{n}", code) for n in range(20) for code in COMMON[n % 4].split(" ")]
    sep = "|" if "--delimiter" in words else ","
    data(f"id{sep}{column}\n" + "".join(f"{patient}{sep}{code}\n" for patient, code in pairs))
    assert protect("-q", "--privacy", "visits:visits.csv", *words).code == 0

    again = [word for word in words if word not in ("--code", "dx")]
    checked = cloister("verify", "release", "-v", "--privacy", "visits:visits.csv", *again)
    assert checked.code == 0, checked.err
    assert "of the privacy policy 2 of 3 sets have codes of the release" in checked.out


@pytest.mark.parametrize(("words", "sets"), [((), "2 of 2 sets have"), (("--visit", "visit_id"), "1 of 1 set has")])
def test_lines_of_one_visit_are_joined(protect, cloister, data, tmp_path, words, sets):
    """With ``--visit`` a visit may have several lines of codes; the codes of all were recorded together."""
    data(HEADER + "1,a b c\n2,a b\n3,b c\n4,a c\n5,a b\n6,b c\n7,a c\n")
    (tmp_path / "visits.csv").write_text("visit_id,codes\nV1,a b\nV1,\nV1,c\n" if words else "codes\na b\nc\n")
    assert protect("-q", "--privacy", "visits:visits.csv", *words, k=2).code == 0
    checked = cloister("verify", "release", "-v", "--privacy", "visits:visits.csv", *words)

    assert checked.code == 0
    assert f"of the privacy policy {sets} codes of the release" in checked.out
    assert ("a b c" in (tmp_path / "release" / "data.csv").read_text()) == (not words)


def test_visits_are_read_by_the_column_of_the_data(protect, cloister, data, tmp_path):
    """Two columns of codes: that which the data have is taken, by ``protect`` as by ``verify``."""
    data("id,icd9\n1,401.9\n1,250.00\n2,401.9\n3,401.9\n4,250.00\n5,250.00\n6,401.9\n6,250.00\n")
    (tmp_path / "visits.csv").write_text("visit_id,code,icd9\nv1,local1,401.9\nv1,local2,250.00\nv2,local1,401.9\n")
    assert protect("-q", "--privacy", "visits:visits.csv", "--accept-empty").code == 0
    checked = cloister("verify", "release", "-v", "--privacy", "visits:visits.csv")

    assert checked.code == 0, checked.err
    assert "2 of 2 sets have codes of the release" in checked.out


BAD_VISITS = {
    "lines of no visit": (
        ("--privacy", "visits:visits.csv", "--visit", "stay"),
        "stay,codes\n1,401.9\n,401.9\n",
        "1 line has no 'stay' in visits.csv",
    ),
    "no name": (("--privacy", "visits:"), "", "names no file, as in visits:visits.csv"),
    "no such column": (("--privacy", "visits:visits.csv", "--visit", "stay"), "visit_id,code\n1,401.9\n", "--visit"),
    "no visits": (("--privacy", "visits:visits.csv"), "stay,code\n1,401.9\n", "Name it with --visit"),
    "no codes": (("--privacy", "visits:visits.csv"), "visit_id,dx\n1,401.9\n", "has no column of codes"),
    "no file of visits": (("--privacy", "records", "--visit", "stay"), "", "Give --privacy visits:FILE"),
    "another method": (("--method", "apriori", "--visit", "stay"), "", "--visit is for the method cba, ugaclip or"),
    "a hierarchy that lacks codes": (("--code-hierarchy", "few.csv"), "", "that --code-hierarchy names"),
}


@pytest.mark.parametrize(("words", "text", "said"), BAD_VISITS.values(), ids=BAD_VISITS)
def test_what_is_wrong_is_said_in_words_of_the_command(protect, tmp_path, words, text, said):
    """One sentence that names options that ``protect codes`` has."""
    (tmp_path / "visits.csv").write_text(text)
    (tmp_path / "few.csv").write_text("250.00;*\n")
    refused = protect(*words)

    assert refused.code == 2
    assert said in refused.err
    assert "--unmatched-values" not in refused.err


LETTERS = HEADER + "".join(
    f"{n},{codes}\n" for n, codes in enumerate(["a b c", "a b", "a c", "b c", "a b d", "a c d", "b c"], 1)
)


@pytest.fixture
def as_records(protect, data, tmp_path):
    """A release of all pairs whose manifest promises the sets of all codes of each patient."""
    data(LETTERS)
    assert protect("-q", "-m", "2", k=2).code == 0
    assert protect("-q", "--privacy", "records", k=2, out="records").code == 0
    promised = json.loads((tmp_path / "records" / "release.json").read_text())["guarantee"]

    def change(manifest):
        manifest["settings"].update(m=None, privacy="records")
        manifest["guarantee"] = promised

    restated(tmp_path / "release", change)
    (tmp_path / "one.json").write_text(json.dumps([["a"]]))


@pytest.mark.parametrize("words", [(), ("-m", "1")], ids=" ".join)
def test_records_are_checked_with_the_original(protect, cloister, data, words):
    """``--privacy records`` without the records is refused, not passed over."""
    data(LETTERS)
    assert protect("-q", "-m", "2", k=2).code == 0
    refused = cloister("verify", "release", "--privacy", "records", *words)

    assert refused.code == 2
    assert "Give it with --original" in refused.err
    violated = cloister("verify", "release", "--privacy", "records", "--original", "data.csv", *words)
    assert violated.code == 1
    assert "by the privacy policy records: not so: every set of the privacy policy" in violated.err


@pytest.mark.parametrize("words", [(), ("--privacy", "one.json"), ("-m", "1"), ("--privacy", "all:1")], ids=" ".join)
def test_another_policy_is_not_the_promised_one(as_records, cloister, words):
    """What else is given is checked besides; the records are checked where the original is, else nothing holds."""
    unknown = cloister("verify", "release", *words)
    assert unknown.code == 1
    assert "was not checked in full" in unknown.out
    assert "records, is not part of it" in unknown.err
    assert "whoever has the original can check it" in unknown.err

    violated = cloister("verify", "release", *words, "--original", "data.csv")
    assert violated.code == 1
    assert "not so: every set of the privacy policy" in violated.err

    held = cloister("verify", "records", "-v", *words, "--original", "data.csv")
    assert held.code == 0, held.err
    besides = "of the privacy policy one.json, which is checked in addition to the promised one, 1 of 1 set has codes"
    assert (besides in held.out) == ("one.json" in words)


def test_a_policy_by_another_name(protect, cloister, data, tmp_path):
    """The name that the release says is that of its policy; another file is checked, and is not it."""
    data(LETTERS)
    (tmp_path / "pairs.json").write_text(json.dumps([["a", "b"]]))
    (tmp_path / "one.json").write_text(json.dumps([["a"]]))
    assert protect("-q", "--privacy", "pairs.json", k=2).code == 0
    refused = cloister("verify", "release", "--privacy", "one.json")

    assert cloister("verify", "release", "--privacy", "pairs.json").code == 0
    assert refused.code == 1
    assert "pairs.json, is not part of it" in refused.err
    assert "one.json, is another" in refused.err
    assert "terms hold, but" in cloister("verify", "release", "-m", "1").err
    assert cloister("verify", "release", "--accept-unchecked", "privacy").code == 0
    assert cloister("verify", "release", "-m", "3").code == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("all:2",), 0, ""),
        (("all:3",), 1, "as asked, with k = 2 and m = 3"),
        (("all:x",), 2, "whole number"),
        (("all:0",), 2, "whole number"),
        (("all:2", "-m", "2"), 2, "Give one of them"),
    ],
)
def test_all_sets_by_their_words(protect, cloister, data, words, code, said):
    """``--privacy all:2`` is ``-m 2``, as it is for ``protect``."""
    data(LETTERS)
    assert protect("-q", "-m", "2", "--uncovered", "suppress", k=2).code == 0
    checked = cloister("verify", "release", "--privacy", *words)

    assert checked.code == code, checked.err
    assert said in checked.err


def test_all_sets_as_an_object(protect, data, tmp_path):
    """From Python, a policy of all sets of m codes is counted in the release, whatever data it was made of."""
    import cloister as cl

    data(LETTERS)
    assert protect("-q", "-m", "2", "--uncovered", "suppress", k=2).code == 0
    others = cl.CodeSets.from_records([["x", "y", "z"]])

    assert cl.verify_folder(tmp_path / "release", privacy=cl.PrivacyPolicy.all_combinations(others, 2)).holds
    with pytest.raises(cl.GuaranteeViolation, match="as asked, with k = 2 and m = 3"):
        cl.verify_folder(tmp_path / "release", privacy=cl.PrivacyPolicy.all_combinations(others, 3))


@pytest.mark.parametrize("given", [123, [["a"]], {"privacy": "records"}])
def test_what_is_no_policy_is_refused(protect, data, tmp_path, given):
    """From Python, a policy is an object or words."""
    import cloister as cl

    data(LETTERS)
    assert protect("-q", "-m", "2", k=2).code == 0
    with pytest.raises(cl.InputError, match="A privacy policy is"):
        cl.verify_folder(tmp_path / "release", privacy=given)


@pytest.mark.parametrize(
    ("promised", "given"),
    [
        ("level:1", "level:1/icd10"),
        ("level:1/icd10", "level:1.0"),
        ("gwas", "gwas"),
        ("sim:2", "sim:2.0"),
        ("sup:30", "sup:30.0"),
        ("sup:30.0", "sup:30.0"),
    ],
)
def test_a_utility_policy_by_the_words_of_protect(protect, cloister, monkeypatch, promised, given):
    """The words that were used, or others that mean the same, are taken for the policy that the release names."""
    assert protect("-q", "--policy", promised).code == 0
    monkeypatch.setattr("cloister.shapes.codes.policy.frequent_itemsets", None)

    checked = cloister("verify", "release", "--policy", given)
    assert checked.code == 0, checked.err


@pytest.mark.parametrize("words", ["sup:5", "sim:3"])
def test_other_sets_of_all_patients_need_the_original(protect, cloister, words):
    """Frequent sets are not counted in a record that stands for all codes of a release, which never ended."""
    assert protect("-q", "--policy", "level:1").code == 0
    refused = cloister("verify", "release", "--policy", words)

    assert refused.code == 2
    assert "Give the original with --original" in refused.err


def renamed_policy(words):
    """A manifest that names another policy, of which nothing is counted."""

    def change(manifest):
        manifest["settings"]["policy"] = words
        none = None if words.startswith("sup:") else 0
        manifest["utility"].update(constraints=none, constraints_satisfied=none, constraints_preserved=none)

    return change


@pytest.mark.parametrize(
    "words",
    ["level:9", "level:x", "level:1/nonsense", "level:1/", "sim:0", "sim:1.5", "sup:0", "sup:5/icd9", "sim:nan"],
)
def test_words_that_make_no_policy_do_not_pass(protect, cloister, words):
    """A manifest cannot name a policy that there is not, with the original or without."""
    assert protect("-q", "--policy", "level:1").code == 0
    restated(cloister_folder(protect), renamed_policy(words))

    for more in ((), ("--original", "data.csv")):
        refused = cloister("verify", "release", *more)
        assert refused.code == 1
        assert "settings.policy" in refused.err


def test_words_that_make_nothing_of_these_codes_do_not_pass(protect, cloister, data):
    """Where no code is suppressed, or the original is there, a policy without sets cannot have been."""
    data(HEADER + "".join(f"P{n},250.00 401.9\n" for n in range(20)))
    assert protect("-q", "--policy", "level:1").code == 0
    restated(cloister_folder(protect), renamed_policy("level:1/icd10"))

    for more in ((), ("--original", "data.csv")):
        assert cloister("verify", "release", *more).code == 2


@pytest.mark.parametrize("policy", [(), ("--policy", "level:1")], ids=["", "level"])
@pytest.mark.parametrize("more", ["250.00 250.00 250.00", "250.00 250.00 250.00 250.00 250.00 401.9"])
def test_numbers_of_codes_do_not_tell_how_often_one_occurs(protect, cloister, data, tmp_path, manifest, more, policy):
    """One patient has a code three or five times, which is suppressed: what is told is that of a code something is."""
    data(HEADER + "".join(f"P{n},250.00 401.9\n" for n in range(4)) + f"Q,{more}\n")
    assert protect("-q", "--repeats", "--uncovered", "suppress", *policy, "-m", "1", k=2).code == 0
    told = manifest()["utility"]

    assert told["codes"] == 2
    assert told["suppressed_codes"] == (0 if policy else 1)
    assert told["largest_term"] == 1
    assert cloister("verify", "release").code == 0
    assert cloister("verify", "release", "--original", "data.csv").code == 0
    for changed in ({"codes": 3}, {"suppressed_codes": 2}, {"codes": 1}):
        restated(cloister_folder(protect), lambda m, new=changed: m["utility"].update(new))
        assert cloister("verify", "release", "--original", "data.csv").code == 1
        restated(cloister_folder(protect), lambda m: m["utility"].update(told))


def test_codes_of_a_privacy_policy_that_do_not_occur_are_counted(protect, tmp_path):
    """A set may have one code that the data write otherwise, so that less of it is protected: a note says so."""
    (tmp_path / "sets.json").write_text(json.dumps([["250.00", "4019"], ["401.1"]]))

    assert "1 of 3 codes of the privacy policy do not occur in the data" in protect("--privacy", "sets.json").err
    assert "do not occur" not in protect("-m", "1", out="again").err


def test_too_many_choices_along_the_hierarchy_are_refused(protect, data, monkeypatch):
    """AA tries all choices of nodes above a set: it stops with a message before that takes hours."""
    names = [f"c{number}" for number in range(7)]
    lines = [f"{n}," + " ".join(name for name in names if name != left) + "\n" for n, left in enumerate(names)]
    data(HEADER + "".join(lines))
    assert protect("-q", "-m", "5", k=2, method="apriori").code == 0
    monkeypatch.setattr("cloister.shapes.generalization.method.terms.MOST_CHOICES", 100)
    refused = protect("-q", "-m", "6", k=2, method="apriori", out="again")

    assert refused.code == 2
    assert "Ask for a smaller m" in refused.err


NOT_NUMBERED = {
    "a gap": (("a#1", "a#3"), [[0, 1], [0, 1]]),
    "not from 1": (("a#2",), [[0], [0]]),
    "not numbered": (("a", "a#2"), [[0], [0, 1]]),
    "zeros": (("a#01", "a#1"), [[0], [0, 1]]),
    "apart": (("a#1", "a#2"), [[0], [1], [0], [1]]),
}


@pytest.mark.parametrize(("vocabulary", "records"), NOT_NUMBERED.values(), ids=NOT_NUMBERED)
def test_occurrences_that_are_not_numbered_are_refused(vocabulary, records):
    """Code sets made by hand must be numbered as those that are read."""
    import numpy as np

    import cloister as cl

    offsets = np.cumsum([0, *map(len, records)])
    items = np.array([item for record in records for item in record], dtype=np.int32)
    with pytest.raises(cl.InputError, match="not numbered from 1 without gaps"):
        cl.protect_codes(cl.CodeSets(vocabulary, offsets, items, None, True), k=2, method="cba")


def test_a_failure_is_said_once(protect, cloister, tmp_path):
    """A privacy policy by sets that names one code may leave others to one record: ``-m 1`` says so, once."""
    (tmp_path / "one.json").write_text(json.dumps([["250.00"]]))
    assert protect("-q", "--privacy", "one.json").code == 0
    violated = cloister("verify", "release", "-m", "1")

    assert violated.code == 1
    assert violated.err.count("not so: every set of up to 1 terms") == 1


def test_a_job_with_a_policy_from_a_file_is_released(cloister, data, tmp_path):
    """The policy is not in the release; the parts were checked with it, and a recipient is asked for it."""
    data(LETTERS)
    (tmp_path / "pairs.json").write_text(json.dumps([["a", "b"]]))
    (tmp_path / "job.toml").write_text(
        'name = "letters"\noutput = "out"\nk = 2\n[sources.letters]\nfile = "data.csv"\nid = "id"\n'
        '[[protect]]\nshape = "codes"\nsource = "letters"\nmethod = "cba"\nprivacy = "pairs.json"\n'
    )
    ran = cloister("run", "job.toml", "-q")

    assert ran.code == 0, ran.err
    assert cloister("verify", "out").code == 1
    assert cloister("verify", "out", "--privacy", "pairs.json").code == 0
