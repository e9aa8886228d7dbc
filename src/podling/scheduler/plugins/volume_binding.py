"""VolumeBinding: a pod waits for its claims, and goes where their volumes can be reached.

A claim of a class with ``WaitForFirstConsumer`` needs no volume yet: the node must have one that fits,
unless the class has a provisioner. The binder of volumes chooses after the pod is bound. Kubernetes'
scheduler chooses itself; so here two pods at the same time may go to a node with one volume, where one of
them then waits.

Upstream: ``pkg/scheduler/framework/plugins/volumebinding``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podling.api.core_v1 import NodeSelector, PersistentVolume, PersistentVolumeClaim
from podling.machinery.quantity import parse
from podling.machinery.selectors import SelectorError, from_label_selector
from podling.machinery.storage_classes import class_of
from podling.scheduler.cache import Cache
from podling.scheduler.framework import Aspect, Hopeless, Plugin, PodEvent, Rejected
from podling.scheduler.labelcolumns import Mask, Rows
from podling.scheduler.plugins.node_affinity import selector_match
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.volume_facts import claims_of

CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


class VolumeBinding(Plugin):
    name = "VolumeBinding"
    wakes_on_objects = frozenset({"PersistentVolumeClaim", "PersistentVolume", "StorageClass"})
    wakes_on = Aspect.ADDED | Aspect.LABELS
    wakes_on_pods = PodEvent(0)

    def candidates(self, pod: PodFacts, cache: Cache) -> Rows | None:
        unbound = False
        for name, ephemeral in claims_of(pod.pod):
            claim = cache.claims.get((pod.namespace, name))
            _check(pod, name, claim, ephemeral=ephemeral)
            unbound |= claim is not None and not _is_bound(claim) and not _waits_for_consumer(claim, cache)
        if unbound:
            raise Hopeless(UNBOUND)
        return None

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        rejected = []
        for name, _ in claims_of(pod.pod):
            claim = cache.claims.get((pod.namespace, name))
            if claim is not None:
                reason, where = _judge(claim, cache, rows)
                if where.any():
                    rejected.append(Rejected(reason, where, unresolvable=True))
        return rejected


def _check(pod: PodFacts, name: str, claim: PersistentVolumeClaim | None, *, ephemeral: bool) -> None:
    """Raise ``Hopeless`` for a claim that cannot be used at all."""
    if claim is None:
        text = f'persistentvolumeclaim "{name}" not found'
        if ephemeral:
            text = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        raise Hopeless(text)
    if claim.status.phase == "Lost":
        text = f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume'
        raise Hopeless(f'{text} "{claim.spec.volume_name}"')
    if claim.metadata.deletion_timestamp is not None:
        raise Hopeless(f'persistentvolumeclaim "{name}" is being deleted')
    if ephemeral and not any(owner.uid == pod.uid for owner in claim.metadata.owner_references):
        text = f"PVC {pod.namespace}/{name} was not created for pod {pod.namespace}/{pod.name}"
        raise Hopeless(f"{text} (pod is not owner)")


def _is_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def _waits_for_consumer(claim: PersistentVolumeClaim, cache: Cache) -> bool:
    found = cache.storage_classes.get(class_of(claim))
    delayed = found is not None and found.volume_binding_mode == "WaitForFirstConsumer"
    return delayed and not claim.spec.volume_name


def _judge(claim: PersistentVolumeClaim, cache: Cache, rows: Rows) -> tuple[str, Mask]:
    """Return the rows where the claim's volume is out of reach, and the reason."""
    if _is_bound(claim):
        volume = cache.volumes.get(claim.spec.volume_name or "")
        if volume is None:
            return GONE, np.ones(len(rows), np.bool_)
        return CONFLICT, ~_reach(volume, cache, rows)
    found = cache.storage_classes.get(class_of(claim))
    if found is not None and found.provisioner != NO_PROVISIONER:
        return NO_VOLUME, np.zeros(len(rows), np.bool_)
    reached = np.zeros(len(rows), np.bool_)
    for volume in cache.volumes.values():
        if _fits(volume, claim):
            reached |= _reach(volume, cache, rows)
    return NO_VOLUME, ~reached


def _reach(volume: PersistentVolume, cache: Cache, rows: Rows) -> Mask:
    affinity = volume.spec.node_affinity
    required: NodeSelector | None = affinity.required if affinity is not None else None
    return np.ones(len(rows), np.bool_) if required is None else selector_match(required, cache, rows)


def _fits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether the binder may bind this free volume to the claim."""
    spec, ref = claim.spec, volume.spec.claim_ref
    reserved = ref is not None and (ref.namespace, ref.name) == (
        claim.metadata.namespace,
        claim.metadata.name,
    )
    if not reserved and (ref is not None or volume.status.phase != "Available"):
        return False
    try:
        selector = from_label_selector(spec.selector) if spec.selector is not None else None
    except SelectorError:
        return False
    requested = parse(spec.resources.requests.get("storage", "0"))
    return (
        class_of(volume) == class_of(claim)
        and parse(volume.spec.capacity.get("storage", "0")) >= requested
        and (volume.spec.volume_mode or "Filesystem") == (spec.volume_mode or "Filesystem")
        and set(spec.access_modes) <= set(volume.spec.access_modes)
        and (selector is None or selector.matches(volume.metadata.labels))
    )
