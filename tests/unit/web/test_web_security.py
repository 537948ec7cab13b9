"""Each line of the application's security, one test: who may ask, what a page may load, which places there are."""

import hashlib
import os
import re
import socket
import threading
import time
from base64 import b64encode
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.unit.web.conftest import OWN, opened

from cloister.errors import InputError
from cloister.web.app import PAGES
from cloister.web.guard import MOST_BYTES
from cloister.web.server import Endpoint, prepare, serve

EVERY_GET = [name.split()[1] for name in PAGES if name.startswith("GET")]
EVERY_POST = [name.split()[1] for name in PAGES if name.startswith("POST")]


def stranger(served):
    """A client without the cookie."""
    return TestClient(served.guard, base_url=served.address.partition("/open")[0], raise_server_exceptions=False)


def test_binds_to_this_machine_alone(served):
    """The socket is of 127.0.0.1, unless another address is asked for behind a proxy."""
    assert served.socket.getsockname()[0] == "127.0.0.1"
    others = [
        address for address in {*socket.gethostbyname_ex(socket.gethostname())[2]} if not address.startswith("127.")
    ]
    served.socket.listen()
    for address in others:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address, served.socket.getsockname()[1]), timeout=1).close()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (Endpoint(bind="0.0.0.0"), "only behind a proxy"),
        (Endpoint(bind="0.0.0.0", proxy="http://hospital.example"), "https://NAME"),
        (Endpoint(bind="0.0.0.0", proxy="https://hospital.example/cloister"), "without user and path"),
        (Endpoint(bind="0.0.0.0", proxy="https://"), "https://NAME"),
        (Endpoint(proxy="https://me@hospital.example"), "without user"),
        (Endpoint(proxy="https://hospital.example?x=1"), "without user"),
        (Endpoint(proxy="https://hospital.example:99999"), "https://NAME"),
        (Endpoint(proxy=" https://hospital.example"), "https://NAME"),
        (Endpoint(proxy="https://[::1"), "https://NAME"),
        (Endpoint(port=8123, file=Path("pages")), "Give one of them"),
    ],
)
def test_another_address_needs_a_proxy(tmp_path, place, words):
    """And the proxy an address that can hold a cookie for HTTPS alone."""
    with pytest.raises(InputError, match=words):
        prepare(tmp_path, place)


@pytest.mark.parametrize("typed", ["https://hospital.example", "HTTPS://Hospital.Example:443/"])
def test_behind_a_proxy_only_its_name_is_ours(tmp_path, typed):
    """Its cookie is for HTTPS alone; the port that is bound is no name of ours, nor is a page of plain HTTP."""
    made = prepare(tmp_path, Endpoint(proxy=typed))
    client = stranger(made)
    answer = client.get(made.address, follow_redirects=False)

    assert made.address.startswith("https://hospital.example/open?token=")
    assert "Secure" in answer.headers["set-cookie"]
    assert client.get("/").status_code == 200
    assert client.get("/", headers={"host": f"127.0.0.1:{made.socket.getsockname()[1]}"}).status_code == 403
    assert client.post("/undo", headers={"origin": "http://hospital.example"}).status_code == 403
    made.socket.close()


def test_a_socket_is_for_its_owner_alone(tmp_path):
    """At whatever port it is forwarded to on this machine, by no other name, and by no page of another port."""
    made = prepare(tmp_path, Endpoint(file=tmp_path / "pages"))
    client = TestClient(made.guard, base_url="http://localhost:8123", raise_server_exceptions=False)
    path = made.address.partition("PORT")[2]

    assert os.stat(tmp_path / "pages").st_mode & 0o777 == 0o600
    assert client.get(path).status_code == 200
    assert client.get("/", headers={"host": "hospital.example:8123"}).status_code == 403
    assert client.post("/undo", headers={"origin": "http://localhost:9000"}).status_code == 403
    with pytest.raises(InputError, match="No socket pages"):
        prepare(tmp_path, Endpoint(file=tmp_path / "pages"))
    made.socket.close()


def test_a_socket_answers_and_goes(tmp_path):
    """A request over it is answered; when the server ends, the file is gone."""
    made = prepare(tmp_path, Endpoint(file=tmp_path / "pages"))
    is_ready = threading.Event()
    thread = threading.Thread(target=serve, args=(made, 0.02, is_ready.set), daemon=True)
    thread.start()
    assert is_ready.wait(timeout=60)
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(str(tmp_path / "pages"))
        one.sendall(b"GET / HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n\r\n")
        answer = one.recv(64)
    thread.join(timeout=60)

    assert answer.startswith(b"HTTP/1.1 403")
    assert not (tmp_path / "pages").exists()


