"""``verify`` on releases of claims that were forged, with new hashes and a report that says the same."""

import json
import shutil

import polars as pl
import pytest
from tests.made.claims_files import PLAN, write_files
from tests.made.tampering import resealed, restated

from cloister.cli.main import run

MAPPED = ("--original", "patients.csv", "claims.csv", "--plan", "plan.toml", "--crosswalk", "map.csv")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with files, a truncated release and its crosswalk, made once; some patients are left out by the plan."""
    folder = tmp_path_factory.mktemp("made")
    hit = [line for n in range(12) for line in (f"X{n},1960-01-01,F\n", f"X{n},2024-01-11,042,Office,D1,n0\n")]
    write_files(folder, plan=PLAN.replace('["none", 90]', "[80.0]"), last=hit)
    given = [str(folder / name) for name in ("patients.csv", "claims.csv")]
    words = ["--plan", str(folder / "plan.toml"), "--crosswalk", str(folder / "map.csv"), "-q"]
    assert run(["protect", "claims", *given, *words, "--out", str(folder / "release")]) == 0
    return folder


@pytest.fixture
def release(made, tmp_path):
    """The folder of a release, with what it was made from and the crosswalk beside it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "release"


def table(path):
    """A file of the release as text."""
    return pl.read_csv(path, infer_schema=False)


@pytest.fixture
def refused(release, cloister):
    """Change the manifest, and say how it is refused; then put it back."""
    before = json.loads((release / "release.json").read_text())

    def said(change, *words):
        restated(release, change)
        found = cloister("verify", release, *words)
        restated(release, lambda manifest: (manifest.clear(), manifest.update(json.loads(json.dumps(before)))))
        assert found.code == 1
        return found.err

    return said


SMUGGLED = {
    "steps.0, which has unknown keys": lambda m: m["steps"][0].update(done="P0017 is the patient of row 1."),
    "choice, which has unknown keys": lambda m: m["choice"].update(note={"1": "P0017"}),
    "sensitivity.attacks.0.adversary": lambda m: m["sensitivity"]["attacks"][0].update(adversary="P0017"),
    "utility.labels": lambda m: m["utility"]["labels"].update(P0017=1),
    "records.in": lambda m: m["records"].update({"in": "P0017 is row 1"}),
    "records.suppressed": lambda m: m["records"].update(suppressed="P0017"),
    "representativeness": lambda m: m["representativeness"]["variables"]["sex"]["shares"].update({"P0017": [0.1, 0.2]}),
    "representativeness.variables": lambda m: m["representativeness"]["variables"].update(
        P0017={"shares": {}, "statistic": None}
    ),
    "settings.plan": lambda m: m["settings"]["plan"].update(note="P0017"),
    "settings, which has unknown keys": lambda m: m["settings"].update(note="P0017"),
    "risk.as_released, which has unknown keys": lambda m: m["risk"]["as_released"].update(note="P0017"),
    "guarantee, which has unknown keys": lambda m: m["guarantee"].update(sentences=["P0017 is the patient of row 1."]),
}


@pytest.mark.parametrize("place", SMUGGLED)
@pytest.mark.sampled(4)
def test_no_text_of_ones_own_can_be_told(refused, place):
    """Ids in sentences, reasons, keys, labels, bands, checks and figures, all in places where our words stand."""
    said = refused(SMUGGLED[place])

    assert place in said
    assert "P0017" not in said


STEPS = {
    "a reason": lambda m: m["steps"][2]["counts"].update({"row 1 is P17": 20}),
    "a count below k": lambda m: m["steps"][2].update(total=3),
    "another count than the files have": lambda m: m["steps"][6]["counts"].update({"'pos' in group OTHER": 100}),
    "a sentence": lambda m: m["steps"][8].update(done="Nothing was truncated."),
    "other kinds": lambda m: m["steps"][1].update(looked_for=["place"]),
    "a total of what has none": lambda m: m["steps"][9].update(total=20),
    "another order": lambda m: m["steps"].reverse(),
}


@pytest.mark.parametrize("what", STEPS)
def test_reasons_and_numbers_of_steps_are_those_there_are(refused, what):
    """A reason of one's own, a count below k, one that the files have not, a sentence, kinds not looked for, order."""
    assert "steps" in refused(STEPS[what])


def test_figures_that_cannot_be_are_noticed(refused):
    """An interval wider than its draws give, which once bought any tolerance; draws and shares that nobody measured."""

    def widened(manifest):
        manifest["risk"]["flag_interval"] = [0.0, 0.1]

    def upper(manifest):
        manifest["risk"]["flag_aware"]["highest"] = 0.0

    def many(manifest):
        manifest["risk"]["draws"] = manifest["risk"]["flag_aware"]["draws"] = 10**9
        manifest["choice"]["lattice"] += 1

    fitting = "the stated figures fit each other and the draws that they are of"
    for change, said in ((widened, fitting), (upper, fitting), (many, "choice.lattice, risk.draws")):
        assert said in refused(change)


def test_columns_are_those_of_the_plan(release, cloister):
    """A column that nobody asked for, told as kept and in the codebook: refused with and without the original."""
    patients = table(release / "patients.csv")
    ids = pl.Series("ssn", [f"{number:06d}" for number in range(patients.height)])
    resealed(release, "patients.csv", patients.insert_column(3, ids).write_csv())
    book = (release / "codebook.csv").read_text()
    flag = next(line for line in book.splitlines() if line.startswith("patients.claims_truncated"))
    resealed(release, "codebook.csv", book.replace(flag, f"patients.ssn,keep,,,,as recorded\n{flag}", 1))

    def kept(manifest):
        columns = list(manifest["columns"]["patients"].items())
        manifest["columns"]["patients"] = dict([*columns[:3], ("ssn", {"role": "keep"}), *columns[3:]])

    restated(release, kept)
    for words in ((), MAPPED):
        found = cloister("verify", release, *words)
        assert (found.code, "what a release says: columns" in found.err) == (1, True), words


