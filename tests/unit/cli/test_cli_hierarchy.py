"""``cloister hierarchy``: check, preview and build."""

import json
import stat

import pytest

FILE = "02130;0213*;*\n02131;0213*;*\n99999;99999;*\n88888;88888;*\n"


@pytest.fixture
def hierarchy(tmp_path):
    """A legal hierarchy file."""
    path = tmp_path / "zip.csv"
    path.write_text(FILE)
    return path


def test_check_of_a_legal_file(cloister, hierarchy, data):
    """A legal file is said to be; with data, that it holds all their values."""
    assert cloister("hierarchy", "check", hierarchy).out == "zip.csv is legal.\n"
    ran = cloister("hierarchy", "check", hierarchy, data, "--column", "zip")
    assert (ran.code, ran.out) == (0, "zip.csv is legal, and it holds all 4 values of column 'zip'.\n")
    assert cloister("hierarchy", "check", hierarchy, "--json").json == {
        "legal": True,
        "hierarchy": "zip.csv",
        "kind": "file",
    }


def test_check_of_a_builder(cloister, data):
    """A builder is checked like a file."""
    ran = cloister("hierarchy", "check", "interval:5,10", data, "--column", "age")

    assert ran.code == 0
    assert "interval:5,10 is legal, and it holds all 8 values" in ran.out


def test_check_names_every_problem(cloister, hierarchy):
    """All that is wrong is told at once, by lines."""
    hierarchy.write_text("a;x;y;*\nb;x;z;*\na;x;y;+\n")
    ran = cloister("hierarchy", "check", hierarchy)

    assert (ran.code, ran.out) == (2, "")
    assert "stands again on line 3" in ran.err
    assert "do not nest" in ran.err
    assert "different labels" in ran.err


def test_check_counts_values_outside(cloister, hierarchy, data):
    """Values that the hierarchy lacks are counted."""
    hierarchy.write_text("02130;*\n02131;*\n")
    ran = cloister("hierarchy", "check", hierarchy, data, "--column", "zip")

    assert ran.code == 2
    assert "2 of 4 distinct values of column 'zip'" in ran.err


def test_a_column_must_be_named(cloister, hierarchy, data):
    """Where the data have several columns, one must be named, and it must be there."""
    assert "Name one with --column" in cloister("hierarchy", "check", hierarchy, data).err
    assert "Did you mean 'zip'?" in cloister("hierarchy", "check", hierarchy, data, "--column", "zipp").err


def test_preview(cloister, hierarchy, data):
    """A preview shows groups and sizes of every level; labels only where they are asked for."""
    words = ("hierarchy", "preview", "interval:10/top=90/bottom=0", data, "--column", "age")
    ran = cloister(*words, "--show-values")

    assert ran.code == 0
    assert "[30-39]" in ran.out
    assert "[30-39]" in cloister(*words, "--show-values", "--json").out
    assert "[30-39]" not in cloister(*words).out + cloister(*words, "--json").out
    levels = cloister("hierarchy", "preview", hierarchy, "--json").json["levels"]
    assert [level["level"] for level in levels] == [0, 1, 2]
    assert [level["n_groups"] for level in levels] == [4, 3, 1]


def test_preview_needs_values(cloister):
    """A builder has no values of its own to show."""
    ran = cloister("hierarchy", "preview", "prefix:5")

    assert ran.code == 2
    assert "give a data file" in ran.err


def test_build(cloister, data, tmp_path):
    """A built hierarchy is a file that works wherever files do, for its owner alone."""
    ran = cloister("hierarchy", "build", "prefix:3", data, "--column", "diagnosis")
    assert ran.code == 2  # 250.10 has more than 3 characters

    ran = cloister("hierarchy", "build", "prefix:5", data, "--column", "zip", "--out", "built.csv")
    built = tmp_path / "built.csv"
    assert ran.code == 0
    assert "4 values, 6 levels" in ran.out
    assert stat.S_IMODE(built.stat().st_mode) == 0o600
    assert built.read_text() == cloister("hierarchy", "build", "prefix:5", data, "--column", "zip").out
    assert cloister("hierarchy", "check", built, data, "--column", "zip").code == 0
    assert cloister("hierarchy", "build", "prefix:5", data, "--column", "zip", "--out", "built.csv").code == 2


def test_build_as_json(cloister, data, tmp_path):
    """``--json`` prints one object, and the hierarchy in it where no file was named."""
    words = ("hierarchy", "build", "prefix:5", data, "--column", "zip", "--json")

    assert cloister(*words, "--out", "built.csv").json == {"file": "built.csv", "values": 4, "levels": 6}
    assert cloister(*words).json["rows"][0] == ["02130", "0213*", "021**", "02***", "0****", "*"]


def test_build_with_missing(cloister, data, tmp_path):
    """Missing is a row of its own with an empty value; the file is legal and reads missing back."""
    data.write_text("age,sex\n31,F\n,F\n44,M\n")
    words = ("interval:10/top=90/bottom=0", data, "--column", "age")
    assert cloister("hierarchy", "build", *words, "--out", "age.csv").code == 0

    assert (tmp_path / "age.csv").read_text() == "31;[30-39];*\n44;[40-49];*\n;;*\n"
    assert cloister("hierarchy", "check", "age.csv", data, "--column", "age").code == 0


@pytest.mark.parametrize("command", ["check", "preview", "build"])
def test_neither_file_nor_builder(cloister, data, command):
    """A word that is neither is refused with the nearest builder."""
    ran = cloister("hierarchy", command, "intervall:5", data, "--column", "age")

    assert ran.code == 2
    assert "Did you mean interval?" in ran.err


def test_a_level_becomes_a_utility_policy(cloister, tmp_path):
    """Codes under one label are a set, codes in a gap are in none; protect takes the policy as any other."""
    levels, drugs, policy = (tmp_path / name for name in ("atc.csv", "drugs.csv", "policy.json"))
    levels.write_text("A01;A;x\nA02;A;x\nB01;B;x\nC01;;x\n")
    drugs.write_text("id,codes\n1,A01 B01\n2,A02 A01\n3,A01 A02 B01\n4,A01\n5,C01 A02\n")
    build = ("hierarchy", "build", levels, drugs, "--column", "codes", "--policy")

    assert json.loads(cloister(*build, "1").out) == {"A": ["A01", "A02"], "B": ["B01"]}
    assert "levels of 'codes' are 1 to 2" in cloister(*build, "3").err
    assert cloister(*build, "1", "--out", policy).code == 0
    asked = ("-k", "2", "-m", "1", "--method", "cba", "--code-hierarchy", levels, "--policy", policy)
    assert cloister("protect", "codes", drugs, *asked, "--out", tmp_path / "out").code == 0
    assert cloister("verify", tmp_path / "out", "--policy", policy).code == 0
