"""A bound on questions: a few are computed at once, some wait their turn, more are refused."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.requests import ClientDisconnect


class Busy(Exception):
    """As many questions wait already as may."""


class Turns:
    """`at_once` places and a queue of `waiting` questions, first come, first served.

    All calls come from one event loop, so nothing is locked.
    """

    def __init__(self, at_once: int, waiting: int):
        self.free, self.most = at_once, waiting  # free places: none while anybody waits
        self.queue: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self, gone: asyncio.Future[Any]) -> AsyncIterator[None]:
        """A place while the block runs.

        `Busy` at once if the queue is full; `ClientDisconnect` if `gone` is done while it waits.
        """
        await self._take(gone)
        try:
            yield
        finally:
            self._give_back()

    async def _take(self, gone: asyncio.Future[Any]) -> None:
        if self.free:
            self.free -= 1
            return
        if len(self.queue) >= self.most:
            raise Busy
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.queue.append(place)
        try:
            await asyncio.wait({place, gone}, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                raise ClientDisconnect
        except BaseException:
            if place.done():  # the place came at the same moment: it is the next one's
                self._give_back()
            else:
                self.queue.remove(place)
            raise

    def _give_back(self) -> None:
        if self.queue:
            self.queue.popleft().set_result(None)
        else:
            self.free += 1
