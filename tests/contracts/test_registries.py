"""Registries are complete: what is registered has laws, an oracle and a verifier, or the suite fails."""

import ast
from pathlib import Path

import polars as pl
import pytest
from tests.made import forms
from tests.made.tampering import restated
from tests.oracles import attacks as attacks_by_definition
from tests.oracles import hierarchies as hierarchies_by_definition
from tests.oracles.full_domain import at_least, best_policy
from tests.properties import test_paper_searches as papers
from tests.properties import test_privacy_rules as laws
from tests.properties import test_search
from tests.properties import test_verified_rules as verified
from tests.properties.test_table_statements import IN_SQL

import cloister as cl
from cloister.hierarchy.build import BUILDERS
from cloister.privacy.parse import RULES
from cloister.search import SEARCHES
from cloister.shapes.registry import FORMS
from cloister.shapes.table.verify.rules import CLASS_RULES, TABLE_RULES
from cloister.shapes.table.verify.statements import RULES as CONDITIONS
from cloister.utility import LOSSES

UNIT = Path(__file__).resolve().parents[1] / "unit"
OF_PEOPLE = {"population-uniqueness"}
"""Rules that are estimates: laws and verifier have tests of their own, against Zayatz, Pitman and more."""

LAWS = {
    **dict.fromkeys(("keep", "rare", "groups", "similar", "quantile"), "hierarchy/test_category_laws.py"),
    **dict.fromkeys(("interval", "prefix", "date", "icd9", "icd10", "suppress"), "hierarchy/test_laws.py"),
}
"""Where the laws of each builder are."""

COLUMNS = {
    **{key: [str(20 + i % 60) for i in range(120)] for key in ("interval", "quantile")},
    **{
        key: [("White", "Hispanic", "Asian", "Black", "Other")[i % 5] for i in range(120)] for key in ("keep", "groups")
    },
    **{key: ["abcde"[i % 5] for i in range(120)] for key in ("rare", "similar", "suppress")},
    "prefix": [f"{10000 + i % 7:05}" for i in range(120)],
    "date": [f"{2000 + i % 9}-0{1 + i % 4}-11" for i in range(120)],
    "icd9": [("250.10", "401.9", "V51")[i % 3] for i in range(120)],
    "icd10": [("E11.9", "I10", "Z00.0")[i % 3] for i in range(120)],
}
"""A column for each builder, to release and to verify with its original."""

ORACLES_OF_ATTACKS = {
    "table": "rows_like",
    "table_with_codes": "rows_like",
    "table_with_terms": "records_with",
    "disassociation": "candidates",
    "generalization": "records_with",
    "trajectories": "sequences_with",
    "claims": "patients_with",
}
"""By what definition the adversaries of each form are checked, in tests of its methods or in that of claims."""


def test_every_rule_has_a_law_and_an_oracle():
    """The laws draw every registered rule, each with its definition beside it."""
    assert {*laws.class_rules()} | {*laws.suppressing_rules()} | OF_PEOPLE == {*RULES}


def test_every_rule_is_judged_by_the_verifier():
    """The verifier knows every registered rule and no other; each about classes is compared with its oracle."""
    assert {*CLASS_RULES} | {*TABLE_RULES} | {*CONDITIONS} == {*RULES}
    assert {name.split()[0] for name in verified.RULES} == {*RULES} - {*TABLE_RULES}
    assert {describe(0.5)["model"] for describe, *_ in verified.TABLE_RULES.values()} == {*TABLE_RULES}


def test_every_rule_is_judged_in_sql_or_said_not_to_be():
    """Each registered rule has a condition of SQL, but those that no released file suffices for."""
    assert {*CONDITIONS} | {"delta-presence", "population-uniqueness"} == {*RULES}
    assert {*IN_SQL} | {"k-map", "k-patients", "delta-presence"} >= {*RULES} - {*TABLE_RULES} - {"t-closeness"}


def test_every_form_has_a_script():
    """Each form of release has its promises as SQL."""
    assert {name for name, form in FORMS.items() if form.script is None} == set()


def test_every_builder_has_laws():
    """Each registered builder is named by a test of laws in the place that is listed here."""
    assert {*LAWS} == {*BUILDERS}
    for builder, place in LAWS.items():
        names = [
            one.name for one in ast.walk(ast.parse((UNIT / place).read_text())) if isinstance(one, ast.FunctionDef)
        ]
        stem = {"interval": "intervals", "prefix": "prefixes", "date": "dates"}.get(builder, builder)
        assert any(name.startswith(f"test_{stem}_") and "lawful" in name for name in names), builder


