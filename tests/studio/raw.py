"""Requests as a hostile client would send them: every header and every byte by hand."""

import json
import socket
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

JSON = "application/json"


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]  # by names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body, parse_constant=never)


def never(name: str) -> None:
    raise AssertionError(f"the answer has {name} in it, which no browser reads")


def send(url: str, raw: bytes) -> Answer:
    """The answer to these very bytes."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=20) as wire:
        wire.sendall(raw)
        received = b""
        while part := wire.recv(2**16):
            received += part
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    return Answer(int(first.split()[1]), headers, body)


def request(
    url: str,
    method: str = "GET",
    path: str = "/",
    headers: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
) -> Answer:
    """A request with the right Host unless `headers` say another; then the connection is closed."""
    given = {name.lower() for name, _ in headers}
    own = [("Host", urlsplit(url).netloc), ("Content-Length", str(len(body)))]
    lines = [f"{method} {path} HTTP/1.1", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in own if name.lower() not in given]
    lines += [f"{name}: {value}" for name, value in headers]
    return send(url, "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)


def ask(url: str, question: str, body: bytes = b"{}", kind: str = JSON) -> Answer:
    return request(url, "POST", f"/api/{question}", [("Content-Type", kind)], body)
