"""The evaluation of a release: parts attacked together, registers of a population, stays, and what is told of it."""

import itertools
import json
import random
from contextlib import nullcontext
from math import comb

import numpy as np
import polars as pl
import pytest
from scipy.stats import ks_2samp
from tests.made.claims_data import PLAN, claims, source
from tests.made.claims_data import plan as parsed
from tests.made.tampering import restated
from tests.oracles import claims_steps as oracle

from cloister.errors import GuaranteeViolation, InputError, NoSafeRelease
from cloister.pipeline.claims import ClaimsProtection
from cloister.pipeline.protecting import protect
from cloister.release.manifest import parse_manifest
from cloister.report.page import assumed_words
from cloister.shapes.claims.format.data import PATIENT, claims_of
from cloister.shapes.claims.format.manifest import ClaimsPromise, ClaimsRisk
from cloister.shapes.claims.format.plan import AdversaryPlan
from cloister.shapes.claims.format.population import count_people, read_population
from cloister.shapes.claims.method.adversaries import stays_of
from cloister.shapes.claims.method.adversary_draws import AdversaryPower
from cloister.shapes.claims.method.encode import EncodedClaims, encode
from cloister.shapes.claims.method.matching import ReleasedClaims
from cloister.shapes.claims.method.prepare import exclusions, prepare
from cloister.shapes.claims.method.release import lay_out
from cloister.shapes.claims.verify.recheck import ClaimsChecker
from cloister.shapes.claims.verify.verify import verify
from cloister.verification.driver import Request, check_folder
from cloister.verification.folder import verify_folder

THREE_PARTS = """
[patients.roles]
mrn = "id"
sex = "sex"
[patients.qi]
sex = "suppress@{}"
[claims.roles]
mrn = "id"
dx = "diagnosis"
pos = "place"
[claims.qi]
dx = "suppress@{}"
pos = "suppress@{}"
[grouping]
columns = []
[truncation]
percentiles = ["none"]
[risk]
threshold = 0.14
max_flag_rate = 0.14
repeats = 2
"""
KINDS = tuple(itertools.product("FM", ("401.9", "250.00"), ("Office", "21")))
"""Four patients of each kind: 16 have each value, 8 each pair of values, but only 4 all three; k is 8."""


def three_parts(bounds, more="", folder=None):
    """32 patients with one claim each, whose columns may have these levels."""
    people = [(f"P{n}", kind[0]) for n, kind in enumerate(KINDS * 4)]
    events = [(f"P{n}", *kind[1:]) for n, kind in enumerate(KINDS * 4)]
    return claims_of(
        source(people, ["mrn", "sex"], "patients.csv"),
        source(events, ["mrn", "dx", "pos"], "claims.csv"),
        parsed(THREE_PARTS.format(*bounds) + more, *([] if folder is None else [folder])),
    )


def attacks(release):
    """The simulated adversaries of a release, by name."""
    return {row["adversary"]: row for row in release.summary()["sensitivity"]["attacks"]}


@pytest.mark.full
def test_three_safe_parts_of_one_person_are_checked_together():
    """Each part by itself is released and verified; all three with its figures are not what the verifier finds."""
    data = three_parts((0, 0, 0))
    encoding = encode(prepare(data).claims)
    joined = lay_out(data, encoding, ReleasedClaims.everything(encoding.claims), (0, 0, 0))
    for shown in range(3):
        told = protect(ClaimsProtection(three_parts([int(part != shown) for part in range(3)]))).summary()
        risk = ClaimsRisk.model_validate_json(json.dumps(told["risk"]))
        found = verify(joined.files, ClaimsPromise(joined.form, data.plan, risk))

        assert told["risk"]["mean"] == 1 / 16
        assert told["guarantee"]["verified"] is True
        assert found.failures == (
            "not so: the risk of values drawn from the released claims is as stated (10,000 other draws)",
        )


