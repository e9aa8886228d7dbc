"""Pods that wait for the permission of plugins (Permit) before they are bound.

Upstream: ``pkg/scheduler/framework/runtime/waiting_pods_map.go``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from podling import clock
from podling.machinery.durations import go_duration
from podling.scheduler.podfacts import PodFacts

PERMIT_SECONDS_MAX = 15 * 60.0
"""The longest wait that a plugin can request (``maxTimeout``)."""


class PermitRejected(Exception):
    """A waiting pod does not get its node; the text is the reason. ``plugin`` may be empty."""

    def __init__(self, plugin: str, text: str) -> None:
        super().__init__(text)
        self.plugin = plugin


class Preempted(Exception):
    """A waiting pod gives its place to another one, and is tried again."""


class WaitingPod:
    """A pod that has a node, and waits until every plugin that made it wait allows it.

    Args:
        waits: the longest wait for each plugin, in seconds.
    """

    def __init__(self, facts: PodFacts, node: str, waits: Mapping[str, float]) -> None:
        self.facts = facts
        self.node = node
        self._pending = set(waits)
        self._rejection: PermitRejected | Preempted | None = None
        self._decided = asyncio.Event()
        self._timers = [
            clock.call_later(seconds, self._time_out, plugin, seconds) for plugin, seconds in waits.items()
        ]

    @property
    def pending_plugins(self) -> frozenset[str]:
        """The plugins whose permission is missing."""
        return frozenset(self._pending)

    def allow(self, plugin: str) -> None:
        """Give the permission of one plugin; with the last one the pod is bound."""
        self._pending.discard(plugin)
        if not self._pending:
            self._end()

    def reject(self, plugin: str, text: str) -> None:
        """Refuse the pod its node, unless that is decided already."""
        if not self._decided.is_set():
            self._rejection = PermitRejected(plugin, text)
            self._end()

    def preempt(self) -> bool:
        """Take the node from the pod; return False if the pod is allowed or rejected already."""
        is_open = not self._decided.is_set()
        if is_open:
            self._rejection = Preempted("preempted")
            self._end()
        return is_open

    async def decision(self) -> None:
        """Wait for the decision. Raises ``PermitRejected`` and ``Preempted``."""
        await self._decided.wait()
        if self._rejection is not None:
            raise self._rejection

    def _time_out(self, plugin: str, seconds: float) -> None:
        waited = go_duration(seconds)
        self.reject(plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}")

    def _end(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._decided.set()


class WaitingPods:
    """The waiting pods by UID."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(tuple(self._pods.values()))

    def get(self, uid: str) -> WaitingPod | None:
        return self._pods.get(uid)

    def add(self, waiting: WaitingPod) -> None:
        self._pods[waiting.facts.uid] = waiting

    def remove(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def reject(self, uid: str, plugin: str, text: str) -> None:
        """Reject a pod if it waits."""
        waiting = self._pods.get(uid)
        if waiting is not None:
            waiting.reject(plugin, text)

    def preempt(self, uid: str) -> bool:
        """Take the node from a pod that waits; return whether that was still possible."""
        waiting = self._pods.get(uid)
        return waiting is not None and waiting.preempt()
