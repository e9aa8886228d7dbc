"""The scheduler's view of nodes and the pods on them.

Every node has a row; facts that plugins read for all nodes at once are columns. Pods are counted on the node
they are bound to, and from the moment of the decision on the node they are *assumed* to be bound to,
so that the next decision does not wait for the API.

The informer confirms an assumed pod; it is removed when binding fails or the pod is deleted. It needs no
expiry: the informer's relist reports every deleted pod, even after missed events (Kubernetes
has long set its expiry to never, for the same reason). Pods may arrive before their node and outlive it:
such a row has pods, is not ``present`` and is never offered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from podling.api.core_v1 import Node, PersistentVolumeClaim, Taint, Volume
from podling.api.storage_v1 import CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment
from podling.machinery.quantity import parse
from podling.machinery.text_cache import cached_by_text
from podling.scheduler.columns import ResourceColumns
from podling.scheduler.default_selectors import Workloads
from podling.scheduler.labelcolumns import LabelColumns, Mask, Rows
from podling.scheduler.podfacts import ANY_ADDRESS, HostPort, PodFacts
from podling.scheduler.podgroups import PodGroups
from podling.scheduler.volume_index import VolumeIndex
from podling.scheduler.volume_plans import VolumePlans

_INITIAL_CAPACITY = 16

_ZONE_LABELS = (
    ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"),
    ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
)

NodeTaint = tuple[str, str, str]
"""Key, value and effect: what tolerations look at."""


@dataclass(slots=True, eq=False)
class Placed:
    """A pod on a row. ``assumed`` until the API says so too."""

    facts: PodFacts
    row: int
    assumed: bool


class Cache:
    """Nodes by row, pods by UID. Not thread-safe; decisions read it, informers and decisions write it."""

    def __init__(self) -> None:
        self._capacity = _INITIAL_CAPACITY
        self._row_of: dict[str, int] = {}
        self._names: list[str] = []
        self._nodes: list[Node | None] = []
        self._free: list[int] = []
        self._present_rows: Rows | None = None
        self._search_order: Rows | None = None
        self.version = 0
        """Grows with each change."""
        self.resources = ResourceColumns(self._capacity)
        self.labels = LabelColumns(self._capacity)
        self.unschedulable: Mask = np.zeros(self._capacity, np.bool_)
        self.taint_sets: list[tuple[NodeTaint, ...]] = [()]
        self._taint_set_of: dict[tuple[NodeTaint, ...], int] = {(): 0}
        self.taints = np.zeros(self._capacity, np.int32)
        self.groups = PodGroups()
        self.workloads = Workloads()
        self.namespace_labels: dict[str, Mapping[str, str]] = {}
        self.claims: dict[tuple[str, str], PersistentVolumeClaim] = {}
        self.volumes = VolumeIndex()
        self.storage_classes: dict[str, StorageClass] = {}
        self.csi_nodes: dict[str, CSINode] = {}
        self.csi_drivers: dict[str, CSIDriver] = {}
        self.capacities: dict[tuple[str, str], CSIStorageCapacity] = {}
        self.volume_plans = VolumePlans()
        self.attachments: dict[str, VolumeAttachment] = {}
        self._claim_users: Counter[tuple[str, str]] = Counter()
        self._disks: dict[int, dict[str, tuple[Volume, ...]]] = {}
        self._pods: dict[str, Placed] = {}
        self._pods_on: list[dict[str, Placed]] = []
        self._ports: dict[tuple[str, int], dict[int, list[str]]] = {}
        self._images: dict[str, dict[int, int]] = {}

    # Nodes

    @property
    def capacity(self) -> int:
        """The length of the columns; rows are below it."""
        return self._capacity

    @property
    def rows(self) -> Rows:
        """The rows of all nodes that are there."""
        if self._present_rows is None:
            there = [row for row, node in enumerate(self._nodes) if node is not None]
            self._present_rows = np.array(there, np.intp)
        return self._present_rows

    @property
    def search_order(self) -> Rows:
        """The rows of all nodes, in turns from each zone, so that a part of them is spread over zones."""
        if self._search_order is None:
            zones: dict[tuple[str, ...], list[int]] = {}
            for row in self.rows.tolist():
                node = self._nodes[row]
                zones.setdefault(_zone(node.metadata.labels if node else {}), []).append(row)
            turns = zip_longest(*zones.values())
            order = [row for turn in turns for row in turn if row is not None]
            self._search_order = np.array(order, np.intp)
        return self._search_order

    def row_of(self, name: str) -> int | None:
        """Return the row of a node that is there."""
        row = self._row_of.get(name)
        return None if row is None or self._nodes[row] is None else row

    def node(self, name: str) -> Node | None:
        row = self._row_of.get(name)
        return None if row is None else self._nodes[row]

    def name_of(self, row: int) -> str:
        return self._names[row]

    def set_node(self, node: Node) -> int:
        """Add a node, or take over its new state. Returns its row."""
        self.version += 1
        row = self._row(node.metadata.name or "")
        before = self._nodes[row]
        if before is None:
            self._present_rows = self._search_order = None
        self._nodes[row] = node
        old_labels = before.metadata.labels if before else {}
        if old_labels != node.metadata.labels:
            self._search_order = None
            self.labels.set(row, old_labels, node.metadata.labels)
        if before is None or before.status.allocatable != node.status.allocatable:
            self.resources.set_allocatable(row, _amounts(node.status.allocatable))
        self.unschedulable[row] = bool(node.spec.unschedulable)
        self.taints[row] = self._taint_set(node.spec.taints)
        if before is None or before.status.images != node.status.images:
            self._set_images(row, before, node)
        return row

    def remove_node(self, name: str) -> None:
        row = self._row_of.get(name)
        node = self._nodes[row] if row is not None else None
        if row is None or node is None:
            return
        self.version += 1
        self.labels.set(row, node.metadata.labels, {})
        self.resources.set_allocatable(row, {})
        self.unschedulable[row] = False
        self.taints[row] = 0
        self._set_images(row, node, None)
        self._nodes[row] = None
        self._present_rows = self._search_order = None
        self._release(row)

    # Pods

    def pod(self, uid: str) -> Placed | None:
        return self._pods.get(uid)

    def sizes(self) -> dict[str, int]:
        """Return how many nodes, pods and assumed pods there are, under Kubernetes' names."""
        assumed = sum(placed.assumed for placed in self._pods.values())
        return {"nodes": len(self.rows), "pods": len(self._pods), "assumed_pods": assumed}

    def pods_on(self, row: int) -> Iterable[PodFacts]:
        return [placed.facts for placed in self._pods_on[row].values()]

    def add_pod(self, facts: PodFacts, node_name: str, *, assumed: bool = False) -> None:
        """Count a pod on a node; one that is counted already is counted anew."""
        self.remove_pod(facts.uid)
        row = self._row(node_name)
        placed = self._pods[facts.uid] = self._pods_on[row][facts.uid] = Placed(facts, row, assumed)
        self._count(placed, 1)

    def remove_pod(self, uid: str) -> PodFacts | None:
        """Count a pod no longer; returns what was known of it."""
        placed = self._pods.pop(uid, None)
        if placed is None:
            return None
        del self._pods_on[placed.row][uid]
        self._count(placed, -1)
        self._release(placed.row)
        return placed.facts

    def forget(self, uid: str) -> None:
        """Binding failed: the pod is counted no longer, unless the API has confirmed it meanwhile."""
        placed = self._pods.get(uid)
        if placed is not None and placed.assumed:
            self.remove_pod(uid)

    def port_taken(self, row: int, port: HostPort) -> bool:
        addresses = self._ports.get((port.protocol, port.port), {}).get(row, ())
        if port.address == ANY_ADDRESS:
            return bool(addresses)
        return port.address in addresses or ANY_ADDRESS in addresses

    def rows_using(self, port: HostPort) -> Iterator[int]:
        """Yield the rows on which this port is taken."""
        for row in self._ports.get((port.protocol, port.port), ()):
            if self.port_taken(row, port):
                yield row

    def claim_users(self, namespace: str, name: str) -> int:
        """Return the number of placed pods that use a claim."""
        return self._claim_users[namespace, name]

    def disks(self) -> Iterator[tuple[int, list[Volume]]]:
        """Yield the rows with pods that name a disk which not every pod may share, and these volumes."""
        for row, pods in self._disks.items():
            yield row, [volume for volumes in pods.values() for volume in volumes]

    def image_rows(self, name: str) -> Mapping[int, int]:
        """Return the rows that have an image, with its size there."""
        return self._images.get(name, {})

    # Inside

    def _count(self, placed: Placed, count: int) -> None:
        self.version += 1
        facts, row = placed.facts, placed.row
        self.resources.add(row, facts.requests, facts.scored, count)
        if count > 0:
            self.groups.add(facts, row)
        else:
            self.groups.remove(facts, row)
        if facts.claims or facts.disks:
            self._count_volumes(facts, row, count)
        for port in facts.ports:
            users = self._ports.setdefault((port.protocol, port.port), {})
            addresses = users.setdefault(row, [])
            if count > 0:
                addresses.append(port.address)
                continue
            addresses.remove(port.address)
            if not addresses:
                del users[row]
            if not users:
                del self._ports[port.protocol, port.port]

    def _count_volumes(self, facts: PodFacts, row: int, count: int) -> None:
        for name in facts.claims:
            self._claim_users[facts.namespace, name] += count
            if not self._claim_users[facts.namespace, name]:
                del self._claim_users[facts.namespace, name]
        if facts.disks and count > 0:
            self._disks.setdefault(row, {})[facts.uid] = facts.disks
        elif facts.disks:
            pods = self._disks[row]
            del pods[facts.uid]
            if not pods:
                del self._disks[row]

    def _row(self, name: str) -> int:
        row = self._row_of.get(name)
        if row is not None:
            return row
        if self._free:
            row = self._free.pop()
            self._names[row] = name
        else:
            row = len(self._names)
            if row == self._capacity:
                self._grow()
            self._names.append(name)
            self._nodes.append(None)
            self._pods_on.append({})
        self._row_of[name] = row
        return row

    def _release(self, row: int) -> None:
        """Take back a row that has neither node nor pods."""
        if self._nodes[row] is None and not self._pods_on[row]:
            del self._row_of[self._names[row]]
            self._free.append(row)

    def _grow(self) -> None:
        capacity = 2 * self._capacity
        self.resources.grow(capacity)
        self.labels.grow(capacity)
        more = capacity - self._capacity
        self.unschedulable = np.concatenate((self.unschedulable, np.zeros(more, np.bool_)))
        self.taints = np.concatenate((self.taints, np.zeros(more, np.int32)))
        self._capacity = capacity

    def _taint_set(self, taints: tuple[Taint, ...]) -> int:
        wanted = tuple((taint.key, taint.value or "", taint.effect) for taint in taints)
        found = self._taint_set_of.get(wanted)
        if found is None:
            found = self._taint_set_of[wanted] = len(self.taint_sets)
            self.taint_sets.append(wanted)
        return found

    def _set_images(self, row: int, before: Node | None, after: Node | None) -> None:
        for image in before.status.images if before else ():
            for name in image.names:
                rows = self._images.get(name, {})
                rows.pop(row, None)
                if not rows:
                    self._images.pop(name, None)
        for image in after.status.images if after else ():
            for name in image.names:
                self._images.setdefault(name, {})[row] = image.size_bytes or 0


def _zone(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return a node's region and zone (``GetZoneKey``)."""
    found = (labels.get(stable, "") or labels.get(beta, "") for stable, beta in _ZONE_LABELS)
    return tuple(found)


def _amounts(quantities: Mapping[str, str]) -> dict[str, int]:
    """Allocatable resources as numbers: CPU in thousandths."""
    return {name: _thousandths(text) if name == "cpu" else _units(text) for name, text in quantities.items()}


@cached_by_text(4096)
def _units(text: str) -> int:
    return parse(text).value


@cached_by_text(4096)
def _thousandths(text: str) -> int:
    return parse(text).milli_value
