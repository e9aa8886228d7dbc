"""Persistent volumes by name, and those that a claim may get, the smallest first. Pure.

A cluster may have thousands of volumes, of which a claim can use few: those that name it, and free ones of
its class that are large enough. Volumes with the same node affinity are one group: of each group only the
smallest one matters to a claim. Upstream: ``pvAssumeCache`` with its index of classes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

import msgspec

from podling.api.core_v1 import PersistentVolume
from podling.machinery.storage_classes import class_of
from podling.scheduler.volume_plans import ClaimKey, size_of


class VolumeIndex(dict[str, PersistentVolume]):
    """The volumes by name."""

    def __init__(self) -> None:
        super().__init__()
        self._free: dict[str, list[tuple[int, str]]] = {}
        self._named: dict[ClaimKey, dict[str, None]] = {}
        self._group_of: dict[str, bytes] = {}

    def __setitem__(self, name: str, volume: PersistentVolume) -> None:
        self._forget(name)
        super().__setitem__(name, volume)
        reference = volume.spec.claim_ref
        if reference is not None:
            self._named.setdefault((reference.namespace, reference.name), {})[name] = None
        elif volume.status.phase == "Available":
            insort(self._free.setdefault(class_of(volume), []), size_of(volume))
            self._group_of[name] = msgspec.json.encode(volume.spec.node_affinity)

    def __delitem__(self, name: str) -> None:
        self._forget(name)
        super().__delitem__(name)

    def pop(self, name: str, *default: PersistentVolume | None) -> PersistentVolume | None:  # type: ignore[override]
        self._forget(name)
        return super().pop(name, *default)

    def naming(self, claim: ClaimKey) -> list[PersistentVolume]:
        """Return the volumes that name a claim."""
        return [self[name] for name in self._named.get(claim, ())]

    def free(self, of_class: str, size: int) -> Iterator[tuple[bytes, PersistentVolume]]:
        """Yield free volumes of a class and at least this size, the smallest first, each with its group."""
        found = self._free.get(of_class, [])
        for _, name in found[bisect_left(found, (size, "")) :]:
            yield self._group_of[name], self[name]

    def _forget(self, name: str) -> None:
        old = self.get(name)
        if old is None:
            return
        reference = old.spec.claim_ref
        if reference is not None:
            key = (reference.namespace, reference.name)
            self._named[key].pop(name)
            if not self._named[key]:
                del self._named[key]
        elif old.status.phase == "Available":
            found = self._free[class_of(old)]
            del found[bisect_left(found, size_of(old))]
            if not found:
                del self._free[class_of(old)]
            del self._group_of[name]
