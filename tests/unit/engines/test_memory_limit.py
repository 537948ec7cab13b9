"""How much memory DuckDB may hold where the shell limits it."""

import resource

import pytest

from cloister.engines import choice
from cloister.engines import duckdb as duckdb_engine

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
    monkeypatch.setattr(duckdb_engine, "STATM", tmp_path / "statm")
    monkeypatch.setattr(duckdb_engine.resource, "getrlimit", lambda _: (limit, limit))

    assert duckdb_engine.memory_limit() == said


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
