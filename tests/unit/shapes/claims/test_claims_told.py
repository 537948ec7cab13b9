"""What a release tells, played by an adversary who subtracts the files from it."""

import itertools
import json
import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.made.claims_files import DIAGNOSES, PLAN

from cloister.io import Source
from cloister.pipeline.claims import ClaimsProtection
from cloister.pipeline.protecting import protect
from cloister.shapes.claims.format.data import claims_of
from cloister.shapes.claims.format.facts import counts_of
from cloister.shapes.claims.format.plan import parse_plan
from cloister.shapes.claims.format.representativeness import compare_variables, statistic
from cloister.shapes.claims.method.encode import encode
from cloister.shapes.claims.method.matching import ReleasedClaims, level_losses, released_alone
from cloister.shapes.claims.method.prepare import prepare
from cloister.shapes.claims.method.release import lay_out

K = 10
RARE = ("800.1", "811.0", "820.2", "835.0", "190.1")
OF_PATIENTS, OF_CLAIMS = ["mrn", "born", "sex"], ["mrn", "date", "dx", "pos", "doctor", "note"]
LEVELS = PLAN.replace('age = "age"', 'age = "age@4-4"').replace('dx = "diagnosis"\n[t', 'dx = "diagnosis@2-2"\n[t')
TREATMENTS = {
    "cells": ("none", 0.4, "bounded", 3),
    "claims": ("none", 0.4, "bounded", 3),
    "patients": (90, 0.13, "waived", 0),
}
"""Truncation, highest flag rate before suppression, who believes flags, patients of a sex of their own: by these each
leaves out a few patients."""


def people(hiv=25, alcohol=30, both=1, seed=2, of_own_sex=0):
    """250 patients, five rare ones, some of an own sex; and excluded by one rule or both, and four without claims."""
    draw, patients, events = random.Random(seed), [], []

    def add(kind, codes):
        own = f"{kind}{len(patients)}"
        born, sex = f"{draw.randint(1945, 1994)}-06-15", draw.choice("FM")
        patients.append((own, born, "U" if 250 <= len(patients) < 250 + of_own_sex else sex))
        for code in codes:
            day, place = f"2024-0{draw.randint(1, 9)}-11", draw.choice(("Office", "Inpatient Hospital", "elsewhere"))
            events.append((own, day, code, place, f"D{draw.randint(1, 9)}", "n"))

    for _ in range(250):
        add("P", draw.choices(DIAGNOSES, (40, 20, 15, 10, 8, 7), k=draw.randint(1, 4)))
    for code in RARE:
        add("R", [code] * 2 + draw.choices(DIAGNOSES, k=7))
    for number in range(hiv):
        add("H", ["042", "303.0"][: 1 + (number < both)])
    for _ in range(alcohol - both):
        add("A", ["303.0"])
    for _ in range(4):
        add("E", [])
    return patients, events


def claims(rows, text=PLAN):
    """These patients and claims under a plan."""
    sources = [
        Source(pl.DataFrame(own, schema=dict.fromkeys(names, pl.String), orient="row"), "csv", ",", "utf-8", "a.csv")
        for own, names in zip(rows, (OF_PATIENTS, OF_CLAIMS), strict=True)
    ]
    return claims_of(*sources, parse_plan(text, "plan.toml", Path()))


def laid_out(rows, levels, text=PLAN, left_out=()):
    """What is prepared, and the files without some patients at these levels."""
    prepared = prepare(claims(rows, text))
    encoding = encode(prepared.claims)
    gone = np.zeros(encoding.claims.n_patients, dtype=np.bool_)
    gone[list(left_out)] = True
    released = ReleasedClaims.everything(encoding.claims).without_patients(gone)
    return prepared, lay_out(prepared.claims, encoding, released, levels)


def numbers_in(told):
    """All whole numbers that stand anywhere in a part of the manifest."""
    if isinstance(told, dict):
        return [number for part in told.values() for number in numbers_in(part)]
    if isinstance(told, list):
        return [number for part in told for number in numbers_in(part)]
    return [told] if type(told) is int else []


