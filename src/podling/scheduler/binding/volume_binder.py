"""VolumeBinding's writes: volumes are promised to claims, and the pod waits until its claims are bound.

The volume names the claim, or the claim the node; the binder of volumes and provisioners do the rest. A pod
gets its node once all its claims are bound, so that its kubelet can mount them at once.

Upstream: ``BindPodVolumes`` in ``pkg/scheduler/framework/plugins/volumebinding/binder.go``.
"""

from __future__ import annotations

import numpy as np
from msgspec import structs

from podling import clock
from podling.api.core_v1 import ObjectReference, PersistentVolume, PersistentVolumeClaim
from podling.client.base import Client
from podling.scheduler.cache import Cache
from podling.scheduler.framework import Refused
from podling.scheduler.plugins.volume_binding import SELECTED_NODE, VolumeRules, reach_of
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.volume_plans import is_bound, key_of_claim

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
LOOK_SECONDS_MIN, LOOK_SECONDS_MAX = 0.05, 1.0
"""The interval between two looks at the claims grows between these, in seconds."""


class VolumeBinding(VolumeRules):
    """The plugin with its writes."""

    def takes_time(self, pod: PodFacts, node: str, cache: Cache) -> bool:
        return cache.volume_plans.get(pod.uid) is not None

    async def pre_bind(self, pod: PodFacts, node: str, cache: Cache, client: Client) -> None:
        plan = cache.volume_plans.get(pod.uid)
        if plan is None:
            return
        volumes = [await client.update(promised(volume, claim)) for claim, volume in plan.static]
        claims = [await client.update(with_selected_node(claim, node)) for claim in plan.provisioned]
        deadline = clock.monotonic() + self.args.bind_timeout_seconds
        pause = LOOK_SECONDS_MIN
        keys = [key_of_claim(claim) for claim, _ in plan.static]
        while not _are_bound(pod, node, cache, list(zip(keys, volumes, strict=True)), claims):
            if clock.monotonic() + pause > deadline:
                raise Refused("binding volumes: context deadline exceeded")
            await clock.sleep(pause)
            pause = min(2 * pause, LOOK_SECONDS_MAX)
        cache.volume_plans.drop(pod.uid)


def promised(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return ``volume`` with the reference to its claim."""
    metadata, annotations = claim.metadata, volume.metadata.annotations
    if volume.spec.claim_ref is None:
        annotations = {**annotations, BOUND_BY_CONTROLLER: "yes"}
    reference = ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )
    return structs.replace(
        volume,
        metadata=structs.replace(volume.metadata, annotations=annotations),
        spec=structs.replace(volume.spec, claim_ref=reference),
    )


def with_selected_node(claim: PersistentVolumeClaim, node: str) -> PersistentVolumeClaim:
    """Return ``claim`` with the node for which its volume is to be made."""
    annotations = {**claim.metadata.annotations, SELECTED_NODE: node}
    return structs.replace(claim, metadata=structs.replace(claim.metadata, annotations=annotations))


def _are_bound(
    pod: PodFacts,
    node: str,
    cache: Cache,
    volumes: list[tuple[tuple[str, str], PersistentVolume]],
    claims: list[PersistentVolumeClaim],
) -> bool:
    """Return whether all claims are bound, by what the informers have seen. Raises ``Refused``."""
    if cache.row_of(node) is None:
        raise Refused(f'binding volumes: failed to get node "{node}": node "{node}" not found')
    if cache.pod(pod.uid) is None:
        raise Refused(f'binding volumes: pod does not exist any more: pod "{pod.name}" not found')
    bound = [_is_volume_bound(key, written, node, cache) for key, written in volumes]
    bound += [_is_provisioned(written, node, cache) for written in claims]
    return all(bound)


def _is_volume_bound(key: tuple[str, str], written: PersistentVolume, node: str, cache: Cache) -> bool:
    claim, volume = cache.claims.get(key), cache.volumes.get(written.metadata.name)
    if claim is None or volume is None:
        missing = f"{key[0]}/{key[1]}" if claim is None else written.metadata.name
        raise Refused(f'binding volumes: failed to check binding: could not find "{missing}"')
    if _is_older(volume, written):
        return False
    _check_reach(volume, node, cache)
    if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
        raise Refused(f'binding volumes: ClaimRef got reset for pv "{written.metadata.name}"')
    return is_bound(claim)


def _is_provisioned(written: PersistentVolumeClaim, node: str, cache: Cache) -> bool:
    claim = cache.claims.get(key_of_claim(written))
    if claim is None:
        missing = "/".join(key_of_claim(written))
        raise Refused(f'binding volumes: failed to check provisioning pvc: could not find "{missing}"')
    if _is_older(claim, written):
        return False
    if claim.metadata.annotations.get(SELECTED_NODE) != node:
        # A provisioner that fails takes the annotation away, so that another node is tried.
        raise Refused(f'binding volumes: provisioning failed for PVC "{written.metadata.name}"')
    if claim.spec.volume_name:
        volume = cache.volumes.get(claim.spec.volume_name)
        if volume is None:
            return False  # Not seen yet; the claim of a volume that was deleted is released in the end.
        _check_reach(volume, node, cache)
    return is_bound(claim)


def _check_reach(volume: PersistentVolume, node: str, cache: Cache) -> None:
    """Raise ``Refused`` if the node lost the volume's labels, or the volume was made elsewhere."""
    if not reach_of(volume, cache, np.array([cache.row_of(node)], np.intp)).all():
        name = volume.metadata.name
        raise Refused(
            f'binding volumes: pv "{name}" node affinity doesn\'t match node "{node}": '
            "no matching NodeSelectorTerms"
        )


def _is_older(
    seen: PersistentVolume | PersistentVolumeClaim, written: PersistentVolume | PersistentVolumeClaim
) -> bool:
    return int(seen.metadata.resource_version or 0) < int(written.metadata.resource_version or 0)
