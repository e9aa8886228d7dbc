"""Measures how long one callback holds the event loop, in calls: the same on every machine."""

from __future__ import annotations

import asyncio
import sys
from types import FrameType, TracebackType
from typing import Any

RUN = asyncio.Handle._run.__code__
"""The function that every callback and every step of a task begins and ends with."""


class CountedCalls:
    """``most``: the most calls of one callback, while this context manager was open.

    A function that is called takes about half a microsecond, with what it does between its own calls.
    """

    def __init__(self) -> None:
        self.most = 0
        self._count = 0

    def __enter__(self) -> CountedCalls:
        sys.setprofile(self._saw)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.setprofile(None)

    def _saw(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._count = 0 if frame.f_code is RUN else self._count + 1
        elif event == "c_call":
            self._count += 1
        elif event == "return" and frame.f_code is RUN:
            self.most = max(self.most, self._count)
