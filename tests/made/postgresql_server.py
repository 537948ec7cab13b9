"""A PostgreSQL server of the tests' own: in a temporary folder, reachable from this machine only, gone afterwards."""

import contextlib
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

USER = "owner"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "log_statement": "all",
    "log_destination": "stderr",
    "autovacuum": "off",
    "jit": "off",
    "shared_buffers": "16MB",
    "timezone": "UTC",
}
# Ends with whoever started it: the pipe to its standard input closes then, however that process died.
_UNTIL_INPUT_ENDS = '"$@" & server=$!; read -r _; kill -INT "$server"; wait "$server"'


@dataclass
class PostgreSQLServer:
    """A running server.

    Attributes
    ----------
    programs : folder of ``postgres``, ``initdb`` and ``psql``
    folder : its data, its log; owned by whom it runs as
    port : of the loopback address
    environment : user and password for libpq; nowhere else is the password told
    """

    programs: Path
    folder: Path
    port: int
    environment: dict[str, str] = field(repr=False)
    _process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        """Where it is, without user or password."""
        return f"postgresql://127.0.0.1:{self.port}/postgres"

    def log(self) -> str:
        """Everything logged until now: each statement that was sent, and each error."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def run(self, statements: str) -> list[list[str]]:
        """Run statements as the owner of everything; the cells that came, as text, a missing one as ``NULL``."""
        words = ["-X", "-q", "-A", "-t", "-F", "\x1f", "-P", "null=NULL", "-v", "ON_ERROR_STOP=1", "-d", self.url]
        ran = subprocess.run(
            [self.programs / "psql", *words, "-f", "-"],
            input=statements,
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert ran.returncode == 0, ran.stderr
        return [line.split("\x1f") for line in ran.stdout.splitlines()]

    def load(self, table: str, frame: pl.DataFrame) -> None:
        """Make ``table`` of a frame, in place of one of that name; text stays text."""
        from adbc_driver_postgresql import dbapi

        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.environment.items():
                patch.setenv(name, value)
            with dbapi.connect(self.url) as connection, connection.cursor() as cursor:
                cursor.adbc_ingest(table, frame.to_arrow(), mode="replace")
                connection.commit()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = [self.programs / "postgres", "-D", self.folder / "data", "-p", str(self.port)]
        for name, value in SETTINGS.items():
            words += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", _UNTIL_INPUT_ENDS, "sh", *words],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                **_account(),
            )
        self._wait()

    def stop(self) -> None:
        """Stop it now, whoever is connected."""
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait(timeout=30)
            self._process = None

    def _wait(self) -> None:
        ready = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        until = time.monotonic() + 60
        while subprocess.run(ready, check=False, timeout=10).returncode:
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.02)


def find_programs() -> Path | None:
    """The folder of the newest server installed here, None if there is none."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    found = [*([Path(on_path).resolve()] if on_path else []), *installed]
    return found[-1].parent if found else None


def why_not() -> str | None:
    """Why there can be no server here, None if there can."""
    if find_programs() is None:
        return "PostgreSQL is not installed"
    if os.geteuid() == 0 and _account_of_server() is None:
        return "root cannot run PostgreSQL, and there is no account named postgres"
    return None


@contextlib.contextmanager
def serving() -> Iterator[PostgreSQLServer]:
    """A server that is stopped and removed afterwards, whatever happened."""
    folder = Path(tempfile.mkdtemp(prefix="cloister-postgresql-"))
    try:
        server = _made(find_programs(), folder)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _made(programs: Path, folder: Path) -> PostgreSQLServer:
    """A server that was not started yet; its password is made up anew each time."""
    password = secrets.token_hex(16)
    secret = folder / "password"
    secret.write_text(password)
    if (account := _account_of_server()) is not None and os.geteuid() == 0:
        for path in (folder, secret):
            os.chown(path, account.pw_uid, account.pw_gid)
    words = ["-D", folder / "data", "-U", USER, f"--pwfile={secret}", "--auth=scram-sha-256", "--no-sync"]
    subprocess.run(
        [programs / "initdb", *words, "--encoding=UTF8", "--locale=C", "--no-instructions"],
        stdout=subprocess.DEVNULL,
        check=True,
        cwd=folder,
        timeout=120,
        **_account(),
    )
    secret.unlink()
    return PostgreSQLServer(programs, folder, _free_port(), {"PGUSER": USER, "PGPASSWORD": password})


def _account() -> dict:
    """Whom the server runs as: ourselves, or the account ``postgres`` if we are root."""
    if os.geteuid():
        return {}
    account = _account_of_server()
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _account_of_server() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
