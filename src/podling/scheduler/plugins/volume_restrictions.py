"""VolumeRestrictions: a claim that one pod may use at a time, and disks that pods of a node cannot share.

Upstream: ``pkg/scheduler/framework/plugins/volumerestrictions``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from podling.scheduler.cache import Cache
from podling.scheduler.framework import (
    Aspect,
    Hopeless,
    ObjectChange,
    OwnChange,
    Plugin,
    PodChange,
    PodEvent,
    Rejected,
)
from podling.scheduler.labelcolumns import Mask, Rows
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.volume_facts import disks_conflict, uses_claim

DISK_CONFLICT = "node(s) had no available disk"
CLAIM_IN_USE = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
ONE_POD = "ReadWriteOncePod"


class VolumeRestrictions(Plugin):
    name = "VolumeRestrictions"
    wakes_on = Aspect.ADDED
    wakes_on_own = OwnChange.NONE
    wakes_on_pods = PodEvent.DELETED
    wakes_on_objects = frozenset({"PersistentVolumeClaim"})

    def candidates(self, pod: PodFacts, cache: Cache) -> Rows | None:
        for volume in pod.spec.volumes if pod.claims else ():
            named = volume.persistent_volume_claim
            if named is not None and (pod.namespace, named.claim_name) not in cache.claims:
                raise Hopeless(f'persistentvolumeclaim "{named.claim_name}" not found')
        return None

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        rejected = []
        if pod.disks:
            where: Mask = np.isin(rows, np.array(list(_conflicting_rows(pod, cache)), np.intp))
            rejected.append(Rejected(DISK_CONFLICT, where))
        if pod.claims and any(cache.claim_users(pod.namespace, name) for name in _exclusive(pod, cache)):
            free = rejected[0].where if rejected else np.zeros(len(rows), np.bool_)
            rejected.append(Rejected(CLAIM_IN_USE, ~free))
        return rejected

    def wakes_for_pod(self, pod: PodFacts, change: PodChange, cache: Cache) -> bool:
        """When a pod goes that used one of the pod's claims, or a disk that conflicts."""
        other = change.facts
        if any(uses_claim(other.pod, pod.namespace, name) for name in pod.claims):
            return True
        return any(disks_conflict(one, two) for one in pod.disks for two in other.disks)

    def wakes_for_object(self, pod: PodFacts, change: ObjectChange, cache: Cache) -> bool:
        """When one of the pod's claims comes or changes."""
        metadata = getattr(change.new, "metadata", None)
        return metadata is not None and uses_claim(pod.pod, metadata.namespace, metadata.name)


def _exclusive(pod: PodFacts, cache: Cache) -> Iterator[str]:
    """Yield the names of the pod's claims, those made for it excepted, that one pod may use at a time."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
            claim = cache.claims.get((pod.namespace, name))
            if claim is not None and ONE_POD in claim.spec.access_modes:
                yield name


def _conflicting_rows(pod: PodFacts, cache: Cache) -> Iterator[int]:
    for row, volumes in cache.disks():
        if any(disks_conflict(one, other) for one in pod.disks for other in volumes):
            yield row
