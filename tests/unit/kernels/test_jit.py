"""Compiled once on a machine, and known to be."""

import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize("room", ["cloister.search.warm", "cloister.codesets.disassociation.protect"])
def test_what_was_compiled_is_known_to_be(room):
    """Once kernels were loaded, no command says that it has to compile them."""
    warm = importlib.import_module(room)
    warm.load_kernels()

    assert not warm.must_compile()


def test_kernels_of_other_sources_are_not_taken():
    """Compiled kernels lie in a folder named after all their sources, also where a process above chose it."""
    program = (
        "import os, subprocess, sys\n"
        "from cloister.kernels import _jit\n"
        "print(os.environ['NUMBA_CACHE_DIR'], _jit._edition())\n"
        "if len(sys.argv) < 2: subprocess.run([sys.executable, '-c', sys.orig_argv[2], 'below'])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    above, below = sorted(run.stdout.splitlines())

    assert above == below
    assert above.split()[0].endswith(f"/{above.split()[1]}")
