"""The volumes that placed pods will get: promised from the decision until they are bound. Pure.

Upstream: ``assume_cache`` and ``PodVolumes`` in ``pkg/scheduler/framework/plugins/volumebinding``.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.machinery.quantity import parse
from podling.machinery.selectors import LabelSelector
from podling.machinery.storage_classes import class_of

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"

K = TypeVar("K")
V = TypeVar("V")

ClaimKey = tuple[str, str]
"""Namespace and name."""


class VolumePlan(Struct, frozen=True):
    """The volumes of a pod on its node: existing ones for claims, and claims that get new ones."""

    node: str
    static: tuple[tuple[PersistentVolumeClaim, PersistentVolume], ...]
    provisioned: tuple[PersistentVolumeClaim, ...]


class VolumePlans:
    """The plans of pods that are being bound, by UID. Several pods may wait for the same claim."""

    def __init__(self) -> None:
        self._plans: dict[str, VolumePlan] = {}
        self._volumes: dict[tuple[str, ClaimKey], int] = {}
        self._nodes: dict[tuple[ClaimKey, str], int] = {}
        self.promised: dict[str, ClaimKey] = {}
        """The claim that each promised volume is for."""
        self.selected_nodes: dict[ClaimKey, str] = {}
        """The node for which a volume is being made for each claim."""

    def get(self, uid: str) -> VolumePlan | None:
        return self._plans.get(uid)

    def put(self, uid: str, plan: VolumePlan) -> None:
        self.drop(uid)
        self._plans[uid] = plan
        for claim, volume in plan.static:
            _count(self._volumes, self.promised, volume.metadata.name, key_of_claim(claim), 1)
        for claim in plan.provisioned:
            _count(self._nodes, self.selected_nodes, key_of_claim(claim), plan.node, 1)

    def drop(self, uid: str) -> None:
        """End the promises to a pod."""
        plan = self._plans.pop(uid, None)
        if plan is None:
            return
        for claim, volume in plan.static:
            _count(self._volumes, self.promised, volume.metadata.name, key_of_claim(claim), -1)
        for claim in plan.provisioned:
            _count(self._nodes, self.selected_nodes, key_of_claim(claim), plan.node, -1)


def _count(counts: dict[tuple[K, V], int], held: dict[K, V], key: K, value: V, change: int) -> None:
    """Count a promise, which ends with the last pod that it was made to."""
    number = counts.pop((key, value), 0) + change
    if number:
        counts[key, value] = number
        held[key] = value
    elif held.get(key) == value:
        del held[key]


def key_of_claim(claim: PersistentVolumeClaim) -> ClaimKey:
    return claim.metadata.namespace, claim.metadata.name


def is_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def storage(claim: PersistentVolumeClaim) -> int:
    """Return the size that a claim requests, in bytes."""
    return parse(claim.spec.resources.requests.get("storage", "0")).value


def size_of(volume: PersistentVolume) -> tuple[int, str]:
    """Return the order in which volumes are tried: the smallest first."""
    return parse(volume.spec.capacity.get("storage", "0")).value, volume.metadata.name


def fits(volume: PersistentVolume, claim: PersistentVolumeClaim, selector: LabelSelector | None) -> bool:
    """Return whether the binder may bind this volume to the claim: a free one, or one that names the claim.

    A volume that names the claim needs neither its access modes nor its labels. Upstream:
    ``FindMatchingVolume`` in ``component-helpers/storage/volume``.
    """
    spec = claim.spec
    if (
        class_of(volume) != class_of(claim)
        or (volume.spec.volume_attributes_class_name or "") != (spec.volume_attributes_class_name or "")
        or volume.metadata.deletion_timestamp is not None
        or size_of(volume)[0] < storage(claim)
        or (volume.spec.volume_mode or "Filesystem") != (spec.volume_mode or "Filesystem")
    ):
        return False
    ref = volume.spec.claim_ref
    if ref is not None:
        is_same = not ref.uid or ref.uid == claim.metadata.uid
        return is_same and (ref.namespace, ref.name) == key_of_claim(claim)
    return (
        volume.status.phase == "Available"
        and set(spec.access_modes) <= set(volume.spec.access_modes)
        and (selector is None or selector.matches(volume.metadata.labels))
    )
