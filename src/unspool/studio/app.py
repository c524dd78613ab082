"""What the studio answers to the browser: the files of the page, and questions as JSON.

A few questions are computed at once, each in a thread of its own; who asks how something stands
has places of his own, and never waits for a long computation. A question whose client has gone
away is dropped from the queue, or stops where it next calls `cancel.check`.
"""

import asyncio
import hashlib
import json
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from unspool.studio.cancel import Cancelled, cancelled_if, check
from unspool.studio.guard import Guard, Guarded
from unspool.studio.page import SCRIPT, STYLE, read_page
from unspool.studio.params import UnknownQuestion
from unspool.studio.plain import finite
from unspool.studio.turns import Busy, Turns

LIMIT = 2 * 2**20  # bytes of a question
AT_ONCE, WAITING = 4, 32  # questions of a kind that are computed, and that wait
LIGHT = ("run", "training", "race", "units")  # how something stands: the page asks time and again
GONE = 499  # the status for a client that has closed its connection


class Desk(Protocol):
    """Where questions are answered. Several may come at once, each in a thread of its own."""

    def ask(self, question: str, params: dict[str, Any]) -> Any:
        """The answer, as JSON knows things; a ValueError says what is wrong with the question."""
        ...


def make_app(desk: Desk, guard: Guard) -> ASGIApp:
    """The page and the answers, behind the guard."""
    page = read_page()
    light, heavy = Turns(AT_ONCE, WAITING), Turns(AT_ONCE, WAITING)

    async def ask(request: Request) -> Response:
        question = request.path_params["question"]
        turns = light if question in LIGHT else heavy
        try:
            body = await _body(request)
            return await _in_turn(turns, lambda: _reply(desk, question, body), request)
        except asyncio.CancelledError:  # Ctrl-C; uvicorn would print it with its traceback
            return _error(503, "the studio has ended")

    app = Starlette(
        routes=[
            _file("/", page.index, "text/html"),
            _file(f"/{SCRIPT}", page.script, "text/javascript"),
            _file(f"/{STYLE}", page.style, "text/css"),
            Route("/api/{question}", ask, methods=["POST"]),
        ],
        exception_handlers={HTTPException: _refused, Busy: _busy, ClientDisconnect: _left},
    )
    app.router.redirect_slashes = False
    return Guarded(app, guard)


def _file(path: str, text: str, kind: str) -> Route:
    """A file of the page. The browser asks each time whether its copy is still the right one."""
    body = text.encode()
    tag = f'"{hashlib.sha256(body).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}

    async def send(request: Request) -> Response:
        if tag in request.headers.get("If-None-Match", ""):
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=kind)

    return Route(path, send, methods=["GET"])


async def _body(request: Request) -> bytes:
    """The body of the request. It is read as JSON in its turn: that takes many times its memory."""
    # A page of another site can send forms and plain text unasked, but not this type.
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, f"a question is application/json, not {kind or 'without a type'}")
    kept, size = bytearray(), 0
    async for part in request.stream():
        size += len(part)
        if size <= LIMIT:  # what is over it is read too: a browser that still sends is deaf
            kept += part
    if size > LIMIT:
        raise HTTPException(
            413, f"a question has at most {LIMIT:,} bytes, and this one has {size:,}: shorten it"
        )
    return bytes(kept)


def _params(body: bytes) -> dict[str, Any]:
    """What was asked."""
    try:
        params = json.loads(body.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a question is JSON, and this is not: {error}") from error
    if not isinstance(params, dict):
        raise ValueError("a question is a JSON object: names and values in { }")
    return params


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number there")


async def _in_turn(turns: Turns, work: Callable[[], Response], request: Request) -> Response:
    gone = asyncio.ensure_future(_gone(request))
    try:
        async with turns.turn(gone):
            return await _in_a_thread(work, gone)
    finally:
        gone.cancel()


async def _gone(request: Request) -> None:
    """Waits until the client has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _in_a_thread(work: Callable[[], Response], gone: asyncio.Future[None]) -> Response:
    """Runs `work` in a thread, so that it holds up no other request; `gone` cancels it when done.

    It returns when the thread has ended, also a cancelled one, whose place is not free before.

    A daemon, which no pool offers: the process must be able to end before the answer is there.
    """
    future: Future[Response] = Future()
    future.set_running_or_notify_cancel()  # from here on it cannot be cancelled under the thread
    unwanted = threading.Event()
    gone.add_done_callback(lambda _: unwanted.set())

    def run() -> None:
        try:
            with cancelled_if(unwanted.is_set):
                future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="question", daemon=True).start()
    return await asyncio.wrap_future(future)


def _reply(desk: Desk, question: str, body: bytes) -> Response:
    try:
        try:
            answer = desk.ask(question, _params(body))
        except ValueError as error:
            return _error(404 if isinstance(error, UnknownQuestion) else 400, str(error))
        check()
        return _json(200, finite(answer))
    except Cancelled:
        return Response(status_code=GONE)
    except Exception:
        traceback.print_exc()
        return _error(
            500, "the studio stumbled over this question; its terminal says where, and why"
        )


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    answer = _error(error.status_code, error.detail)
    answer.headers.update(error.headers or {})
    return answer


async def _busy(_: Request, __: Exception) -> Response:
    return _error(503, f"the studio is busy: {WAITING} questions wait already; try again soon")


async def _left(_: Request, __: Exception) -> Response:
    return Response(status_code=GONE)


def _error(status: int, text: str) -> Response:
    return _json(status, {"error": text})


def _json(status: int, answer: Any) -> Response:
    # In ASCII, since a text may hold half of a surrogate pair, which UTF-8 cannot write.
    text = json.dumps(answer, allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")
