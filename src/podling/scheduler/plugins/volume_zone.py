"""VolumeZone: a volume whose labels name zones is reached from nodes of these zones only.

Nodes without a label for zone or region have no constraint. Upstream:
``pkg/scheduler/framework/plugins/volumezone``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from podling.api.core_v1 import PersistentVolume
from podling.machinery.requirements import Operator, Requirement
from podling.machinery.storage_classes import class_of
from podling.scheduler.cache import Cache
from podling.scheduler.framework import Aspect, Hopeless, ObjectChange, OwnChange, Plugin, PodEvent, Rejected
from podling.scheduler.labelcolumns import ABSENT, Mask, Rows
from podling.scheduler.podfacts import PodFacts

REASON = "node(s) had no available volume zone"

BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
TOPOLOGY_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_STABLE = {BETA_ZONE: ZONE, BETA_REGION: REGION}

Topology = tuple[str, tuple[str, ...]]
"""A label, and the values that a node may have."""


class VolumeZone(Plugin):
    name = "VolumeZone"
    wakes_on = Aspect.ADDED | Aspect.LABELS
    wakes_on_own = OwnChange.NONE
    wakes_on_pods = PodEvent(0)
    wakes_on_objects = frozenset({"PersistentVolumeClaim", "PersistentVolume", "StorageClass"})

    def candidates(self, pod: PodFacts, cache: Cache) -> Rows | None:
        if pod.claims:
            for _ in _topologies(pod, cache):
                pass
        return None

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        wanted = list(_topologies(pod, cache)) if pod.claims else []
        if not wanted:
            return ()
        labels = cache.labels
        constrained: Mask = np.zeros(len(rows), np.bool_)
        for label in TOPOLOGY_LABELS:
            constrained |= labels.codes(label, rows) != ABSENT
        matched: Mask = np.ones(len(rows), np.bool_)
        for label, values in wanted:
            here = labels.matches(Requirement(label, Operator.IN, values), rows)
            stable = labels.matches(Requirement(_STABLE.get(label, label), Operator.IN, values), rows)
            matched &= np.where(labels.codes(label, rows) == ABSENT, stable, here)
        return (Rejected(REASON, constrained & ~matched, unresolvable=True),)

    def wakes_for_object(self, pod: PodFacts, change: ObjectChange, cache: Cache) -> bool:
        """When a claim of the pod, a volume's zones, or the classes that bind late change."""
        new, old = change.new, change.old
        if new is None:
            return False
        if change.kind == "PersistentVolumeClaim":
            named = (each.persistent_volume_claim for each in pod.spec.volumes)
            names = {each.claim_name for each in named if each is not None}
            return bool(new.metadata.namespace == pod.namespace and new.metadata.name in names)
        if change.kind == "StorageClass":
            return bool(old is None and new.volume_binding_mode == "WaitForFirstConsumer")
        return old is None or list(topologies_of(old)) != list(topologies_of(new))


def topologies_of(volume: PersistentVolume) -> Iterator[Topology]:
    """Yield the zones and regions that a volume's labels name, several joined by ``__``."""
    for label in TOPOLOGY_LABELS:
        text = volume.metadata.labels.get(label)
        values = tuple(each.strip() for each in text.split("__")) if text else ()
        if values and all(values):
            yield label, values


def _topologies(pod: PodFacts, cache: Cache) -> Iterator[Topology]:
    """Yield the topologies of the pod's volumes. Raises ``Hopeless`` for a claim without volume."""
    for each in pod.spec.volumes:
        if each.persistent_volume_claim is None:
            continue
        name = each.persistent_volume_claim.claim_name
        if not name:
            raise Hopeless("PersistentVolumeClaim had no name")
        claim = cache.claims.get((pod.namespace, name))
        if claim is None:
            raise Hopeless(f'persistentvolumeclaim "{name}" not found')
        if claim.spec.volume_name:
            volume = cache.volumes.get(claim.spec.volume_name)
            if volume is None:
                raise Hopeless(f'persistentvolume "{claim.spec.volume_name}" not found')
            yield from topologies_of(volume)
            continue
        class_name = class_of(claim)
        if not class_name:
            raise Hopeless("PersistentVolumeClaim had no pv name and storageClass name")
        found = cache.storage_classes.get(class_name)
        if found is None:
            raise Hopeless(f'storageclass.storage.k8s.io "{class_name}" not found')
        if found.volume_binding_mode is None:
            raise Hopeless(f'VolumeBindingMode not set for StorageClass "{class_name}"')
        if found.volume_binding_mode != "WaitForFirstConsumer":
            raise Hopeless("PersistentVolume had no name")
