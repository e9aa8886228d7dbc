"""Finding who is at the other end of a persistent volume claim: pods that use it, volumes, and back."""

from __future__ import annotations

from collections.abc import Iterable

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod
from podling.client.informer import Informer

BY_CLAIM = "claim"
BY_VOLUME = "volume"


def claims_used(pod: Pod) -> Iterable[str]:
    """Yield the claims behind the pod's volumes, named and ephemeral ones, as ``<namespace>/<name>``."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield f"{pod.metadata.namespace}/{volume.persistent_volume_claim.claim_name}"
        elif volume.ephemeral is not None:
            yield f"{pod.metadata.namespace}/{pod.metadata.name}-{volume.name}"


def index_pods_by_claim(pods: Informer[Pod]) -> None:
    """Make ``pods.by_index(BY_CLAIM, "<namespace>/<claim>")`` work."""
    pods.add_indexer(BY_CLAIM, claims_used)


def index_volumes_by_claim(volumes: Informer[PersistentVolume]) -> None:
    """Make ``volumes.by_index(BY_CLAIM, "<namespace>/<claim>")`` find the volumes that name the claim."""
    volumes.add_indexer(BY_CLAIM, _claim_named)


def index_claims_by_volume(claims: Informer[PersistentVolumeClaim]) -> None:
    """Make ``claims.by_index(BY_VOLUME, "<volume>")`` find the claims that name the volume."""
    claims.add_indexer(BY_VOLUME, _volume_named)


def _claim_named(volume: PersistentVolume) -> Iterable[str]:
    ref = volume.spec.claim_ref
    return (f"{ref.namespace}/{ref.name}",) if ref is not None else ()


def _volume_named(claim: PersistentVolumeClaim) -> Iterable[str]:
    return (claim.spec.volume_name,) if claim.spec.volume_name else ()