def test_a_socket_of_a_server_that_was_killed_is_made_again(tmp_path):
    """It answers nobody, so that it may go; any other file stays."""
    prepare(tmp_path, Endpoint(file=tmp_path / "pages")).socket.close()
    prepare(tmp_path, Endpoint(file=tmp_path / "pages")).socket.close()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="No socket file"):
        prepare(tmp_path, Endpoint(file=tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("path", [*EVERY_GET, "/static/app.css", "/nothing"])
def test_nothing_is_shown_without_the_token(served, path):
    """Every page, known or not, is refused to who has no cookie."""
    assert stranger(served).get(path).status_code == 403


@pytest.mark.parametrize("path", EVERY_POST)
def test_nothing_is_done_without_the_token(served, path):
    """Every form is refused to who has no cookie."""
    assert stranger(served).post(path, data={"a": "b"}, headers=OWN).status_code == 403


def test_the_token_opens_once(served):
    """The address is taken once, gives a cookie that scripts cannot read, and then no more."""
    client = stranger(served)
    first = client.get(served.address, follow_redirects=False)

    assert first.status_code == 303
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "token" not in first.headers["location"]
    assert stranger(served).get(served.address).status_code == 403
    assert client.get("/").status_code == 200


def test_a_window_without_a_session_is_told_where_a_new_link_is(served):
    """The page is styled and loads nothing; the terminal is offered one new link at a time, which the page has not."""
    offered = []
    served.guard.offer = offered.append
    assert "Session expired" in stranger(served).get("/").text
    assert offered == []  # the link that was printed has not been used
    first = opened(served)
    page = stranger(served).get(served.address)
    stranger(served).get("/columns")
    (link,) = offered

    assert (page.status_code, "This link was used" in page.text) == (403, True)
    assert "shows a new link" in page.text
    assert link.partition("token=")[2] not in page.text
    style = re.search("<style>(.*?)</style>", page.text, re.DOTALL)[1]
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in page.headers["content-security-policy"]
    assert not re.search(r"(src|href)=", page.text)
    second = stranger(served)
    assert second.get(link).status_code == 200
    assert first.get("/").status_code == 200
    assert stranger(served).get(link).status_code == 403


def test_two_servers_in_one_browser_keep_their_sessions(served):
    """A browser sends the cookies of all ports to each: every server has its own name for its own."""
    other = prepare(served.app.folder.path)
    jar = stranger(served)
    jar.get(served.address)
    second = TestClient(other.guard, base_url=other.address.partition("/open")[0], cookies=jar.cookies)
    second.get(other.address)
    both = {**jar.cookies, **second.cookies}
    names = {f"cloister-{one.socket.getsockname()[1]}" for one in (served, other)}
    other.socket.close()

    assert both.keys() == names
    for one in (served, other):
        client = TestClient(one.guard, base_url=one.address.partition("/open")[0], cookies=both)
        assert client.get("/").status_code == 200


@pytest.mark.parametrize("token", ["", "x", "%00", "é"])
def test_another_token_opens_nothing(served, token):
    """A wrong token is refused, and the right one works afterwards."""
    assert stranger(served).get("/open", params={"token": token}).status_code == 403
    assert opened(served).get("/").status_code == 200


@pytest.mark.parametrize("cookie", ["cloister=", "cloister=x", 'cloister="', "other=1", ";;;"])
def test_another_cookie_is_nobody(window, cookie):
    """What is not the cookie that was given is refused."""
    assert stranger(window.served).get("/", headers={"cookie": cookie}).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", "", "[::1]:80"])
def test_another_host_is_refused(window, host):
    """A name that somebody had point here is not ours, though the cookie came with it."""
    assert window.client.get("/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example", "sec-fetch-site": "same-origin"},
        {"origin": "https://127.0.0.1", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
    ],
)
def test_a_form_of_another_page_is_refused(window, headers):
    """A post must come from our own page, by its origin or by the browser's word."""
    assert window.post("/undo", {"job": "job.toml"}, headers).status_code == 403


def test_a_form_of_our_own_page_is_taken(window):
    """Its origin, or the browser's word, is enough; what is wrong with it is another matter."""
    for headers in ({"origin": window.base}, OWN, {"origin": "null", **OWN}):
        assert window.post("/undo", {"job": "none.toml"}, headers).status_code == 400


def test_a_page_cannot_be_asked_for_by_another_page(window):
    """Not even to be looked at: the answer is refused before anything is read."""
    assert window.client.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 403


def test_every_answer_forbids_what_it_does_not_need(window):
    """No scripts but ours, no frames, no other host, nothing kept, no referrer, on pages, refusals and files alike."""
    answers = [window.get(path) for path in (*EVERY_GET, "/static/app.css", "/nothing")]
    answers.append(stranger(window.served).get("/"))
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        for rule in (
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
            "form-action 'self'", "frame-ancestors 'none'",
        ):  # fmt: skip
            assert rule in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


def test_no_page_has_a_script_or_a_style_inside():
    """No inline script or style, no handler, and nothing that htmx would evaluate, in any template."""
    from importlib.resources import files

    for file in files("cloister.web").joinpath("templates").iterdir():
        text = file.read_text().replace("<style>{{ style | safe }}</style>", "")  # which a policy names by its hash
        for word in ("style=", "<style", "onclick", "onload", "hx-on", "javascript:", "js:", "http://", "https://"):
            assert word not in text.replace("http-equiv", ""), f"{word} in {file.name}"
        assert text.count("<script") == text.count('<script src="/static/')
    assert '"allowEval":false' in files("cloister.web").joinpath("templates/page.html.j2").read_text()


PLACES = [
    "../outside.csv",
    "/etc/passwd",
    "a/../../outside.csv",
    "link.csv",
    "away/outside.csv",
    ".hidden.csv",
    "\0",
    ".",
    "",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("page", ["/new", "/data", "/check", "/explored", "/explored/picture", "/job"])
def test_no_place_outside_the_folder(window, place, page):
    """Neither names nor links lead out of the folder, and hidden files are not given out."""
    outside = window.folder.parent / "outside.csv"
    outside.write_text("age,secret\n1,SECRET-VALUE\n")
    (window.folder / "link.csv").symlink_to(outside)
    (window.folder / "away").symlink_to(window.folder.parent)
    (window.folder / ".hidden.csv").write_text("a\nSECRET-VALUE\n")
    if page == "/check" and place == ".":
        return
    answer = window.get(page, file=place, job=place, release=place, folder=place)

    assert answer.status_code == 400
    assert "SECRET-VALUE" not in answer.text
    assert "outside.csv" not in window.get("/").text
    assert "link.csv" not in window.get("/").text


def test_a_job_cannot_have_its_release_outside(window):
    """Nothing is started that would write outside the folder."""
    (window.folder / "job.toml").write_text(
        'name = "x"\noutput = "../x"\nk = 5\n[sources.p]\nfile = "patients.csv"\n[[protect]]\nshape = "table"\n'
        'source = "p"\nundecided = ["drop"]\n[protect.qi]\nage = "suppress"\n'
    )
    page = window.get("/release", job="job.toml")
    form = window.form_of(page, "/release/run")

    assert window.post("/release/run", form).status_code == 400
    assert not (window.folder.parent / "x").exists()


SUPPRESSED = 'sex = "suppress"'
OUTSIDE = {
    "file": ('file = "../outside.csv"', SUPPRESSED),
    "hierarchy": ('file = "patients.csv"', 'age = "../outside.csv"'),
    "crosswalk": ('file = "patients.csv"\nid = "mrn"', SUPPRESSED),
}


@pytest.mark.parametrize("what", OUTSIDE)
def test_a_job_cannot_read_or_write_outside(window, what):
    """A job that names files outside the folder is neither shown with them nor run."""
    (window.folder.parent / "outside.csv").write_text("age,secret\n1;SECRET-VALUE;*\n")
    source, hierarchy = OUTSIDE[what]
    extra = 'crosswalk = "../map.csv"\n' if what == "crosswalk" else ""
    (window.folder / "job.toml").write_text(
        f'name = "x"\noutput = "x"\nk = 5\n[sources.p]\n{source}\n[[protect]]\nshape = "table"\nsource = "p"\n'
        f'undecided = ["drop"]\n{extra}[protect.qi]\n{hierarchy}\n'
    )
    for path in ("/data", "/columns", "/hierarchies", "/promise", "/release", "/levels"):
        assert "SECRET-VALUE" not in window.get(path, job="job.toml", values="1").text
    assert "outside this folder" in window.get("/release", job="job.toml").text
    version = re.search(r'name="version" value="(\w+)"', window.get("/release", job="job.toml").text)[1]
    assert window.post("/release/run", {"job": "job.toml", "version": version}).status_code == 400
    assert not (window.folder / "x").exists()


@pytest.mark.parametrize("where", ["source", "hierarchy", "grid"])
def test_what_is_explored_lies_inside(window, where):
    """Neither the job nor the grid leads to a file outside: nothing is started."""
    outside = window.folder.parent / "outside.csv"
    outside.write_text("sex,1\nF,*\nM,*\n")
    job = window.folder / "patients.toml"
    text, grid = job.read_text(), {"g:k": "3"}
    if where == "source":
        job.write_text(text.replace('"patients.csv"', '"../outside.csv"'))
    elif where == "hierarchy":
        job.write_text(text.replace('"sex" = "suppress"', '"sex" = "../outside.csv"'))
    else:
        grid["g:qi.sex"] = "../outside.csv"
    answer = window.post("/explore", {"job": "patients.toml", "part": "patients", **grid})

    assert where == "grid" or job.read_text() != text
    assert answer.status_code == 400
    assert "outside this folder" in answer.text


def test_a_form_that_is_too_large_is_refused(window):
    """Before it is read."""
    answer = window.post("/undo", {"job": "x" * (MOST_BYTES + 1)})

    assert answer.status_code == 403
    assert "too large" in answer.text


def test_a_body_of_unknown_length_is_refused_as_that(window):
    """A body in chunks says no length; it is not said to be too large."""
    headers = {"origin": str(window.client.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}
    answer = window.client.post("/undo", content=iter([b"job=x"]), headers=headers)

    assert answer.status_code == 403
    assert "does not say how long it is" in answer.text


def test_no_value_where_it_does_not_belong(window):
    """No value of the data in an address, title, cookie, or on a page that was not asked for them."""
    shapes = window.get("/new", file="patients.csv").text
    values = {
        cell for line in (window.folder / "patients.csv").read_text().splitlines()[1:] for cell in line.split(",")
    }
    values = {value for value in values if re.fullmatch("M[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}", value)}

    def there(text):
        return [value for value in values if value in text]

    assert len(values) > 100
    assert not there(shapes)
    answer = window.get("/new", file="patients.csv", values="1")
    asked = answer.text
    assert there(asked)
    assert not there(asked.partition("</title>")[0])
    assert not there(str(answer.url))
    assert not there(str(answer.headers))
    for path in ("/new", "/data", "/columns", "/hierarchies", "/promise", "/release", "/explore", "/levels"):
        page = window.get(path, file="patients.csv", job="patients.toml").text  # the switch falls back on the next page
        assert not there(page), path


def test_an_unexpected_error_says_where_and_nothing_else(window, monkeypatch):
    """Messages of exceptions may quote values: the page says the type and the place."""
    monkeypatch.setattr("cloister.web.folder.Folder.look", lambda _: 1 / int("0" * 3) and "SECRET")
    monkeypatch.setattr("cloister.web.start_pages.SHAPES", {"SECRET": ""})
    answer = window.get("/")

    assert answer.status_code == 500
    assert "ZeroDivisionError" in answer.text
    assert "division by zero" not in answer.text


def test_nothing_is_logged(served, capfd):
    """The server prints no address, no request and no error of its own."""
    window = opened(served)
    window.get("/nothing?name=SECRET-VALUE")
    window.get("/new", file="patients.csv")

    assert capfd.readouterr() == ("", "")


def test_stops_when_nobody_uses_it(tmp_path):
    """After the idle time the server ends by itself."""
    made = prepare(tmp_path)
    made.guard.last = time.monotonic()
    thread = threading.Thread(target=serve, args=(made, 0.01), daemon=True)
    thread.start()
    thread.join(timeout=60)

    assert not thread.is_alive()


def test_a_port_that_is_taken_and_a_folder_that_is_not_there(served, tmp_path):
    """Both are refused in a sentence."""
    served.socket.listen()
    with pytest.raises(InputError, match="Port"):
        prepare(tmp_path, Endpoint(served.socket.getsockname()[1]))
    with pytest.raises(InputError, match="There is no folder"):
        prepare(tmp_path / "none")


def test_what_is_written_is_for_its_owner_alone(window):
    """Jobs and their history are readable by nobody else."""
    answer = window.post("/new", {"file": "patients.csv", "shape": "table", "empty": "1"})
    assert answer.status_code == 200
    job = window.folder / "patients-2.toml"
    assert os.stat(job).st_mode & 0o077 == 0
