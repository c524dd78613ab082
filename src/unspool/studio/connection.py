"""A connection of the studio's server, which does not wait for its client for ever.

uvicorn itself closes a connection only between two requests. Here half a request, none at all,
or an answer that is not read ends it too; and where too many are open, the one that has kept the
server waiting longest makes room. A request that is being answered is never cut off.
"""

import asyncio

from h11 import LocalProtocolError
from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS = 100  # that are open at once: more than questions that are computed or wait
REQUEST_SECONDS = 30.0  # in which all of a request must have come
ANSWER_SECONDS = 120.0  # in which an answer must have been read
IDLE_SECONDS = 5  # between two requests


class Connection(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with deadlines for the client."""

    _deadline: asyncio.TimerHandle
    waits_since: float  # when the client's time began

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect(REQUEST_SECONDS)
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._deadline.cancel()
        self._expect(ANSWER_SECONDS if self._unread else REQUEST_SECONDS)
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        try:
            super().send_400_response(msg)
        except LocalProtocolError:  # it was answered already, before its body had come
            self.transport.abort()

    @property
    def answering(self) -> bool:
        """Whether a whole request is here, and its answer is not finished."""
        cycle = self.cycle
        return cycle is not None and not cycle.more_body and not cycle.response_complete

    @property
    def _unread(self) -> int:
        return self.transport.get_write_buffer_size()

    def _expect(self, seconds: float) -> None:
        self.waits_since = self.loop.time()
        self._deadline = self.loop.call_later(seconds, self._too_late)

    def _too_late(self) -> None:
        # While it is being answered no deadline is needed: the end of the answer sets the next.
        if not self.answering or self._unread:
            self.transport.abort()

    def _make_room(self) -> None:
        """Closes the connection that has waited longest for its client, if too many are open."""
        known = [one for one in self.connections if isinstance(one, Connection)]
        still = [one for one in known if not one.transport.is_closing()]
        if len(still) > CONNECTIONS:
            waiting = [one for one in still if not one.answering]  # at least this one
            min(waiting, key=lambda one: one.waits_since).transport.abort()
