from collections.abc import Iterator

import pytest
from starlette.datastructures import Headers

from tests.studio.conftest import StubDesk, started
from tests.studio.raw import Answer, ask, request, send
from unspool.studio.guard import Guard, make_guard, why_not
from unspool.studio.server import HOST

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self' data:",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with started(StubDesk(run={"name": "a run"})) as guard:
        yield guard.link


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    """Of a studio that asks for a token."""
    with started(StubDesk(run={"name": "a run"}), names=[HOST, "Box.local"]) as guard:
        yield guard


def check_headers(answer: Answer) -> None:
    said = answer.headers["content-security-policy"].split("; ")
    assert dict(part.split(" ", 1) for part in said) == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


def port_of(url: str) -> str:
    return url.rstrip("/").rpartition(":")[2]


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LocalHost", "[::1]"])
def test_its_own_names_are_answered(url: str, name: str) -> None:
    answer = request(url, headers=[("Host", f"{name}:{port_of(url)}")])
    assert answer.status == 200
    check_headers(answer)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:PORT",
        "127.0.0.1.evil.example:PORT",
        "localhost.evil.example:PORT",
        "evil.example",
        "127.0.0.1",
        "localhost:1",
        "0.0.0.0:PORT",
        "127.0.0.2:PORT",
        "localhost:PORT@evil.example",
        "evil.example:PORT, localhost:PORT",
        "",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_names_are_refused(url: str, host: str, method: str) -> None:
    """A site whose name points at this machine sends its own name as the host."""
    host = host.replace("PORT", port_of(url))
    path = "/api/run" if method == "POST" else "/"
    headers = [("Host", host), ("Content-Type", "application/json")]
    answer = request(url, method, path, headers, b"{}" if method == "POST" else b"")
    assert answer.status == 403
    assert b"a run" not in answer.body
    assert b"answers only to" in answer.body
    check_headers(answer)


def test_two_hosts_or_none_are_refused(url: str) -> None:
    good = f"localhost:{port_of(url)}"
    for hosts in ([], [good, "evil.example"], ["evil.example", good]):
        lines = [b"GET / HTTP/1.1", *(f"Host: {host}".encode() for host in hosts)]
        answer = send(url, b"\r\n".join([*lines, b"Connection: close", b"", b""]))
        assert answer.status in (400, 403)
        assert b"page.js" not in answer.body
    assert send(url, b"GET / HTTP/1.0\r\n\r\n").status == 403
    twice = [(b"host", good.encode()), (b"host", b"evil.example")]
    assert "answers only to" in why_not(make_guard(HOST, int(port_of(url))), Headers(raw=twice))


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://127.0.0.1:PORT",
        "http://127.0.0.1:1",
        "http://localhost:PORT",  # another origin than the host that was called
        "http://127.0.0.1:PORT.evil.example",
        "null",
        "file://",
        "",
    ],
)
def test_other_origins_are_refused(url: str, origin: str) -> None:
    headers = [("Origin", origin.replace("PORT", port_of(url)))]
    headers += [("Content-Type", "application/json")]
    for method, path in (("POST", "/api/run"), ("OPTIONS", "/api/run"), ("GET", "/")):
        answer = request(url, method, path, headers, b"{}" if method == "POST" else b"")
        assert answer.status == 403
        assert b"a run" not in answer.body
        assert b"own page may ask" in answer.body
        check_headers(answer)


def test_its_own_origin_may_ask(url: str) -> None:
    own = [("Origin", url.rstrip("/")), ("Sec-Fetch-Site", "same-origin")]
    headers = [*own, ("Content-Type", "application/json")]
    assert request(url, "POST", "/api/run", headers, b"{}").json == {"name": "a run"}
    twice = [*headers, ("Origin", "http://evil.example")]
    assert request(url, "POST", "/api/run", twice, b"{}").status == 403


@pytest.mark.parametrize(
    ("site", "status"),
    [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403), ("?", 403)],
)
def test_pages_of_other_sites_are_refused(url: str, site: str, status: int) -> None:
    answer = request(url, headers=[("Sec-Fetch-Site", site)])
    assert answer.status == status
    check_headers(answer)


def test_the_page_reads_a_refusal_as_it_reads_every_error(url: str) -> None:
    answer = request(url, "POST", "/api/run", [("Origin", "http://evil.example")])
    assert answer.headers["content-type"] == "application/json"
    assert "http://evil.example" in answer.json["error"]
    assert answer.headers["cache-control"] == "no-store"


def test_answers_are_not_kept_and_errors_carry_the_headers_too(url: str) -> None:
    for answer, status in (
        (ask(url, "run"), 200),
        (ask(url, "nonsense"), 404),
        (ask(url, "run", b"["), 400),
        (request(url, "DELETE", "/"), 405),
        (request(url, path="/nowhere"), 404),
    ):
        assert answer.status == status
        assert answer.headers["cache-control"] == "no-store"
        check_headers(answer)


