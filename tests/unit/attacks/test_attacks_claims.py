"""Claims under attack: the adversary of the plan, who knows more and more of a patient's claims."""

import polars as pl
import pytest
from tests.made.claims_files import PLAN, write_files
from tests.oracles.attacks import patients_with

from cloister.api.attack import attack
from cloister.attacks.attack_parts import open_release
from cloister.attacks.claims import Histories
from cloister.errors import InputError
from cloister.pipeline.claims import ClaimsProtection
from cloister.pipeline.protecting import protect
from cloister.release.manifest import parse_manifest
from cloister.shapes.claims.format.data import Claims
from cloister.shapes.claims.format.plan import ClaimsPlan
from cloister.shapes.claims.verify.original import recode_file
from cloister.shapes.claims.verify.recheck import prepared_again
from cloister.verification.driver import Request


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Patients with claims, and a release of them."""
    folder = write_files(tmp_path_factory.mktemp("claims"), n_patients=120)
    plan = ClaimsPlan.read(folder / "plan.toml")
    claims = Claims.read(folder / "patients.csv", folder / "claims.csv", plan)
    return folder, claims, protect(ClaimsProtection(claims))


def test_claims_stand_an_attack_by_the_adversary_of_the_plan(made):
    """Risk and share below k are within the threshold for what the plan expects; in raw data many match one."""
    folder, claims, release = made
    found = attack(release, claims)

    assert found.holds
    assert [level.known for level in found.levels] == [
        "quasi-identifiers of patients",
        "quasi-identifiers of patients and 1 value of each quasi-identifier of claims",
        "quasi-identifiers of patients and as many values of each quasi-identifier of claims as the plan assumes",
        "quasi-identifiers of patients and all values of each quasi-identifier of claims",
    ]
    assert [level.limit for level in found.levels] == [None, None, 0.1, None]
    assert found.is_known_who
    assert found.levels[2].released.rate <= 0.1
    assert found.levels[2].original.alone > 60
    release.write(folder / "release")
    with pytest.raises(InputError, match="plan that they were released by is needed"):
        attack(folder / "release", (folder / "patients.csv", folder / "claims.csv"))
    files = (folder / "patients.csv", folder / "claims.csv")
    blind = attack(folder / "release", files, plan=folder / "plan.toml")
    assert not blind.is_known_who
    assert [level.released.none for level in blind.levels] == [level.released.none for level in found.levels]


def test_matches_are_the_patients_who_have_all_that_is_known(made, tmp_path):
    """A released patient matches who is alike in the columns of patients and has every value as often as known."""
    _, claims, release = made
    (adversary,) = open_release(release, claims, Request()).adversaries
    seen = adversary.released
    assert isinstance(seen, Histories)
    names = [
        name for name, told in release.summary()["columns"]["patients"].items() if told["role"].startswith("quasi")
    ]
    columns = [
        name for name, told in release.summary()["columns"]["claims"].items() if told["role"].startswith("quasi")
    ]
    held = release.claims.group_by(release.claims.columns[0]).agg(columns)
    by_id = {row[0]: [[text for text in values if text is not None] for values in row[1:]] for row in held.rows()}
    ids = release.patients[release.patients.columns[0]].to_list()
    cells = release.patients.select(names).rows()
    patients = [(cell, by_id.get(number, [[] for _ in columns])) for number, cell in zip(ids, cells, strict=True)]
    manifest = parse_manifest(release.write(tmp_path / "release"))
    recoded = recode_file(prepared_again(claims, manifest).claims, manifest.columns, "claims")
    matched = 0
    for target in range(40):
        row = int(seen.own[target])
        if row < 0:
            continue
        for step in (1, 2, 3, 4):
            known = [recoded[name][seen.drawn.claims(target, place, step)] for place, name in enumerate(columns)]
            drawn = [[text for text in own if text is not None] for own in known]
            expected = len(patients_with(patients, cells[row], drawn))
            assert adversary.released.match(target, range(step)).matches == expected
            matched += expected
    assert matched > 0
    assert pl.Series(seen.own).max() == len(patients) - 1


def test_without_quasi_identifiers_of_patients_everybody_is_alike(tmp_path):
    """Nobody is looked for by nothing; who knows more values finds fewer."""
    plan = PLAN.replace('derived = ["age"]', "").replace('sex = "sex"', 'sex = "drop"')
    plan = plan.replace('age = "age"\nsex = "suppress"\n', "")
    folder = write_files(tmp_path, plan, n_patients=120)
    claims = Claims.read(folder / "patients.csv", folder / "claims.csv", ClaimsPlan.read(folder / "plan.toml"))
    levels = attack(protect(ClaimsProtection(claims)), claims).levels
    rates = [level.released.rate for level in levels]

    assert not any("of patients" in level.known for level in levels)
    assert len(rates) == 3
    assert rates == sorted(rates)
