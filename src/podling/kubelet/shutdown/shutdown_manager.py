"""Delays the machine's shutdown until the node's pods have ended in their groups.

Flow: take a lock that delays shutdowns, wait for the login manager's signal. When a shutdown begins, report
the node as not Ready, refuse new pods, end the groups one after the other, release the lock. When a shutdown
is cancelled, take the lock again. A lost connection is made anew after a second; the lock is held meanwhile.

Pods that ended stay in the API as Failed until their controllers or the pod collector remove them.
Upstream: ``pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from podling import clock
from podling.api.core_v1 import Node
from podling.kubelet.config import KubeletConfig
from podling.kubelet.deps import Recorder
from podling.kubelet.pods.worker import PodWorker
from podling.kubelet.pods.worker_state import Syncing, Terminating
from podling.kubelet.shutdown.logind import Logind, LogindFailure
from podling.kubelet.shutdown.shutdown_plan import (
    TERMINATED,
    Group,
    grace_seconds,
    groups_of,
    periods_of,
    seconds_requested,
)
from podling.kubelet.shutdown.shutdown_state import ShutdownRecord
from podling.machinery.durations import go_duration

logger = logging.getLogger(__name__)

RECONNECT_SECONDS = 1.0
EVENT = "NodeShutdown"


class ShutdownManager:
    """The graceful shutdown of one node.

    Args:
        connect: returns the login manager. Raises ``LogindFailure``.
        workers: the workers of the node's pods, by UID.
        node: returns the node as it is now.
        changed: is called when a shutdown begins or is cancelled: the node's status changes.
        record: keeps the times of the last shutdown.
    """

    def __init__(
        self,
        config: KubeletConfig,
        connect: Callable[[], Awaitable[Logind]],
        workers: Mapping[str, PodWorker],
        node: Callable[[], Node],
        recorder: Recorder,
        changed: Callable[[], None],
        record: ShutdownRecord,
    ) -> None:
        self._record = record
        self._periods = periods_of(config)
        self._connect = connect
        self._workers = workers
        self._node = node
        self._recorder = recorder
        self._changed = changed
        self._unlock: Callable[[], None] | None = None
        """Releases the lock; None if none is held."""
        self._problem = ""
        self.shutting_down = False
        """True from the beginning of a shutdown until it is cancelled."""

    @property
    def is_enabled(self) -> bool:
        """Return whether the configuration delays shutdowns at all."""
        return bool(self._periods)

    async def run(self) -> None:
        """Watch for shutdowns until cancelled."""
        await self._record.load()
        try:
            while True:
                try:
                    await self._watch()
                    self._report("the connection to logind has ended")
                except LogindFailure as error:
                    self._report(str(error))
                await clock.sleep(RECONNECT_SECONDS)
        finally:
            self._release()

    def _report(self, problem: str) -> None:
        if problem != self._problem:
            logger.warning("the node is not protected from shutdowns: %s", problem)
        self._problem = problem

    async def _watch(self) -> None:
        """Follow one connection to its end. Raises ``LogindFailure``."""
        logind = await self._connect()
        try:
            await self._extend_delay(logind)
            await self._acquire(logind)
            self._problem = ""
            async for begins in logind.shutdowns():
                await self._handle(logind, begins)
        finally:
            await logind.close()

    async def _extend_delay(self, logind: Logind) -> None:
        """Raise logind's longest delay to what all groups need together. Raises ``LogindFailure``."""
        wanted = seconds_requested(self._periods)
        if wanted <= await logind.inhibit_delay():
            return
        await logind.override_inhibit_delay(wanted)
        await logind.reload()
        delay = await logind.inhibit_delay()
        if wanted > delay:
            raise LogindFailure(
                "node shutdown manager was unable to update logind InhibitDelayMaxSec to "
                f"{go_duration(wanted)} (ShutdownGracePeriod), current value of InhibitDelayMaxSec "
                f"({go_duration(delay)}) is less than requested ShutdownGracePeriod"
            )

    async def _acquire(self, logind: Logind) -> None:
        lock = await logind.inhibit()
        self._release()
        self._unlock = lambda: logind.release(lock)

    def _release(self) -> None:
        if self._unlock is not None:
            self._unlock()
        self._unlock = None

    async def _handle(self, logind: Logind, begins: bool) -> None:
        what = "event" if begins else "cancellation"
        self._recorder.event(self._node(), "Normal", EVENT, f"Shutdown manager detected shutdown {what}")
        self.shutting_down = begins
        self._changed()
        if not begins:
            await self._acquire(logind)
            return
        await self._record.begin()
        try:
            await self._end_pods()
            await self._record.end()
        finally:
            self._release()

    async def _end_pods(self) -> None:
        active = [
            worker.record.pod
            for worker in self._workers.values()
            if isinstance(worker.state, Syncing | Terminating)
        ]
        for group in groups_of(self._periods, active):
            await self._end_group(group)

    async def _end_group(self, group: Group) -> None:
        """End the pods of a group together; wait until they have ended, at most its period."""
        deadline = clock.monotonic() + group.seconds
        workers = []
        for pod in group.pods:
            worker = self._workers.get(pod.metadata.uid or "")
            if worker is not None:
                worker.kill(TERMINATED, grace_seconds(pod, group))
                workers.append(worker)
        for worker in workers:
            await worker.ended(max(0.0, deadline - clock.monotonic()))
