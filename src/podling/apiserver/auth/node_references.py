"""Index of the objects that each node's pods refer to: the only Secrets, ConfigMaps and claims it may read.

Pods are followed as roles are (``rbac``): each look-up first takes in the store's changes. The index holds
counts of references, so an authorisation is one look-up for any number of pods on a node.
Upstream: ``plugin/pkg/auth/authorizer/node/graph_populator.go``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from podling.api.core_v1 import PersistentVolumeClaim, Pod, PodSpec
from podling.apiserver.registry.objects import object_of
from podling.machinery.pod_references import CLAIMS, Reference, named_in
from podling.machinery.pods import is_mirror
from podling.machinery.scheme import resource_of
from podling.store.base import Entry, EventType, Store, Watch, WatchOverflow
from podling.supervisor import Supervisor

KNOWN_MAX = 4096
"""Sets of references that are remembered before remembering starts afresh."""


class _Held(NamedTuple):
    node: str
    spec: PodSpec
    references: frozenset[Reference]


class NodeReferences:
    """The references of the pods in ``store``, by node."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._prefix = resource_of(Pod).key_prefix
        self._watch: Watch | None = None
        self._pods: dict[str, _Held] = {}
        self._counts: dict[str, dict[Reference, int]] = {}
        self._known: dict[frozenset[Reference], frozenset[Reference]] = {}
        """Sets of references, each kept once: pods of one template refer to the same."""
        self._supervisor = Supervisor()
        self._reload: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Read every pod and follow them from here on."""
        page = await self._store.list(self._prefix)
        self._close_watch()
        self._pods.clear()
        self._counts.clear()
        for entry in page.entries:
            self._put(entry)
        self._watch = self._store.watch(self._prefix, after=page.revision)

    def close(self) -> None:
        if self._reload is not None:
            self._reload.cancel()
        self._close_watch()

    def _close_watch(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def catch_up(self) -> None:
        """Take in what changed; after more changes than a watch can hold nothing is known for a moment."""
        if self._watch is None:
            return
        try:
            events = self._watch.ready()
        except WatchOverflow:
            self._close_watch()
            self._reload = self._supervisor.keep_running("apiserver/node-references", self.load)
            return
        for event in events:
            if event.type is EventType.DELETE:
                self._remove(event.entry.key)
            else:
                self._put(event.entry)

    def has(self, node: str, resource: str, namespace: str, name: str) -> bool:
        """Return whether a pod of ``node`` refers to this object, or is it."""
        self.catch_up()
        if resource == "pods":
            key = resource_of(Pod).key(namespace, name)
            held = self._pods.get(key)
            # A kubelet learns from the 404 that its pod is gone.
            return held.node == node if held is not None else self._store.peek(key) is None
        counts = self._counts.get(node, {})
        if resource == "persistentvolumes":
            return any(self._volume_of(claim) == name for claim in counts if claim[0] == CLAIMS)
        return (resource, namespace, name) in counts

    def _volume_of(self, claim: Reference) -> str:
        """Return the volume that is bound to a claim."""
        kind = PersistentVolumeClaim
        entry = self._store.peek(resource_of(kind).key(claim[1], claim[2]))
        return "" if entry is None else object_of(entry, kind).spec.volume_name or ""

    def _put(self, entry: Entry) -> None:
        pod: Pod = object_of(entry, Pod)
        held = self._pods.get(entry.key)
        if held is not None and held.spec is pod.spec:
            return
        self._remove(entry.key)
        node = pod.spec.node_name
        if not node:
            return
        held = self._pods[entry.key] = _Held(node, pod.spec, self._shared(frozenset(references(pod))))
        if held.references:
            counts = self._counts.setdefault(node, {})
            for each in held.references:
                counts[each] = counts.get(each, 0) + 1

    def _shared(self, found: frozenset[Reference]) -> frozenset[Reference]:
        """Return the same set as others have that are equal."""
        if len(self._known) > KNOWN_MAX:
            self._known.clear()
        return self._known.setdefault(found, found)

    def _remove(self, key: str) -> None:
        held = self._pods.pop(key, None)
        if held is None or not held.references:
            return
        counts = self._counts[held.node]
        for each in held.references:
            counts[each] -= 1
            if not counts[each]:
                del counts[each]
        if not counts:
            del self._counts[held.node]


def references(pod: Pod) -> Iterator[Reference]:
    """Everything that a node needs to read to run ``pod``. Pure.

    A mirror pod refers to nothing: a node could otherwise give itself what it likes.
    """
    return iter(()) if is_mirror(pod) else named_in(pod)
