"""``explore``: a grid of settings, resumable, with what each risks and loses; errors; nothing of a patient."""

import json
import shlex
import stat

import pytest
from tests.made.claims_files import write_files
from tests.made.jobs_files import write_hospital

from cloister.exploration import running as exploring

TABLE = (
    *(
        *("explore", "table", "patients.csv", "--purpose", "one-coding", "--id", "mrn", "--drop", "name"),
        *("--drop", "ward", "--sensitive"),
    ),
    *("diagnosis", "--qi", "age=interval:1,5,10,20/top=90/bottom=0", "--qi", "sex=suppress"),
)
GRID = ("--grid", "k=2,9,20", "--grid", "suppression=0,0.1")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the files of a hospital."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return write_hospital(tmp_path)


def found_in(folder):
    """What an exploration found, without the time it took."""
    told = json.loads((folder / "exploration.json").read_text())
    for one in told["settings"]:
        del one["seconds"]
    return told


@pytest.mark.parametrize("words", [("-k", "3,5,11"), ("-k=3,5,11",)])
def test_several_values_of_an_option_suggest_a_grid(cloister, place, words):
    """Whoever types a list where one number is taken is given the option that takes lists, in one sentence."""
    ran = cloister(*TABLE, *words, "--out", "all")

    assert ran.code == 2
    assert ran.err == "cloister: -k takes one value: to try several, give --grid k=3,5,11.\n"
    assert "grid" not in cloister(*TABLE, "-k", "three", "--out", "all").err
    assert "grid" not in cloister("protect", *TABLE[1:], "-k", "3,5", "--out", "all").err


def test_every_setting_is_protected_as_protect_does(cloister, place):
    """Figures are those of the release that the same options give, in the order of the grid; a rule takes one."""
    ran = cloister(*TABLE, *GRID, "--out", "all", "--keep-releases")
    told = found_in(place / "all")
    own = [word.replace("explore", "protect") for word in TABLE]
    assert cloister(*own, "-k", "9", "--suppression", "0.1", "--out", "alone", "-q").code == 0
    manifest = json.loads((place / "alone" / "release.json").read_text())
    fourth = told["settings"][3]

    assert (ran.code, ran.err) == (0, "")
    assert [{"k": k, "suppression": share} for k in (2, 9, 20) for share in (0, 0.1)] == [
        one["setting"] for one in told["settings"]
    ]
    assert (fourth["figures"]["risk"], fourth["figures"]["verified"]) == (manifest["risk"]["highest"], True)
    bytes_of = [(place / name / "data.csv").read_bytes() for name in ("alone", "all/releases/004")]
    assert bytes_of[0] == bytes_of[1]
    assert manifest["records"]["suppressed"] == "<9"
    assert isinstance(fourth["figures"]["suppressed"], int)
    number = told["recommendation"]["number"]
    assert told["settings"][number - 1]["on_frontier"]
    assert f"Recommended: {number} (" in ran.out
    page = (place / "all" / "exploration.html").read_text()
    every, kept = page.split("Records kept", 1)
    assert every.count("<circle") == len(told["settings"]) + 1  # with the ring of the recommended one
    assert 2 <= kept.count("<circle") <= len(told["settings"]) + 1  # one in each place
    assert "highest risk 0." in page
    assert "<script" not in page
    assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in (place / "all").iterdir() if path.is_file()}
    assert stat.S_IMODE((place / "all").stat().st_mode) == 0o700
    assert cloister("verify", "all/releases/004", "-q").code == 0


def command_in(ran):
    """The command that releases what was recommended, as words."""
    line = next(line for line in ran.out.splitlines() if line.startswith("To release it: "))
    return shlex.split(line.removeprefix("To release it: cloister "))


def test_the_command_releases_what_was_recommended(cloister, place):
    """What is printed can be typed, and makes the release that was measured; values of columns stand in place."""
    grid = ("--grid", "k=2,9", "--grid", "qi.age=interval:10;interval:20")
    ran = cloister(*TABLE, *grid, "--out", "all", "--keep-releases")
    number = json.loads((place / "all" / "exploration.json").read_text())["recommendation"]["number"]

    assert cloister(*command_in(ran), "-q").code == 0
    same = [(place / name / "data.csv").read_bytes() for name in ("release", f"all/releases/{number:03d}")]
    assert same[0] == same[1]
    words = command_in(cloister(*TABLE, "-k", "5", "--grid", "suppression=0", "--out", "none"))
    assert words[words.index("--suppression") + 1] == "0"


def test_purposes_are_compared_by_what_analysts_can_do(cloister, place):
    """Without a grid all purposes of a table are tried; rates by age and sex and the target are beside the loss."""
    words = [word for word in TABLE if word not in ("--purpose", "one-coding")]
    ran = cloister(*words, "-k", "5", "--target", "diagnosis", "--out", "methods")
    found = json.loads((place / "methods" / "exploration.json").read_text())["settings"]

    assert [one["setting"]["purpose"] for one in found] == ["analysis", "counts", "one-coding"]
    assert all(0 <= one["figures"]["more"]["by_age_and_sex"] <= 1 for one in found)
    assert len({one["figures"]["more"]["auc_as_recorded"] for one in found}) == 1
    assert {"age x sex", "AUC"} <= {head.strip() for head in ran.out.splitlines()[2].split("   ")}


