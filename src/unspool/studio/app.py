"""What the studio answers to the browser: the files of the page, and questions as JSON."""

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
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from unspool.studio.guard import Guard, Guarded
from unspool.studio.page import SCRIPT, STYLE, read_page
from unspool.studio.params import UnknownQuestion
from unspool.studio.plain import finite

LIMIT = 2 * 2**20  # bytes of a question


class Desk(Protocol):
    """Where questions are answered. Several may come at once, each in a thread of its own."""

    def ask(self, question: str, params: dict[str, Any]) -> Any:
        """The answer, as JSON knows things; a ValueError says what is wrong with the question."""
        ...


def make_app(desk: Desk, guard: Guard) -> ASGIApp:
    """The page and the answers, behind the guard."""
    page = read_page()

    async def ask(request: Request) -> Response:
        params, question = await _params(request), request.path_params["question"]
        return await _in_a_thread(lambda: _reply(desk, question, params))

    app = Starlette(
        routes=[
            _file("/", page.index, "text/html"),
            _file(f"/{SCRIPT}", page.script, "text/javascript"),
            _file(f"/{STYLE}", page.style, "text/css"),
            Route("/api/{question}", ask, methods=["POST"]),
        ],
        exception_handlers={HTTPException: _refused},
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


async def _params(request: Request) -> dict[str, Any]:
    """What was asked, from the body of the request."""
    # A page of another site can send forms and plain text unasked, but not this type.
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, f"a question is application/json, not {kind or 'without a type'}")
    body = await _body(request)
    try:
        params = json.loads(body.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"a question is JSON, and this is not: {error}") from error
    if not isinstance(params, dict):
        raise HTTPException(400, "a question is a JSON object: names and values in { }")
    return params


async def _body(request: Request) -> bytes:
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


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number there")


async def _in_a_thread(work: Callable[[], Response]) -> Response:
    """So that nobody waits for a slow answer but who asked.

    A daemon, which no pool offers: the process must be able to end before the answer is there.
    """
    future: Future[Response] = Future()
    future.set_running_or_notify_cancel()  # from here on it cannot be cancelled under the thread

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="question", daemon=True).start()
    return await asyncio.wrap_future(future)


def _reply(desk: Desk, question: str, params: dict[str, Any]) -> Response:
    try:
        try:
            answer = desk.ask(question, params)
        except ValueError as error:
            return _error(404 if isinstance(error, UnknownQuestion) else 400, str(error))
        return _json(200, finite(answer))
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


def _error(status: int, text: str) -> Response:
    return _json(status, {"error": text})


def _json(status: int, answer: Any) -> Response:
    # In ASCII, since a text may hold half of a surrogate pair, which UTF-8 cannot write.
    text = json.dumps(answer, allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")
