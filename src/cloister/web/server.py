"""The server: for this machine only, or behind a proxy; protected by a token, until stopped or idle for long."""

import errno
import hashlib
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from cloister.errors import InputError, setting

from .app import Application, application, load_pages
from .folder import MANIFEST, Folder
from .guard import Guard

HOST = "127.0.0.1"
"""Where it is bound."""

PROXY = re.compile(r"https://([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::([0-9]{1,5}))?/?")
LAST_PORT = 65_535

SILENT = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"none": {"class": "logging.NullHandler"}},
    "loggers": {
        name: {"handlers": ["none"], "propagate": False}
        for name in ("uvicorn", "uvicorn.error", "asyncio", "starlette")
    },
}
"""What libraries would print of requests and errors goes nowhere."""

LOOK_S, SHORT_S, FIRST_S = 5.0, 0.01, 0.5
"""Between looks whether anybody is there, and whether it has started; left to the first page alone."""


@dataclass(frozen=True)
class Endpoint:
    """The endpoint of the server: a port of this machine, a socket for this user only, or an address behind a proxy."""

    port: int = 0  # 0 for any that is free
    file: Path | None = None  # of a Unix socket, in place of a port
    bind: str = HOST  # another address is allowed only behind a proxy
    proxy: str = ""  # the address by which browsers reach the proxy, which begins with https

    def opened(self) -> tuple[socket.socket, str, Sequence[str]]:
        """Return a bound socket, the address of the first page, and the host names that a browser may send."""
        outside = _outside(self.proxy)
        if self.file is not None and self.port:
            raise InputError(
                setting("socket"), " answers at a file, and not at ", setting("port"), ". Give one of them."
            )
        if self.bind != HOST and not self.proxy:
            raise InputError(setting("bind"), " takes another address only behind a proxy: ", setting("behind_proxy"))
        if self.file is not None:
            bound, base, hosts = _unix(self.file), "http://localhost:PORT", (HOST, "localhost")
        else:
            bound = _bound(self.bind, self.port)
            hosts = f"{HOST}:{bound.getsockname()[1]}", f"localhost:{bound.getsockname()[1]}"
            base = f"http://{hosts[0]}"
        return (bound, f"https://{outside}", (outside,)) if outside else (bound, base, hosts)


def _outside(proxy: str) -> str:
    """How browsers name a proxy in each request: in small letters, and without the port that HTTPS has anyway."""
    found = PROXY.fullmatch(proxy.lower())
    if proxy and (found is None or int(found[2] or 0) > LAST_PORT):
        raise InputError(
            "The address of a proxy is https://NAME or https://NAME:PORT, without user and path; of a name with other "
            "letters than a to z its form in ASCII, which begins with xn--."
        )
    return "" if found is None else found[1] if found[2] in (None, "443") else f"{found[1]}:{found[2]}"


def _bound(host: str, port: int) -> socket.socket:
    """A socket that is bound to a port."""
    bound, problem = socket.socket(socket.AF_INET, socket.SOCK_STREAM), False
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except (OSError, OverflowError):
        problem = True
    if problem:
        bound.close()
        raise InputError(f"Port {port} of {host} is in use or not allowed. Give another one, or none.")
    return bound


def _unix(path: Path) -> socket.socket:
    """A socket that only this user may open: it is made under a mask, so that it never is anybody else's."""
    bound, mask, problem = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), os.umask(0o177), False
    try:
        if path.is_socket() and bound.connect_ex(str(path)) == errno.ECONNREFUSED:  # of a server that was killed
            path.unlink()
        bound.close()
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        bound.bind(str(path))
        bound.listen()  # from here on another server finds that someone answers
    except OSError:
        problem = True
    finally:
        os.umask(mask)
    if problem:
        bound.close()
        raise InputError(
            f"No socket {path.name} can be made there. Give a short name that is not taken, in a folder of yours."
        )
    return bound


@dataclass(frozen=True)
class Served:
    """A prepared server: its link with the token, valid once, and its application."""

    address: str
    guard: Guard
    app: Application
    socket: socket.socket


def prepare(folder: Path, place: Endpoint = Endpoint()) -> Served:
    """Return a server for a folder."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder.name}. Name one with data, or a release.", file=folder.name)
    real = folder.resolve()
    app = Application(Folder(real), "." if (real / MANIFEST).is_file() else None)
    bound, base, hosts = place.opened()
    name = bound.getsockname()  # of a Unix socket its file; cookies have short names
    own = hashlib.sha256(os.fsencode(name)).hexdigest()[:8] if isinstance(name, str) else str(name[1])
    guard = Guard(application(app), base, hosts, own)
    return Served(guard.link, guard, app, bound)


def serve(served: Served, idle_minutes: float, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until stopped, or until idle for a number of minutes with no running task; end running tasks."""
    config = uvicorn.Config(
        served.guard, log_config=SILENT, access_log=False, server_header=False, ws="none", lifespan="off",
        loop="asyncio", timeout_graceful_shutdown=2,
    )  # fmt: skip
    server, name, ended = uvicorn.Server(config), served.socket.getsockname(), threading.Event()

    def watch() -> None:
        while not server.started and not ended.wait(SHORT_S):
            pass
        ready()  # from here on a signal ends the server in good order
        if not ended.wait(FIRST_S):
            with suppress(KeyError, ImportError):  # a stop may end the import of the same page by a request
                load_pages()
        while not ended.wait(min(LOOK_S, idle_minutes * 60)):
            idle = time.monotonic() - served.guard.last
            if idle > idle_minutes * 60 and not served.app.works.running:
                server.should_exit = True

    served.guard.last = time.monotonic()
    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        server.run(sockets=[served.socket])
    finally:
        ended.set()
        watching.join()  # nothing may be loaded while the interpreter ends
        served.app.works.stop()
        served.socket.close()
        if isinstance(name, str):  # of a Unix socket, that of its file
            Path(name).unlink(missing_ok=True)
