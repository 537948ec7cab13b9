"""What the registry names is there, and is what the line says."""

import dataclasses

import pytest

from cloister.release.head import ManifestHead
from cloister.report.page import environment
from cloister.shapes.protocol import shape_of
from cloister.shapes.registry import FORMS, SHAPES, load
from cloister.verification.driver import Checker


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_there_with_its_settings_and_commands(shape):
    """Its work has what the protocol asks for, its settings say what its command is for, and examples are of it."""
    entry = SHAPES[shape]

    assert {"check", "read", "prepare", "of_part", "parse_word", "with_settings", "check_grid"} <= set(
        dir(shape_of(shape))
    )
    assert dataclasses.is_dataclass(entry.options)
    assert entry.options.__doc__.startswith("Protect ")
    assert [example.split()[1:3] for example in entry.options.examples] == [["protect", shape], ["explore", shape]]


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_there_from_manifest_to_report(form):
    """Its manifest names the form, a verifier checks it, and what attacks, words and compares it can be called."""
    entry = FORMS[form]

    assert issubclass(load(entry.manifest), ManifestHead)
    assert load(entry.manifest).form == form
    assert isinstance(load(entry.checker)(), Checker)
    assert entry.checker.partition(":")[0].rpartition(".")[2] in ("recheck", "verify")
    assert all(callable(load(one)) for one in (entry.attack, entry.promise, entry.figures))
    assert environment().get_template(entry.page)
    assert environment().get_template(f"{entry.words}.txt")
    assert {"roles", "risk_and_loss"} <= set(dir(load(entry.manifest)))
