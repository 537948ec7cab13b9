"""PostgreSQL as hospitals have it: odd names, partitions, views, types of its own, locks, and TLS."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from cloister.cli.main import run

TABLE = '"Odd ""s.chema"."Pa tients;--"'
COLUMNS = '"A ""ge", "sex\'", w, u, j'
WORDS = (
    *("--qi", 'A "ge=interval:10,20', "--qi", "sex'=suppress", "--qi", "u=suppress", "--keep", "w", "--keep", "j"),
    *("-k", "5", "-q"),
)


@pytest.fixture(scope="module")
def odd(postgresql_server) -> Iterator[object]:
    """A partitioned table whose names need quotes, with types that only PostgreSQL has, and views of it."""
    postgresql_server.run(
        f"CREATE SCHEMA \"Odd \"\"s.chema\"; CREATE TYPE felt AS ENUM ('sad', 'ok'); CREATE TABLE {TABLE} "
        '("A ""ge" int, "sex\'" felt, w numeric(10, 3), u uuid, j jsonb, l int[]) PARTITION BY RANGE ("A ""ge");'
        f"CREATE TABLE young PARTITION OF {TABLE} FOR VALUES FROM (0) TO (40);"
        f"CREATE TABLE old PARTITION OF {TABLE} FOR VALUES FROM (40) TO (200);"
        f"INSERT INTO {TABLE} SELECT 20 + i % 50, (ARRAY['sad', 'ok'])[1 + i % 2]::felt, (i % 3) / 8.0, "
        "'11111111-2222-3333-4444-555555555555', '{\"a\": 1}', ARRAY[1, 2] FROM generate_series(1, 300) AS i;"
        f"CREATE VIEW seen AS SELECT {COLUMNS} FROM {TABLE}; CREATE MATERIALIZED VIEW kept_view AS SELECT * FROM seen"
    )
    yield postgresql_server
    postgresql_server.run('DROP SCHEMA "Odd ""s.chema" CASCADE; DROP TYPE felt CASCADE; DROP TABLE IF EXISTS made')


@pytest.fixture
def server(odd, postgresql):
    """The same, with user and password in the environment, and no protected table."""
    postgresql.run("DROP TABLE IF EXISTS made")
    return odd


@pytest.mark.parametrize("source", [TABLE, "seen", "kept_view"])
def test_partitions_views_and_types_are_protected_as_in_memory(server, source, tmp_path):
    """Whatever a query names, the table that is made in the database is that of memory, and verifies."""
    words = ("protect", "table", server.url, "--query", f"SELECT {COLUMNS} FROM {source}", *WORDS)

    assert run([*words, "--out", f"{tmp_path}/memory"]) == 0
    assert run([*words, "--engine", server.url, "--table", "made", "--out", f"{tmp_path}/there"]) == 0
    assert run(["verify", f"{tmp_path}/there", "--engine", server.url, "-q"]) == 0
    expected = pl.read_csv(tmp_path / "memory" / "data.csv", infer_schema=False, quote_char='"').rows()
    assert sorted(expected) == sorted(tuple(row) for row in server.run("SELECT * FROM made"))
    assert json.loads((tmp_path / "there" / "release.json").read_text())["records"]["in"] == 300


@pytest.mark.parametrize("engine", [(), ("--engine", "{url}", "--table", "made")], ids=["read", "there"])
def test_arrays_are_refused_by_name(server, engine, tmp_path, capsys):
    """A column of lists is named, and so is what can be done."""
    words = ("protect", "table", server.url, "--query", f"SELECT * FROM {TABLE}", *WORDS, "--drop", "l")

    assert run([*words, *(word.format(url=server.url) for word in engine), "--out", f"{tmp_path}/never"]) == 2
    assert "column 'l' holds lists" in capsys.readouterr().err


@pytest.mark.parametrize("engine", [(), ("--engine", "{url}", "--table", "made")], ids=["read", "there"])
def test_a_lock_that_others_hold_is_told(server, engine, tmp_path, capsys, monkeypatch):
    """Where the server limits the wait for a lock, it is said that this was the matter, and nothing is left."""
    monkeypatch.setenv("PGOPTIONS", "-c lock_timeout=50")
    words = ("protect", "table", server.url, "--query", f"SELECT {COLUMNS} FROM {TABLE}", *WORDS)

    with holding(server, "young"):
        code = run([*words, *(word.format(url=server.url) for word in engine), "--out", f"{tmp_path}/never"])

    assert code == 2
    assert "waited too long for a lock" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def holding(server, table: str):
    """A connection that has a table to itself until it is closed."""
    from adbc_driver_postgresql import dbapi

    connection = dbapi.connect(server.url)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 0")
        cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
    return connection


@pytest.fixture
def certificate(server) -> Iterator[Path]:
    """A server that speaks TLS, and the certificate that it shows."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, shown = server.folder / "tls.key", server.folder / "tls.crt"
    words = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", shown]
    subprocess.run(["openssl", "req", *words], check=True, capture_output=True, timeout=60)
    owner = (server.folder / "data").stat()
    for path in (key, shown):
        os.chown(path, owner.st_uid, owner.st_gid)
    key.chmod(0o600)
    for setting in (f"ssl_cert_file = '{shown}'", f"ssl_key_file = '{key}'", "ssl = on"):
        server.run(f"ALTER SYSTEM SET {setting}")
    server.stop()
    server.start()
    yield shown
    server.run("ALTER SYSTEM RESET ALL")
    server.stop()
    server.start()


def test_tls_is_as_the_address_asks(server, certificate, tmp_path, capsys):
    """A connection is secured as ``sslmode`` says, or refused with what is the matter."""
    other = tmp_path / "other.crt"
    other.write_text("no certificate")

    def code(mode: str) -> int:
        words = ("protect", "table", f"{server.url}?sslmode={mode}", "--query", f"SELECT {COLUMNS} FROM seen", *WORDS)
        return run([*words, "--overwrite", "--out", f"{tmp_path}/release"])

    assert [code("require"), code(f"verify-full&sslrootcert={certificate}")] == [0, 0]
    assert capsys.readouterr().err == ""
    for mode in ("verify-full", f"verify-full&sslrootcert={other}", "nonsense"):
        assert code(mode) == 2
        said = capsys.readouterr().err
        assert "not secured as its url asks" in said
        assert str(tmp_path) not in said
