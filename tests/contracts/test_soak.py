"""The soak itself: one short round of each of its subjects, so that `make soak` runs when it is wanted."""

import random

import pytest
from tests.made import forms
from tests.soak import equal, forgeries, kills, readers
from tests.soak.__main__ import SUBJECTS
from tests.soak.command import Found
from tests.soak.evidence import is_evidence

QUICK = {equal: {"SEEDS": 2}, forgeries: {"LEAVES": 4, "BYTES": 3}, readers: {"LINES": 3}, kills: {"TIMES": 1}}


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.sampled(1)
def test_one_round(subject, tmp_path, monkeypatch):
    """A short round of the subject finds nothing."""
    for module, sizes in QUICK.items():
        for name, size in sizes.items():
            monkeypatch.setattr(module, name, size)
    if subject == "releases":
        monkeypatch.delitem(forms.FORMS, "claims")

    SUBJECTS[subject](random.Random(3), tmp_path)


def test_it_finds_what_is_broken(tmp_path, monkeypatch):
    """Were the verifier to accept everything, the soak would say so."""
    monkeypatch.setattr(forgeries, "is_evidence", lambda _what: False)
    monkeypatch.setattr("tests.soak.forgeries.may_be_recorded", lambda _what: False)
    monkeypatch.setattr("cloister.cli.verify.run_verify", lambda _options: None)

    with pytest.raises(Found, match="accepts a release"):
        forgeries.forgeries(random.Random(3), tmp_path)


def test_promises_are_no_evidence():
    """Times and seeds are the releaser's word; what is promised is not."""
    assert is_evidence("release.json seconds.search")
    assert is_evidence("release.json settings.source")
    assert not is_evidence("release.json settings.k")
    assert not is_evidence("release.json guarantee.rules.0.k")
    assert not is_evidence("release.json settings.plan.risk.threshold")
    assert not is_evidence("bytes of data.csv")
