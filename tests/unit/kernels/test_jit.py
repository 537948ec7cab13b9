"""Compiled once on a machine, and known to be."""

import importlib

import pytest


@pytest.mark.parametrize("room", ["cloister.search.warm", "cloister.codesets.disassociation.warm"])
def test_what_was_compiled_is_known_to_be(room):
    """Once kernels were loaded, no command says that it has to compile them."""
    warm = importlib.import_module(room)
    warm.load_kernels()

    assert not warm.must_compile()
