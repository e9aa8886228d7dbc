"""Shows in a pod's status that the runtime does not answer: the call, and its start.

Kubernetes shows nothing until the call's deadline of two minutes is over. Here a container that waits for
the runtime shows it after ten seconds, in the message of its waiting reason.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from podling import clock
from podling.cancellation import cancel_and_wait
from podling.kubelet.status.container_statuses import WaitingReason
from podling.kubelet.status.worker_memory import PodMemory

SLOW_SECONDS = 10.0
"""The duration after which a call is shown in the pod's status."""

_MESSAGE = re.compile(r"the container runtime has not answered (\w+) since (\S+)")


def slow_message(verb: str, since: datetime) -> str:
    """Return the message about a call; ``verb`` is its CRI name."""
    return f"the container runtime has not answered {verb} since {since:%Y-%m-%dT%H:%M:%SZ}"


def slow_call(message: str) -> tuple[str, datetime] | None:
    """Return the call and its start from such a message; None for any other message."""
    found = _MESSAGE.search(message)
    return (found[1], datetime.fromisoformat(found[2])) if found else None


class SlowCalls:
    """Watches the calls that are made for some of a pod's containers.

    Args:
        names: the containers that wait for the calls.
        reason: their waiting reason.
        progress: reports the pod's status.
    """

    def __init__(
        self,
        names: Sequence[str],
        reason: str,
        memory: PodMemory,
        progress: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self._names = names
        self._reason = reason
        self._memory = memory
        self._progress = progress

    @asynccontextmanager
    async def watch(self, verb: str) -> AsyncIterator[None]:
        """Show the call in the status while it takes long; use as a context around it."""
        message = slow_message(verb, clock.now())
        before: dict[str, WaitingReason | None] = {}
        reports: list[asyncio.Task[None]] = []

        def show() -> None:
            for name in self._names:
                old = before[name] = self._memory.waiting.get(name)
                self._memory.waiting[name] = _with_message(old, self._reason, message)
            reports.append(asyncio.ensure_future(self._progress()))

        timer = clock.call_later(SLOW_SECONDS, show)
        try:
            yield
        finally:
            timer.cancel()
            for name, old in before.items():
                self._memory.waiting.pop(name, None)
                if old is not None:
                    self._memory.waiting[name] = old
            await cancel_and_wait(reports)


def _with_message(old: WaitingReason | None, reason: str, message: str) -> WaitingReason:
    """Return the earlier waiting reason with the message added, or a new one if there is none."""
    if old is None:
        return WaitingReason(reason, message)
    return WaitingReason(old.reason, f"{old.message}; {message}" if old.message else message)
