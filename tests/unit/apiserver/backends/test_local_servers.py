"""Requests to servers in this process, and their time-outs in virtual time."""

from __future__ import annotations

import pytest

from podling import clock
from podling.apiserver.backends.local_servers import ServerAnswer, ServerRequest, exchange


class Late:
    """A server that answers after some seconds."""

    needs_endpoint = False

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def answer(self, request: ServerRequest) -> ServerAnswer:
        await clock.sleep(self._seconds)
        return ServerAnswer(200, request.body)


async def test_answer_in_time_is_returned() -> None:
    answer = await exchange(Late(29), ServerRequest("POST", "/", body=b"{}", seconds=30))
    assert (answer.status, answer.body) == (200, b"{}")


async def test_late_answer_is_a_time_out() -> None:
    began = clock.monotonic()
    with pytest.raises(TimeoutError):
        await exchange(Late(31), ServerRequest("POST", "/", seconds=30))
    assert clock.monotonic() - began == 30
