"""``protect claims``, from the words of the command to the folder, and ``verify`` on what it wrote."""

import json
import shutil
import subprocess
import sys

import polars as pl
import pytest
from tests.made.claims_files import PLAN, write_files
from tests.made.tampering import resealed, restated

from cloister.cli.main import run
from cloister.shapes.claims.method.risk import wilson

ORIGINAL = ("--original", "patients.csv", "claims.csv", "--plan", "plan.toml")


@pytest.fixture
def files(tmp_path):
    """Both files and the plan, in the test's folder."""
    return write_files(tmp_path)


@pytest.fixture
def protect(cloister, files, tmp_path):
    """Protect the claims; more words come after."""

    def command(*words, out="release"):
        given = (tmp_path / "patients.csv", tmp_path / "claims.csv", "--plan", tmp_path / "plan.toml")
        return cloister("protect", "claims", *given, *words, "--out", tmp_path / out)

    return command


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with files, a release and its crosswalk, made once."""
    folder = write_files(tmp_path_factory.mktemp("made"))
    given = [str(folder / name) for name in ("patients.csv", "claims.csv")]
    words = ["--plan", str(folder / "plan.toml"), "--crosswalk", str(folder / "map.csv"), "-q"]
    assert run(["protect", "claims", *given, *words, "--out", str(folder / "release")]) == 0
    return folder


@pytest.fixture
def release(made, tmp_path):
    """The folder of a release, and what it was made from and the crosswalk beside it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "release"


def _reversed(folder):
    """Put the rows of both files in another order."""
    for name in ("patients.csv", "claims.csv"):
        head, *lines = (folder / name).read_text().splitlines(keepends=True)
        (folder / name).write_text(head + "".join(sorted(lines, reverse=True)))


def table(path):
    """A file of the release as text."""
    return pl.read_csv(path, infer_schema=False)


def test_a_release_is_written(release):
    """Files are joined by numbers, and the risk is told with its interval and threshold."""
    folder, told = release, json.loads((release / "release.json").read_text())
    patients, claims = table(folder / "patients.csv"), table(folder / "claims.csv")

    assert patients.columns == ["mrn", "age", "sex", "claims_truncated"]
    assert claims.columns == ["mrn", "pos", "dx", "doctor", "note", "sup_pos", "sup_dx"]
    assert patients["mrn"].to_list() == [str(number) for number in range(1, patients.height + 1)]
    assert set(claims["mrn"]) == set(patients["mrn"])
    assert (told["records"]["released"], told["records"]["claims"]) == (patients.height, claims.height)
    assert told["risk"]["interval"][0] <= told["risk"]["mean"] <= told["risk"]["interval"][1] <= 0.1
    assert (told["risk"]["threshold"], told["risk"]["k"], told["risk"]["flag_rate"] <= 0.1) == (0.1, 10, True)
    assert [line["step"].split()[0] for line in told["steps"]] == [*"1233456678", "9", "10", "11", "12"]


def test_the_release_is_checked_again(release, cloister):
    """From the files alone, against the original, and against the original with the map."""
    alone = cloister("verify", release)
    compared = cloister("verify", release, "-v", *ORIGINAL)
    mapped = cloister("verify", release, "-v", *ORIGINAL, "--crosswalk", "map.csv")

    assert (alone.code, compared.code, mapped.code) == (0, 0, 0), mapped.err
    assert "is the releaser's word" in alone.out
    assert "one of the original, as recoded again (without crosswalk)" in compared.out
    assert "the risk of values drawn from the original claims is as stated" in mapped.out
    assert "is the releaser's word" not in mapped.out
    assert cloister("verify", release, "-k", "10").code == 0
    assert cloister("verify", release, "-k", "11").code == 1


@pytest.mark.full
def test_what_is_asked_besides(release, protect, tmp_path):
    """One JSON object, the custodian's folder, the map, another seed, and an earlier release replaced."""
    assert release.is_dir()
    taken = protect("-q")
    ran = protect(
        *("--json", "--overwrite", "--seed", "7", "--custodian-dir", tmp_path / "secrets"),
        *("--crosswalk", tmp_path / "m.csv"),
    )
    secrets = json.loads((tmp_path / "secrets" / "internal.json").read_text())
    ids = table(tmp_path / "m.csv")

    assert taken.code == 2
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["seed"] == 7 == ran.json["settings"]["plan"]["risk"]["seed"]
    assert secrets["records"]["in"] == 250
    assert secrets["claims"]["path"].endswith("claims.csv")
    assert any("note is released as recorded" in text for text in ran.json["warnings"])
    assert sorted(ids["original"]) == [f"P{number:04d}" for number in range(250)]


