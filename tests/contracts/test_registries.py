"""Registries are complete: what is registered has laws, an oracle and a verifier, or the suite fails."""

import ast
from pathlib import Path

import polars as pl
import pytest
from tests.oracles import hierarchies as hierarchies_by_definition
from tests.properties import test_privacy_rules as laws
from tests.properties import test_verified_rules as verified
from tests.soak import made

import cloister as cl
from cloister.hierarchy.build import BUILDERS
from cloister.privacy.parse import RULES
from cloister.registry import FORMS
from cloister.tabular.verify_rules import CLASS_RULES, TABLE_RULES

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

SHAPES_OF_FORMS = {
    "table": "table",
    "table_with_codes": "with_codes",
    "disassociation": "disassociated",
    "generalization": "generalized",
    "trajectories": "trajectories",
    "claims": "claims",
}
"""By what name the soak makes, changes and verifies a release of each form."""


def test_every_rule_has_a_law_and_an_oracle():
    """The laws draw every registered rule, each with its definition beside it."""
    assert {*laws.class_rules()} | {*laws.suppressing_rules()} | OF_PEOPLE == {*RULES}


def test_every_rule_is_judged_by_the_verifier():
    """The verifier knows every registered rule and no other; each about classes is compared with its oracle."""
    assert {*CLASS_RULES} | {*TABLE_RULES} == {*RULES}
    assert {name.split()[0] for name in verified.RULES} == {*CLASS_RULES}
    assert {describe(0.5)["model"] for describe, *_ in verified.TABLE_RULES.values()} == {*TABLE_RULES}


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
    asked = {"rules": ["k-anonymity=3"], "sensitive": ["dx"], "accept": ["dx"], "suppression_limit": 0.5}
    cl.anonymize(frame, quasi_identifiers={"c": usage}, accept_empty=True, **asked).write(tmp_path / "release")

    assert cl.verify_folder(tmp_path / "release", original=frame).holds


def test_every_form_is_forged_in_the_soak():
    """Releases of each registered form are made, changed and verified by the soak."""
    assert {*SHAPES_OF_FORMS} == {*FORMS}
    assert {*SHAPES_OF_FORMS.values()} == {*made.SHAPES}
