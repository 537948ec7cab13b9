"""A release that replaces an earlier one says whether the data changed."""

import json

import pytest
from tests.made import claims_files

from cloister.cli.main import run
from cloister.testing import hospital

PROTECT = {
    "table": ("patients.csv", "-k", "5", "--qi", "age=interval:10,20,40", "--qi", "sex", "--undecided", "drop"),
    "codes": ("codes.csv", "-k", "3", "-m", "2"),
    "trajectories": ("trajectories.csv", "-k", "3"),
}


@pytest.fixture
def notes(tmp_path, monkeypatch, capsys):
    """Protect into the same folder again, and return the notes."""
    monkeypatch.chdir(tmp_path)

    def protect(*words):
        capsys.readouterr()
        assert run(["protect", *words, "--out", "out", "--overwrite", "--json", "--accept-empty"]) == 0
        return json.loads(capsys.readouterr().out)["notes"]

    return protect


@pytest.mark.parametrize("shape", PROTECT)
def test_changed_data_are_told(notes, tmp_path, shape):
    """Nothing the first time or for the same data; other data, or other settings, are told from each other."""
    hospital(n=60).write(tmp_path)
    words = (shape, *PROTECT[shape])
    first, again = notes(*words), notes(*words)
    settings = notes(*("4" if word in ("3", "5") else word for word in words))
    file = tmp_path / words[1]
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-20]))
    data = notes(*("4" if word in ("3", "5") else word for word in words))

    assert not any("replaced" in text for text in first + again)
    assert any("the data of out changed since the release that was replaced" in text for text in data)
    assert all("by its settings or by its data" in text for text in settings if "replaced" in text)


@pytest.mark.full
def test_claims_that_changed_are_told(notes, tmp_path):
    """The same for claims."""
    claims_files.write_files(tmp_path)
    words = ("claims", "patients.csv", "claims.csv", "--plan", "plan.toml")
    first = notes(*words) + notes(*words)
    claims_files.write_files(tmp_path, seed=2)

    assert not any("replaced" in text for text in first)
    assert any("replaced" in text for text in notes(*words))


def test_a_release_of_another_version_is_compared_as_far_as_it_can_be(notes, tmp_path):
    """Odd figures in a manifest stop nothing; that the files differ is still told."""
    hospital(n=60).write(tmp_path)
    words = ("table", *PROTECT["table"])
    notes(*words)
    manifest = json.loads((tmp_path / "out" / "release.json").read_text())
    odd = manifest | {"settings": 3, "records": 3, "files": manifest["files"] | {"data.csv": "0"}}
    (tmp_path / "out" / "release.json").write_text(json.dumps(odd))

    assert any("replaced" in text for text in notes(*words))
