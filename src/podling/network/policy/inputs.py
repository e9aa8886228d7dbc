"""The pods and namespaces on which network policies depend, followed while there is any policy.

Handlers of the informers only note what changed. ``take_changes`` brings it into the index in pieces, so that
the pods of a large cluster do not hold the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from podling import clock
from podling.api.core_v1 import Namespace, Pod
from podling.client.base import Client, Key, key_of
from podling.client.informer import Informer
from podling.network.leases import Lease
from podling.network.pod_network import BridgeNetwork
from podling.network.policy.index import PolicyIndex
from podling.network.policy.pod_records import PodRecord, local_pod, pod_record, remote_pod
from podling.network.policy.values import NodeFacts
from podling.supervisor import Supervisor

_AT_ONCE = 50
"""Pods and namespaces that are taken in in one turn of the event loop."""


class PolicyInputs:
    """The index of the node ``node``, and what it follows from except the policies.

    ``wake`` is set on changes.
    """

    def __init__(
        self, node: str, client: Client, network: BridgeNetwork, facts: NodeFacts, wake: asyncio.Event
    ) -> None:
        self.facts = facts
        self.index = PolicyIndex(facts)
        self.is_written = False
        """The kernel has the tables of the index but for its recorded changes."""
        self._node = node
        self._network = network
        self._wake = wake
        kind = cast("type[PodRecord]", Pod)
        self._pods: Informer[PodRecord] = Informer(client, kind, transform=pod_record)
        self._namespaces = Informer(client, Namespace)
        self._dirty_pods: dict[Key, None] = {}
        self._dirty_namespaces: dict[Key, None] = {}

    async def start(self, tasks: Supervisor) -> None:
        """Read everything once, and follow it from then on."""
        _note_changes(self._pods, self._dirty_pods, self._wake)
        _note_changes(self._namespaces, self._dirty_namespaces, self._wake)
        tasks.keep_running("network/policy-pods", self._pods.run, self._node)
        tasks.keep_running("network/policy-namespaces", self._namespaces.run, self._node)
        await asyncio.gather(self._pods.synced(), self._namespaces.synced())
        await self.take_changes()
        for lease in self._network.leases:
            self.put_lease(lease)

    async def take_changes(self) -> None:
        """Bring all changes of namespaces and pods into the index."""
        await _take(self._dirty_namespaces, self._take_namespace)
        await _take(self._dirty_pods, self._take_pod)

    def _take_namespace(self, key: Key) -> None:
        if (found := self._namespaces.get(key)) is not None:
            self.index.put_namespace(key.name, found.metadata.labels)
        else:
            self.index.remove_namespace(key.name)

    def _take_pod(self, key: Key) -> None:
        """A pod of this node counts as long as its lease, not as long as its object."""
        record = self._pods.get(key)
        if record is not None and record.node == self._node:
            for lease in self._network.leases:
                if (lease.pod.namespace, lease.pod.name) == key:
                    self.put_lease(lease)
        elif record is not None and (pod := remote_pod(record)) is not None:
            self.index.put_pod(pod)
        else:
            self.index.remove_pod(str(key))

    def put_lease(self, lease: Lease) -> None:
        """Bring a pod of this node into the index."""
        record = self._pods.get(Key(lease.pod.namespace, lease.pod.name))
        self.index.put_pod(local_pod(lease, record))


def _note_changes(informer: Informer[Any], dirty: dict[Key, None], wake: asyncio.Event) -> None:
    def note(changed: Any) -> None:
        dirty[key_of(changed)] = None
        wake.set()

    informer.add_handler(note, lambda _, new: note(new), note)


async def _take(dirty: dict[Key, None], take: Callable[[Key], object]) -> None:
    while dirty:
        for key in tuple(dirty)[:_AT_ONCE]:
            del dirty[key]
            take(key)
        if dirty:
            await clock.sleep(0)