def test_an_exploration_goes_on_where_it_was_stopped(cloister, place, monkeypatch):
    """Stopped after two settings, with a line cut short, it finds the same as in one go, and tries nothing twice."""
    assert cloister(*TABLE, *GRID, "--out", "whole", "-q").code == 0
    tried, real = [], exploring._try_setting

    def stopping(ground, setting, asked, number):
        tried.append(number)
        if len(tried) == 3:
            raise KeyboardInterrupt
        return real(ground, setting, asked, number)

    monkeypatch.setattr(exploring, "_try_setting", stopping)
    stopped = cloister(*TABLE, *GRID, "--out", "parts")
    record = place / "parts" / "settings.jsonl"
    lines = record.read_text().splitlines()
    record.write_text("\n".join(lines) + "\n" + lines[1][:40])
    went_on = cloister(*TABLE, *GRID, "--out", "parts")
    again = cloister(*TABLE, *GRID, "--out", "parts", "--recommend", "best-utility", "--risk-limit", "0.2", "--json")

    assert (stopped.code, len(lines)) == (130, 3)
    assert "2 settings stand in parts, and the same command goes on" in stopped.err
    assert (went_on.code, tried) == (0, [0, 1, 2, 2, 3, 4, 5])
    assert "2 of 6 were there already" in went_on.out
    assert again.json["recommendation"]["rule"] == "best-utility"
    assert cloister(*TABLE, *GRID, "--out", "parts", "-q").code == 0
    assert found_in(place / "whole") == found_in(place / "parts")


def test_what_is_not_the_same_is_not_gone_on_with(cloister, place):
    """Other data, options or grid under the same folder, and folders of something else, are refused untouched."""
    one = (*TABLE, "--grid", "k=2,9", "--out", "x")
    assert cloister(*one, "-q").code == 0
    before = (place / "x" / "settings.jsonl").read_bytes()
    said = [cloister(*one, "--suppression", "0.2").err, cloister(*TABLE, "--grid", "k=2,5", "--out", "x").err]
    with (place / "patients.csv").open("a") as file:
        file.write("M2000,Name 2000,44,F,W1,401.9\n")
    said.append(cloister(*one).err)
    (place / "other").mkdir()
    said.append(cloister(*TABLE, "--grid", "k=2", "--out", "other").err)

    assert "with other options, which" in said[0]
    assert "with other options, which" in said[1]
    assert "of other data, which" in said[2]
    assert "is not a comparison of settings" in said[3]
    assert before == (place / "x" / "settings.jsonl").read_bytes()
    assert list((place / "other").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--grid", "supression=0"), "--grid names the key supression, which a table has not. Did you mean suppr"),
        (("--grid", "k=1"), "--grid: k must be a whole number from 2."),
        (("--grid", "k=a"), "--grid: k must be a whole number from 2."),
        (("--grid", "k"), "--grid takes KEY=VALUE,VALUE"),
        (("--grid", "k=2,,5"), "--grid k has an empty value"),
        (("--grid", "k=2,2"), "--grid k has a value twice"),
        (("--grid", "weight=2"), "--grid weight has a value for each column"),
        (("--grid", "suppression=0"), "k is needed"),
        (("-k", "5", "--grid", "k=2"), "k is an option and in the grid as well"),
        (("--grid", "k=2", "--grid", "weight.agee=2"), "Setting k=2 weight.agee=2: "),
        (("--grid", "k=2", "--grid", "search=optmal"), "Did you mean optimal?"),
        (("--grid", "k=2", "--recommend", "kne"), "Did you mean knee?"),
        (("--grid", "k=2", "--recommend", "best-utility"), "needs a risk limit"),
        (("--grid", "k=2", "--risk-limit", "2"), "--risk-limit must be a number above 0 and at most 1, not 2"),
    ],
)
def test_what_cannot_be_explored_is_refused_before_anything_is_tried(cloister, place, words, said):
    """One sentence that says which key or value is wrong; no folder."""
    ran = cloister(*TABLE, *words, "--out", "x")

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert not (place / "x").exists()


def test_no_safe_release_is_an_answer_with_its_reason(cloister, place):
    """A setting without a safe release stands beside the others; where all are so, the exit code is 1."""
    some = cloister(*TABLE, "--grid", "k=2,91", "--out", "some", "--json")
    none = cloister(*TABLE, "--grid", "k=91", "--out", "none")

    assert [one["figures"] is not None for one in some.json["settings"]] == [True, False]
    assert some.json["settings"][1]["reason"]
    assert (some.code, none.code) == (0, 1)
    assert "None of 1 settings gives a safe release" in none.err
    assert "No safe release: " in (place / "none" / "exploration.html").read_text()


