"""The application of a folder with the example hospital, asked in process."""

import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from cloister.testing import hospital

starlette = pytest.importorskip("starlette", reason="the extra ui is not installed")
pytest.importorskip("uvicorn", reason="the extra ui is not installed")
pytest.importorskip("python_multipart", reason="the extra ui is not installed")
pytest.importorskip("httpx2", reason="what asks in process is not installed")

from starlette.testclient import TestClient  # noqa: E402

from cloister.web.server import prepare  # noqa: E402

OWN = {"sec-fetch-site": "same-origin"}
LAST_S = 120


@dataclass
class Window:
    """A browser's window, as far as requests go: it was opened with the token."""

    client: TestClient
    base: str
    folder: Path
    served: object

    def get(self, path, **query):
        """Ask for a page."""
        return self.client.get(path, params=query)

    def post(self, path, form, headers=OWN):
        """Send a form, as our own page does."""
        return self.client.post(path, data={name: sent(value) for name, value in form.items()}, headers=headers)

    def form_of(self, page, action):
        """What a form of a page would send as it is: hidden fields, texts, choices, ticks."""
        return form_of(page.text, action)

    def wait(self, page):
        """Wait for work to be done, and return the page that follows."""
        last = time.monotonic() + LAST_S
        while 'hx-trigger="load delay' in page.text and time.monotonic() < last:
            time.sleep(0.1)
            page = self.client.get(page.url)
        return page


def sent(value):
    """What a browser sends for a value, or for each of several: it writes every line break as CR LF."""
    return [sent(one) for one in value] if isinstance(value, list) else re.sub(r"\r\n|\r|\n", "\r\n", value)


def form_of(html, action):
    """The fields of the form with this action, filled as the page has them."""
    found = re.search(rf'<form[^>]*action="{re.escape(action)}".*?</form>', html, re.DOTALL)
    assert found, f"no form for {action}"
    text, made = found[0], {}
    for tag in re.findall(r"<input[^>]*>", text):
        said = dict(re.findall(r'([a-z-]+)="([^"]*)"', tag))
        is_box = said.get("type") in ("checkbox", "radio")
        if "name" in said and (not is_box or " checked" in tag):
            name, value = plain(said["name"]), plain(said.get("value", ""))
            if said.get("type") == "checkbox" and name in made:  # several ticks of one name
                value = [*(made[name] if isinstance(made[name], list) else [made[name]]), value]
            made[name] = value
    for name, options in re.findall(r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', text, re.DOTALL):
        chosen = re.search(r'<option(?: value="([^"]*)")? selected>([^<]*)', options)
        first = re.search(r'<option(?: value="([^"]*)")?>([^<]*)', options)
        one = chosen or first
        made[name] = "" if one is None else plain(one[2] if one[1] is None else one[1])
    for name, value in re.findall(r'<textarea[^>]*name="([^"]*)"[^>]*>(.*?)</textarea>', text, re.DOTALL):
        made[name] = plain(value)
    return made


def plain(text):
    """A text without the escapes of HTML."""
    for escaped, sign in (("&lt;", "<"), ("&gt;", ">"), ("&#34;", '"'), ("&#39;", "'"), ("&amp;", "&")):
        text = text.replace(escaped, sign)
    return text


SHAPED = {"table": "patients", "codes": "codes", "trajectories": "trajectories", "claims": "claim_patients"}
"""For each shape the file of the hospital that a first job is made of; it and its source are called so, too."""


@pytest.fixture(scope="session")
def first_jobs(tmp_path_factory):
    """The hospital, and a first job of each shape as the application makes them."""
    folder = tmp_path_factory.mktemp("first")
    hospital(n=300).write(folder)
    made = prepare(folder)
    window = opened(made)
    for shape, name in SHAPED.items():
        more = {"claims": "claims.csv"} if shape == "claims" else {}
        page = window.wait(window.post("/new", {"file": f"{name}.csv", "shape": shape, **more}))
        assert page.status_code == 200, page.text
        assert (folder / f"{name}.toml").exists(), page.text
    made.socket.close()
    return folder


@pytest.fixture
def served(tmp_path, first_jobs):
    """A server that is about to run, bound but not yet asked."""
    folder = tmp_path / "data"
    shutil.copytree(first_jobs, folder)
    made = prepare(folder)
    yield made
    made.app.works.stop()
    made.socket.close()


def opened(served):
    """A window of a server."""
    base = served.address.partition("/open")[0]
    client = TestClient(served.guard, base_url=base, raise_server_exceptions=False)
    assert client.get(served.address).status_code == 200
    return Window(client, base, served.app.folder.path, served)


@pytest.fixture
def window(served):
    """A window that was opened with the token."""
    return opened(served)
