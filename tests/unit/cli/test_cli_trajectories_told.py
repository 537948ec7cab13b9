"""What a manifest of trajectories tells: nothing of codes that fewer than k patients have."""

import json

import polars as pl
import pytest
from tests.made.tampering import restated

import cloister as cl
from cloister.hierarchy import hierarchy_rows, suppress
from cloister.shapes.codes.policy import gwas_diseases
from cloister.shapes.trajectories.format.data import WrittenTrajectories
from cloister.shapes.trajectories.format.facts import codebook
from cloister.shapes.trajectories.format.request import GWAS_SETS

CODES = hierarchy_rows([[code, "401", "*"] for code in ("401.1", "401.9")] + [["042", "042", "*"]])
RECORDS = [[("401.1", 50), ("401.1", 51)], [("401.9", 50), ("401.1", 51)]] * 2


def utility(records, **options):
    """What is told of a release of these patients, all in one cluster."""
    trajectories = cl.Trajectories.from_records(records)
    release = cl.protect_trajectories(trajectories, k=4, code_hierarchy=CODES, age_hierarchy=suppress(), **options)
    return release.summary()["utility"]


def test_losses_are_shares_of_codes_that_k_patients_have():
    """A suppressed code of one patient counts as one lost pair, and not as a code more."""
    rare = [[("042", 49), *RECORDS[0]], *RECORDS[1:]]

    # 401.9 is that of two patients: the label 401 covers the one common code
    assert utility(RECORDS)["ilm_exact"] == 0.5
    assert utility(rare)["ilm_exact"] == round((4 + 1) / 9, 3)
    assert utility(rare)["alm_exact"] == round(1 / 9, 3)


def test_losses_over_the_whole_domain_are_told_where_all_of_it_is_common():
    """What the method's authors count is a share of all codes: null where one is rare."""
    both = [[("401.1", 50), ("401.9", 50)]] * 4

    assert (utility(both)["ilm"], utility(both)["alm"]) == (0, 0)
    assert (utility(RECORDS)["ilm"], utility(RECORDS)["alm"]) == (None, None)


def test_sets_without_patients_are_counted():
    """That one patient has a code of a set does not show in how many sets there are, nor in how many are kept."""
    policy = cl.UtilityPolicy.of({"hiv": ["042"], "hypertension": ["401.1", "401.9"]})
    rare = [[("042", 49), *RECORDS[0]], *RECORDS[1:]]

    for records in (RECORDS, rare):
        told = utility(records, policy=policy)
        assert (told["constraints"], told["constraints_kept"]) == (2, 2)
    assert len(gwas_diseases()) == GWAS_SETS


@pytest.mark.parametrize("kind", ["file", "interval"])
def test_an_age_under_a_hierarchy_file_may_be_a_group(kind):
    """Below a number of a file there may be others; under intervals there are none."""
    frame = pl.DataFrame({"id": [1], "code": ["a"], "age": ["20"]})
    meaning = codebook(WrittenTrajectories(frame), {"code": "file", "age": kind})["meaning"][-1]

    assert meaning == ("as recorded" if kind == "interval" else "this age, or any below it in the hierarchy")


@pytest.fixture
def folder(cloister, tmp_path):
    """A release of few codes, with a promise of sensitive ones, and its crosswalk."""
    rows = "".join(f"P{patient},250.0{code},{60 + code}\n" for patient in range(6) for code in (0, 1))
    (tmp_path / "visits.csv").write_text("id,code,age\n" + rows)
    words = ("-k", 3, "--crosswalk", tmp_path / "map.csv", "--out", tmp_path / "release")
    assert cloister("protect", "trajectories", tmp_path / "visits.csv", "-q", *words).code == 0
    return tmp_path / "release"


SENTENCES = {
    "other sentences": lambda told: told["guarantee"].update(sentences=["All is well"]),
    "more said": lambda told: told["guarantee"].update(verified_how="certified by NIST"),
    "blocks that are off": lambda told: (told["settings"].update(block="off"), told["clustering"].update(blocks=2)),
    "blocks of all": lambda told: (told["settings"].update(block=9), told["clustering"].update(blocks=2)),
    "sets of a builder": lambda told: (
        told["settings"].update(policy="level:1"),
        told["utility"].update(constraints=5, constraints_kept=5),
    ),
    "sets of gwas": lambda told: (
        told["settings"].update(policy="gwas"),
        told["utility"].update(constraints=5, constraints_kept=5),
    ),
    "high losses": lambda told: told["utility"].update(ilm=55.0),
}


@pytest.mark.parametrize("change", SENTENCES.values(), ids=SENTENCES)
def test_sentences_and_numbers_of_the_releaser_are_compared(cloister, folder, change):
    """What a release says of how it was checked and made is what this version says."""
    assert cloister("verify", folder).code == 0
    restated(folder, change)

    assert cloister("verify", folder).code == 1


LOSSES = {
    "codes": lambda told: told["utility"].update(ilm_exact=0.5),
    "ages": lambda told: told["utility"].update(alm_exact=1.0),
    "not told": lambda told: told["utility"].update(ilm=None, alm=None),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("change", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("named", [True, False])
def test_losses_are_compared_with_the_original(cloister, folder, tmp_path, change, named):
    """With the original, with a crosswalk or without, losses are worked out again."""
    words = ("--original", tmp_path / "visits.csv", *(("--crosswalk", tmp_path / "map.csv") if named else ()))
    assert cloister("verify", folder, *words).code == 0
    restated(folder, change)

    assert cloister("verify", folder).code == 0
    assert cloister("verify", folder, *words).code == 1


def _sensitive(told):
    rule = {"model": "frequency l-diversity", "l": 3, "codes": ["250.00"]}
    told["settings"].update(sensitive_codes=["250.00"], diversity=3)
    told["guarantee"]["rules"].append(rule)


def test_a_promise_of_sensitive_codes_is_looked_at(cloister, folder, tmp_path):
    """With the original a label of sensitive codes alone is refused; from the files it is said that nobody looked."""
    restated(folder, _sensitive)
    alone = cloister("verify", folder, "--json")

    assert "sensitive codes: checked when released, not from the files" in json.loads(alone.out)["how"]
    assert cloister("verify", folder, "--original", tmp_path / "visits.csv").code == 1
    assert (
        cloister("verify", folder, "--original", tmp_path / "visits.csv", "--crosswalk", tmp_path / "map.csv").code == 1
    )