@pytest.mark.full
def test_the_other_shapes_are_explored_as_well(cloister, place):
    """Codes and trajectories by keys of a job, claims by keys of the plan; nothing but the custodian's folder."""
    write_files(place)
    codes = cloister("explore", "codes", "diagnoses.csv", "--grid", "m=1,2", "-k", "5", "--out", "c", "--json")
    grid = ("--grid", "k=3,5", "--grid", "weights=0.5,0.5;0.2,0.8")
    visits = cloister("explore", "trajectories", "visits.csv", *grid, "--out", "t", "--json")
    claims = ("explore", "claims", "patients.csv", "claims.csv", "--plan", "plan.toml", "--grid")
    wrong = cloister(*claims, "risk.treshold=0.1", "--out", "wrong")
    told = cloister(*claims, "risk.threshold=0.1,0.2", "--out", "p", "--json")

    assert (
        "settings assume different adversaries (m)"
        in cloister(*("explore", "codes", "diagnoses.csv", "--grid", "m=1,2", "-k", "5", "--out", "c")).err
    )
    assert codes.json["recommendation"]["number"] == 2
    assert [one["setting"]["weights"] for one in visits.json["settings"]] == [[0.5, 0.5], [0.2, 0.8]] * 2
    assert "Did you mean threshold?" in wrong.err
    assert [0 < one["figures"]["risk"] <= 0.2 for one in told.json["settings"]] == [True, True]


@pytest.mark.parametrize("method", ["disassociation", "cba"])
def test_codes_are_compared_by_their_exact_loss(cloister, place, method):
    """The custodian sees the true share in item chunks, and ILM with suppressed codes, whatever a release says."""
    words = ("codes", "diagnoses.csv", "-k", "5", "--method", method)
    found = cloister("explore", *words, "--grid", "m=1,2", "--out", "all", "--json").json
    loss = found["settings"][1]["figures"]["loss"]
    assert cloister("protect", *words, "-m", "2", "--out", "one", "--custodian-dir", "own").code == 0
    exact = json.loads((place / "own" / "internal.json").read_text())
    told = json.loads((place / "one" / "release.json").read_text())["utility"]

    assert loss == exact["share_in_item_chunks" if method == "disassociation" else "ilm"]
    assert method == "cba" or loss <= told["occurrences_in_item_chunks"]
    assert found["recommendation"]["number"] is not None


def test_no_patient_value_is_in_what_is_found_or_said(cloister, place):
    """A marker in ids, names, wards and codes is in no file of an exploration, no comparison and no message."""
    marker = "PATIENT7SECRET"
    with (place / "patients.csv").open("a") as file:
        file.write(f"{marker},{marker},44,F,{marker},401.9\n")
    words = (*TABLE, "--grid", "k=5,9", "--keep-releases", "--out", "x")
    said = [cloister(*words, "--verbose"), cloister(*TABLE, "-k", "5", "--grid", "qi.ward=interval:5", "--out", "y")]
    said.append(cloister("compare", "x/releases/001", "x/releases/002", "--out", "z.html"))

    assert [ran.code for ran in said] == [0, 2, 0]
    assert not any(marker in ran.out + ran.err for ran in said)
    made = [path for path in (*place.glob("[xyz]/**/*"), place / "z.html") if path.is_file()]
    assert [path for path in made if marker.encode() in path.read_bytes()] == []


def test_the_frontier_of_transformations_is_explored(cloister, place):
    """Each is protected with k of its smallest class and nothing left out, loses more than the last and risks less."""
    ran = cloister(*TABLE, "--grid", "frontier", "--out", "all", "--json")
    told = ran.json["settings"]
    risks = [one["figures"]["risk"] for one in told if one["figures"]]

    assert [one["setting"]["k"] for one in told] == [round(1 / one["figures"]["risk"]) for one in told]
    assert risks == sorted(risks, reverse=True)
    assert all(one["on_frontier"] and one["figures"]["suppressed"] == 0 for one in told)
    assert (
        cloister(*TABLE, "-k", "9", "--grid", "frontier", "--out", "nine", "--json").json["settings"][0]["setting"]["k"]
        >= 9
    )
    shown = cloister(*TABLE, "--grid", "frontier", "--out", "all").out
    command = shlex.split(shown.partition("To release it: ")[2].partition("\n")[0])
    assert cloister(*command[1:], "--quiet").code == 0
    assert "is for tables" in cloister("explore", "codes", "codes.csv", "--grid", "frontier", "--out", "x").err


def test_the_frontier_needs_a_mean_loss(cloister, place):
    """Otherwise no box of transformations rules out another."""
    ran = cloister(*TABLE, "--loss", "discernibility", "--grid", "frontier", "--out", "all")

    assert (ran.code, "mean over columns" in ran.err) == (2, True)