def test_a_token_opens_the_studio_once_and_a_cookie_from_then_on(guard: Guard) -> None:
    url = f"http://{HOST}:{guard.port}"
    first = request(url, path=guard.link.partition(f":{guard.port}")[2])
    assert (first.status, first.headers["location"]) == (303, "/")
    cookie, *rest = first.headers["set-cookie"].split("; ")
    assert {part.lower() for part in rest} == {"httponly", "samesite=strict", "path=/"}
    assert cookie.endswith(f"={guard.token}")
    check_headers(first)
    assert first.headers["cache-control"] == "no-store"
    assert request(url, headers=[("Cookie", cookie)]).status == 200
    assert request(url, headers=[("Cookie", f"other=1; {cookie}")]).status == 200
    headers = [("Cookie", cookie), ("Content-Type", "application/json")]
    assert request(url, "POST", "/api/run", headers, b"{}").json == {"name": "a run"}
    named = [*headers, ("Host", f"box.local:{guard.port}")]
    assert request(url, "POST", "/api/run", named, b"{}").status == 200


@pytest.mark.parametrize("path", ["/", "/page.js", "/page.css", "/api/run", "/nowhere"])
def test_without_the_token_there_is_nothing(guard: Guard, path: str) -> None:
    url = f"http://{HOST}:{guard.port}"
    name, token = guard.cookie, guard.token
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    for headers, query in (
        ([], ""),
        ([], "?token="),
        ([], f"?token={wrong}"),
        ([], f"?token={token}" if path != "/" else "?token=%ff"),
        ([("Cookie", f"{name}={wrong}")], ""),
        ([("Cookie", f"{name}={token[:-1]}")], ""),
        ([("Cookie", f"{name}=")], ""),
        ([("Cookie", f"{name}=\xff")], ""),
        ([("Cookie", f"other={token}")], ""),
        ([("Authorization", f"Bearer {token}")], ""),
    ):
        for method in ("GET", "POST", "HEAD"):
            answer = request(url, method, path + query, headers)
            assert answer.status == 401
            assert method == "HEAD" or b"link that was printed" in answer.body
            assert "set-cookie" not in answer.headers
            check_headers(answer)


def test_with_the_token_other_hosts_and_origins_are_refused_still(guard: Guard) -> None:
    url, cookie = f"http://{HOST}:{guard.port}", ("Cookie", f"{guard.cookie}={guard.token}")
    for header in (
        ("Host", f"evil.example:{guard.port}"),
        ("Host", f"localhost:{guard.port}"),  # none of the names that were given
        ("Origin", "http://evil.example"),
        ("Sec-Fetch-Site", "cross-site"),
    ):
        assert request(url, headers=[cookie, header]).status == 403
        assert request(url, path=f"/?token={guard.token}", headers=[header]).status == 403


def test_the_guard_of_a_loopback_address_asks_for_no_token() -> None:
    guard = make_guard("127.0.0.1", 8765)
    assert (guard.token, guard.link) == ("", "http://127.0.0.1:8765/")
    assert guard.hosts == {"127.0.0.1:8765", "localhost:8765", "[::1]:8765"}
    assert make_guard("localhost", 8765).link == "http://localhost:8765/"
    assert make_guard("::1", 8765).link == "http://[::1]:8765/"
    assert "127.0.0.3:8765" in make_guard("127.0.0.3", 8765).hosts
    assert make_guard("localhost", 80).hosts >= {"localhost", "localhost:80", "[::1]"}


def test_the_guard_of_other_addresses_asks_for_a_token() -> None:
    guard = make_guard("192.168.1.5", 8765)
    assert guard.hosts == {"192.168.1.5:8765"}
    assert guard.link == f"http://192.168.1.5:8765/?token={guard.token}"
    assert len(guard.token) >= 43  # 32 bytes in base 64
    assert guard.token != make_guard("192.168.1.5", 8765).token
    named = make_guard("0.0.0.0", 8765, ["box.local", "fe80::1"])
    assert named.hosts == {"box.local:8765", "[fe80::1]:8765"}
    assert named.token
    assert make_guard("127.0.0.1", 8765, ["box.local"]).token  # a tunnel, or a proxy


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_every_address_needs_a_name(host: str) -> None:
    with pytest.raises(ValueError, match="say by which name"):
        make_guard(host, 8765)


@pytest.mark.parametrize("name", ["http://box", "box:8765", "a b", "box/", "", "*", "box\r\n"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name of a machine"):
        make_guard("0.0.0.0", 8765, [name])
