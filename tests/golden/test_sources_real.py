"""Real collections by their profiles: what is in them, and all four shapes protected and verified from them."""

import polars as pl
import pytest

from cloister.cli.main import run
from cloister.sources import read_table

pytestmark = pytest.mark.realdata

TABLE = (
    *("--accept-empty", "--id", "patient_id", "--qi", "sex", "--qi", "birth_year=interval:10,50"),
    *("--undecided", "drop"),
)
SHAPES = {
    "table": (*TABLE, "--suppression", "0.4"),
    "codes": ("-m", "2"),
    "trajectories": ("--code-hierarchy", "suppress", "--method", "baseline"),
}
FEW_DRAWS = {"threshold = 0.05": "threshold = {}", 'max_flag_rate = "chosen"': "max_flag_rate = 0.5"}
FEW_DRAWS |= {"repeats = 1000": "repeats = 5", "draws = 10000": "draws = 1000", "[99, 97.5, 95, 90]": "[90]"}
FEW_DRAWS |= {"most_treated = 0.5": "most_treated = 1.0", "most_removed = 0.1": "most_removed = 0.9"}
FEW_DRAWS |= {'flag_aware = "bounded"': 'flag_aware = "waived"'}
PATIENTS = 1500


@pytest.fixture(scope="module")
def places(real_data, tmp_path_factory):
    """What names each collection; of DE-SynPUF the first patients who have claims."""
    few = tmp_path_factory.mktemp("synpuf")
    claims = pl.read_parquet(real_data / "synpuf/claims.parquet")
    wanted = claims["patient_id"].unique().sort().head(PATIENTS).implode()
    claims.filter(pl.col("patient_id").is_in(wanted)).write_parquet(few / "claims.parquet")
    people = pl.read_parquet(real_data / "synpuf/demographics.parquet")
    people.filter(pl.col("patient_id").is_in(wanted)).write_parquet(few / "demographics.parquet")
    return {
        "omop": f"omop:{real_data}/omop/Synthea27Nj_5.4.zip",
        "fhir": f"fhir:{real_data}/fhir/sample10.ndjson.gz",
        "synthea": f"synthea:{real_data}/synthea",
        "synpuf": f"synpuf:{few}",
    }


@pytest.mark.parametrize(
    ("profile", "rows"), [("omop", (28, 470, 1792)), ("fhir", (10, 74, 114)), ("synthea", (27, 438, 1267))]
)
def test_every_patient_condition_and_claim_is_there(places, profile, rows):
    """Counts are those of the lines of the files."""
    found = [read_table(places[profile], form).frame.height for form in ("table", "codes", "claims")]

    assert tuple(found) == rows


def test_codes_of_synpuf_are_those_made_ready(real_data):
    """The sets of codes of inpatients are those that were made of the same claims by other means."""
    found = read_table(f"synpuf:{real_data}/synpuf", "codes").frame
    told = pl.read_csv(real_data / "synpuf/codes.csv.gz", infer_schema=False).select(
        "patient_id", pl.col("codes").str.split(" ").list.sort().list.join(" ")
    )
    sets = found.group_by("patient_id").agg(pl.col("code").unique().sort().str.join(" ").alias("codes"))

    assert sets.sort("patient_id").equals(told.sort("patient_id"))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("profile", ["omop", "fhir", "synthea", "synpuf"])
def test_a_shape_of_a_collection_is_protected(places, tmp_path, profile, shape, k):
    """A release is made, and holds when it is checked with the collection as its original."""
    place, out, secret = places[profile], str(tmp_path / "release"), ("--crosswalk", str(tmp_path / "secret.csv"))

    assert (
        run(["protect", shape, place, *SHAPES[shape], "-k", str(k), "--out", out, *secret, "-q", "--accept-empty"]) == 0
    )
    known = () if shape == "table" else secret
    hierarchy = ("--code-hierarchy", "suppress") if shape == "trajectories" else ()
    assert run(["verify", out, "--original", place, *known, *hierarchy, "-q"]) == 0


@pytest.mark.sampled(6)
@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("profile", ["omop", "fhir", "synthea", "synpuf"])
def test_claims_of_a_collection_are_protected(places, tmp_path, profile, k):
    """The same of claims, by the first plan, with a risk of 1/k and few draws."""
    place, plan, out = places[profile], tmp_path / "plan.toml", str(tmp_path / "release")
    assert run(["init", "claims", place, place, "--out", str(plan), "-q"]) == 0
    text = plan.read_text()
    for given, wanted in FEW_DRAWS.items():
        text = text.replace(given, wanted.format(1 / k))
    plan.write_text(text)

    assert run(["protect", "claims", place, place, "--plan", str(plan), "--out", out, "-q", "--accept-empty"]) == 0
    assert run(["verify", out, "--original", place, place, "--plan", str(plan), "-q"]) == 0
