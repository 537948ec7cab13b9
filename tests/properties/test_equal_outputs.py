"""The law of equal outputs: what two originals release as the same data, they release as the same folder."""

import json
from unittest import mock

import pytest
from tests.made.equal_outputs import CASES, differences

from cloister.attacks.adversary import Attack

PAIRS, TRIES, OTHERS = 3, 40, 3
"""Pairs to compare of each case, seeds to try for them, and other originals for each; `make soak` tries many more."""


def compared(case, folder, enough=PAIRS):
    """How many pairs with equal data there are, and which files differ between any of them."""
    pairs, differ = 0, set()
    for seed in range(TRIES):
        if pairs >= enough:
            break
        found, names = differences(CASES[case], seed, folder / str(seed), OTHERS)
        pairs += found
        differ |= set(names)
    return pairs, differ


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.sampled(3)
def test_equal_data_are_released_in_equal_folders(case, tmp_path):
    """Manifest, codebook and report are functions of the data files, the settings and what is declared as evidence."""
    pairs, differ = compared(case, tmp_path)

    assert pairs >= PAIRS
    assert not differ


@pytest.mark.parametrize("case", ["table attacked", "disassociation attacked"])
def test_the_law_sees_an_attack_that_says_more(case, tmp_path):
    """With the steps of knowledge and the targets that there were in the release, as once, folders differ."""

    def section(attack):
        """How many were looked for, at all steps together."""
        return {"targets": attack.targets + sum(one.released.targets for one in attack.levels), "holds": True}

    with mock.patch.object(Attack, "as_manifest", section):
        assert compared(case, tmp_path, 10)[1]


def test_an_attack_does_not_say_how_many_codes_somebody_has(tmp_path):
    """Whether one of five patients has three codes must not be seen, or one candidate is left of three."""
    from cloister.cli.main import run

    for name, rows in (("with", "250.00 401.9 272.4"), ("without", "250.00 401.9")):
        (tmp_path / f"{name}.csv").write_text(
            "id,codes\n1," + rows + "\n2,272.4 401.9\n3,272.4 401.9\n4,272.4 401.9\n5,250.00\n"
        )
        out = str(tmp_path / name)
        words = [
            *("protect", "codes", f"{out}.csv", "-k", "3", "-m", "2", "--out", out, "--attack", "--quiet"),
            "--accept-empty",
        ]
        assert run(words) == 0
        assert json.loads((tmp_path / name / "release.json").read_text())["attack"] == {"targets": 1000, "holds": True}
