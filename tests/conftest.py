"""Set-up of all tests: kernels are compiled first, and real data are found by a variable."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.postgresql_server import PostgreSQLServer, serving, why_not

settings.register_profile("cloister", deadline=None, derandomize=True, database=None, print_blob=True)
settings.load_profile("cloister")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real data sets; tests that need it are marked ``realdata`` and skip where it is not given."""
    folder = os.environ.get("CLOISTER_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("real data are not here: set CLOISTER_DATA to their folder")
    return Path(folder)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgreSQLServer]:
    """A PostgreSQL server, one for each process of tests that asks for it; skips where none can run."""
    if reason := why_not():
        pytest.skip(reason)
    with serving() as server:
        yield server


@pytest.fixture
def postgresql(postgresql_server, monkeypatch) -> PostgreSQLServer:
    """The server, with user and password in the environment of the test."""
    for name, value in postgresql_server.environment.items():
        monkeypatch.setenv(name, value)
    return postgresql_server


@pytest.fixture(scope="session", autouse=True)
def _compiled_kernels() -> None:
    """Kernels are compiled before any test, so that no command says that it has to."""
    from cloister.claims.warm import load_kernels as load_claim_kernels
    from cloister.codesets.disassociation.protect import load_kernels as load_code_kernels
    from cloister.codesets.generalization.protect import load_kernels as load_generalization_kernels
    from cloister.risk.assessment import load_kernels as load_risk_kernels
    from cloister.search.warm import load_kernels
    from cloister.trajectories.protect import load_kernels as load_trajectory_kernels

    load_kernels()
    load_code_kernels()
    load_generalization_kernels()
    load_trajectory_kernels()
    load_claim_kernels()
    load_risk_kernels()
