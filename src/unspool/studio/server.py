"""The studio's server, on this machine, until Ctrl-C."""

import os
import socket
import threading
import time
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from unspool.studio.app import Desk, make_app
from unspool.studio.connection import CONNECTIONS, IDLE_SECONDS, Connection
from unspool.studio.guard import make_guard

HOST, PORT = "127.0.0.1", 8765


def serve(
    desk: Desk,
    *,
    host: str = HOST,
    port: int | None = None,
    names: Sequence[str] = (),
    open_browser: bool = True,
) -> None:
    """Shows the studio until Ctrl-C.

    Without a port it takes the usual one, or any that is free. `names` are what others call this
    machine. Where others can reach the studio, the printed link has a token, and no browser is
    opened: its command line, which every user can see, would give the token away.

    Threads cannot be stopped from outside. If one still works at Ctrl-C, on an answer or in the
    background, the whole process ends there and then.
    """
    before = set(threading.enumerate())
    with listen(host, port) as listening:
        guard = make_guard(host, listening.getsockname()[1], names)
        with running(make_app(desk, guard), listening) as server:
            print(f"Studio: {guard.link}  (Ctrl-C ends it)", flush=True)
            if open_browser and not guard.token:
                webbrowser.open(guard.link)
            try:
                while server.is_alive():
                    time.sleep(0.2)
            except KeyboardInterrupt:
                print(flush=True)
                if set(threading.enumerate()) - before - {server}:
                    os._exit(0)  # Python would wait for them, or tear torch down beneath them


def listen(host: str, port: int | None) -> socket.socket:
    """A socket at this port; without one at the usual port, or at any that is free."""
    if port is not None and not 0 <= port < 2**16:
        raise ValueError(f"a port lies between 0, any free one, and {2**16 - 1}, not at {port}")
    if port is None:
        try:
            return _listen(host, PORT)
        except OSError:
            port = 0
    try:
        return _listen(host, port)
    except OSError as error:
        raise ValueError(
            f"cannot listen at {host}, port {port}: {error.strerror or error}. Give an address of "
            "this machine, and a port that is free, or none: then any is taken"
        ) from error


def _listen(host: str, port: int) -> socket.socket:
    return socket.create_server(
        (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
    )


@contextmanager
def running(app: ASGIApp, listening: socket.socket) -> Iterator[threading.Thread]:
    """A server in a thread beside the block."""
    config = uvicorn.Config(
        app,
        http=Connection,
        loop="asyncio",
        ws="none",
        backlog=CONNECTIONS,  # asyncio takes so many at once: each needs a file descriptor
        timeout_keep_alive=IDLE_SECONDS,
        lifespan="off",
        log_config=None,  # so warnings and errors go to stderr, and the rest nowhere
        access_log=False,
        proxy_headers=False,
        server_header=False,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listening]}, name="studio", daemon=True
    )
    thread.start()
    try:
        yield thread
    finally:
        server.should_exit = server.force_exit = True  # no answer is waited for
        thread.join(2)
