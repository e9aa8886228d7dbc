"""The state that a pod's worker keeps between two passes.

All of it may be lost with the kubelet: it is either read again (termination messages, attempts)
or starts anew as Kubernetes allows (back-off, waiting reasons).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from podling.api.core_v1 import Pod, PodStatus
from podling.kubelet.backoff import BackoffTable
from podling.kubelet.directories import Directories
from podling.kubelet.observation import PodObservation
from podling.kubelet.status.container_statuses import WaitingReason


@dataclass(slots=True)
class PodMemory:
    """``waiting`` holds waiting reasons by container name; ``messages`` holds termination messages by
    container id."""

    backoff: BackoffTable
    waiting: dict[str, WaitingReason] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    held_back: dict[str, tuple[datetime, datetime]] = field(default_factory=dict)
    """By container name: the end of its back-off, and the time of the last event about it."""
    attempts: dict[str, int] = field(default_factory=dict)
    """The highest attempt seen of each container, also of those removed since."""
    pending_images: frozenset[str] = frozenset()
    """The containers that run on with an old image, as the new one cannot be had; ``waiting`` says why."""
    restarting_all: bool = False
    """True while a restart rule restarts all containers."""
    volumes_ready: bool = False
    volumes_failed: bool = False
    """True if a volume was missing when the volumes were last set up."""
    retry_at: datetime | None = None
    """The time of the next try after a failure, on the steady clock."""

    def retry(self, moment: datetime) -> None:
        """Schedule the next pass at ``moment`` or before."""
        self.retry_at = moment if self.retry_at is None else min(self.retry_at, moment)

    def keep_pending(self, replaced: Collection[str], starting: Collection[str]) -> None:
        """Drop the pending images of containers that are not to be replaced any more.

        Args:
            replaced: the containers that run, and are to be replaced.
            starting: the containers to start, of which ``waiting`` still says why they do not run.
        """
        dropped = self.pending_images.difference(replaced)
        for name in dropped.difference(starting):
            self.waiting.pop(name, None)
        self.pending_images -= dropped

    def observe(self, observed: PodObservation) -> None:
        """Take in the runtime's containers."""
        for container in observed.containers:
            self.attempts[container.name] = max(self.attempts.get(container.name, 0), container.attempt)
        ids = {container.id for container in observed.containers}
        for container_id in [found for found in self.messages if found not in ids]:
            del self.messages[container_id]

    def set_attempt(self, name: str, attempt: int | None) -> None:
        """Set the highest attempt of a container; None if it has had none."""
        if attempt is None:
            self.attempts.pop(name, None)
        else:
            self.attempts[name] = attempt

    def next_attempt(self, pod: Pod, name: str, status: PodStatus, directories: Directories) -> int:
        """Return the number of the container's next attempt; it was never used before."""
        if name in self.attempts:
            used: int | None = self.attempts[name]
        else:
            used = directories.last_attempt(pod, name)
        statuses = (*status.container_statuses, *status.init_container_statuses)
        counted = max((found.restart_count for found in statuses if found.name == name), default=0)
        return max(counted, used + 1 if used is not None else 0)
