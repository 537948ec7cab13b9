"""The plan: what it may say, and what is said of mistakes."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
from tests.made.claims_data import PLAN, plan

from cloister.errors import InputError
from cloister.shapes.claims.format.plan import ClaimsPlan


def keys_of(kind, before=""):
    """Every key of a section by its whole name, with its default as TOML has it, or as the docs call it."""
    for key in dataclasses.fields(kind):
        inner = next(
            (part for part in (key.type, *getattr(key.type, "__args__", ())) if dataclasses.is_dataclass(part)), None
        )
        if inner is not None:
            yield from keys_of(inner, f"{before}{key.name}.")
            continue
        default = key.default if key.default_factory is dataclasses.MISSING else key.default_factory()
        words = {dataclasses.MISSING: "needed", None: "not set"}
        told = words.get(default) if not isinstance(default, dict) else None
        yield f"{before}{key.name}", told or "`" + re.sub(r"\.0\b", "", json.dumps(default)) + "`"


def refused(text):
    """The message of the refusal of a plan."""
    with pytest.raises(InputError) as refusal:
        plan(text)
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None
    assert refusal.value.file == "plan.toml"
    return refusal.value.message


def test_what_is_not_said_has_its_default():
    """A plan of roles and hierarchies has all else by default."""
    made = plan()

    assert (
        made.risk.threshold, made.risk.max_flag_rate, made.risk.seed, made.risk.repeats, made.risk.draws
    ) == (0.05, "chosen", 0, 1000, 10_000)  # fmt: skip
    assert made.search.loss == "entropy"
    assert made.truncation.percentiles == ("none", 99, 97.5, 95, 90)
    assert (
        made.adversary.power, made.adversary.rounding, made.adversary.basis, made.adversary.flag_aware
    ) == (5, "ceil", "raw", "bounded")  # fmt: skip
    assert made.truncation.levels == (100.0, 99.0, 97.5, 95.0, 90.0)
    assert made.ids.patients == "number"
    assert made.suppression.treatment == "cells"


def test_everything_can_be_said():
    """Every section and key is taken over."""
    more = """
