"""``cloister ui``: serve the application until it is stopped."""

import sys
import webbrowser
from contextlib import suppress
from html import escape
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from cloister.cli.options import UiOptions
from cloister.cli.output import Terminated, print_json, say
from cloister.errors import InputError
from cloister.io import write_private
from cloister.settings.constraints import Interval, check_value

NEEDED = ("starlette", "uvicorn", "python_multipart")
EXTRA = 'pip install "cloister[ui]"'


def has_ui() -> bool:
    """Whether the requirements of the application are installed."""
    return all(find_spec(name) is not None for name in NEEDED)


def open_browser(address: str, folder: str) -> None:
    """Ask the browser of the system to open an address, by a page in a private folder.

    Any user of the machine can read the words of a running command, but not that page: the address lets in once. A
    browser in the foreground would not return, so another thread waits for it.
    """
    page = Path(folder) / "open.html"
    write_private(page, f'<meta http-equiv="refresh" content="0;url={escape(address)}">'.encode())
    Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()


def run_ui(options: UiOptions) -> None:
    """Serve a folder, and print the address."""
    if not has_ui():
        raise InputError(f"The application needs more than is installed. Install it: {EXTRA}.")
    check_value("idle", options.idle, Interval(float, 0, closed="neither", what="a number of minutes"))
    from cloister.web.server import Endpoint, prepare, serve  # only this command needs a server

    served = prepare(options.folder, Endpoint(options.port, options.socket, options.bind, options.behind_proxy))
    is_local = options.socket is None and not options.behind_proxy
    whom = "to this machine alone" if is_local else "to whom the proxy or the socket lets in"

    def ready() -> None:
        if options.as_json:
            print_json({"link": served.address, "folder": served.app.folder.path.name})
            return
        if options.socket is not None and not options.behind_proxy:
            say(f"Forward a port to {options.socket.name}, as by ssh -L PORT:{options.socket.resolve()} HOST.")
        where = "a browser on this machine" if is_local else "a browser"
        say(f"Open this link in {where} (valid once): {served.address}")
        if is_local and not options.no_browser and not options.quiet and sys.stdout.isatty():
            open_browser(served.address, opening)
        if not options.quiet:
            end = f"Ctrl-C stops it; so do {options.idle:g} minutes without use."
            say(f"It serves {served.app.folder.path.name} {whom}. {end}")

    def offer(link: str) -> None:
        if options.as_json:
            print_json({"link": link})
        else:
            say(f"A window without a session asks. Open this link in it (valid once): {link}")

    served.guard.offer = offer
    with TemporaryDirectory(prefix="cloister-ui-") as opening, suppress(KeyboardInterrupt, Terminated):
        serve(served, options.idle, ready)
    if not options.quiet and not options.as_json:
        say("Stopped.")
