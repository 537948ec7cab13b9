"""Set-up of all tests: kernels are compiled first, and real data are found by a variable."""

import gc
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line has it; NumPy reads it as it is imported

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings
from tests.made.examples import IS_FULL, TURN, examples
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

TAKING_TURNS = ("tests/unit/cli/", "tests/unit/engines/", "tests/unit/web/", "tests/properties/", "tests/contracts/")
"""Tests of whole commands, releases, pages and laws: half of all tests, and five sixths of the time."""
TURNS = 10
"""A run of the whole suite has one in so many of them, the build machine with each commit another part."""


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
    """Deselect tests that passed before and, in the quick profile, slow tests that other runs have."""
    deselected = set[pytest.Item]() if IS_FULL else _find_slow(items, _find_turn(config))
    if listed := config.option.passed_in:
        passed = set(Path(listed).read_text(encoding="utf-8").split("\n"))
        deselected |= {item for item in items if item.nodeid in passed}
    config.hook.pytest_deselected(items=[item for item in items if item in deselected])
    items[:] = [item for item in items if item not in deselected]


def _find_turn(config: pytest.Config) -> int | None:
    """Return which of the tests that take turns are run; None for all, as in a run that names files or folders."""
    names_none = {Path(one).name for one in config.args} == {*config.getini("testpaths")}
    return TURN if names_none or config.option.passed_in else None


def _find_slow(items: list[pytest.Item], turn: int | None) -> set[pytest.Item]:
    """Return the tests that the quick profile leaves to other runs.

    These are all that are ``full``; of each test that is ``sampled`` all cases but a few; and, in a run of the whole
    suite, of the folders whose tests take turns all but one in `TURNS`.
    """
    slow = {item for item in items if item.get_closest_marker("full")}
    cases = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        is_sampled = item.get_closest_marker("sampled") is not None
        name = item.nodeid.partition("[")[0] if is_sampled else item.nodeid
        if is_sampled:
            cases[name].append(item)
        # By its name, so that whether a test is run does not change with other tests.
        if turn is not None and name.startswith(TAKING_TURNS) and (crc32(name.encode()) - turn) % TURNS:
            slow.add(item)
    for every in cases.values():
        (most,) = every[0].get_closest_marker("sampled").args
        step = -(-len(every) // most)
        slow |= set(every) - set(every[(turn or 0) // TURNS % step :: step])
    return slow


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """Say that other runs have more tests, and list those that passed here and the files that another run must read.

    A file that is skipped as a whole is reported nowhere when processes share the tests; it has no test that passed.
    """
    if not IS_FULL and (turn := _find_turn(config)) is not None:
        terminalreporter.write_line(f"Slow tests take turns: {turn % TURNS + 1} of {TURNS}. CLOISTER_TURN=all has all")
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
