"""Set-up of all tests: kernels are compiled first, and real data are found by a variable."""

import gc
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line has it; NumPy reads it as it is imported

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings
from tests.made.examples import IS_FULL, examples
from tests.made.postgresql_server import PostgreSQLServer, serving, why_not

from cloister.errors import Message, NamedSetting
from cloister.kernels.compiling import compile_all

gc.set_threshold(10_000, 20, 100)  # as the command line has it
os.fsync = lambda _descriptor: None  # nobody pulls the plug; tests that make it fail replace it themselves


def _keep_settings(text: Message | NamedSetting, spec: str) -> str:
    """Format a message that names no setting; one that does would lose them in an f-string: give it as a part."""
    is_plain = isinstance(text, Message) and not text.settings
    assert is_plain, "a message in an f-string loses its settings: put parts together by Message"
    return format(str(text), spec)


Message.__format__ = NamedSetting.__format__ = _keep_settings
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


def pytest_addoption(parser: pytest.Parser) -> None:
    """Two runs that share what passed, as on the build machine: as a stranger first, then with every service."""
    parser.addoption("--passed-to", help="write the tests that passed here, and as .files which files have others")
    parser.addoption("--passed-in", help="leave out the tests listed here")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what passed before and, in the quick profile, what is ``full`` and cases of what is ``sampled``."""
    left_out = set[pytest.Item]()
    if listed := config.option.passed_in:
        passed = set(Path(listed).read_text(encoding="utf-8").split("\n"))
        left_out |= {item for item in items if item.nodeid in passed}
    if not IS_FULL:
        cases = defaultdict[str, list[pytest.Item]](list)
        left_out |= {item for item in items if item.get_closest_marker("full")}
        for item in items:
            if item.get_closest_marker("sampled"):
                cases[item.nodeid.partition("[")[0]].append(item)
        for every in cases.values():
            (most,) = every[0].get_closest_marker("sampled").args
            left_out |= set(every) - set(every[:: -(-len(every) // most)])
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """List the tests that passed, and the files that the other run must still read: a machine may lack what they need.

    A file that is skipped as a whole is reported nowhere when processes share the tests; it has no test that passed.
    """
    if place := config.option.passed_to:
        passed, skipped = (
            {report.nodeid for report in terminalreporter.stats.get(outcome, [])} for outcome in ("passed", "skipped")
        )
        done, left = ({name.partition("::")[0] for name in names} for names in (passed, skipped))
        files = {file.relative_to(config.rootpath).as_posix() for file in Path(__file__).parent.rglob("test_*.py")}
        Path(place).write_text("\n".join(sorted(passed)), encoding="utf-8")
        Path(f"{place}.files").write_text("\n".join(sorted(files - (done - left))), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Compile kernels once, before the workers start, so that no command says that it has to."""
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        compile_all()
