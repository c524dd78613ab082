import asyncio
import threading
from asyncio import Future
from collections.abc import Coroutine
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from unspool.studio.turns import Busy, Turns

LONG = 20.0  # seconds after which what waits for ever is ended


def run(work: Coroutine[Any, Any, None]) -> None:
    """In a thread of its own: in this one the browser of other tests has its event loop."""
    raised: list[BaseException] = []

    def body() -> None:
        try:
            asyncio.run(asyncio.wait_for(work, LONG))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


async def hold(turns: Turns, gone: Future[None], free: Future[None], log: list[str]) -> None:
    async with turns.turn(gone):
        log.append("in")
        await free
    log.append("out")


async def settle() -> None:
    """Lets every task go on until it waits."""
    for _ in range(9):
        await asyncio.sleep(0)


def test_first_come_first_served_and_only_so_many_wait() -> None:
    async def go() -> None:
        loop = asyncio.get_running_loop()
        turns, never = Turns(2, 3), loop.create_future()
        free = [loop.create_future() for _ in range(5)]
        logs: list[list[str]] = [[] for _ in range(5)]
        tasks = []
        for one, log in zip(free, logs, strict=True):
            tasks.append(asyncio.ensure_future(hold(turns, never, one, log)))
            await settle()
        with pytest.raises(Busy):
            await hold(turns, never, free[0], [])
        assert logs == [["in"], ["in"], [], [], []]
        free[1].set_result(None)
        await settle()
        assert logs == [["in"], ["in", "out"], ["in"], [], []]
        for one in (free[0], *free[2:]):
            one.set_result(None)
        await asyncio.gather(*tasks)
        assert (turns.free, len(turns.queue)) == (2, 0)

    run(go())


@pytest.mark.parametrize("how", ["gone", "cancelled"])
@pytest.mark.parametrize("when", ["while it waits", "as its turn comes"])
def test_who_goes_away_takes_no_place_along(how: str, when: str) -> None:
    async def go() -> None:
        loop = asyncio.get_running_loop()
        never, gone, free = (loop.create_future() for _ in range(3))
        turns, logs = Turns(1, 2), [[], [], []]
        first = asyncio.ensure_future(hold(turns, never, free, logs[0]))
        await settle()
        second = asyncio.ensure_future(hold(turns, gone, free, logs[1]))
        third = asyncio.ensure_future(hold(turns, never, free, logs[2]))
        await settle()
        if when == "as its turn comes":
            free.set_result(None)
        if how == "gone":
            gone.set_result(None)
        else:
            second.cancel()
        await settle()
        if when == "while it waits":
            assert logs == [["in"], [], []]
            free.set_result(None)
        with pytest.raises(ClientDisconnect if how == "gone" else asyncio.CancelledError):
            await second
        await asyncio.gather(first, third)
        assert logs == [["in", "out"], [], ["in", "out"]]
        assert (turns.free, len(turns.queue)) == (1, 0)

    run(go())
