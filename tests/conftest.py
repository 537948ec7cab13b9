"""Set-up of all tests: kernels are compiled first, and real data are found by a variable."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.examples import examples
from tests.postgresql_server import PostgreSQLServer, serving, why_not

from cloister.compiling import compile_all

settings.register_profile("cloister", examples(100), deadline=None, derandomize=True, database=None, print_blob=True)
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


def pytest_configure(config: pytest.Config) -> None:
    """Compile kernels once, before the workers start, so that no command says that it has to."""
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        compile_all()
