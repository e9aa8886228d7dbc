"""Restart back-off: how long a container that keeps ending must wait before it starts again.

The delay counts from the moment the container last ended, not from now. The first restart is free and
opens an entry of 10 s; every further one doubles it, up to the maximum. An entry is forgotten when the
container ran for more than ten minutes since the entry was last used, so a long healthy run starts
from the beginning (``client-go/util/flowcontrol/backoff.go``, ``kuberuntime_manager.go`` doBackOff).

Pure; ``BackoffTable`` remembers the entries between two passes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from podling.api.core_v1 import Container, Pod

RESET_AFTER = timedelta(seconds=600)
"""A container that ran longer than this since its entry was last used starts over."""


SET_BACK = timedelta(seconds=1)
"""Runtimes may round the time of an end up by less than this."""


class BackoffPolicy(Struct, frozen=True):
    """Seconds of the first delay and of the longest one."""

    initial_seconds: float = 10.0
    max_seconds: float = 300.0


class BackoffEntry(Struct, frozen=True):
    """The delay in force for one key, and when it was set."""

    seconds: float
    last_update: datetime


def waits_until(entry: BackoffEntry | None, event: datetime, now: datetime) -> datetime | None:
    """Return the end of the wait that began with ``event``; None if there is no need to wait.

    An event that is still to come shows that the clock was set back. Its wait is left out: it would be longer
    by as much as the clock was set.
    """
    if entry is None or event - entry.last_update > RESET_AFTER or event > now + SET_BACK:
        return None
    ready_at = event + timedelta(seconds=entry.seconds)
    return ready_at if ready_at > now else None


def next_entry(
    entry: BackoffEntry | None, event: datetime, now: datetime, policy: BackoffPolicy
) -> BackoffEntry:
    """Return the entry after one more start following ``event``."""
    if entry is None or event - entry.last_update > RESET_AFTER:
        return BackoffEntry(min(policy.initial_seconds, policy.max_seconds), now)
    return BackoffEntry(min(entry.seconds * 2, policy.max_seconds), now)


def backoff_key(pod: Pod, container: Container) -> str:
    """Return the key of a container's back-off; a changed image or changed resources make a new key."""
    parts = [
        pod.metadata.name,
        pod.metadata.namespace,
        pod.metadata.uid,
        container.name,
        container.image,
        msgspec.to_builtins(container.resources),
    ]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]


BackoffView = Mapping[str, BackoffEntry]
"""The entries of one pod's containers by container name, as ``plan_pod`` sees them."""


class BackoffTable:
    """The back-off entries of one pod, by key; they are dropped with the pod's worker."""

    def __init__(self, policy: BackoffPolicy) -> None:
        self._policy = policy
        self._entries: dict[str, BackoffEntry] = {}

    def get(self, key: str) -> BackoffEntry | None:
        return self._entries.get(key)

    def view(self, pod: Pod) -> BackoffView:
        """Return the back-off entries of the pod's containers, by container name."""
        if not self._entries:
            return {}
        containers = (*pod.spec.init_containers, *pod.spec.containers)
        found = {container.name: self._entries.get(backoff_key(pod, container)) for container in containers}
        return {name: entry for name, entry in found.items() if entry is not None}

    def advance(self, key: str, event: datetime, now: datetime) -> None:
        """Double the next wait, for a start that follows ``event``."""
        self._entries[key] = next_entry(self._entries.get(key), event, now, self._policy)
