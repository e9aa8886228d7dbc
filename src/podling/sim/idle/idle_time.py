"""Notes when nothing happens in a simulated cluster, so that its clock may leap over its rounds.

A cluster is idle when every node's lease is renewed by ``LeaseRenewals`` and nothing else was written for a
while, in which every loop of the control plane has made a round. The reports of kubelets that change nothing
but the times of their heartbeats do not count.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from podling import clock
from podling.api.core_v1 import Node
from podling.apiserver.registry.objects import stored
from podling.machinery.scheme import resource_of
from podling.sim.idle.lease_renewals import LeaseRenewals
from podling.store.base import Entry, Store

QUIET_SECONDS = 25.0
"""Longer than the longest pause between two rounds of a loop that acts on what it finds."""
_NODES = resource_of(Node)


class IdleTime:
    """The time since something happened in a cluster.

    Args:
        store: returns the store of the API server that answers now; None while there is none, or its writes
            may fail.
    """

    def __init__(self, store: Callable[[], Store | None], leases: LeaseRenewals) -> None:
        self._store = store
        self._leases = leases
        self._writes = -1
        """The number of writes but for renewals, when they were counted last."""
        self._nodes: dict[str, Entry] = {}
        self._quiet_since = 0.0

    def is_idle(self) -> bool:
        """Return whether every kubelet works and nothing has happened for a while."""
        store = self._store()
        names = self._leases.kept(store) if store is not None else []
        if store is None or len(names) != store.count(_NODES.key_prefix):
            self._writes = -1
            return False
        nodes = {name: entry for name in names if (entry := store.peek(_NODES.key("", name))) is not None}
        now, writes = clock.monotonic(), store.revision - self._leases.renewals
        if writes - self._writes != _heartbeats(self._nodes, nodes):
            self._quiet_since = now
        self._writes, self._nodes = writes, nodes
        return len(nodes) == len(names) and now - self._quiet_since >= QUIET_SECONDS


def _heartbeats(before: dict[str, Entry], after: dict[str, Entry]) -> int:
    """Return the number of nodes that were written with other times of heartbeats, and no other change."""
    changed = [(before[name], entry) for name, entry in after.items() if before.get(name, entry) is not entry]
    return sum(_without_times(old) == _without_times(new) for old, new in changed)


def _without_times(entry: Entry) -> Node:
    node: Node = stored(entry, Node).object
    conditions = tuple(replace(each, last_heartbeat_time=None) for each in node.status.conditions)
    metadata = replace(node.metadata, resource_version="", managed_fields=())
    return replace(node, metadata=metadata, status=replace(node.status, conditions=conditions))
