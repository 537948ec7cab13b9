"""The server: bound to this machine alone, with a token, until it is stopped or nobody has used it for a while."""

import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from cloister.errors import InputError

from .app import Application, application, load_pages
from .folder import MANIFEST, Folder
from .guard import Guard

HOST = "127.0.0.1"
"""No other address: there is no option for one."""

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
class Served:
    """A server that is about to run: its address with the token, which opens it once, and what answers."""

    address: str
    guard: Guard
    app: Application
    socket: socket.socket


def prepare(folder: Path, port: int = 0) -> Served:
    """Return what serves a folder, bound to a port; 0 for any that is free."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder.name}. Name one with data, or a release.", file=folder.name)
    real = folder.resolve()
    app = Application(Folder(real), "." if (real / MANIFEST).is_file() else None)
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    problem = False
    try:
        bound.bind((HOST, port))
    except (OSError, OverflowError):
        problem = True
    if problem:
        bound.close()
        raise InputError(f"Port {port} is taken, or not ours to use. Give another one, or none.")
    port, token = bound.getsockname()[1], secrets.token_urlsafe(32)
    guard = Guard(application(app), token, [f"{HOST}:{port}", f"localhost:{port}"])
    return Served(f"http://{HOST}:{port}/open?token={token}", guard, app, bound)


def serve(served: Served, idle_minutes: float, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until stopped, or until nobody has asked for so many minutes and nothing runs; end what runs."""
    config = uvicorn.Config(
        served.guard, log_config=SILENT, access_log=False, server_header=False, ws="none", lifespan="off",
        loop="asyncio", timeout_graceful_shutdown=2,
    )  # fmt: skip
    server = uvicorn.Server(config)

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
