"""What is written twice for those who package cloister, or look at its page, agrees with pyproject.toml."""

import tomllib

import pytest
import yaml
from house import REPOSITORY

import cloister

PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
FORMS = sorted((REPOSITORY / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
IN_CONDA = {"duckdb": "python-duckdb"}
"""Packages that have another name there."""


def as_conda(requirement):
    """A requirement as conda writes it."""
    name, _, bound = requirement.partition(">=")
    return f"{IN_CONDA.get(name, name)} >={bound}"


@pytest.fixture(scope="module")
def recipe():
    """The recipe of conda-forge."""
    return yaml.safe_load((REPOSITORY / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8"))


def test_the_recipe_asks_for_the_same_packages(recipe):
    """Dependencies and their bounds are those of pyproject.toml, no more and no fewer."""
    wanted = [f"python {PROJECT['requires-python']}", *map(as_conda, PROJECT["dependencies"])]
    (build,) = PYPROJECT["build-system"]["requires"]

    assert sorted(recipe["requirements"]["run"]) == sorted(wanted)
    assert as_conda(build) in recipe["requirements"]["host"]


def test_the_recipe_describes_this_project(recipe):
    """Version, licence, summary and command are those of the project."""
    commands = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]

    assert recipe["context"]["version"] == PROJECT["version"] == cloister.__version__
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    assert recipe["build"]["python"]["entry_points"] == commands


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_ask_for_no_patient_data(path):
    """A form has fields with names of their own, and says before all else that data of patients have no place in it."""
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    fields = [field for field in form["body"] if field["type"] != "markdown"]

    assert form["name"]
    assert form["description"]
    assert "real patients' data" in form["body"][0]["attributes"]["value"]
    assert len({field["id"] for field in fields}) == len(fields) > 0
