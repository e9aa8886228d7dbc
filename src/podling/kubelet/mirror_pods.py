"""Mirror pods: what the API shows of a node's static pods.

The API cannot change a static pod; it holds a picture of it, owned by the node, with the static pod's
hash. A picture that is missing or of an older hash is made anew; one whose static pod is gone is removed
(``pkg/kubelet/pod/mirror_client.go``).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import Client, Unreachable
from podling.kubelet.static_pods import HASH_ANNOTATION
from podling.machinery.errors import ApiError, is_already_exists, is_not_found
from podling.machinery.pods import MIRROR_ANNOTATION, is_mirror

logger = logging.getLogger(__name__)


def mirror_of(pod: Pod, node: Node) -> Pod:
    """The picture of a static pod."""
    metadata = pod.metadata
    owner = OwnerReference(
        api_version="v1",
        kind="Node",
        name=node.metadata.name or "",
        uid=node.metadata.uid or "",
        controller=True,
    )
    annotations = {**metadata.annotations, MIRROR_ANNOTATION: metadata.annotations[HASH_ANNOTATION]}
    return Pod(
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            labels=metadata.labels,
            annotations=annotations,
            owner_references=(owner,) if owner.uid else (),
        ),
        spec=pod.spec,
    )


def pictures(pod: Pod, mirror: Pod) -> bool:
    """Whether ``mirror`` is the picture of this very static pod, and to stay."""
    return (
        is_mirror(mirror)
        and mirror.metadata.annotations[MIRROR_ANNOTATION] == pod.metadata.annotations[HASH_ANNOTATION]
        and mirror.metadata.deletion_timestamp is None
    )


class MirrorPods:
    """Keeps one node's pictures true."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def keep(self, static: Mapping[str, Pod], held: Mapping[tuple[str, str], Pod], node: Node) -> None:
        """Make and remove pictures; ``held`` are the API's pods of this node by namespace and name."""
        wanted = {_name(pod): pod for pod in static.values()}
        for name, mirror in held.items():
            if is_mirror(mirror) and not (name in wanted and pictures(wanted[name], mirror)):
                await self._remove(mirror)
        for name, pod in wanted.items():
            found = held.get(name)
            if found is None or (is_mirror(found) and not pictures(pod, found)):
                await self._make(mirror_of(pod, node))

    async def _make(self, mirror: Pod) -> None:
        try:
            await self._client.create(mirror)
        except (ApiError, Unreachable) as error:
            if not is_already_exists(error):
                logger.warning("mirror pod %s cannot be made: %s", mirror.metadata.name, error)

    async def _remove(self, mirror: Pod) -> None:
        metadata = mirror.metadata
        try:
            await self._client.delete(
                Pod, metadata.name or "", metadata.namespace, grace_seconds=0, uid=metadata.uid or ""
            )
        except (ApiError, Unreachable) as error:
            if not is_not_found(error):
                logger.warning("mirror pod %s cannot be removed: %s", metadata.name, error)


def _name(pod: Pod) -> tuple[str, str]:
    return pod.metadata.namespace or "", pod.metadata.name or ""
