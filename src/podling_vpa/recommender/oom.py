"""Out-of-memory kills and memory evictions, read from pods and events. Pure.

Upstream: ``recommender/input/oom/observer.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from podling.api.core_v1 import ContainerStateTerminated, ContainerStatus, Event, Pod
from podling.client.base import Key, key_of
from podling.machinery.quantity import parse
from podling_vpa.amounts import actual_resources
from podling_vpa.names import MEMORY

OOM_KILLED = "OOMKilled"


class Oom(Struct, frozen=True):
    """A container that ran out of memory; ``memory`` is its request, or its use, in bytes."""

    pod: Key
    container: str
    at: datetime
    memory: int


def ooms_between(old: Pod, new: Pod) -> list[Oom]:
    """Return the kills that a change of a pod shows."""
    before = {each.name: each for each in old.status.container_statuses}
    found = []
    for status in new.status.container_statuses:
        held = before.get(status.name)
        if held is None:
            continue
        again = status.restart_count > held.restart_count
        ended, source = status.state.terminated, new
        if ended is None or ended.reason != OOM_KILLED or (held.state.terminated is not None and not again):
            # A fast restart skips the terminated state. The container that ended had the old resources.
            ended, source = _ended_before(held, status, again=again), old
        if ended is not None and ended.finished_at is not None:
            memory = _memory_request(source, status.name)
            found.append(Oom(key_of(new), status.name, ended.finished_at, memory))
    return found


def _ended_before(
    held: ContainerStatus, status: ContainerStatus, *, again: bool
) -> ContainerStateTerminated | None:
    """Return the out-of-memory kill of the container's run before this one."""
    ended = status.last_state.terminated
    was_running = held.state.running is not None and status.state.running is not None
    return ended if was_running and again and ended is not None and ended.reason == OOM_KILLED else None


def _memory_request(pod: Pod, name: str) -> int:
    container = next((each for each in pod.spec.containers if each.name == name), None)
    if container is None:
        return 0
    request = actual_resources(pod, container).requests.get(MEMORY)
    return request.value if request is not None else 0


def ooms_of_eviction(event: Event) -> Sequence[Oom]:
    """Return the containers that the kubelet evicted a pod for, as they used too much memory."""
    regarding = event.involved_object
    if event.reason != "Evicted" or regarding.kind != "Pod":
        return ()
    keys = ("offending_containers", "offending_containers_usage", "starved_resource")
    texts = [event.metadata.annotations.get(key) for key in keys]
    names, uses, starved = (text.split(",") if text is not None else [] for text in texts)
    if not len(names) == len(uses) == len(starved):
        return ()
    at = event.metadata.creation_timestamp
    found = []
    for name, use, resource in zip(names, uses, starved, strict=True):
        memory = _bytes(use)
        if resource == MEMORY and memory is not None and at is not None:
            found.append(Oom(Key(regarding.namespace or "", regarding.name or ""), name, at, memory))
    return found


def _bytes(text: str) -> int | None:
    try:
        return parse(text).value
    except ValueError:
        return None
