"""Following pods' lives on screen: a line whenever what ``kubectl get`` would show changes.

A pod is settled when it is Ready, Succeeded or Failed. Warnings from the cluster's events are shown in
between, because they say why a pod is not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from podling import clock
from podling.api.core_v1 import Event, Pod
from podling.apiserver.kinds.pod_table import status_word
from podling.cli.manifests import Manifest
from podling.client.base import Client, Key, key_of
from podling.client.informer import Informer
from podling.machinery.pods import condition

Say = Callable[[float, str, str, str], None]
"""Shows one line: seconds since the start, the pod, what happened, and its tone (see ``Tone``)."""


class Verdict(Enum):
    """How a pod's life stands."""

    UNSETTLED = "not settled"
    READY = "Ready"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Pods that a manifest brings about: one by name, or ``count`` by their labels."""

    namespace: str
    name: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    count: int = 1

    def covers(self, pod: Pod) -> bool:
        if (pod.metadata.namespace or "") != self.namespace:
            return False
        if self.name:
            return pod.metadata.name == self.name
        return all(pod.metadata.labels.get(key) == value for key, value in self.labels)


def wanted(manifest: Manifest, obj: Any) -> Wanted | None:
    """The pods to follow for an applied object; None for kinds that make none."""
    namespace = manifest.namespace or ""
    if manifest.resource.kind == "Pod":
        return Wanted(namespace, name=obj.metadata.name)
    template = getattr(getattr(obj, "spec", None), "template", None)
    labels = getattr(getattr(template, "metadata", None), "labels", None)
    if not labels:
        return None
    count = getattr(obj.spec, "replicas", None)
    if count is None:
        count = getattr(obj.spec, "parallelism", None)
    return Wanted(namespace, labels=tuple(sorted(labels.items())), count=1 if count is None else count)


def verdict(pod: Pod) -> Verdict:
    """How a pod's life stands, by its phase and its Ready condition."""
    if pod.status.phase == "Succeeded":
        return Verdict.SUCCEEDED
    if pod.status.phase == "Failed":
        return Verdict.FAILED
    ready = condition(pod, "Ready")
    return Verdict.READY if ready is not None and ready.status == "True" else Verdict.UNSETTLED


@dataclass
class Follower:
    """What is known of the pods being followed; ``done`` is set once every one of them is settled."""

    wants: Sequence[Wanted]
    say: Say
    started: float = field(default_factory=clock.monotonic)
    pods: dict[Key, Pod] = field(default_factory=dict)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    _shown: dict[Key, str] = field(default_factory=dict)
    _events: set[tuple[str, int]] = field(default_factory=set)

    def see_pod(self, pod: Pod) -> None:
        if not any(want.covers(pod) for want in self.wants):
            return
        key = key_of(pod)
        self.pods[key] = pod
        state = verdict(pod)
        word = status_word(pod)
        text = f"{word}, Ready" if state is Verdict.READY and word == "Running" else word
        if self._shown.get(key) != text:
            self._shown[key] = text
            self.say(self._elapsed(), str(key.name), text, state.name)
        if self._all_settled():
            self.done.set()

    def forget_pod(self, pod: Pod) -> None:
        if self.pods.pop(key_of(pod), None):
            self.say(self._elapsed(), pod.metadata.name or "", "deleted", Verdict.UNSETTLED.name)

    def see_event(self, event: Event) -> None:
        """Show a warning about a followed pod, once per occurrence."""
        about = event.involved_object
        key = Key(about.namespace or "", about.name or "")
        mark = (event.metadata.uid or "", event.count or 1)
        if event.type != "Warning" or about.kind != "Pod" or mark in self._events:
            return
        if key in self.pods or any(want.name == key.name for want in self.wants):
            self._events.add(mark)
            self.say(self._elapsed(), key.name, f"{event.reason}: {event.message}", "WARNING")

    def verdicts(self) -> list[Verdict]:
        return [verdict(pod) for pod in self.pods.values()]

    def _all_settled(self) -> bool:
        if any(state is Verdict.UNSETTLED for state in self.verdicts()):
            return False
        return all(sum(want.covers(pod) for pod in self.pods.values()) >= want.count for want in self.wants)

    def _elapsed(self) -> float:
        return clock.monotonic() - self.started


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
        return await clock.wait_for(follower.done, timeout)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
