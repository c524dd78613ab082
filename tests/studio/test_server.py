import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.studio.conftest import StubDesk
from tests.studio.raw import ask, request
from unspool.studio import server
from unspool.studio.app import Desk
from unspool.studio.server import PORT, listen, serve

HELD = 10.0  # seconds, in tests that would otherwise wait for ever


def test_a_slow_question_does_not_keep_others_waiting(studio: Callable[[Desk], str]) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: dict[str, Any]) -> str:
        asked.set()
        return "late" if go_on.wait(HELD) else "never"

    url, got = studio(StubDesk(slow=slow, quick="at once")), []
    waiting = threading.Thread(target=lambda: got.append(ask(url, "slow").json))
    waiting.start()
    assert asked.wait(HELD)
    assert ask(url, "quick").json == "at once"
    assert request(url).status == 200
    assert not got
    go_on.set()
    waiting.join(HELD)
    assert got == ["late"]


def test_a_port_that_is_taken_is_an_error_only_if_it_was_asked_for() -> None:
    with listen("127.0.0.1", None) as one, listen("127.0.0.1", None) as two:
        ports = one.getsockname()[1], two.getsockname()[1]
        assert ports[0] != ports[1]
        assert ports[1] != PORT
        with pytest.raises(ValueError, match=rf"cannot listen at 127.0.0.1, port {ports[0]}: "):
            listen("127.0.0.1", ports[0])
    with pytest.raises(ValueError, match="between 0, any free one, and 65535, not at 65536"):
        listen("127.0.0.1", 65536)
    with pytest.raises(ValueError, match=r"cannot listen at 192\.0\.2\.1, port 0"):
        listen("192.0.2.1", None)


def test_the_link_is_printed_and_opened_unless_it_holds_a_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    opened: list[str] = []
    monkeypatch.setattr(server, "time", SimpleNamespace(sleep=interrupt))
    monkeypatch.setattr(server, "os", SimpleNamespace(_exit=pytest.fail))
    monkeypatch.setattr(server, "webbrowser", SimpleNamespace(open=opened.append))
    serve(StubDesk(), port=0)
    (link,) = opened
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", link)
    assert capsys.readouterr().out == f"Studio: {link}  (Ctrl-C ends it)\n\n"
    serve(StubDesk(), port=0, open_browser=False)
    serve(StubDesk(), port=0, names=["box.local"])
    assert opened == [link]
    assert re.search(r"Studio: http://box\.local:\d+/\?token=\S{43}  ", capsys.readouterr().out)


CODE = """
import signal, threading, time, sys
from unspool.studio.server import serve
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
class Desk:
    def ask(self, question, params):
        if question == "slow":
            print("asked", flush=True)
            time.sleep(600)
        return question
serve(Desk(), port=0, open_browser=False)
print("ended", flush=True)
"""


@pytest.mark.parametrize("question", ["quick", "slow", "half"])
def test_control_c_ends_it_at_once_and_quietly(question: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CODE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert first.startswith("Studio: http://127.0.0.1:")
            assert first.endswith("/  (Ctrl-C ends it)\n")
            url = first.split()[1]
            wire = socket.create_connection(("127.0.0.1", int(url.rstrip("/").split(":")[-1])))
            with wire:
                head = f"POST /api/{question} HTTP/1.1\r\nHost: {url.split('/')[2]}\r\n"
                head += "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n"
                wire.sendall(head.encode() + (b"{" if question == "half" else b"{}"))
                if question == "slow":
                    assert process.stdout.readline() == "asked\n"
                elif question == "quick":
                    assert b" 200 " in wire.recv(2**16)
                else:
                    assert request(url).status == 200  # so the other has begun to be read
                process.send_signal(signal.SIGINT)
                said, errors = process.communicate(timeout=HELD)
        finally:
            process.kill()
    assert process.returncode == 0
    assert errors == ""
    assert said.split() == ([] if question == "slow" else ["ended"])
