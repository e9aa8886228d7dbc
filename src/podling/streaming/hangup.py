"""Notices that a peer has closed its connection while nothing is read from it.

Back-pressure stops reading, and an event loop does not look at a socket that it does not read. The kernel
does: it reports ``EPOLLRDHUP`` however much lies unread before the end.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from contextlib import suppress


class HangupWatch:
    """Calls ``gone`` once when the peer of ``descriptor`` has closed or reset the connection.

    Without epoll (on other systems), or without a descriptor to spare, it never does.
    """

    def __init__(self, descriptor: int, gone: Callable[[], None]) -> None:
        self._gone = gone
        self._epoll: select.epoll | None = None
        if not hasattr(select, "epoll"):
            return
        with suppress(OSError):
            self._epoll = select.epoll()
            self._epoll.register(descriptor, select.EPOLLRDHUP)
            asyncio.get_running_loop().add_reader(self._epoll.fileno(), self._ready)

    def _ready(self) -> None:
        self.close()
        self._gone()

    def close(self) -> None:
        if self._epoll is not None and not self._epoll.closed:
            asyncio.get_running_loop().remove_reader(self._epoll.fileno())
            self._epoll.close()
