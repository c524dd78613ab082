import json
import math
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.studio.conftest import StubDesk, started
from tests.studio.raw import Answer, ask, request, send
from unspool.studio.app import LIMIT, Desk, finite
from unspool.studio.page import read_page

Studio = Callable[[Desk], str]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with started(StubDesk(echo=lambda params: params, run={"name": "a run"})) as guard:
        yield guard.link


@pytest.mark.parametrize(
    ("path", "part", "kind"),
    [
        ("/", "index", "text/html; charset=utf-8"),
        ("/page.js", "script", "text/javascript; charset=utf-8"),
        ("/page.css", "style", "text/css; charset=utf-8"),
    ],
)
def test_the_page_is_served_and_checked_each_time(
    url: str, path: str, part: str, kind: str
) -> None:
    answer = request(url, path=path)
    assert (answer.status, answer.headers["content-type"]) == (200, kind)
    assert answer.body.decode() == getattr(read_page(), part)
    assert answer.headers["cache-control"] == "no-cache"
    tag = answer.headers["etag"]
    again = request(url, path=path, headers=[("If-None-Match", f'"old", W/{tag}')])
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert request(url, path=path, headers=[("If-None-Match", '"old"')]).status == 200
    head = request(url, "HEAD", path)
    assert (head.status, head.body) == (200, b"")


def test_a_question_reaches_the_desk_and_its_answer_the_page(url: str) -> None:
    params = {"text": "<img src=x onerror=alert(1)> é 年 \U0001f642 \ud800", "n": [1, 2.5, None]}
    answer = ask(url, "echo", json.dumps(params).encode())
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == params
    assert ask(url, "echo", b"{}", "Application/JSON; charset=utf-8").json == {}


numbers = st.floats() | st.integers() | st.none() | st.booleans() | st.text()
answers = st.recursive(
    numbers,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
    max_leaves=30,
)


@given(answers)
def test_what_is_no_number_becomes_null_and_the_rest_stays(answer: Any) -> None:
    def slow(value: Any) -> str:
        if isinstance(value, list | tuple):
            return "[" + ", ".join(map(slow, value)) + "]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{json.dumps(k)}: {slow(v)}" for k, v in value.items()) + "}"
        return "null" if value in (math.inf, -math.inf) or value != value else json.dumps(value)

    assert json.dumps(finite(answer), allow_nan=False) == slow(answer)


def test_infinities_arrive_as_null(studio: Studio) -> None:
    url = studio(StubDesk(loss={"loss": [math.nan, 1.5, -math.inf], "at": (math.inf,)}))
    assert ask(url, "loss").json == {"loss": [None, 1.5, None], "at": [None]}


def test_a_users_mistake_is_told(studio: Studio) -> None:
    def refuse(params: dict[str, Any]) -> None:
        raise ValueError(f"width is 1 or more, not {params['width']}")

    answer = ask(studio(StubDesk(translate=refuse)), "translate", b'{"width": 0}')
    assert (answer.status, answer.json) == (400, {"error": "width is 1 or more, not 0"})


@pytest.mark.parametrize("answer", [lambda _: 1 / 0, {"not": object()}, lambda _: [].pop()])
def test_our_own_mistake_stays_on_the_terminal(
    studio: Studio, answer: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    got = ask(studio(StubDesk(secret_question=answer)), "secret_question")
    assert got.status == 500
    assert "stumbled" in got.json["error"]
    assert b"Error" not in got.body
    assert b".py" not in got.body
    said = capfd.readouterr().err
    assert said.count("Traceback") == 1
    assert "Error" in said


def test_an_answer_that_contains_itself_is_our_mistake_too(
    studio: Studio, capfd: pytest.CaptureFixture[str]
) -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert ask(studio(StubDesk(ring=ring)), "ring").status == 500
    assert "RecursionError" in capfd.readouterr().err


def test_an_unknown_question_is_not_found(url: str) -> None:
    answer = ask(url, "meaning_of_life")
    assert (answer.status, answer.json) == (
        404,
        {"error": "there is no question 'meaning_of_life'"},
    )


@pytest.mark.parametrize(
    ("method", "path"),
    [(m, "/api/run") for m in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW")]
    + [("POST", "/"), ("POST", "/page.js"), ("DELETE", "/page.css")],
)
def test_other_methods_are_refused(url: str, method: str, path: str) -> None:
    answer = request(url, method, path, [("Content-Type", "application/json")])
    assert answer.status == 405
    assert "a run" not in str(answer.body)
    assert answer.headers["allow"]


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/page.js/",
        "/api",
        "/api/",
        "/api/a/b",
        "/..%2f..%2f..%2fetc%2fpasswd",
        "/../../../etc/passwd",
        "/%2e%2e/server.py",
        "/page/index.html",
        "/page.js%00",
        "//page.js",
        "/..\\server.py",
        "http://evil.example/page.js",
        "/index.html",
        "/.git/config",
    ],
)
def test_there_is_nothing_else(url: str, path: str) -> None:
    answer = request(url, path=path)
    assert answer.status == 404
    assert b"root:" not in answer.body
    assert b"import" not in answer.body


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"text=a&kind=b",
        b"\xff\xfe{}",
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b"[" * 100_000,
        b'{"a":' + b"1" * 10_000 + b"}",
        b"{} {}",
        b"{}\x00",
    ],
    ids=range(10),
)
def test_what_is_no_json_is_refused(url: str, body: bytes) -> None:
    answer = ask(url, "echo", body)
    assert answer.status == 400
    assert "a question is JSON, and this is not" in answer.json["error"]


@pytest.mark.parametrize("body", [b"[]", b"null", b'"a"', b"1"])
def test_a_question_is_an_object(url: str, body: bytes) -> None:
    answer = ask(url, "echo", body)
    assert answer.status == 400
    assert "a question is a JSON object" in answer.json["error"]


@pytest.mark.parametrize(
    "kind",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json"],
)
def test_what_forms_can_send_is_refused(url: str, kind: str) -> None:
    answer = ask(url, "run", b"{}", kind)
    assert answer.status == 415
    assert "application/json" in answer.json["error"]


def padded(size: int) -> bytes:
    return b'{"a": "' + b"x" * (size - 9) + b'"}'


def chunked(url: str, body: bytes) -> Answer:
    """Without a length at the beginning: the server must count."""
    host = url.split("/")[2]
    head = f"POST /api/echo HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    head += "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    return send(url, head.encode() + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))


def test_a_question_has_a_limit(url: str) -> None:
    whole = padded(LIMIT)
    assert ask(url, "echo", whole).json == json.loads(whole)
    assert chunked(url, whole).json == json.loads(whole)
    for size in (LIMIT + 1, 5 * LIMIT):
        for answer in (ask(url, "echo", padded(size)), chunked(url, padded(size))):
            assert answer.status == 413
            assert f"at most {LIMIT:,} bytes" in answer.json["error"]


def test_nonsense_does_not_end_the_server(url: str) -> None:
    for raw in (b"\x16\x03\x01\x02\x00\x01\xfc", b"GET\r\n\r\n", b"\r\n\r\n\r\n", b"A" * 100_000):
        with socket.create_connection(("127.0.0.1", int(url.rstrip("/").split(":")[-1]))) as wire:
            wire.sendall(raw)
    assert request(url).status == 200