def test_builders_of_categories_have_oracles():
    """What joins categories, or cuts by the records, is compared with its definition."""
    of_records = {builder for builder, place in LAWS.items() if place.endswith("test_category_laws.py")}

    assert of_records - {"quantile"} <= {*vars(hierarchies_by_definition)}
    assert hasattr(hierarchies_by_definition, "quantile_cuts")


@pytest.mark.parametrize("builder", BUILDERS)
def test_a_release_by_every_builder_is_verified(builder, tmp_path):
    """A release by each registered builder, as its usage writes it, holds against its original."""
    usage = {"rare": "rare:2", "similar": "similar:dx", "quantile": "quantile:4,2"}.get(
        builder, BUILDERS[builder].usage
    )
    frame = pl.DataFrame({"c": COLUMNS[builder], "dx": ["xyz"[i * i % 3] for i in range(120)]})
    asked = {"rule": ["k-anonymity=3"], "sensitive": ["dx"], "accept": ["dx"], "suppression": 0.5}
    cl.protect_table(frame, qi={"c": usage}, accept_empty=True, **asked).write(tmp_path / "release")

    assert cl.verify_folder(tmp_path / "release", original=frame).holds


def test_every_form_is_forged_in_the_soak():
    """Releases of each registered form are made, changed and verified by the soak."""
    assert {*forms.FORMS} == {*FORMS}


def test_every_loss_has_an_oracle():
    """The definition knows every registered loss and no other; the optimum by each is searched in random tables."""
    one = best_policy([("a",), ("b",)], [[("a", "*"), ("b", "*")]], at_least(2), 0, "iyengar", (1.0,))

    assert all(0 <= one.loss(name, (1.0,)) <= 1 for name in LOSSES)
    with pytest.raises(KeyError):
        one.loss("no such loss", (1.0,))
    assert test_search.LOSSES is LOSSES


PEOPLE = pl.DataFrame({"age": [str(20 + 7 * i % 60) for i in range(90)], "sex": ["FM"[i % 2] for i in range(90)]})
ASKED = {"qi": {"age": "interval:5,20", "sex": "suppress"}, "rule": ["k-anonymity=3"]}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_release_by_every_loss_is_verified(loss, tmp_path):
    """A release by each registered loss holds against its original, and not with a figure that does not follow."""
    cl.protect_table(PEOPLE, **ASKED, loss=loss, purpose="one-coding", accept_empty=True).write(tmp_path / "release")
    assert cl.verify_folder(tmp_path / "release", original=PEOPLE).holds

    restated(tmp_path / "release", lambda manifest: manifest["utility"]["losses"].update({loss: 0.123456}))
    with pytest.raises(cl.GuaranteeViolation, match=r"utility\.loss"):
        cl.verify_folder(tmp_path / "release", original=PEOPLE)


def test_every_search_has_laws_and_an_oracle():
    """Each registered search is compared with its definition: the optimum, minimal policies, least rank or a path."""
    exact = {*test_search.SEARCHES} | {*papers.EXACT}
    stores = {"flash-list"}

    assert exact - stores | {*papers.MINIMAL} | {"samarati"} | {*papers.GREEDY} == {*SEARCHES}
    assert {search.__name__ for search, _ in papers.GREEDY.values()} == {*papers.PATHS}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_release_by_every_search_is_verified(name, tmp_path):
    """A release by each registered search holds against its original."""
    cl.protect_table(PEOPLE, **ASKED, search=name, accept_empty=True).write(tmp_path / "release")

    assert cl.verify_folder(tmp_path / "release", original=PEOPLE).holds


def test_every_adversary_has_an_oracle():
    """What opens a release of each form for adversaries is compared with a definition, by a test that uses it."""
    places = ("test_attacks_methods.py", "test_attacks_claims.py")
    tests = "".join((UNIT / "attacks" / name).read_text() for name in places)

    assert {*ORACLES_OF_ATTACKS} == {*FORMS}
    for name in ORACLES_OF_ATTACKS.values():
        assert hasattr(attacks_by_definition, name)
        assert f"{name}(" in tests
