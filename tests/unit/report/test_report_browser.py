"""The report in a real browser, where there is one: no script, no network, a silent console, no sideways scroll."""

import re
import shutil
import socket
import subprocess
import threading

import polars as pl
import pytest

import cloister as cl
from cloister.cli.main import run
from cloister.testing import hospital

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for path in map(shutil.which, NAMES) if path), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
    *(
        "--disable-default-apps",
        "--disable-domain-reliability",
        "--disable-dev-shm-usage",
        "--no-pings",
        "--disable-features=NetworkTimeServiceQuerying,OptimizationHints,MediaRouter,Translate",
    ),
    *("--allow-file-access-from-files", "--enable-logging=stderr", "--virtual-time-budget=4000"),
)
WIDTHS = (320, 360, 400, 1280)

FRAME = '<iframe sandbox="allow-same-origin" style="width:{width}px;height:900px" src="file://{path}"></iframe>'
"""A report without the right to run a script; only the page around it may, to measure it."""

AROUND = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>measured</title></head><body>{frames}<pre></pre>
<script>
addEventListener("load", () => {{
  document.querySelector("pre").textContent = [...document.querySelectorAll("iframe")].map(frame => {{
    const page = frame.contentDocument, root = page.documentElement, svg = page.querySelector("svg");
    const wider = root.scrollWidth - root.clientWidth, drawn = svg.getBoundingClientRect().width > 99;
    return [wider, page.querySelectorAll("h2").length, drawn].join(" ");
  }}).join("|");
}});
</script></body></html>"""

OWN = re.compile(r"^[A-Z]+ (https?://)?[a-z0-9.-]+\.(google|googleapis|gvt1)\.com[:/]")
"""What the browser asks for by itself, whatever it shows. A page cannot: its policy allows no address, and what is
refused is told on the console."""


class Proxy:
    """Where all requests of the browser would go; it answers none and remembers the host that each asks for."""

    def __init__(self):
        self.asked, self.server = [], socket.create_server(("127.0.0.1", 0))
        self.address = "{}:{}".format(*self.server.getsockname())
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            with connection:
                if request := connection.recv(4096):  # a browser also opens connections that it never uses
                    self.asked.append(request.partition(b"\r\n")[0].decode("latin-1"))


pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"no browser is here: none of {', '.join(NAMES)}")


def measured_in_a_browser(pages, folder):
    """What the browser measured of each page at each width, and what it said and asked for."""
    frames = [FRAME.format(width=width, path=page) for page in pages for width in WIDTHS]
    (folder / "around.html").write_text(AROUND.format(frames="".join(frames)))
    proxy = Proxy()
    places = (f"--user-data-dir={folder / 'browser'}", f"--proxy-server={proxy.address}")
    command = [
        *(BROWSER, *FLAGS, *places, "--proxy-bypass-list=<-loopback>"),
        *("--dump-dom", f"file://{folder}/around.html"),
    ]
    browser = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    proxy.server.close()
    measured = re.search(r"<pre>([^<]*)</pre>", browser.stdout)

    assert measured is not None, browser.stderr[-2000:]
    said = [line for line in browser.stderr.splitlines() if "CONSOLE" in line]
    return measured[1].split("|"), said, [line for line in proxy.asked if not OWN.search(line)]


def test_every_report_in_a_browser(releases, tmp_path):
    """The reports of all shapes open at four widths: whole, silent, alone, and no wider than the window."""
    pages = [place / name / "report.html" for place in releases.values() for name in ("release", "secret")]
    measured, said, asked = measured_in_a_browser(pages, tmp_path)

    parts = {"release": 10, "secret": 11}
    assert measured == [f"0 {parts[page.parent.name]} true" for page in pages for _ in WIDTHS]
    assert said == []
    assert asked == []


def test_long_names_in_a_browser(tmp_path):
    """Names of 70 characters without a space wrap, in every role: nothing is off screen."""
    names = [f"{role}_{'abcdefghij' * 7}" for role in ("age", "dx", "kept", "dropped", "empty")]
    age, sensitive, _, dropped, empty = names
    frame = pl.DataFrame(dict.fromkeys(names, ["a", "b"] * 20))
    release = cl.protect_table(
        frame,
        qi={age: "suppress", empty: "suppress"},
        sensitive=[sensitive],
        drop=[dropped],
        undecided="keep",
        rule=["k-anonymity=5"],
        levels={age: 0, empty: 1},
        accept=names,
    )
    release.write(tmp_path / "release")
    measured, said, _ = measured_in_a_browser([tmp_path / "release" / "report.html"], tmp_path)

    assert measured == ["0 10 true"] * len(WIDTHS)
    assert said == []


def test_explorations_and_comparisons_in_a_browser(tmp_path, monkeypatch):
    """So do the pages of an exploration and of releases side by side."""
    monkeypatch.chdir(tmp_path)
    hospital(n=120).write(tmp_path)
    words = (
        *("table", "patients.csv", "--qi", "age=interval:10,20/top=80", "--qi", "sex"),
        *("--undecided", "drop", "--quiet"),
    )
    assert run(["explore", *words, "--grid", "k=3,6", "--grid", "suppression=0,0.1", "--out", "exploration"]) == 0
    for k in ("3", "6"):
        assert run(["protect", *words, "-k", k, "--out", f"k{k}"]) == 0
    assert run(["compare", "k3", "k6", "--out", "compared.html", "--quiet"]) == 0
    pages = [tmp_path / "exploration" / "exploration.html", tmp_path / "compared.html"]
    measured, said, asked = measured_in_a_browser(pages, tmp_path)

    assert {(words.split()[0], words.split()[2]) for words in measured} == {("0", "true")}
    assert said == []
    assert asked == []
