"""Builders of other packages: loaded when they are named, checked as a file is, blamed by the name of their package."""

import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import cloister as cl
from cloister.errors import InputError
from cloister.hierarchy import parse_hierarchy
from cloister.testing import assert_lawful_hierarchy

MODULE = """
print("loaded")

def outward(words):
    if words not in ("", "area"):
        raise ValueError("outward takes area or nothing")
    def labels(value):
        district, _, rest = value.partition(" ")
        area = district.rstrip("0123456789")
        return [district, area] if rest and area else None
    return labels

def ragged(words):
    return lambda value: ["x"] * len(value)

def crossing(words):
    return lambda value: [value[0], value[1]]

def root(words):
    return lambda value: ["*"]

def failing(words):
    return lambda value: [][value]
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with builders, installed as packages are: a module, and metadata that name its entry points."""
    (tmp_path / "made_up_postcodes.py").write_text(MODULE)
    metadata = tmp_path / "made_up_postcodes-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up-postcodes\nVersion: 1.0\n")
    names = ("outward", "ragged", "crossing", "root", "failing")
    points = "".join(f"{name} = made_up_postcodes:{name}\n" for name in (*names, "missing"))
    (metadata / "entry_points.txt").write_text(f"[cloister.hierarchies]\nprefix = made_up_postcodes:root\n{points}")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("made_up_postcodes", None)


def test_a_builder_of_a_package_is_lawful(package):
    """A value has its labels up to the root, and all laws of hierarchies apply."""
    hierarchy = parse_hierarchy("outward:area")

    assert [level[0] for level in hierarchy.bind("c", ["AB10 1XG"]).labels] == ["AB10 1XG", "AB10", "AB", "*"]
    assert_lawful_hierarchy(hierarchy, ["AB10 1XG", "AB11 5QN", "G1 1AA", None])


def test_the_package_of_the_page_works(tmp_path, monkeypatch):
    """The module, the metadata and the test that the documentation shows are those of a package that works."""
    page = Path(__file__).parents[3] / "docs" / "how-to" / "add-a-hierarchy.md"
    files = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))
    (point,) = re.findall(r"^uk-postcode = .*", files["pyproject.toml"], re.MULTILINE)
    (tmp_path / "uk_postcodes.py").write_text(files["uk_postcodes.py"])
    (tmp_path / "uk_postcodes-1.0.dist-info").mkdir()
    (tmp_path / "uk_postcodes-1.0.dist-info" / "entry_points.txt").write_text(
        f"[cloister.hierarchies]\n{point}\n".replace('"', "")
    )
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {}
    exec(files["test_uk_postcodes.py"], names)

    names["test_postcodes_are_lawful"]()
    sys.modules.pop("uk_postcodes")


def test_a_package_is_loaded_when_it_is_named(package, capsys):
    """Other words load no package; a builder of ours cannot be replaced."""
    assert parse_hierarchy("prefix:5").kind == "prefix"
    with pytest.raises(InputError, match=r"Did you mean outward\?"):
        parse_hierarchy("outwards")
    assert capsys.readouterr().out == ""
    parse_hierarchy("outward")

    assert capsys.readouterr().out == "loaded\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("outward:town", r"cannot be made \(ValueError: outward takes area or nothing\)"),
        ("missing", r"cannot be made \(AttributeError"),
        ("outward:a/b", "must be without /"),
        ("ragged", "from 3 to 4 labels"),
        ("crossing", "under several of level 2"),
        ("root", r"is empty or is \*"),
        ("failing", "raised TypeError for a value"),
    ],
)
def test_faults_name_the_package_and_no_value(package, words, problem):
    """Whose fault it is, and not what value showed it."""
    with pytest.raises(InputError, match=f"made-up-postcodes.*{problem}|{problem}") as caught:
        parse_hierarchy(words).bind("c", ["abc", "acd", "bcde"])

    assert "made-up-postcodes" in str(caught.value)
    assert "abc" not in str(caught.value)


def test_values_outside_are_counted(package):
    """A value that the builder does not cover is refused, as by any hierarchy."""
    with pytest.raises(InputError, match="1 of 2 distinct values of column 'c' are not covered by outward"):
        parse_hierarchy("outward").bind("c", ["AB10 1XG", "10115"])


def test_a_release_by_a_package_is_verified_without_it(package, tmp_path):
    """A recipient needs no package; who compares with the original names the hierarchy again."""
    frame = pl.DataFrame({"postcode": [f"{area}{i % 3} 1XG" for i in range(30) for area in ("AB", "G")]})
    release = tmp_path / "release"
    cl.protect_table(frame, qi={"postcode": "outward"}, k=5).write(release)

    program = "import cloister as cl, sys; assert cl.verify_folder(sys.argv[1]).holds"
    done = subprocess.run([sys.executable, "-P", "-c", program, release], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    with pytest.raises(InputError, match="came from a file"):
        cl.verify_folder(release, original=frame)
    assert cl.verify_folder(release, original=frame, hierarchies={"postcode": parse_hierarchy("outward")}).holds
