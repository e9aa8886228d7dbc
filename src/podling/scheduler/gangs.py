"""Pod groups (``scheduling.k8s.io``) and their pods, as the scheduler knows them. Pure.

Upstream: ``pkg/scheduler/backend/cache/podgroupstate.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from podling.scheduler.podfacts import PodFacts

if TYPE_CHECKING:
    from podling.api.scheduling_v1alpha2 import PodGroup
    from podling.scheduler.cache import Cache

GangKey = tuple[str, str]
"""The namespace and the name of a pod group."""


def gang_of(pod: PodFacts) -> GangKey | None:
    """Return the pod group that a pod names; None if it names none."""
    group = pod.spec.scheduling_group
    return None if group is None else (pod.namespace, group.pod_group_name or "")


class Gangs:
    """Every pod group, and every pod that names one, whether it has a node or not."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._groups: dict[GangKey, PodGroup] = {}
        self._members: dict[GangKey, dict[str, PodFacts]] = {}
        self._keys: dict[str, GangKey] = {}

    def set_group(self, group: PodGroup) -> None:
        self._groups[_key(group)] = group

    def remove_group(self, group: PodGroup) -> None:
        self._groups.pop(_key(group), None)

    def group(self, key: GangKey) -> PodGroup | None:
        return self._groups.get(key)

    def add_pod(self, pod: PodFacts) -> bool:
        """Count a pod to its group; return whether it is a new member of one."""
        key = gang_of(pod)
        if key is None:
            return False
        is_new = pod.uid not in self._keys
        self._keys[pod.uid] = key
        self._members.setdefault(key, {})[pod.uid] = pod
        return is_new

    def remove_pod(self, uid: str) -> None:
        key = self._keys.pop(uid, None)
        if key is not None:
            members = self._members[key]
            del members[uid]
            if not members:
                del self._members[key]

    def size(self, key: GangKey) -> int:
        """Return the number of the group's pods."""
        return len(self._members.get(key, ()))

    def scheduled(self, key: GangKey) -> int:
        """Return the number of the group's pods that have a node, or are assumed to have one."""
        return sum(self._cache.pod(uid) is not None for uid in self._members.get(key, ()))

    def assumed(self, key: GangKey) -> list[str]:
        """Return the UIDs of the group's pods that are being bound."""
        placed = ((uid, self._cache.pod(uid)) for uid in self._members.get(key, ()))
        return [uid for uid, found in placed if found is not None and found.assumed]

    def unscheduled(self, key: GangKey) -> list[str]:
        """Return the UIDs of the group's pods that have no node yet."""
        return [uid for uid in self._members.get(key, ()) if self._cache.pod(uid) is None]


def _key(group: PodGroup) -> GangKey:
    return group.metadata.namespace or "", group.metadata.name or ""