def test_safe_parts_that_meet_are_refused_or_repaired():
    """At all three values nothing is released; where levels are free, one part gives way, and the report says why."""
    with pytest.raises(NoSafeRelease):
        protect(ClaimsProtection(three_parts((0, 0, 0))))
    release = protect(ClaimsProtection(three_parts(("0-1", "0-1", "0-1"))))
    found = attacks(release)
    levels = release.summary()["choice"]["levels"]
    around = {row["node"]: row for row in release.custody.figures["around"]}

    # what is packed would list the values that levels hide
    assert {*release.claims.dtypes, *release.patients.dtypes} == {pl.String}
    held = [one for one in release.files.claims if isinstance(one.dtype, pl.Enum)]
    assert held
    assert all({*one.dtype.categories} == {*one.drop_nulls()} for one in held)
    assert sum([*levels["patients"].values(), *levels["claims"].values()]) == 1
    assert found["patients and claims together"]["mean"] == 1 / 8
    assert found["patients alone"]["mean"] <= 1 / 16
    assert found["claims alone"]["mean"] <= 1 / 8
    assert around["as chosen"]["levels"] == levels
    assert [row["raw"]["flag_rate"] for row in around.values()].count(1.0) == 1
    assert [row["paper"]["flag_rate"] for row in around.values()].count(1.0) == 1
    assert len(around) == 4


REGISTER = ["F"] * 100 + ["M"] * 60


def changes(sensitivity):
    """One figure of each kind of attack, and what is said of it."""
    yield "unbounded", {"unique": sensitivity["unbounded"]["unique"] + 0.01}, "somebody who knows all"
    yield "voter_list", {"observed": sensitivity["voter_list"]["observed"] / 2}, ""
    yield "voter_list", {"exact": sensitivity["voter_list"]["exact"] / 2}, "sensitivity.voter_list.exact"
    yield "voter_list", {"columns": ["age"]}, "sensitivity.voter_list"


def said_with_original(folder, section):
    """What a check of the release in a folder with its original finds wrong."""
    manifest = json.loads((folder / "release" / "release.json").read_text())
    request = Request(original=three_parts((0, "0-1", "0-1"), section, folder))
    return "; ".join(check_folder(folder / "release", manifest, ClaimsChecker(), request).failures)


@pytest.fixture
def registered(tmp_path):
    """A folder with a register of 160 people, and the plan's section that names it."""
    frame = pl.DataFrame({"name": [f"N{n}" for n in range(160)], "sex": REGISTER})
    frame.write_csv(tmp_path / "register.csv")
    return tmp_path, '[population]\npatients = "register.csv"\n'