[exclusions]
rules = ["hiv"]
[grouping]
columns = ["place", "specialty", "diagnosis"]
[[top_coding]]
column = "pay_delay"
quantile = 0.99
exclude_zero = true
[truncation]
percentiles = ["none", 95]
per = "patient-year"
[adversary]
power = 3
rounding = "floor"
basis = "node"
flag_aware = "waived"
likeliest = "bounded"
[risk]
threshold = 0.1
max_flag_rate = 0.2
draws = 1000
[suppression]
treatment = "patients"
most_treated = 1
most_removed = 0.02
[weights]
dx = 3
age = 0.001
[ids]
patients = "hmac:key"
provider = "per-table"
[search]
nodes = 10
time_limit_s = 1.5
"""
    made = plan(PLAN.replace('dx = "diagnosis"\ncpt', 'dx = "diagnosis-group"\ncpt') + more)

    assert made.exclusions.rules == ("hiv",)
    assert made.grouping.columns == ("place", "specialty", "diagnosis")
    assert (
        made.top_coding[0].column, made.top_coding[0].quantile, made.top_coding[0].exclude_zero
    ) == ("pay_delay", 0.99, True)  # fmt: skip
    assert made.truncation.percentiles == ("none", 95.0)
    assert (made.adversary.rounding, made.adversary.basis, made.adversary.flag_aware) == ("floor", "node", "waived")
    assert (made.ids.provider, made.search.nodes, made.search.time_limit_s) == ("per-table", 10, 1.5)
    assert (made.weights, made.ids.patients) == ({"dx": 3.0, "age": 0.001}, "hmac:key")
    assert (made.risk.draws, made.suppression.most_treated, made.suppression.most_removed) == (1000, 1.0, 0.02)
    assert made.adversary.is_flag_aware_waived


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("[risk]\ntreshold = 0.1", "unknown key risk.treshold. Did you mean threshold?"),
        ("[riks]\nseed = 1", "unknown key riks. Did you mean risk?"),
        ("[risk]\nthreshold = 0.7", "risk.threshold must be a number above 0 and at most 0.5"),
        ("[risk]\nthreshold = nan", "risk.threshold must be a number above 0 and at most 0.5"),
        ('[risk]\nthreshold = "SECRET"', "risk.threshold must be a number above 0 and at most 0.5"),
        ("[risk]\nseed = 1.5", "risk.seed must be a whole number from 0 to 4,294,967,295"),
        ("[risk]\nseed = 2020-01-01", "risk.seed must be a whole number from 0 to 4,294,967,295"),
        ("[risk]\nseed = true", "risk.seed must be a whole number from 0 to 4,294,967,295"),
        ('[adversary]\nrounding = "SECRET"', "adversary.rounding must be ceil, floor or round"),
        ("[adversary]\npower = 0", "adversary.power must be a whole number from 1 to 1,000"),
        ('[exclusions]\nrules = ["SECRET"]', "exclusions.rules must be a list among hiv, "),
        ("[truncation]\npercentiles = [100]", 'truncation.percentiles must be a list of "none" and numbers'),
        ("[truncation]\npercentiles = [49]", "numbers from 50 to below 100, so that most patients keep all"),
        ('[truncation]\npercentiles = ["SECRET"]', "truncation.percentiles must be"),
        ("[[top_coding]]\nquantile = 0.5", "lacks the key top_coding.column"),
        ('[[top_coding]]\ncolumn = "los"\nquantile = 1.0', "top_coding.quantile (section 1) must be"),
        ('[ids]\npatients = "SECRET"', "ids.patients must be number or hmac:KEYFILE"),
        ('[ids]\npatients = "drop"', "ids.patients cannot be drop: the id is all that says whose claims are whose"),
        ("[risk]\ndraws = 999", "risk.draws must be a whole number from 1,000 to 1,000,000"),
        ("[risk]\nrepeats = 1000001", "risk.repeats must be a whole number from 1 to 1,000,000"),
        ("[suppression]\nmost_treated = 0.0", "suppression.most_treated must be a number above 0 and at most 1"),
        ("[suppression]\nmost_removed = 1.1", "suppression.most_removed must be a number above 0 and at most 1"),
        ("[suppression]\nmost_remove = 0.1", "unknown key suppression.most_remove. Did you mean most_removed?"),
        ("[search]\ntime_limit_s = inf", "search.time_limit_s must be a number of seconds above 0"),
        (
            "[weights]\ndxx = 2",
            "weights.dxx is no quasi-identifier, and only what they lose is weighed. Did you mean dx?",
        ),
        ("[weights]\ndoctor = 2", "weights.doctor is no quasi-identifier"),
        ("[weights]\ndx = 0.0", "weights.dx must be a number from 0.001 to 1,000"),
        ("[weights]\ndx = nan", "weights.dx must be a number from 0.001 to 1,000"),
        ("[weights]\ndx = inf", "weights.dx must be a number from 0.001 to 1,000"),
        ('[weights]\ndx = "SECRET"', "weights.dx must be a number from 0.001 to 1,000"),
        ('[grouping]\ncolumns = ["SECRET"]', "grouping.columns must be a list among diagnosis, procedure"),
        ('[grouping.tables]\nSECRET = "a.csv"', "grouping.tables must be names of CSV files, by role"),
        ("risk = 3", "risk must be a section"),
        ("[risk", "is not TOML at line 35"),
    ],
)
def test_mistakes_are_named_with_what_is_allowed(more, said):
    """A mistake is told by its key and by what the key may be, never by what was written."""
    text = f"{more}\n{PLAN}" if more.startswith("risk") else f"{PLAN}\n{more}\n"

    assert said in refused(text)
    assert "SECRET" not in refused(text)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('sex = "sex"', 'sex = "SECRET"', "patients.roles.sex must be id, birth-date"),
        ('mrn = "id"\ndate', 'mrn = "drop"\ndate', "a column of claims needs the role id"),
        ('note = "keep"', 'note = "date"', "only one column of claims can have the role date"),
        ('sex = "suppress"', "", "column 'sex' of patients is a quasi-identifier, but patients.qi names no hierarchy"),
        ('dx = "diagnosis"\ncpt = "procedure"\npos = "place"', "", "column 'cpt' of claims is a quasi-identifier"),
        ('age = "age"', 'aged = "age"', "patients.qi.aged is no quasi-identifier by its role and no derived column"),
        ('age = "age"', 'age = "agee"', "patients.qi.age: there is no such hierarchy. Did you mean age?"),
        ('derived = ["age", "days_in_hospital"]', 'derived = ["weight"]', "patients.derived must be a list among age"),
        ('note = "keep"', 'pay_delay = "keep"', "claims has a column pay_delay already"),
        ('length_of_stay = "length-of-stay"', "", "column 'length_of_stay' of claims is a quasi-identifier, but"),
        ('dx = "diagnosis"', 'dx = "diagnosis-group@1"', "qi.dx: the hierarchy diagnosis-group begins at groups"),
        ('cpt = "procedure"', 'cpt = "diagnosis"', "claims.qi.cpt: the hierarchy diagnosis begins at codes"),
        (PLAN, f'{PLAN}[grouping]\ncolumns = ["diagnosis"]', "claims.qi.dx: the hierarchy diagnosis begins at codes"),
        (PLAN, f"{PLAN}[grouping]\ncolumns = []", "claims.qi.pos: the hierarchy place begins at groups"),
    ],
)
def test_roles_and_hierarchies_must_fit(old, new, said):
    """Roles given twice or not at all, and hierarchies of nothing, are refused."""
    start, found, end = PLAN.rpartition(old)
    assert found

    assert said in refused(f"{start}{new}{end}")


def test_a_plan_is_read_of_a_file(tmp_path):
    """Files that a plan names are looked for beside it."""
    (tmp_path / "age.csv").write_text("1;young;*\n70;old;*\n")
    (tmp_path / "plan.toml").write_text(
        PLAN.replace('age = "age"', 'age = "age.csv@1"')
        + '[exclusions]\nfile = "own.csv"\n[ids]\npatients = "hmac:key"\n'
    )
    made = ClaimsPlan.read(tmp_path / "plan.toml")

    assert f"{tmp_path / 'age.csv'}@1" == made.patients.qi["age"]
    assert str(tmp_path / "own.csv") == made.exclusions.file
    assert f"hmac:{tmp_path / 'key'}" == made.ids.patients


def test_a_plan_that_is_not_there_is_said(tmp_path):
    """A missing file is an InputError like any other."""
    with pytest.raises(InputError, match="There is no file"):
        ClaimsPlan.read(tmp_path / "plan.toml")


def test_a_column_that_is_dropped_may_be_worked_out_anew():
    """A recorded age that is dropped does not stand in the way of the age that is derived."""
    made = plan(PLAN.replace('sex = "sex"\n[', 'sex = "sex"\nage = "drop"\n['))

    assert made.patients.roles["age"] == "drop"
    assert "age" in made.patients.derived


def test_every_key_is_documented_with_its_default():
    """The list of docs/claims.md has each key of the plan with its default, and no other."""
    text = (Path(__file__).parents[4] / "docs" / "claims.md").read_text()
    listed = text.split("## Every key of the plan")[1].split("An unknown key")[0]
    items = re.findall(r"^\* (`[^(]+`) \(([^)]+)\): ", listed, re.MULTILINE)
    told = {key: default for keys, default in items for key in re.findall("`([^`]+)`", keys)}

    assert dict(keys_of(ClaimsPlan)) == told
