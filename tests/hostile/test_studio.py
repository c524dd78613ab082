"""A studio that is attacked over its socket: it goes on answering, and its terminal stays quiet."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.studio.conftest import StubDesk, started
from tests.studio.raw import ask, request, send
from unspool.lab.memory import FirstSymbol
from unspool.studio import app, connection, jobs
from unspool.studio.app import LIMIT, Desk
from unspool.studio.cancel import Cancelled, check
from unspool.studio.desk import Desk as RunDesk
from unspool.studio.questions import QUESTIONS, Answers
from unspool.studio.turns import Turns

LONG = 20.0  # seconds: a busy machine is slow, and no reason to fail
SHORT = 0.3  # seconds of a deadline that a test waits for

_wires: list[socket.socket] = []  # that the test has opened

Studio = Callable[[Desk], str]


@pytest.fixture
def studio(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Iterator[Studio]:
    """Starts a studio. At its end it must still answer, and must never have shown a traceback."""
    links: list[str] = []
    with ExitStack() as stack:

        def start(desk: Desk) -> str:
            links.append(stack.enter_context(started(desk)).link)
            return links[-1]

        yield start
        while _wires:
            _wires.pop().close()
        for link in links:
            assert request(link).status == 200
        end_questions()
    # What is logged goes to stderr too, but for pytest, which takes it.
    logged = [*caplog.get_records("call"), *caplog.get_records("teardown")]
    assert not [record.getMessage() for record in logged if record.exc_info]
    said = capfd.readouterr().err
    assert "Traceback" not in said, said


def end_questions() -> None:
    """Waits until nothing is computed any more."""
    for thread in threading.enumerate():
        if thread.name in ("question", "job"):
            thread.join(LONG)
            assert not thread.is_alive(), "something is still computed"


def wire(url: str) -> socket.socket:
    parts = urlsplit(url)
    _wires.append(socket.create_connection((parts.hostname or "", parts.port or 0), timeout=LONG))
    return _wires[-1]


def head(url: str, question: str, length: int = 2) -> bytes:
    return (
        f"POST /api/{question} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def asked(url: str, question: str) -> socket.socket:
    """A connection on which a question was asked whose answer was not read."""
    found = wire(url)
    found.sendall(head(url, question) + b"{}")
    return found


def rest(found: socket.socket) -> bytes:
    """All that comes until the connection is closed; it must be closed."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while part := found.recv(2**16):
            received += part
    return received


