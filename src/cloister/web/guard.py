"""Access control: checks every request before any page, and sets the security headers of each response."""

import hashlib
import hmac
import re
import secrets
import time
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .app import WITH_FILE, style_alone, templates

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
OWN_STYLE = "style-src 'self'"
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
SAFE = ("GET", "HEAD")
OWN = ("same-origin", "none")
"""How a browser calls a request of our own page, or one that someone typed."""

ANY_PORT = re.compile(r":[0-9]{1,5}\Z")
MOST_BYTES = 4 * 2**20
"""Of what a form sends that has no file; the page of one that has says itself that a file is too large."""

EXPIRED, USED, REFUSED = "Session expired", "This link was used", "Request refused"


class Guard:
    """Admits users who opened the link with the token, from this machine only, and nobody else.

    *Guarantee*: no other site, page or program without the token reads or changes anything, though it runs in the same
    browser. Not promised: anything against anyone who can read the memory or the files of the same user.

    Parameters
    ----------
    hosts : what a browser may call us; anything else may be another name that someone had point here. Without a port
        any will do, as it is anyone who forwards one to our socket that chooses it
    base : how the address begins; ``https`` behind a proxy
    name : of this server, for its cookie: a browser sends the cookies of all ports of a machine to each

    Attributes
    ----------
    offer : hears of a new link, when a window without a session asks and the last link was used
    """

    def __init__(self, app: ASGIApp, base: str, hosts: Iterable[str], name: str) -> None:
        self.app, self.base, self.hosts, self.scheme = app, base, frozenset(hosts), base.partition(":")[0]
        self.cookie = f"cloister-{name}"
        self._token: str | None = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        self.last = time.monotonic()
        self.offer: Callable[[str], None] = lambda _link: None

    @property
    def link(self) -> str:
        """The link that opens the application, valid once."""
        return f"{self.base}/open?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Content-Security-Policy", POLICY)
            await send(message)

        headers, method = Headers(scope=scope), scope["method"]
        refusal = self._refusal(headers, method, has_file=scope["path"] in WITH_FILE)
        if refusal is None and scope["path"] == "/open" and method == "GET":
            await self._open_session(QueryParams(scope["query_string"]))(scope, receive, guarded)
            return
        if refusal is not None or not self._is_known(headers):
            closed = self._refuse_session(EXPIRED) if refusal is None else _closed_page(REFUSED, refusal)
            await closed(scope, receive, guarded)
            return
        self.last = time.monotonic()
        await self.app(scope, receive, guarded)

    def _refusal(self, headers: Headers, method: str, *, has_file: bool) -> str | None:
        """What is wrong with where a request comes from, or with its size; None if nothing is."""
        host = headers.get("host", "")
        if self.hosts.isdisjoint({host, ANY_PORT.sub("", host)}):
            return "This address is not one of ours."
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None and site not in OWN:
            return "Another page sent this request."
        if origin is not None and origin not in (f"{self.scheme}://{host}", "null"):
            return "Another page sent this request."
        if method in SAFE:
            return None
        # Pages without a referrer send the origin null; then the browser's own word is needed.
        if (origin is None or origin == "null") and site != "same-origin":
            return "It is not known which page sent this."
        size = headers.get("content-length", "")
        if not size.isdigit():
            return "The request does not say how long it is, as a form of these pages does."
        return None if has_file or int(size) <= MOST_BYTES else "The form is too large."

    def _is_known(self, headers: Headers) -> bool:
        try:
            sent = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return sent is not None and hmac.compare_digest(sent.value.encode(), self._session.encode())

    def _open_session(self, query: QueryParams) -> HTMLResponse | RedirectResponse:
        """Take the token, once, and give the cookie for it."""
        token, given = self._token, query.get("token", "")
        if token is None or not hmac.compare_digest(given.encode(), token.encode()):
            return self._refuse_session(USED)
        self._token = None
        response = RedirectResponse("/", 303)
        is_secure = self.scheme == "https"
        response.set_cookie(self.cookie, self._session, httponly=True, samesite="strict", path="/", secure=is_secure)
        return response

    def _refuse_session(self, title: str) -> HTMLResponse:
        """Say where a link is that opens a session; a new one is offered if the last was used."""
        if self._token is None:
            self._token = secrets.token_urlsafe(32)
            with suppress(OSError):  # nobody may read the terminal any more
                self.offer(self.link)
        return _closed_page(title, "")


def _closed_page(title: str, why: str) -> HTMLResponse:
    """The page for anyone who is not let in and can load nothing: its style is inside, and named by its hash."""
    style = style_alone()
    page = templates().get_template("closed.html").render(title=title, why=why, style=style)
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = POLICY.replace(OWN_STYLE, f"{OWN_STYLE} 'sha256-{digest}'")
    return HTMLResponse(page, 403, {"Content-Security-Policy": policy})