@pytest.mark.full
def test_a_register_of_the_population_is_matched(registered):
    """Voters by class: |J|/N, equation (2) as printed, those released; others who fit scaled up; told and checked."""
    folder, section = registered
    release = protect(ClaimsProtection(three_parts((0, "0-1", "0-1"), section, folder)))
    told = release.summary()["sensitivity"]["voter_list"]
    missed = sum(comb(160 - people, 32) / comb(160, 32) for people in (100, 60))
    scaled = [1 / (1 + 7 * (people - 1) / 15) for people in (100, 60)]
    row = attacks(release)["counted in the population"]
    release.write(folder / "release", custodian_dir=folder / "own")
    page = (folder / "release" / "report.html").read_text()

    assert (told["exact"], told["classes"], told["people"], told["sample"]) == (2 / 160, 2, 160, 32)
    assert told["paper_eq2"] == pytest.approx((2 - missed) / 160, abs=1e-6)
    assert told["observed"] == pytest.approx((16 / 100 + 16 / 60) / 32, abs=1e-6)
    assert (told["columns"], told["list"], told["flag_rate"]) == (["sex"], "population", 0.0)
    assert row["interval"][0] <= np.mean(scaled) <= row["interval"][1]
    assert release.summary()["settings"]["plan"]["population"] == {"patients": "register.csv"}
    for adversary in [*attacks(release), "voter list", "unbounded"]:
        assert assumed_words(adversary, parse_manifest(release.summary()).sensitivity).replace("'", "&#39;") in page
    own = (folder / "own" / "report.html").read_text()
    for text in ("dx of claims at", "Correlations between the diversity"):
        assert (text in own, text in page) == (True, False)
    assert said_with_original(folder, section) == ""
    (folder / "register.csv").write_text("sex\n" + "\n".join([*REGISTER, "M"]) + "\n")
    assert "sensitivity.voter_list in release.json is not what" in said_with_original(folder, section)
    sensitivity = release.summary()["sensitivity"]
    for part, figures, said in changes(sensitivity):
        restated(folder / "release", lambda manifest, of=part, new=figures: manifest["sensitivity"][of].update(new))
        refusal = pytest.raises(GuaranteeViolation, match=said) if said else nullcontext()
        with refusal:
            verify_folder(folder / "release")
        restated(folder / "release", lambda manifest: manifest.update(sensitivity=sensitivity))
    restated(folder / "release", lambda manifest: manifest["sensitivity"]["attacks"][0].update(more=0))
    with pytest.raises(GuaranteeViolation, match=r"sensitivity\.attacks\.0, which has unknown keys"):
        verify_folder(folder / "release")


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("gender\nF\n", "", "has none of the quasi-identifiers"),
        ("sex,age\nF,SECRET\n", "", "1 of 1 distinct values of column 'age'"),
        ("sex\nM\nM\n", "", "2 of 2 patients are in classes"),
        ("age\n57\n", '[[top_coding]]\ncolumn = "age"\n', "top-coded"),
    ],
)
def test_a_register_that_does_not_fit_is_refused(tmp_path, text, more, said):
    """Columns, values, people, top-coding; never with a value."""
    (tmp_path / "register.csv").write_text(text)
    data = claims(text=f'{PLAN}\n{more}[population]\npatients = "register.csv"\n', folder=tmp_path)
    with pytest.raises(InputError, match=said) as refusal:
        read_population(prepare(data).claims)

    assert "SECRET" not in str(refusal.value)


def test_people_are_counted_at_the_levels_of_the_release(tmp_path):
    """Ages by ten years, people without an age apart; each released patient with the people of the class."""
    (tmp_path / "register.csv").write_text("sex,age,zip\nF,57,1\nF,51,1\nF,,1\nF,61,1\nM,28,1\nF,0,1\nM,57,1\n")
    prepared = prepare(claims(text=f'{PLAN}[population]\npatients = "register.csv"\n', folder=tmp_path)).claims
    encoding = encode(prepared)
    levels = tuple({"sex": 0, "age": 2}.get(column.name, 0) for column in encoding.claims.columns)
    laid = lay_out(prepared, encoding, ReleasedClaims.everything(encoding.claims), levels)
    rows = encoding.patient_rows[laid.patients].tolist()
    found = count_people(read_population(prepared), prepared, laid.files.patients, laid.form)

    assert prepared.patients["age"].cast(pl.String).to_list() == ["57", "0"]
    assert found.columns == ("sex", "age")
    assert found.classes.tolist() == [1, 1, 1, 1, 1, 2]
    assert dict(zip(rows, found.people.tolist(), strict=True)) == {0: 2, 1: 1}
    assert found.fellows.tolist() == [1, 1]


def test_stays_are_told_by_place_or_length():
    """Inpatient claims by group or by code; without a place those with a length of stay; else none can be told."""
    ungrouped = PLAN.replace('pos = "place"\nspec = "specialty"\nlen', 'pos = "suppress"\nspec = "suppress"\nlen')
    nowhere = PLAN.replace('pos = "place"\nspec = "specialty"\nlen', 'spec = "specialty"\nlen').replace(
        'pos = "place"', 'pos = "drop"'
    )
    endless = nowhere.replace('"length_of_stay", ', "").replace('length_of_stay = "length-of-stay"\n', "")
    endless = endless.replace(', "days_in_hospital"', "").replace('days_in_hospital = "days-in-hospital"\n', "")
    found = [
        stays_of(encode(prepare(data).claims).claims, data.plan)
        for data in (claims(), claims(text=f"{ungrouped}[grouping]\ncolumns = []\n"), claims(text=nowhere))
    ]
    data = claims(text=endless)

    assert [int(stays.claims.sum()) for stays in found] == [1, 1, 2]
    assert [len(stays.columns) for stays in found] == [3, 3, 2]
    assert stays_of(encode(prepare(data).claims).claims, data.plan) is None


