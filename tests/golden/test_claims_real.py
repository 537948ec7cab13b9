"""The smaller pair of synthetic claims (DE-SynPUF) end to end, from the plan that ``cloister init claims`` writes."""

import pytest

import cloister as cl
from cloister.io import read_table
from cloister.shapes.claims.method.first_plan import first_plan


@pytest.mark.realdata
def test_the_first_plan_gives_a_release_that_another_simulation_confirms(real_data, tmp_path):
    """Mean risk and flag rate are under 0.05 with their intervals, and the verifier's own simulation agrees."""
    files = [real_data / "synpuf" / f"small_{name}.csv.gz" for name in ("patients", "claims")]
    (tmp_path / "plan.toml").write_text(first_plan(*map(read_table, files)).text)
    plan = cl.ClaimsPlan.read(tmp_path / "plan.toml")
    release = cl.protect_claims(cl.Claims.read(patients=files[0], claims=files[1], plan=plan))
    told = release.summary()

    assert release.verify().holds
    assert told["risk"]["interval"][1] <= 0.05
    assert told["risk"]["flag_interval"][1] <= 0.05
    assert told["risk"]["flag_aware"]["highest"] <= 0.05
    assert told["records"] == {"in": "withheld", "released": 930, "suppressed": "withheld", "claims": 7010}
    assert told["risk"]["likeliest"]["interval"][0] > 0.1
