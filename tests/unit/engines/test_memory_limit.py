"""How much memory DuckDB may hold where the shell limits it."""

import resource

import pytest

from cloister.engines import choice
from cloister.io import memory

GIB = 1 << 30


@pytest.mark.parametrize(
    ("limit", "pages", "said"),
    [
        (resource.RLIM_INFINITY, 0, "4GiB"),
        (3 * GIB, GIB // resource.getpagesize(), "1024MiB"),
        (2 * GIB, 2 * GIB // resource.getpagesize(), "64MiB"),
        (100 * GIB, 0, "4GiB"),
    ],
)
def test_half_of_what_the_shell_leaves(monkeypatch, tmp_path, limit, pages, said):
    """What is left of the address space is shared with what reads from DuckDB; without a limit nothing changes."""
    (tmp_path / "statm").write_text(f"{pages} 1 1 1 0 1 0\n")
    monkeypatch.setattr(memory, "STATM", tmp_path / "statm")
    monkeypatch.setattr(memory.resource, "getrlimit", lambda _: (limit, limit))
    monkeypatch.setattr(memory.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 64 * GIB // 4096}.get)
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "none")

    assert memory.memory_limit() == said


@pytest.mark.parametrize(
    ("line", "file", "said"),
    [
        ("0::/a/b", "a/b/memory.max", "512MiB"),
        ("0::/a/b", "a/memory.max", "512MiB"),
        ("4:memory:/x", "memory/x/memory.limit_in_bytes", "512MiB"),
        ("4:memory:/x", "memory/memory.limit_in_bytes", "512MiB"),
        ("3:cpuset:/x", "cpuset/x/memory.max", "1024MiB"),
    ],
)
def test_half_of_what_the_machine_or_the_container_has(monkeypatch, tmp_path, line, file, said):
    """The memory of the machine is a limit, as are those of the control groups that a process is in."""
    monkeypatch.setattr(memory.resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    monkeypatch.setattr(memory.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2 * GIB // 4096}.get)
    for name, place in (("GROUPS", "groups"), ("GROUP_FILES", "files")):
        monkeypatch.setattr(memory, name, tmp_path / place)
    (tmp_path / "groups").write_text(f"{line}\n")
    (tmp_path / "files" / file).parent.mkdir(parents=True)
    (tmp_path / "files" / file).write_text(f"{GIB}\n")

    assert memory.memory_limit() == said


def test_no_limit_of_a_group_is_none(monkeypatch, tmp_path):
    """A group says ``max`` where it has no limit."""
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "GROUP_FILES", tmp_path)
    (tmp_path / "groups").write_text("0::/\n")
    (tmp_path / "memory.max").write_text("max\n")

    assert list(memory._limits_of_groups()) == []


@pytest.mark.parametrize(
    ("limit", "where"), [(resource.RLIM_INFINITY, "duckdb"), (3 * GIB, "memory"), (8 * GIB, "duckdb")]
)
def test_a_large_table_is_read_where_duckdb_has_no_room(monkeypatch, tmp_path, limit, where):
    """Where the shell leaves too little address space, memory is chosen by itself, and it is said why."""
    path = tmp_path / "large.csv"
    path.write_text("age\n30\n")
    monkeypatch.setattr(choice, "approximate_records", lambda _: choice.LARGE)
    monkeypatch.setattr(choice.resource, "getrlimit", lambda _: (limit, limit))
    chosen = choice.choose_engine("auto", path, None)

    assert chosen.where == where
    assert ("ulimit -v" in str(chosen.why)) == (where == "memory")
