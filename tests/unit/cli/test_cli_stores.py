"""Property stores from the command line: the same release by each, what each did told to the custodian."""

import json

import pytest

from cloister.cli.main import run
from cloister.search.lattice import STORES

TABLE = "age,sex,zip\n" + "".join(f"{20 + n % 40},{'FM'[n % 2]},{10000 + n * 7 % 90}\n" for n in range(120))
WORDS = ["--qi", "age=interval:5,10,20/top=90/bottom=0", "--qi", "sex", "--qi", "zip=prefix:5", "-k", "5", "--quiet"]


@pytest.mark.parametrize("search", ["flash", "bfs"])
def test_each_store_gives_the_same_release(tmp_path, monkeypatch, search):
    """Options 1 to 4 of the paper differ in what they hold and in nothing that is released."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(TABLE)
    found = {}
    for store in STORES:
        command = ["protect", "table", "people.csv", *WORDS, "--search", search, "--store", store]
        assert run([*command, "--out", store, "--custodian-dir", f"own-{store}"]) == 0
        kept = json.loads((tmp_path / f"own-{store}" / "internal.json").read_text())["store"]
        manifest = json.loads((tmp_path / store / "release.json").read_text())
        found[store] = (tmp_path / store / "data.csv").read_bytes(), manifest["search"], manifest["settings"]
        assert kept["insufficient_quality"]["inserts"] > 0
        assert kept["store_bytes"] > 0

    assert all(one == found["list"] for one in found.values())


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--search", "flash", "--store", "treee"], "Did you mean tree?"),
        (["--search", "ola", "--store", "tree"], "the search ola has none"),
        (["--purpose", "one-coding", "--store", "tree"], "the search optimal has none"),
    ],
)
def test_a_store_that_is_not_used_is_refused(tmp_path, monkeypatch, capsys, words, problem):
    """A name that is none, and a search that keeps nothing, are said to be so before anything is read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(TABLE)

    assert run(["protect", "table", "people.csv", *WORDS, *words, "--out", "release"]) == 2
    assert problem in " ".join(capsys.readouterr().err.split())
