"""Reports statuses to the API server: always the newest, with few writes, and without losing one.

Each pod has at most one write in progress. Decisions made meanwhile replace one another, so the next write
carries only the newest. A status that is about to change again (of a pod whose containers are just being
started) waits a moment for the next one. Writes are compare-and-swap on the last known revision; after a
conflict the pod is read and merged again. Other failures are retried until the write succeeds or the pod is
gone. A status that the API refuses as invalid is retried rarely, unless the pod or the decision changes.
(Kubernetes logs it and tries at each sync, every 10 s.)

A terminating pod is deleted here once its final status is in the API and its resources are released.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial

from msgspec import structs

from podling import clock
from podling.api.core_v1 import Pod, PodStatus
from podling.client.base import Client, Unreachable
from podling.client.informer import revision_number
from podling.kubelet.kubelet_metrics import KubeletMetrics
from podling.kubelet.status.container_ends import new_ends
from podling.kubelet.status.phase import TERMINAL_PHASES
from podling.kubelet.status.status_merge import merge_status
from podling.machinery.errors import ApiError, is_conflict, is_invalid, is_not_found
from podling.machinery.pods import is_mirror
from podling.supervisor import Supervisor

logger = logging.getLogger(__name__)

GATHER_SECONDS = 0.05
"""The wait of a status that is likely to change again at once."""
RETRY_SECONDS = 1.0
RETRY_SECONDS_MAX = 10.0
REFUSED_SECONDS = 10.0
REFUSED_SECONDS_MAX = 300.0


def retry_seconds(failures: int, *, refused: bool) -> float:
    """Return the wait after so many failed writes in a row; ``refused``: the status was found invalid."""
    first, most = (REFUSED_SECONDS, REFUSED_SECONDS_MAX) if refused else (RETRY_SECONDS, RETRY_SECONDS_MAX)
    return min(first * 2.0 ** min(failures - 1, 20), most)


@dataclass(eq=False, slots=True)
class _Entry:
    """One pod: the newest known object of the API, and its decided status."""

    pod: Pod
    status: PodStatus
    may_run: bool = True
    finished: bool = False
    version: int = 0
    sent: int = 0
    deleted: bool = False
    answered: PodStatus | None = None
    """The status in the API server's response to the last write."""
    urgent: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def removable(self) -> bool:
        """Return whether only the kubelet keeps the object in the API."""
        return (
            self.finished
            and not self.deleted
            and self.pod.metadata.deletion_timestamp is not None
            and self.pod.status.phase in TERMINAL_PHASES
            and not is_mirror(self.pod)
        )


