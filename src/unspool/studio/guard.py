"""Who may ask the studio, and what every answer forbids the browser.

A page of another site can send requests to this machine too, and by a name of its own that it
lets point here it can even read the answers. So the studio answers only to its own names and to
its own page; and where others can reach it, only to those who have the link that it printed.
"""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True)
class Guard:
    """By which names the studio may be called, and the token that a visitor must bring.

    The first name is the one in the link; without a token none is asked for.
    """

    names: tuple[str, ...]
    port: int
    token: str = ""

    @property
    def hosts(self) -> set[str]:
        """What a request's Host may be. A browser leaves the port out where it is HTTP's own."""
        with_port = {f"{name.lower()}:{self.port}" for name in self.names}
        return with_port | {name.lower() for name in self.names if self.port == 80}

    @property
    def link(self) -> str:
        query = f"?token={self.token}" if self.token else ""
        return f"http://{self.names[0]}:{self.port}/{query}"

    @property
    def cookie(self) -> str:
        """Its name. A browser keeps cookies by machine, so the port tells two studios apart."""
        return f"unspool-studio-{self.port}"


def make_guard(host: str, port: int, names: Sequence[str] = ()) -> Guard:
    """The guard of a studio that listens at `host`.

    At a loopback address only this machine can reach it. Elsewhere, or under other `names`, it
    asks for a token.
    """
    if not names and _is_loopback(host):
        own = _in_a_link(host)
        return Guard((own, *(name for name in LOOPBACK if name != own)), port)
    if not names and host in ("", "0.0.0.0", "::"):
        raise ValueError(
            f"{host or 'no host'} stands for every address of this machine: say by which name or "
            "address the studio will be called, such as its name in your network (--name)"
        )
    return Guard(tuple(map(_in_a_link, names or [host])), port, secrets.token_urlsafe(32))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _in_a_link(name: str) -> str:
    bare = name.removeprefix("[").removesuffix("]")
    if ":" in bare:
        try:
            return f"[{ip_address(bare).compressed}]"
        except ValueError:
            pass  # said below
    if not re.fullmatch(r"[A-Za-z0-9._-]+", bare):
        raise ValueError(
            f"{name!r} is no name of a machine: give a name or an address alone, without http:// "
            "and without a port"
        )
    return bare


class Guarded:
    """An application behind a guard: asks it first, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, guard: Guard):
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"the studio speaks HTTP, not {scope['type']}")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        answer = first_answer(self.guard, Request(scope)) or self.app
        await answer(scope, receive, send_with_headers)


def first_answer(guard: Guard, request: Request) -> Response | None:
    """What the guard itself answers: a refusal, or a cookie for a link. None lets pass."""
    if said := why_not(guard, request.headers):
        return _refusal(request, 403, said)
    if not guard.token:
        return None
    offered = request.query_params.get("token", "")
    if request.scope["path"] == "/" and request.method == "GET" and _equal(offered, guard.token):
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(guard.cookie, guard.token, path="/", httponly=True, samesite="strict")
        return answer
    if _equal(request.cookies.get(guard.cookie, ""), guard.token):
        return None
    return _refusal(
        request,
        401,
        "This studio is shown to those who have its link. Open the link that was printed when it "
        "was started, the one with ?token= in it.",
    )


def why_not(guard: Guard, headers: Headers) -> str:
    """Why a request with these headers does not come from the studio's own page; "" if it may."""
    hosts = headers.getlist("host")
    host = hosts[0].lower() if len(hosts) == 1 else ""
    if host not in guard.hosts:
        return (
            f"The studio was called as {', '.join(hosts) or 'nothing'}, and it answers only to "
            f"{' or '.join(sorted(guard.hosts))}. Through a tunnel, use the same port on both "
            "sides."
        )
    for origin in headers.getlist("origin"):
        if origin.lower() != f"http://{host}":
            return f"This request comes from {origin}, and only the studio's own page may ask."
    for site in headers.getlist("sec-fetch-site"):
        if site not in ("same-origin", "none"):
            return (
                "Another page sent this request, and only the studio's own may ask. To open the "
                "studio, copy its address into the address bar of a new tab."
            )
    return ""


def _equal(offered: str, token: str) -> bool:
    """In the same time whatever is offered, so that nobody can feel his way to the token."""
    return secrets.compare_digest(offered.encode(errors="replace"), token.encode())


def _refusal(request: Request, status: int, text: str) -> Response:
    """For the page as it reads errors, for people as words."""
    if request.scope["path"].startswith("/api/"):
        return JSONResponse({"error": text}, status)
    return PlainTextResponse(text + "\n", status)
