"""Following pods' lives on screen: a line whenever what ``kubectl get`` would show changes.

A pod is settled when it is Succeeded, Failed, or Ready and stays so for a moment; one that is deleted
meanwhile has failed. Warnings from the cluster's events are shown in between: they say why a pod is not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from msgspec import Struct

from podling import clock
from podling.api.core_v1 import Event, Pod
from podling.apiserver.kinds.pod.pod_table import status_word
from podling.cli.manifests import Manifest
from podling.client.base import Client, Key, key_of
from podling.client.informer import Informer
from podling.machinery.pods import condition

HOLD_SECONDS = 1.0
"""Seconds that a pod must stay Ready: without a probe it is so from the start, even if it ends at once."""
HARMLESS = ("MissingClusterDNS",)
"""Warnings that every pod gets: they say nothing of this one."""

Say = Callable[[float, str, str, str], None]
"""Shows one line: seconds since the start, the pod, what happened, and its tone (see ``Tone``)."""


class Verdict(Enum):
    """The stage of a pod."""

    UNSETTLED = "not settled"
    READY = "Ready"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Wanted(Struct, frozen=True):
    """Pods that a manifest brings about: one by name, or ``count`` by their labels."""

    namespace: str
    name: str = ""
    uid: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    count: int = 1

    def covers(self, pod: Pod) -> bool:
        if (pod.metadata.namespace or "") != self.namespace:
            return False
        if self.name:
            return pod.metadata.name == self.name and self.uid in ("", pod.metadata.uid)
        return all(pod.metadata.labels.get(key) == value for key, value in self.labels)


def wanted(manifest: Manifest, obj: Any) -> Wanted | None:
    """Return the pods to follow for an applied object; None for kinds that make none."""
    namespace = manifest.namespace or ""
    if manifest.resource.kind == "Pod":
        return Wanted(namespace, name=obj.metadata.name, uid=obj.metadata.uid or "")
    template = getattr(getattr(obj, "spec", None), "template", None)
    labels = getattr(getattr(template, "metadata", None), "labels", None)
    if not labels:
        return None
    count = getattr(obj.spec, "replicas", None)
    if count is None:
        count = getattr(obj.spec, "parallelism", None)
    return Wanted(namespace, labels=tuple(sorted(labels.items())), count=1 if count is None else count)


def verdict(pod: Pod) -> Verdict:
    """Return the stage of a pod by its phase and its Ready condition."""
    if pod.status.phase == "Succeeded":
        return Verdict.SUCCEEDED
    if pod.status.phase == "Failed":
        return Verdict.FAILED
    ready = condition(pod, "Ready")
    return Verdict.READY if ready is not None and ready.status == "True" else Verdict.UNSETTLED


@dataclass
class Follower:
    """The state of the followed pods; ``changed`` is set at each update."""

    wants: Sequence[Wanted]
    say: Say
    started: float = field(default_factory=clock.monotonic)
    pods: dict[Key, Pod] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    """Names of pods that were deleted though they were wanted by name."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    _ready_since: dict[Key, float] = field(default_factory=dict)
    _shown: dict[Key, str] = field(default_factory=dict)
    _events: set[tuple[str, int]] = field(default_factory=set)

    def see_pod(self, pod: Pod) -> None:
        if not any(want.covers(pod) for want in self.wants):
            return
        key = key_of(pod)
        self.pods[key] = pod
        state = verdict(pod)
        if state is Verdict.READY:
            self._ready_since.setdefault(key, clock.monotonic() - _known_ready(pod))
        else:
            self._ready_since.pop(key, None)
        word = status_word(pod)
        text = f"{word}, Ready" if state is Verdict.READY and word == "Running" else word
        if self._shown.get(key) != text:
            self._shown[key] = text
            self.say(self._elapsed(), str(key.name), text, state.name)
        self.changed.set()

    def forget_pod(self, pod: Pod) -> None:
        key, name = key_of(pod), pod.metadata.name or ""
        if self.pods.pop(key, None):
            by_name = any(want.name and want.covers(pod) for want in self.wants)
            self.say(
                self._elapsed(), name, "deleted", (Verdict.FAILED if by_name else Verdict.UNSETTLED).name
            )
            self.lost |= {name} if by_name else set()
            self._ready_since.pop(key, None)
            self.changed.set()

    def see_event(self, event: Event) -> None:
        """Show a warning about a followed pod, once per occurrence."""
        about = event.involved_object
        key = Key(about.namespace or "", about.name or "")
        mark = (event.metadata.uid or "", event.count or 1)
        if event.type != "Warning" or about.kind != "Pod" or mark in self._events or event.reason in HARMLESS:
            return
        known = self.pods.get(key)
        expected = [known.metadata.uid] if known else [w.uid for w in self.wants if w.name == key.name]
        if expected and (about.uid in expected or not about.uid or "" in expected):
            self._events.add(mark)
            text = f"{event.reason}: {' '.join((event.message or '').split())}"
            self.say(self._elapsed(), key.name, text, "WARNING")

    def unsettled(self) -> list[str]:
        """Return the names of pods that are neither Ready nor over, as far as they exist."""
        return sorted(str(key.name) for key, pod in self.pods.items() if verdict(pod) is Verdict.UNSETTLED)

    def settles_in(self) -> float | None:
        """In how many seconds everything is settled if nothing changes any more; None if it is not then."""
        if self.unsettled() or not all(map(self._complete, self.wants)):
            return None
        now = clock.monotonic()
        return max((since + HOLD_SECONDS - now for since in self._ready_since.values()), default=0.0)

    def _complete(self, want: Wanted) -> bool:
        return want.name in self.lost or sum(want.covers(pod) for pod in self.pods.values()) >= want.count

    def _elapsed(self) -> float:
        return clock.monotonic() - self.started


def _known_ready(pod: Pod) -> float:
    """Return the least number of seconds that the pod has been Ready, by its condition."""
    ready = condition(pod, "Ready")
    since = ready.last_transition_time if ready is not None else None
    return max(0.0, (clock.now() - since).total_seconds() - 1) if since is not None else 0.0


async def follow(client: Client, follower: Follower, timeout: float) -> bool:
    """Watch until every wanted pod is settled; False when ``timeout`` seconds were not enough."""
    informers: list[Informer[Any]] = []
    for namespace in sorted({want.namespace for want in follower.wants}):
        pods = Informer(client, Pod, namespace)
        pods.add_handler(
            on_add=follower.see_pod,
            on_update=lambda _, new: follower.see_pod(new),
            on_delete=follower.forget_pod,
        )
        events = Informer(client, Event, namespace)
        events.add_handler(on_add=follower.see_event, on_update=lambda _, new: follower.see_event(new))
        informers += [pods, events]
    tasks = [asyncio.create_task(informer.run()) for informer in informers]
    try:
        return await settled(follower, clock.monotonic() + timeout)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def settled(follower: Follower, deadline: float) -> bool:
    """Return whether everything was settled, and stayed so, before ``deadline``."""
    while True:
        hold = follower.settles_in()
        if hold is not None and hold <= 0:
            return True
        left = deadline - clock.monotonic()
        if left <= 0:
            return False
        follower.changed.clear()
        await clock.wait_for(follower.changed, left if hold is None else min(hold, left))