class StatusManager:
    """Sends the statuses of one node's pods to the API server."""

    def __init__(self, client: Client, metrics: KubeletMetrics) -> None:
        self._client, self._metrics = client, metrics
        self._supervisor = Supervisor()
        self._entries: dict[str, _Entry] = {}

    def status(self, uid: str) -> PodStatus | None:
        """Return the newest status decided for a pod, sent or not."""
        entry = self._entries.get(uid)
        return entry.status if entry is not None and entry.version else None

    def update_pod(self, pod: Pod) -> None:
        """Take in ``pod`` from the API (as far as the informer knows)."""
        entry = self._entries.get(pod.metadata.uid or "")
        if entry is None:
            self._entries[pod.metadata.uid or ""] = _Entry(pod, pod.status)
        elif revision_number(pod) > revision_number(entry.pod):
            entry.pod = pod
            if entry.version and pod.status != entry.answered and self._merge(entry) != pod.status:
                # Another client changed fields that the kubelet owns.
                entry.version += 1
            self._start_writing(entry)

    def update_mirror(self, uid: str, mirror: Pod) -> None:
        """Take in ``mirror`` from the API, the mirror of static pod ``uid``, whose status it receives."""
        entry = self._entries.get(uid)
        if entry is None:
            self._entries[uid] = _Entry(mirror, mirror.status)
            return
        if entry.pod.metadata.uid != mirror.metadata.uid:
            entry.version += bool(entry.version)
        entry.pod, entry.deleted = mirror, False
        self._start_writing(entry)

    def decide(self, pod: Pod, status: PodStatus, *, may_run: bool = True, soon: bool = False) -> None:
        """Set the pod's status to ``status``.

        Args:
            may_run: containers of the pod may still be running.
            soon: the status is likely to be replaced at once, so it may wait a moment.
        """
        uid = pod.metadata.uid or ""
        entry = self._entries.get(uid)
        if entry is None:
            entry = self._entries[uid] = _Entry(pod, pod.status)
        if entry.version and entry.status == status and entry.may_run == may_run:
            return
        self._metrics.terminated_containers.update(new_ends(entry.status, status))
        entry.status, entry.may_run = status, may_run
        entry.version += 1
        self._start_writing(entry, urgent=not soon)

    def flush(self, uid: str) -> None:
        """Send the status without further waiting: it will not change again soon."""
        entry = self._entries.get(uid)
        if entry is not None:
            self._start_writing(entry)

    def allow_removal(self, uid: str) -> None:
        """Allow the pod's removal: everything that it held on this node was released."""
        entry = self._entries.get(uid)
        if entry is not None:
            entry.finished = True
            self._start_writing(entry)

    def forget(self, uid: str) -> None:
        """Drop a pod that is gone from the API."""
        entry = self._entries.pop(uid, None)
        if entry is not None and entry.task is not None:
            entry.task.cancel()

    async def close(self) -> None:
        await self._supervisor.close()
        self._supervisor = Supervisor()
        self._entries.clear()

    def _start_writing(self, entry: _Entry, *, urgent: bool = True) -> None:
        if not self._work_left(entry):
            return
        if urgent:
            entry.urgent.set()
        if entry.task is None:
            metadata = entry.pod.metadata
            work, name = partial(self._write, entry), f"{metadata.namespace}/{metadata.name}"
            entry.task = self._supervisor.keep_running("kubelet/status", work, name)

    def _work_left(self, entry: _Entry) -> bool:
        known = bool(entry.pod.metadata.resource_version)
        return known and (entry.sent < entry.version or entry.removable)

    def _merge(self, entry: _Entry) -> PodStatus:
        return merge_status(entry.pod, entry.status, may_run=entry.may_run)

    async def _write(self, entry: _Entry) -> None:
        """Write until nothing is left to write. A failed task keeps its entry, and starts again."""
        failures = 0
        while self._work_left(entry):
            if not entry.urgent.is_set():
                await clock.wait_for(entry.urgent, GATHER_SECONDS)
            entry.urgent.clear()
            try:
                await self._send(entry)
                failures = 0
                if entry.sent == entry.version and entry.removable:
                    await self._remove(entry)
            except (ApiError, Unreachable) as error:
                if isinstance(error, ApiError) and is_not_found(error):
                    break
                failures += 1
                logger.warning("status of pod %s: %s", entry.pod.metadata.name, error)
                refused = is_invalid(error)
                delay = retry_seconds(failures, refused=refused)
                await (clock.wait_for(entry.urgent, delay) if refused else clock.sleep(delay))
                entry.urgent.set()
        entry.task = None

    async def _send(self, entry: _Entry) -> None:
        """Write the status once, unless the API has it already. Raises ``ApiError``, ``Unreachable``."""
        version = entry.version
        merged = self._merge(entry)
        if merged != entry.pod.status:
            try:
                written = await self._client.update(
                    structs.replace(entry.pod, status=merged), subresource="status"
                )
            except ApiError as error:
                if not is_conflict(error):
                    raise
                await self._read_again(entry)
                entry.urgent.set()
                return
            entry.answered = written.status
            if revision_number(written) >= revision_number(entry.pod):
                entry.pod = written
        entry.sent = max(entry.sent, version)

    async def _read_again(self, entry: _Entry) -> None:
        metadata = entry.pod.metadata
        found = await self._client.get(Pod, metadata.name or "", metadata.namespace)
        if found.metadata.uid != metadata.uid:
            self._entries.pop(metadata.uid or "", None)
            entry.sent, entry.deleted = entry.version, True
            return
        entry.pod = found

    async def _remove(self, entry: _Entry) -> None:
        metadata = entry.pod.metadata
        try:
            await self._client.delete(
                Pod, metadata.name or "", metadata.namespace, grace_seconds=0, uid=metadata.uid or ""
            )
        except ApiError as error:
            # The name belongs to a new pod by now: this one is gone.
            if not is_conflict(error):
                raise
        entry.deleted = True