@pytest.mark.full
def test_few_who_are_left_out_are_not_counted(cloister, tmp_path):
    """Three patients on the exclusion list: neither their number nor that of all patients is told."""
    hit = [line for n in range(3) for line in (f"X{n},1960-01-01,F\n", f"X{n},2024-01-11,042,Office,D1,n0\n")]
    write_files(tmp_path, last=hit)
    given = ("patients.csv", "claims.csv", "--plan", "plan.toml", "--custodian-dir", "secrets")
    told = cloister("protect", "claims", *given, "--json", "--out", "release").json
    exact = json.loads((tmp_path / "secrets" / "internal.json").read_text())

    assert told["records"] == {
        "in": "withheld",
        "released": 250,
        "suppressed": "<10",
        "claims": told["records"]["claims"],
    }
    assert told["steps"][1]["counts"] == {"hiv": "<10"}
    assert exact["records"]["in"] == 253
    assert exact["records"]["lost"] == [3, 0, 0]


CHANGES = [
    ("patients.csv", "\n1,", "\n2,", "patients are numbered 1, 2, 3 ... in the order of the file"),
    ("claims.csv", "\n1,", "\n9999,", "every claim is that of a patient"),
    ("patients.csv", ",0\n", ",2\n", "flags of patients are 0 or 1"),
    ("claims.csv", ",0,0\n", ",1,0\n", "cells whose flags say that they were suppressed are empty"),
    ("claims.csv", ",n0,", ",zzz,", "sorted"),
    ("codebook.csv", "any value", "no value", "codebook.csv does not say what the files say"),
]


@pytest.mark.parametrize(("name", "old", "new", "failure"), CHANGES, ids=[change[3] for change in CHANGES])
def test_a_file_that_was_changed_and_sealed_again_is_noticed(release, cloister, name, old, new, failure):
    """Each promise about the form fails by itself."""
    text = (release / name).read_text()
    assert old in text
    resealed(release, name, text.replace(old, new, 1))
    found = cloister("verify", release)

    assert found.code == 1
    assert failure in found.err


@pytest.mark.full
def test_a_risk_that_was_changed_is_noticed(release, cloister):
    """Figures that the files alone tell, those that the original tells, and those that contradict each other."""

    def said(change, *words):
        before = json.loads((release / "release.json").read_text())
        restated(release, change)
        found = cloister("verify", release, *words)
        restated(release, lambda manifest: (manifest.clear(), manifest.update(before)))
        return found.code, found.err

    def scaled(figures):
        half, flagged = (
            (figures["interval"][1] - figures["mean"]) / 2,
            round(figures["flag_rate"] * figures["draws"] / 2),
        )
        figures["mean"], figures["flag_rate"] = figures["mean"] / 2, flagged / figures["draws"]
        figures["interval"] = [figures["mean"] - half, figures["mean"] + half]
        around = wilson(flagged, figures["draws"])
        figures["flag_interval"] = [around.low, around.high]

    mapped = (*ORIGINAL, "--crosswalk", "map.csv")
    code, err = said(lambda manifest: scaled(manifest["risk"]["as_released"]))
    assert (code, "drawn from the released claims is as stated" in err) == (1, True)
    assert said(lambda manifest: scaled(manifest["risk"])) == (0, "")
    code, err = said(lambda manifest: scaled(manifest["risk"]), *mapped)
    assert (code, "drawn from the original claims is as stated" in err) == (1, True)
    code, err = said(lambda manifest: manifest["risk"].update(k=11))
    assert (code, "risk.k" in err) == (1, True)
    code, err = said(lambda manifest: manifest["records"].update(claims=1))
    assert (code, "as many patients and claims as release.json states" in err) == (1, True)
    assert cloister("verify", release).code == 0


@pytest.mark.full
def test_another_original_is_noticed(release, cloister, tmp_path):
    """One diagnosis of another group, another plan, or a map of others."""
    text = (tmp_path / "claims.csv").read_text()
    (tmp_path / "claims.csv").write_text(text.replace(",n0", ",n1", 1))
    other = cloister("verify", release, *ORIGINAL, "--crosswalk", "map.csv")
    (tmp_path / "plan.toml").write_text(PLAN.replace("power = 3", "power = 4"))
    unplanned = cloister("verify", release, *ORIGINAL)

    assert other.code == 1
    assert "every released claim is one of the patient's" in other.err
    assert (unplanned.code, "plan" in unplanned.err) == (2, True)


REFUSED = [
    (("--original", "patients.csv"), "two files"),
    (("--original", "patients.csv", "claims.csv"), "plan"),
    (("-m", "2"), "Leave out"),
    (("--qi", "sex"), "Leave out"),
]


