"""Versions that are installed are those of the lock file, by hash, and the wheel states them."""

import json
import re
import runpy
import tomllib

from house import REPOSITORY

LOCK = runpy.run_path(str(REPOSITORY / ".ci" / "locked.py"))
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = LOCK["read_lock"]()


def names(extras):
    """The packages that an installation with these extras takes from the lock file."""
    return {one.name for one in LOCK["needed"](PACKAGES, LOCK["direct_requirements"](extras))}


def test_every_locked_package_has_hashes():
    """A package without a hash could be replaced on its way."""
    assert len(PACKAGES) > 100
    assert [one.name for one in PACKAGES if not re.search(r"--hash=sha256:[0-9a-f]{64}\n", one.lines)] == []


def test_all_extras_together_need_the_whole_lock_file():
    """The lock file has what is asked for, what that needs, and nothing else."""
    assert names(PROJECT["optional-dependencies"]) == {one.name for one in PACKAGES}


def test_an_installation_needs_only_its_part():
    """Packages of packages are found, those of other extras are not."""
    assert {"numba", "llvmlite", "pydantic-core"} <= names([])
    assert names(["ui"]) - names([]) >= {"starlette", "anyio"}
    assert not {"pytest", "pyspark", "starlette"} & names([])


def test_the_bill_of_materials_lists_what_users_install():
    """Dependencies are required or optional, development tools are not listed, and all references resolve."""
    bill = LOCK["bill_of_materials"]("1.2.3")
    scopes = {one["name"]: one["scope"] for one in bill["components"]}
    references = {one["bom-ref"] for one in bill["components"] + bill["metadata"]["component"]["components"]}

    assert bill["metadata"]["component"]["purl"] == "pkg:pypi/cloister@1.2.3"
    assert {name for name, scope in scopes.items() if scope == "required"} == names([])
    assert {*scopes} == names(LOCK["FOR_USERS"])
    assert not {"pytest", "sphinx", "mypy"} & {*scopes}
    assert {*bill["dependencies"][0]["dependsOn"]} == references


def test_the_bill_of_materials_repeats():
    """Two wheels of the same sources contain the same bytes."""
    assert json.dumps(LOCK["bill_of_materials"]("1.2.3")) == json.dumps(LOCK["bill_of_materials"]("1.2.3"))


def test_every_extra_is_for_users_or_for_development():
    """An extra that is added is listed, or is one of those that no user installs."""
    assert {*PROJECT["optional-dependencies"]} - {*LOCK["FOR_USERS"]} == {"test", "docs", "bench", "release", "dev"}