@pytest.mark.parametrize("file", ["patients", "claims"])
def test_a_file_without_columns(release, cloister, file):
    """A manifest that says no column of a file is refused, like any other that says too little."""
    restated(release, lambda manifest: manifest["columns"].update({file: {}}))

    assert cloister("verify", release).code == 1


def test_labels_are_those_of_their_level(refused):
    """A level told coarser than the labels that stand in the file, and a hierarchy told with fewer levels."""

    def coarser(manifest):
        manifest["columns"]["patients"]["age"]["level"] = 3
        manifest["choice"]["levels"]["patients"]["age"] = 3

    def lower(manifest):
        coarser(manifest)
        manifest["columns"]["patients"]["age"]["top"] = 3
        manifest["choice"]["lattice"] = manifest["choice"]["lattice"] * 4 // 5

    assert "labels of patients are those of the levels in release.json" in refused(coarser)
    assert "a release says: columns" in refused(lower)


def test_a_cell_that_was_blanked_is_counted(release, cloister):
    """A cell more than the steps tell, with its flag."""
    claims = table(release / "claims.csv")
    first = pl.int_range(pl.len()) == 0
    blanked = claims.with_columns(
        pl.when(first).then(None).otherwise(pl.col("pos")).alias("pos"),
        pl.when(first).then(pl.lit("1")).otherwise(pl.col("sup_pos")).alias("sup_pos"),
    )
    resealed(release, "claims.csv", blanked.write_csv())
    restated(release, lambda manifest: manifest["steps"][12]["counts"].update({"cells suppressed": 0}))
    found = cloister("verify", release)

    assert found.code == 1
    assert "as many cells are suppressed as release.json states" in found.err


def lied_of_risk(manifest):
    """Attacks and missed draws that are not so."""
    for row in manifest["sensitivity"]["attacks"]:
        half = (row["interval"][1] - row["mean"]) / 2
        row["mean"] /= 2
        row["interval"] = [max(0.0, row["mean"] - half), row["mean"] + half]
    manifest["risk"]["missed"] = 0.9
    manifest["risk"]["likeliest"]["missed"] = 0.5


def lied_of_patients(manifest):
    """Patients and steps that were not."""
    manifest["records"].update({"in": 262 + 1, "suppressed": 263 - manifest["records"]["released"]})
    manifest["steps"][1]["counts"] = {"hiv": 100}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("lied", "sentences"),
    [
        (
            lied_of_risk,
            ("other adversaries find", "drawn from the original claims is", "picks the likeliest is as stated"),
        ),
        (lied_of_patients, ("steps in release.json is not what the original says", "records.in")),
    ],
)
@pytest.mark.full
def test_the_original_tells_more(release, cloister, lied, sentences):
    """Attacks, missed draws, steps and patients that are contradicted; the truth holds."""
    assert cloister("verify", release, *MAPPED).code == 0
    restated(release, lied)
    found = cloister("verify", release, *MAPPED)

    assert found.code == 1
    for said in sentences:
        assert said in found.err, said


@pytest.mark.full
def test_pseudonyms_keep_the_company_of_the_ids(release, cloister):
    """Every claim with a doctor of its own: the files alone say nothing of it, the original does."""
    claims = table(release / "claims.csv")
    numbers = pl.Series("doctor", range(1, claims.height + 1)).cast(pl.String)
    resealed(release, "claims.csv", claims.with_columns(numbers).write_csv())
    found = cloister("verify", release, *MAPPED)

    assert found.code == 1
    assert "each pseudonym belongs to one original id" in found.err


def test_a_patient_whom_the_plan_leaves_out(release, cloister, tmp_path):
    """A crosswalk that names somebody on the exclusion list is a release that does not hold, not a wrong word."""
    text = (tmp_path / "map.csv").read_text()
    first = text.splitlines()[1]
    (tmp_path / "map.csv").write_text(text.replace(first, f"{first.split(',')[0]},X3"))
    found = cloister("verify", release, *MAPPED)

    assert found.code == 1
    assert "no released patient is excluded by the plan" in found.err


def test_figures_of_the_search_are_those_there_are(release, cloister):
    """Nodes and levels, by the manifest and the files alone."""

    def elsewhere(manifest):
        manifest["choice"]["lattice"] += 1

    restated(release, elsewhere)
    assert "a release says: choice.lattice" in cloister("verify", release).err


def test_levels_of_the_choice_are_those_of_the_columns(release, cloister):
    """Levels are stated once, and follow where they are stated again."""
    restated(release, lambda manifest: manifest["choice"]["levels"]["claims"].update(dx=99))
    found = cloister("verify", release)

    assert found.code == 1
    assert "choice.levels in release.json does not follow from the files" in found.err


@pytest.mark.full
def test_who_was_left_out_is_counted_beside_the_original(release, cloister):
    """Patients and claims that steps tell of and that are not missing."""

    def others(manifest):
        line = next(line for line in manifest["steps"] if line["step"] == "11 suppression")
        line["counts"].update({"patients left out": 777, "claims left out": 8888})

    restated(release, others)
    found = cloister("verify", release, *MAPPED)

    assert found.code == 1
    for said in ("patients left out in", "claims left out in"):
        assert said in found.err, said