def connections(url: str) -> int:
    """How many the server has open."""
    port = f":{urlsplit(url).port:04X}"
    lines = Path("/proc/self/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]  # number, own address, other's, state
    return sum(row[1].endswith(port) and row[3] == "01" for row in fields)


def until(true: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.01)


def until_cancelled(_: Any = None) -> None:
    """A long computation."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        check()
        time.sleep(0.01)
    raise AssertionError("it was not cancelled")


def test_connections_that_send_nothing_are_closed(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", SHORT)
    url = studio(StubDesk())
    silent = [wire(url) for _ in range(50)]
    assert request(url).status == 200
    assert {rest(one) for one in silent} == {b""}


WHOLE = "GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"
SLOW = {
    "a header": "GET / HTTP/1.1\r\nHost: {host}\r\nX-Slow: ",
    "the first line": "GET /",
    "the second request": WHOLE + "GET / HTTP/1.1\r\nX-Slow: ",
    "a body": "POST /api/run HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    "Content-Length: 1000000\r\n\r\n",
    "a body of ten terabytes": "POST /api/run HTTP/1.1\r\nHost: {host}\r\n"
    "Content-Type: application/json\r\nContent-Length: 10000000000000\r\n\r\n",
    "a body that is refused": "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000000\r\n\r\n",
}


@pytest.mark.parametrize("what", SLOW)
def test_half_a_request_is_not_waited_for(
    studio: Studio, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", SHORT)
    url = studio(StubDesk(run="a run"))
    slow = wire(url)
    slow.sendall(SLOW[what].format(host=urlsplit(url).netloc).encode())

    def closed() -> bool:
        try:
            slow.sendall(b"1")
        except ConnectionError:
            return True
        return False

    until(closed, "the connection is closed")


def test_an_answer_that_is_not_read_is_not_waited_for(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "ANSWER_SECONDS", SHORT)
    url = studio(StubDesk(large="x" * 30_000_000))
    with asked(url, "large") as deaf:
        until(lambda: connections(url) == 0, "the connection is closed")
        assert 0 < len(rest(deaf)) < 30_000_000


def test_of_too_many_connections_the_oldest_that_waits_makes_room(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CONNECTIONS", 10)
    begun, free = threading.Event(), threading.Event()
    url = studio(StubDesk(slow=lambda _: begun.set() or free.wait(LONG)))
    slow = asked(url, "slow")
    assert begun.wait(LONG)
    silent = [wire(url) for _ in range(60)]
    assert {rest(one) for one in silent[:50]} == {b""}
    assert request(url).status == 200
    free.set()
    assert rest(slow).endswith(b"true")  # who is being answered is never cut off


def test_two_hundred_questions_at_once(studio: Studio) -> None:
    free, lock, running = threading.Event(), threading.Lock(), [0]
    most = [0]

    def heavy(_: Any) -> str:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        assert free.wait(LONG)
        with lock:
            running[0] -= 1
        return "done"

    url = studio(StubDesk(heavy=heavy, run="a run"))
    answers: list[bytes] = []
    all_asked = threading.Barrier(201)

    def one() -> None:
        answer = b""
        with contextlib.suppress(ConnectionError):
            answer = ask_once()
        with lock:
            answers.append(answer)

    def ask_once() -> bytes:
        try:
            found = asked(url, "heavy")
        finally:
            all_asked.wait(LONG)
        return rest(found)

    threads = [threading.Thread(target=one, name="client") for _ in range(200)]
    for thread in threads:
        thread.start()
    all_asked.wait(LONG)
    until(lambda: running[0] == app.AT_ONCE, "as many as may are computed")
    until(lambda: len(answers) == 200 - app.AT_ONCE - app.WAITING, "the others are refused")
    assert ask(url, "run").json == "a run"  # a light question does not wait behind heavy ones
    refused = ask(url, "heavy")
    assert (refused.status, list(refused.json)) == (503, ["error"])
    assert "try again" in refused.json["error"]
    assert request(url).status == 200
    free.set()
    for thread in threads:
        thread.join(LONG)
    assert sum(b"200 OK" in answer for answer in answers) == app.AT_ONCE + app.WAITING
    assert most[0] == app.AT_ONCE


def test_the_client_of_a_waiting_question_goes_away(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Turns] = []

    def turns(at_once: int, waiting: int) -> Turns:
        made.append(Turns(1, waiting))
        return made[-1]

    monkeypatch.setattr(app, "Turns", turns)
    free, computed = threading.Event(), []

    def first(_: Any) -> bool:
        computed.append("first")
        return free.wait(LONG)

    url = studio(StubDesk(first=first, second=lambda _: computed.append("second")))
    one = asked(url, "first")
    until(lambda: computed, "the first is computed")
    two = asked(url, "second")
    until(lambda: any(one.queue for one in made), "the second waits")
    two.close()
    until(lambda: not any(one.queue for one in made), "the second waits no more")
    free.set()
    assert rest(one).endswith(b"true")
    assert ask(url, "unknown").status == 404
    assert computed == ["first"]


def test_a_question_whose_client_goes_away_stops(studio: Studio) -> None:
    begun, ended = threading.Event(), threading.Event()

    def heavy(_: Any) -> None:
        begun.set()
        try:
            until_cancelled()
        except Cancelled:
            ended.set()
            raise

    url = studio(StubDesk(heavy=heavy))
    with asked(url, "heavy"):
        assert begun.wait(LONG)
        assert not ended.is_set()
    assert ended.wait(LONG)


def test_gradients_whose_client_goes_away_stop_after_the_cell_at_work(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()
    cells = []

    def slow(kinds: Any, **_: Any) -> Any:
        cells.append(kinds)
        begun.set()
        with contextlib.suppress(Cancelled):
            until_cancelled()
        raise ValueError("not built")

    monkeypatch.setattr(import_module("unspool.studio.questions.gradients"), "gradient_flow", slow)
    url = studio(Answers(RunDesk()))
    body = json.dumps({"cells": ["elman", "lstm", "gru"]}).encode()
    with wire(url) as left:
        left.sendall(head(url, "gradients", len(body)) + body)
        assert begun.wait(LONG)
    end_questions()
    assert len(cells) == 1


def test_a_race_that_nobody_asks_after_stops(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "UNASKED", SHORT)
    monkeypatch.setattr(FirstSymbol, "update", lambda self: time.sleep(0.05) or 1.0)
    desk = RunDesk()
    url = studio(Answers(desk))
    body = b'{"equations": "gru", "against": [], "updates": 2000}'
    assert ask(url, "race", body).json["done"] is False
    until(lambda: not desk.jobs.jobs, "it stops")
    assert ask(url, "race", body).json["done"] is False  # it begins anew
    until(lambda: not desk.jobs.jobs, "it stops again")


@pytest.mark.parametrize("sent", [b"", b'{"a": ', b"x" * 100_000], ids=len)
def test_half_a_body_and_then_nobody(studio: Studio, sent: bytes) -> None:
    url = studio(StubDesk(echo=lambda params: params))
    for _ in range(20):
        with wire(url) as left:
            left.sendall(head(url, "echo", 200_000) + sent)
    until(lambda: connections(url) == 0, "the connections are closed")


def test_a_body_without_end(studio: Studio) -> None:
    url = studio(StubDesk(echo=lambda params: params))
    size = 30 * LIMIT
    assert ask(url, "echo", b" " * size).status == 413
    large = b"POST /api/echo HTTP/1.1\r\nX: " + b"x" * LIMIT
    with contextlib.suppress(ConnectionError):
        assert send(url, large).status == 400


def test_nonsense_after_an_answer(studio: Studio) -> None:
    """The answer is there before the body, which then is none."""
    url = studio(StubDesk())
    first = f"POST / HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nTransfer-Encoding: chunked\r\n\r\n"
    with wire(url) as found:
        found.sendall(first.encode())
        assert b"405" in found.recv(2**16)
        found.sendall(b"no length\r\n")
        rest(found)


NESTED = [b"[" * LIMIT, b'{"a":' * 300_000, b'{"a":' + b"[" * 900_000 + b"]" * 900_000 + b"}"]


@pytest.mark.parametrize("body", NESTED, ids=range(3))
def test_json_in_json(studio: Studio, body: bytes) -> None:
    url = studio(StubDesk(echo=lambda params: params))
    assert ask(url, "echo", body).status == 400


# The least that each question can be asked with; every one of its values is then another.
SMALL: dict[str, dict[str, Any]] = {
    "run": {},
    "training": {"since": 0},
    "translate": {"text": "a", "tag": "", "width": 1, "nbest": 1, "normalise": "mean"},
    "text": {"text": "def", "kind": ""},
    "unit": {"text": "def", "kind": "", "layer": 0, "line": "h", "unit": 0},
    "ranks": {"text": "def", "kind": ""},
    "candidates": {"text": "def", "kind": "", "position": 0},
    "units": {"kind": ""},
    "property": {"text": "def", "property": "quotes", "kind": ""},
    "neighbours": {"text": "def", "kind": "", "layer": 0, "line": "h", "position": 0},
    "trajectory": {"text": "def", "kind": "", "layer": 0, "line": "h"},
    "gradients": {"cells": ["elman"], "steps": 2, "hidden": 2, "gain": 1, "keep": 0, "seed": 0},
    "cliff": {"limit": 1, "rate": 1},
    "relu": {"hidden": 2, "steps": 2, "seed": 0},
    "cell": {"equations": "h' = W @ x", "input": 1, "hidden": 1},
    "race": {"equations": "", "against": [], "steps": 2, "updates": 1, "seed": 0},
}
WRONG: list[Any] = [None, True, -1, 10**30, 1e300, "\ud800", [], [[]], {"a": {}}]


def test_every_question_has_its_wrong_types() -> None:
    assert SMALL.keys() == QUESTIONS.keys()
    assert set(app.LIGHT) < QUESTIONS.keys()


def test_values_of_the_wrong_type(studio: Studio, trained: Callable[[str], Path]) -> None:
    url = studio(Answers(RunDesk(trained("lm"))))
    for question, params in SMALL.items():
        for name in params:
            for value in WRONG:
                answer = ask(url, question, json.dumps(params | {name: value}).encode())
                assert answer.status in (200, 400), (question, name, value, answer.json)