@pytest.mark.parametrize(("words", "said"), REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_words_of_other_releases_are_refused(release, cloister, words, said):
    """Verify says what claims have."""
    found = cloister("verify", release, *words)

    assert found.code == 2
    assert said in found.err


WRONG = [('[ids]\npatients = "drop"\n', "ids.patients cannot be drop"), ("[search]\nnod = 5\n", "nod")]


@pytest.mark.parametrize(("more", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_cannot_be_done_is_refused(protect, tmp_path, more, said):
    """A plan that asks for what is not there: exit 2, and nothing is written."""
    (tmp_path / "plan.toml").write_text(PLAN + more)
    ran = protect()

    assert ran.code == 2
    assert said in ran.err
    assert not (tmp_path / "release").exists()


def test_no_safe_release(cloister, tmp_path):
    """Where levels are bounded so that no node is safe: exit 1, and nothing is written."""
    plan = PLAN.replace('pos = "place"\ndx = "diagnosis"\n[', 'pos = "place@0-0"\ndx = "diagnosis@0-0"\n[')
    write_files(tmp_path, plan=plan.replace('age = "age"', 'age = "age@0-0"'))
    ran = cloister("protect", "claims", "patients.csv", "claims.csv", "--plan", "plan.toml", "--out", "release")

    assert ran.code == 1
    assert "truncation levels" in ran.err
    assert not (tmp_path / "release").exists()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("variant", ["power by node", "truncated by year", "nothing known of patients"])
@pytest.mark.full
def test_other_plans(cloister, tmp_path, variant):
    """Each gives a release that holds, also against the original, with the crosswalk and without."""
    plan = {
        "power by node": PLAN.replace("power = 3", 'power = 3\nbasis = "node"'),
        "truncated by year": PLAN.replace('["none", 90]', '[70.0]\nper = "patient-year"'),
        "nothing known of patients": PLAN.replace('age = "age"\nsex = "suppress"\n', "")
        .replace('derived = ["age"]\n', "")
        .replace('sex = "sex"', 'sex = "keep"'),
    }[variant]
    write_files(tmp_path, plan=plan)
    words = ("--plan", "plan.toml", "--out", "release", "--crosswalk", "map.csv", "-q")
    ran = cloister("protect", "claims", "patients.csv", "claims.csv", *words)

    assert ran.code == 0, ran.err
    assert cloister("verify", "release", *ORIGINAL, "--crosswalk", "map.csv").code == 0
    assert cloister("verify", "release", *ORIGINAL).code == 0


@pytest.mark.full
def test_suppression_is_flagged_and_verified(cloister, tmp_path):
    """Cells are suppressed, empty and flagged; with a max_flag_rate lowered until that suffices, as is said; and all
    the same from other rows on one thread. A manifest that tells another max_flag_rate does not hold."""
    plan = PLAN.replace("threshold = 0.1", "threshold = 0.1\nmax_flag_rate = 0.6")
    write_files(tmp_path, plan=plan + '[suppression]\ntreatment = "cells"\n')
    given = ("protect", "claims", "patients.csv", "claims.csv", "--plan", "plan.toml")
    ran = cloister(*given, "--out", "release", "--crosswalk", "map.csv")
    claims = table(tmp_path / "release" / "claims.csv")
    hidden = claims.filter((pl.col("sup_dx") == "1") | (pl.col("sup_pos") == "1"))
    told = json.loads((tmp_path / "release" / "release.json").read_text())
    checked = cloister("verify", "release", *ORIGINAL, "--crosswalk", "map.csv")
    _reversed(tmp_path)
    again = cloister(*given, "-q", "--threads", "1", "--out", "again")

    assert (ran.code, checked.code, again.code) == (0, 0, 0), ran.err + checked.err
    assert hidden.height > 0
    assert (told["settings"]["plan"]["risk"]["max_flag_rate"], told["choice"]["max_flag_rate"]) == (0.6, 0.3)
    report = (tmp_path / "release" / "report.html").read_text()
    assert "max_flag_rate 0.3. With max_flag_rate 0.6, as asked, suppression did not" in report
    assert "60.00 % was requested" in report
    assert "max_flag_rate was lowered to 0.3" in " ".join(ran.err.split())
    for name in ("patients.csv", "claims.csv"):
        assert (tmp_path / "release" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    restated(tmp_path / "release", lambda manifest: manifest["choice"].update(max_flag_rate=0.4))
    changed = cloister("verify", "release")
    assert (changed.code, "choice.max_flag_rate" in changed.err) == (1, True)


def test_an_interruption_leaves_nothing(files):
    """Ctrl-C while the search runs: exit code 130, one sentence, no folder."""
    program = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
import cloister.pipeline.claims as course
def slow(*_args):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    threading.Event().wait(60)
course.deidentify = slow
from cloister.cli.main import main
sys.argv = ["cloister", "protect", "claims", "patients.csv", "claims.csv", "--plan", "plan.toml", "--out", "release"]
main()
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=files, capture_output=True, text=True, timeout=60, check=False
    )

    assert ran.returncode == 130, ran.stderr
    assert "interrupted; nothing was written" in ran.stderr
    assert {path.name for path in files.iterdir()} == {"patients.csv", "claims.csv", "plan.toml"}
