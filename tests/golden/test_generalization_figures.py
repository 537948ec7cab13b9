"""The example of CBA in Loukides et al. (2014), Fig. 3, and generalization of real diagnoses.

Fig. 1 (records), Fig. 3b (utility constraints), k = 3, all pairs of codes. Of u2, u3 and u5 only one can stay: fewer
than three patients are in any two of them (r2 and r4, r2 and r3, r2). Fig. 3a keeps u3, the text says that 7 of 13
codes are suppressed, although 5 are enough; cloister keeps u5, whose codes occur most often. So what every correct
result has in common is tested.
"""

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from cloister import CodeSets, UtilityPolicy
from cloister.cli.main import run
from cloister.shapes.generalization.format.data import GeneralizationMethod, GeneralizationRequest
from cloister.shapes.generalization.format.privacy_policy import PrivacyPolicy
from cloister.shapes.generalization.method.protect import generalize
from cloister.shapes.generalization.verify.verify import GeneralizationGuarantee, GeneralizationSecret, verify

FIGURE_1 = [
    "296.00 296.01 296.02 834.0 944.01",
    "296.00 296.02 296.01 401.0 944.01 692.71 695.10",
    "296.00 296.02 692.71 834.0 695.10",
    "296.00 296.01 692.71 401.0",
    "296.00 296.01 296.02 692.71 695.10",
    "296.03 295.04 404.00 480.1",
    "294.10 296.03 834.0 944.01",
    "294.10 295.04 296.03 480.1",
    "294.10 295.04 404.00",
    "294.10 295.04 296.03 834.0 944.01",
]
FIGURE_3B = {
    "u1": ["294.10", "295.04", "296.00", "296.01", "296.02", "296.03"],
    "u2": ["692.71", "695.10"],
    "u3": ["401.0", "404.00"],
    "u4": ["480.1"],
    "u5": ["834.0", "944.01"],
}


@pytest.mark.parametrize("method", [GeneralizationMethod.CBA, GeneralizationMethod.UGACLIP])
def test_the_example_of_figure_3(method):
    """u1 is preserved, one of u2, u3 and u5 too, and u4, which two patients have, is not."""
    codes = CodeSets.from_records([record.split() for record in FIGURE_1])
    policy, privacy = UtilityPolicy.of(FIGURE_3B), PrivacyPolicy.all_combinations(codes, 2)
    found = generalize(codes, GeneralizationRequest(3, privacy, method, policy=policy))
    preserved = {outcome.name: outcome.fully_preserved for outcome in found.figures.outcomes}

    assert (preserved["u1"], preserved["u4"]) == (True, False)
    assert preserved["u2"] + preserved["u3"] + preserved["u5"] == 1
    assert found.figures.suppressed_codes == 5
    assert all(outcome.satisfied for outcome in found.figures.outcomes)
    assert (
        verify(
            found.released, GeneralizationGuarantee(privacy, policy), GeneralizationSecret(codes, found.origin)
        ).failures
        == ()
    )


def test_cba_generalizes_the_whole_of_u1():
    """As in Fig. 3a, every record has the term of u1."""
    codes = CodeSets.from_records([record.split() for record in FIGURE_1])
    policy, privacy = UtilityPolicy.of(FIGURE_3B), PrivacyPolicy.all_combinations(codes, 2)
    released = generalize(codes, GeneralizationRequest(3, privacy, policy=policy)).released

    assert released.named_terms()[0] == tuple(sorted(FIGURE_3B["u1"]))
    assert released.supports()[0] == 10


def test_figure_3_by_the_command_line(tmp_path, monkeypatch):
    """CBA with k = 3 and m = 2 keeps u1 and u5: of u2, u3 and u5, the last has the most patients (Fig. 3a keeps u3)."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{number},{record}" for number, record in enumerate(FIGURE_1, start=1)]
    Path("codes.csv").write_text("\n".join(["id,codes", *rows]))
    Path("policy.json").write_text(json.dumps(FIGURE_3B))
    words = ["protect", "codes", "codes.csv", "--method", "cba", "-k", "3", "-m", "2", "--policy", "policy.json"]
    assert run([*words, "--out", "out", "--quiet"]) == 0
    terms = Counter(term for cell in pl.read_csv("out/data.csv")["codes"].to_list() for term in cell.split())

    assert terms == {f"({','.join(sorted(FIGURE_3B['u1']))})": 10, f"({','.join(FIGURE_3B['u5'])})": 5}


@pytest.mark.realdata
@pytest.mark.parametrize("method", [GeneralizationMethod.CBA, GeneralizationMethod.UGACLIP])
@pytest.mark.parametrize("name", ["diabetes130", "synpuf"])
def test_real_diagnoses_are_protected(real_data, name, method):
    """2,762 patients, all pairs: verified against the original; where any codes may share a term none is suppressed."""
    frame = pl.read_csv(real_data / name / "codes.csv.gz", infer_schema=False)
    codes = CodeSets.from_records([codes.split() for codes in frame["codes"].to_list()[:2762]])
    privacy = PrivacyPolicy.all_combinations(codes, 2)
    free = generalize(codes, GeneralizationRequest(5, privacy, method))
    policy = UtilityPolicy.by_level(codes, 3)
    bound = generalize(codes, GeneralizationRequest(5, privacy, method, policy=policy))

    assert (
        verify(free.released, GeneralizationGuarantee(privacy), GeneralizationSecret(codes, free.origin)).failures == ()
    )
    assert (
        verify(
            bound.released, GeneralizationGuarantee(privacy, policy), GeneralizationSecret(codes, bound.origin)
        ).failures
        == ()
    )
    assert free.figures.suppressed_codes == 0
    assert {outcome.satisfied for outcome in bound.figures.outcomes} == {True}
