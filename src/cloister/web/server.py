"""The server: of this machine alone, or behind a proxy; with a token, until it is stopped or was long not used."""

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn

from cloister.errors import InputError, setting

from .app import Application, application, load_pages
from .folder import MANIFEST, Folder
from .guard import Guard

HOST = "127.0.0.1"
"""Where it is bound."""

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
    """Where pages are answered: a port of this machine, a socket for this user alone, or an address behind a proxy."""

    port: int = 0  # 0 for any that is free
    file: Path | None = None  # of a Unix socket, in place of a port
    bind: str = HOST  # another address is taken only behind a proxy
    proxy: str = ""  # the address by which browsers reach the proxy, which begins with https

    def opened(self) -> tuple[socket.socket, str, Sequence[str]]:
        """Return a socket that is bound, the address of the first page, and what a browser may call it."""
        outside = urlsplit(self.proxy)
        if self.proxy and (outside.scheme != "https" or not outside.netloc or outside.path.strip("/")):
            raise InputError("The address of a proxy is https://NAME or https://NAME:PORT, without a path.")
        if self.bind != HOST and not self.proxy:
            raise InputError(f"{setting('bind')} takes another address only behind a proxy: {setting('behind_proxy')}.")
        if self.file is not None:
            bound, base, hosts = _unix(self.file), "http://localhost:PORT", (HOST, "localhost")
        else:
            bound = _bound(self.bind, self.port)
            hosts = f"{HOST}:{bound.getsockname()[1]}", f"localhost:{bound.getsockname()[1]}"
            base = f"http://{hosts[0]}"
        return (bound, self.proxy.rstrip("/"), (outside.netloc,)) if self.proxy else (bound, base, hosts)


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
        raise InputError(f"Port {port} is taken, or not ours to use. Give another one, or none.")
    return bound


def _unix(path: Path) -> socket.socket:
    """A socket that only this user may open: it is made under a mask, so that it never is anybody else's."""
    bound, mask, problem = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), os.umask(0o177), False
    try:
        bound.bind(str(path))
    except OSError:
        problem = True
    finally:
        os.umask(mask)
    if problem:
        bound.close()
        raise InputError(
            f"No socket {path.name} can be made there. Give a name that is not taken, in a folder of yours."
        )
    return bound


@dataclass(frozen=True)
class Served:
    """A server that is about to run: its address with the token, which opens it once, and what answers."""

    address: str
    guard: Guard
    app: Application
    socket: socket.socket


def prepare(folder: Path, place: Endpoint = Endpoint()) -> Served:
    """Return what serves a folder."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder.name}. Name one with data, or a release.", file=folder.name)
    real = folder.resolve()
    app = Application(Folder(real), "." if (real / MANIFEST).is_file() else None)
    (bound, base, hosts), token = place.opened(), secrets.token_urlsafe(32)
    guard = Guard(application(app), token, hosts, base.partition(":")[0])
    return Served(f"{base}/open?token={token}", guard, app, bound)


def serve(served: Served, idle_minutes: float, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until stopped, or until nobody has asked for so many minutes and nothing runs; end what runs."""
    config = uvicorn.Config(
        served.guard, log_config=SILENT, access_log=False, server_header=False, ws="none", lifespan="off",
        loop="asyncio", timeout_graceful_shutdown=2,
    )  # fmt: skip
    server, name = uvicorn.Server(config), served.socket.getsockname()

    def watch() -> None:
        while not server.started and not server.should_exit:
            time.sleep(SHORT_S)
        ready()  # from here on a signal ends the server in good order
        time.sleep(FIRST_S)
        load_pages()
        while not server.should_exit:
            time.sleep(min(LOOK_S, idle_minutes * 60))
            idle = time.monotonic() - served.guard.last
            if idle > idle_minutes * 60 and not served.app.works.running:
                server.should_exit = True

    served.guard.last = time.monotonic()
    threading.Thread(target=watch, daemon=True).start()
    try:
        server.run(sockets=[served.socket])
    finally:
        served.app.works.stop()
        served.socket.close()
        if isinstance(name, str):  # of a Unix socket, that of its file
            Path(name).unlink(missing_ok=True)
