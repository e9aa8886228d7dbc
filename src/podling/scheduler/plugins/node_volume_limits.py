"""NodeVolumeLimits: a node takes no more volumes of a CSI driver than its CSINode allows.

A volume that several pods of a node use counts once. Upstream:
``pkg/scheduler/framework/plugins/nodevolumelimits/csi.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from podling.api.core_v1 import PersistentVolumeClaim
from podling.machinery.storage_classes import class_of
from podling.scheduler.cache import Cache
from podling.scheduler.framework import (
    Aspect,
    ObjectChange,
    OwnChange,
    Plugin,
    PodChange,
    PodEvent,
    Prepared,
    Rejected,
)
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.volume_facts import uses_claim

REASON = "node(s) exceed max volume count"

Handles = set[tuple[str, str]]
"""Volumes, by driver and handle."""


class _Demand(Struct, frozen=True):
    """The volumes that a pod wants, those attached to nodes, and the limits of rows by driver."""

    wanted: Handles
    attached: dict[str, Handles]
    limits: dict[int, dict[str, int]]


class NodeVolumeLimits(Plugin):
    name = "NodeVolumeLimits"
    also_at = frozenset({"pre_filter"})
    wakes_on = Aspect.ADDED
    wakes_on_own = OwnChange.NONE
    wakes_on_pods = PodEvent.DELETED
    wakes_on_objects = frozenset({"CSINode", "PersistentVolumeClaim", "VolumeAttachment"})

    def __init__(self, args: None = None) -> None:
        super().__init__(args)
        self._demands = Prepared(_demand)

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        if not pod.claims or not cache.csi_nodes:
            return ()
        demand = self._demands.of(pod, cache)
        if not demand.wanted or not demand.limits:
            return ()
        full = [row in demand.limits and _is_full(row, demand, cache) for row in rows.tolist()]
        return (Rejected(REASON, np.array(full, np.bool_)),)

    def wakes_for_pod(self, pod: PodFacts, change: PodChange, cache: Cache) -> bool:
        """When a pod with claims goes."""
        return bool(change.facts.claims)

    def wakes_for_object(self, pod: PodFacts, change: ObjectChange, cache: Cache) -> bool:
        """When a limit rises, a claim of the pod comes or changes, or a volume is detached."""
        new, old = change.new, change.old
        if change.kind == "VolumeAttachment":
            return new is None and bool(pod.claims)
        if new is None:
            return False
        if change.kind == "PersistentVolumeClaim":
            return uses_claim(pod.pod, new.metadata.namespace, new.metadata.name)
        before = limits_of(old) if old is not None else {}
        return any(limit > before.get(driver, -1) for driver, limit in limits_of(new).items())


def limits_of(csi_node: object) -> dict[str, int]:
    """Return the number of volumes that a node takes, by driver; drivers without a limit are left out."""
    drivers = getattr(getattr(csi_node, "spec", None), "drivers", ())
    counted = ((each.name, each.allocatable) for each in drivers)
    return {name: limit.count for name, limit in counted if limit is not None and limit.count is not None}


def _demand(pod: PodFacts, cache: Cache) -> _Demand:
    wanted = _handles(pod, cache)
    drivers = {driver for driver, _ in wanted}
    limits: dict[int, dict[str, int]] = {}
    for name, each in cache.csi_nodes.items():
        row, found = cache.row_of(name), limits_of(each)
        if row is not None and not drivers.isdisjoint(found):
            limits[row] = found
    return _Demand(wanted, _attachments(cache), limits)


def _is_full(row: int, demand: _Demand, cache: Cache) -> bool:
    """Return whether the node cannot take the volumes that are not there yet."""
    name, limits = cache.name_of(row), demand.limits[row]
    there: Handles = set()
    for other in cache.pods_on(row):
        if other.claims:
            there |= _handles(other, cache)
    new = Counter(driver for driver, _ in demand.wanted - there)
    if not new:
        return False
    counts = Counter(driver for driver, _ in there | demand.attached.get(name, set()))
    return any(driver in limits and counts[driver] + more > limits[driver] for driver, more in new.items())


def _handles(pod: PodFacts, cache: Cache) -> Handles:
    """Return the CSI volumes of a pod; a claim that has none yet counts for its class's driver."""
    found: Handles = set()
    for name in pod.claims:
        claim = cache.claims.get((pod.namespace, name))
        key = _handle(claim, cache) if claim is not None else None
        if key is not None:
            found.add(key)
    return found


def _handle(claim: PersistentVolumeClaim, cache: Cache) -> tuple[str, str] | None:
    volume = cache.volumes.get(claim.spec.volume_name or "")
    if volume is not None:
        csi = volume.spec.csi
        return (csi.driver, csi.volume_handle) if csi is not None else None
    found = cache.storage_classes.get(class_of(claim))
    if found is None:
        return None
    return found.provisioner, f"{found.provisioner}-{claim.metadata.namespace}/{claim.metadata.name}"


def _attachments(cache: Cache) -> dict[str, Handles]:
    """Return the volumes that are attached to each node, whether a pod there uses them or not."""
    found: dict[str, Handles] = {}
    for each in cache.attachments.values():
        volume = cache.volumes.get(each.spec.source.persistent_volume_name or "")
        csi = volume.spec.csi if volume is not None else None
        if csi is not None:
            found.setdefault(each.spec.node_name, set()).add((csi.driver, csi.volume_handle))
    return found
