"""Finding the pods that use a persistent volume claim."""

from __future__ import annotations

from collections.abc import Iterable

from podling.api.core_v1 import Pod
from podling.client.informer import Informer

BY_CLAIM = "claim"


def claims_used(pod: Pod) -> Iterable[str]:
    """The claims behind the pod's volumes, named and ephemeral ones, as ``<namespace>/<name>``."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield f"{pod.metadata.namespace}/{volume.persistent_volume_claim.claim_name}"
        elif volume.ephemeral is not None:
            yield f"{pod.metadata.namespace}/{pod.metadata.name}-{volume.name}"


def index_pods_by_claim(pods: Informer[Pod]) -> None:
    """Make ``pods.by_index(BY_CLAIM, "<namespace>/<claim>")`` work."""
    pods.add_indexer(BY_CLAIM, claims_used)