def made_up(n_patients=60):
    """Patients with some claims each; a third of them on the exclusion list, and older."""
    draw = random.Random(5)
    people, events = [], []
    for n in range(n_patients):
        is_hit = n % 3 == 0
        people.append((f"P{n}", f"{draw.randint(1920, 1960) if is_hit else draw.randint(1940, 2000)}-06-15", "F"))
        for place in range(draw.randint(1, 5)):
            day, stay = f"2008-{draw.randint(1, 12):02}-01", draw.randint(1, 28)
            code = "042" if is_hit and place == 0 else draw.choice(("401.9", "250.10", "465.9"))
            events.append((f"P{n}", day, f"{day[:8]}{stay:02}", None, code, None, "99213", "Office", None, "D1", "x"))
    return claims(people, events)


def test_excluded_patients_are_compared_by_the_test_of_scipy():
    """Statistic and p-value of each variable are those of the values, worked out from the columns as read."""
    data = made_up()
    found = prepare(data).representativeness.variables
    is_hit = exclusions(data).removed.patients["mrn"].to_list()
    events = data.claims.join(data.patients.select("mrn", PATIENT), on=PATIENT)
    first = {own: min(dates) for own, dates in events.group_by("mrn").agg("date").iter_rows()}
    born = dict(data.patients.select("mrn", "born").iter_rows())
    ages = {own: int(first[own][:4]) - int(born[own][:4]) - (first[own][5:] < "06-15") for own in born}
    split = [[ages[own] for own in ages if (own in is_hit) == hit] for hit in (True, False)]
    stays = [
        [int(until[8:]) - 1 or 1 for own, until in events.select("mrn", "until").iter_rows() if (own in is_hit) == hit]
        for hit in (True, False)
    ]

    for variable, values in (("age", split), ("length of stay", stays)):
        expected = ks_2samp(*values, method="asymp")
        steps = sorted({*values[0], *values[1]})
        apart = max(abs(np.mean(np.array(values[0]) <= at) - np.mean(np.array(values[1]) <= at)) for at in steps)
        assert found[variable]["statistic"] == pytest.approx(apart)
        assert (found[variable]["statistic"], found[variable]["p_value"]) == (expected.statistic, expected.pvalue)
    assert found["age"]["p_value"] < 0.01


def test_diversities_are_correlated_as_numpy_has_it():
    """The table is that of 1 - D of the definition, over patients with values of both columns."""
    encoded: EncodedClaims = encode(prepare(made_up(40)).claims).claims
    adversary = AdversaryPower(encoded, AdversaryPlan())
    rows = [range(*encoded.offsets[i : i + 2]) for i in range(encoded.n_patients)]
    diversities = [
        [
            float(1 - oracle.simpson(known))
            if (known := [column.values[row] for row in own if column.values[row] >= 0])
            else None
            for own in rows
        ]
        for column in encoded.claims
    ]
    table = adversary.correlations()
    n_told = 0
    for (i, one), (j, other) in itertools.combinations(enumerate(diversities), 2):
        pairs = np.array([pair for pair in zip(one, other) if None not in pair], dtype=float).T
        if pairs.size and all(len(set(row)) > 1 for row in pairs):
            n_told += 1
            assert table[i, j] == table[j, i] == pytest.approx(np.corrcoef(pairs)[0, 1])
        else:
            assert np.isnan(table[i, j])

    assert n_told >= 1