def subtracted(manifest, files):
    """Every count of patients, claims or cells that the manifest tells, less the files, and less each other."""
    steps = {line["step"]: line for line in manifest["steps"]}
    released, records = files.patients.height, manifest["records"]
    found = [numbers_in(records["in"])[0] - released] if type(records["in"]) is int else []
    found += numbers_in(records["suppressed"])
    for line in manifest["steps"]:
        counts = numbers_in(line["counts"])
        found += numbers_in(line["total"]) + counts
        if type(line["total"]) is int and line["step"][0] in "23":
            sums = [sum(some) for n in range(1, len(counts) + 1) for some in itertools.combinations(counts, n)]
            found += [abs(line["total"] - some) for some in sums] if all(counts) else []
    leaving = [steps["2 high-risk patients"]["total"], steps["3 patients without claims"]["total"]]
    if type(records["in"]) is int and all(type(total) is int for total in leaving):
        found.append(records["in"] - released - sum(leaving))
    here = {"'pos' in group OTHER": ("claims", "pos", "OTHER")}
    for reason, count in steps["6 grouping"]["counts"].items():
        table, column, label = here[reason]
        found += [count - int((files.of(table)[column] == label).sum()) for count in numbers_in(count)]
    for variable, part in manifest["representativeness"]["variables"].items():
        table, column = {"sex": ("patients", "sex"), "age": ("patients", "age")}[variable]
        size = files.of(table).height
        for band, share in ((band, own) for band, (_, own) in part["shares"].items() if own is not None):
            mine = files.of(table)[column].fill_null("missing") == band
            people_of_share = {round(share * n) - int(mine.sum()) for n in range(size, size + K)}
            is_the_files = abs(share - mine.sum() / size) <= 5e-5
            found += [] if is_the_files else sorted(abs(n) for n in people_of_share)
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("treatment", ["cells", "claims", "patients"])
def test_nothing_told_less_the_files_leaves_fewer_than_k(treatment):
    """With few left out by each treatment, few with two reasons and few without claims, no difference is 1 to k - 1."""
    truncation, most, flag_aware, few = TREATMENTS[treatment]
    levels = LEVELS.replace('sex = "suppress"', 'sex = "suppress@0-0"') if few else LEVELS
    text = levels.replace('["none", 90]', json.dumps([truncation]))
    text = text.replace("power = 3", f'power = 2\nflag_aware = "{flag_aware}"')
    text = text.replace("repeats = 5", "repeats = 2")
    text += f'draws = 1000\nmax_flag_rate = {most}\n[suppression]\nmost_removed = 0.3\ntreatment = "{treatment}"\n'
    release = protect(ClaimsProtection(claims(people(of_own_sex=few), text)))
    manifest, secret = release.summary(), release.custody.figures

    assert secret["records"]["lost"][:2] == [54, 4]
    assert [count for count in subtracted(manifest, release.files) if 0 < count < K] == []
    assert 0 < secret["records"]["lost"][2] < K  # else choose other settings: the test is of few who are left out
    assert manifest["records"]["in"] == "withheld" == manifest["steps"][1]["total"]
    assert manifest["steps"][1]["counts"] == {"hiv": 25, "substance-abuse": 30}
    assert "claims_lost" not in json.dumps(manifest["choice"])
    assert secret["representativeness"]["variables"]["age"]["statistic"] is not None


def variables(prepared, laid):
    """Shares by variable, as they are published."""
    return {name: one.shares for name, one in compare_variables(prepared, laid.files, laid.form, K).variables.items()}


def test_tables_are_of_released_levels_and_of_the_files():
    """At level 0 ages are told by five years and at `*` not at all; who was left out is in no share."""
    rows = people(both=0)
    fine = laid_out(rows, (0, 0, 0, 0), left_out=range(7))
    found = variables(*fine)
    files = fine[1].files.patients
    by_five = files["age"].cast(pl.Int64) // 5

    assert list(found["age"]) == [*(f"[{5 * n}-{5 * n + 4}]" for n in sorted(set(by_five))), "missing"]
    assert [share for _, share in found["age"].values()] == [
        *(round(int((by_five == n).sum()) / files.height, 4) for n in sorted(set(by_five))), 0.0
    ]  # fmt: skip
    assert found["sex"]["F"][1] == round((files["sex"] == "F").sum() / files.height, 4)
    assert found["sex"]["F"][0] is not None
    assert variables(*laid_out(rows, (4, 1, 2, 4))) == {}


def test_lines_count_what_is_released():
    """Of seven who were left out at the end, nothing is in the counts of steps 1, 5 and 6; before, they were."""
    prepared, laid = laid_out(people(both=0), (0, 0, 0, 0), left_out=range(7))
    counted = counts_of(prepared.claims.plan, laid.files, laid.form)
    before = {line.step: line.counts for line in prepared.lines}
    files, reason = laid.files.claims, "'pos' in group OTHER"

    assert counted["6 grouping"][reason] == int((files["pos"] == "OTHER").sum()) < before["6 grouping"][reason]
    assert counted["1 pseudonyms"]["provider 'doctor' with 20-99 claims"] == sum(
        20 <= size <= 99 for size in files["doctor"].value_counts()["count"]
    )
    assert "2 high-risk patients" not in counted


def test_shares_of_few_excluded_are_withheld():
    """Bands of fewer than k and those that would tell them; all where few were excluded, or nobody says how many."""
    few = [variables(*laid_out(people(**how), (4, 0, 0, 0))) for how in ({"hiv": 5, "alcohol": 4}, {"both": 1})]
    prepared, laid = laid_out(people(hiv=50, alcohol=0, both=0), (2, 0, 0, 0))
    found = compare_variables(prepared, laid.files, laid.form, K).variables["age"]
    ages = found.shares
    counts = (prepared.excluded.patients["age"].cast(pl.Int64) // 10).value_counts().rows()
    small = {f"[{10 * n}-{10 * n + 9}]" for n, count in counts if count < K}

    assert [share for found in few for one in found.values() for share, _ in one.values()] == [None] * 6
    assert small <= {band for band, (share, _) in ages.items() if share is None}
    assert sum(count for n, count in counts if ages[f"[{10 * n}-{10 * n + 9}]"][0] is None) in {0, *range(K, 51)}
    assert found.statistic is None
    assert statistic("age", {"a": (0.5, 0.25), "b": (0.5, 0.75)}) == 0.25


def test_the_loss_of_the_released_tells_nothing_of_those_left_out():
    """It is that of the same patients without the others."""
    rows = people(hiv=0, alcohol=0, both=0)
    whole = encode(prepare(claims(rows)).claims).claims
    gone = np.arange(whole.n_patients) < 5
    levels = (2, 0, 1, 2)
    released = ReleasedClaims.everything(whole).without_patients(gone)
    alone = [column.losses[level][column.values[rows]].mean() for column, level, rows in zip(
        whole.columns, levels, [~gone, ~gone, ~gone[whole.owners], ~gone[whole.owners]], strict=True
    )]  # fmt: skip

    assert sum(alone) / 4 == pytest.approx(level_losses(released_alone(released)).of(levels))
    assert level_losses(released).of(levels) > level_losses(released_alone(released)).of(levels)
