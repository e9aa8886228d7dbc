"""Mirror pods: the API's read-only copies of a node's static pods.

The API cannot change a static pod; it holds a mirror of it, owned by the node, with the static pod's hash.
A mirror that is missing or has an older hash is created anew. A mirror whose static pod has ended or does
not exist is deleted (``pkg/kubelet/pod/mirror_client.go``, ``HandlePodCleanups``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from podling import clock
from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import Client, Key, Unreachable, key_of
from podling.client.informer import Informer
from podling.kubelet.pods.static_pods import HASH_ANNOTATION
from podling.machinery.errors import ApiError, is_already_exists, is_not_found
from podling.machinery.pods import MIRROR_ANNOTATION, is_mirror

logger = logging.getLogger(__name__)

MIRRORS = "mirrors"
"""The informer's index of mirror pods, and its only value."""
RETRY_SECONDS = 1.0


def mirror_of(pod: Pod, node: Node) -> Pod:
    """Return the mirror pod of a static pod."""
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


def mirrors(mirror: Pod, pod: Pod) -> bool:
    """Return whether ``mirror`` is the mirror of exactly this static pod, and not being deleted."""
    return (
        is_mirror(mirror)
        and mirror.metadata.annotations[MIRROR_ANNOTATION] == pod.metadata.annotations[HASH_ANNOTATION]
        and mirror.metadata.deletion_timestamp is None
    )


class MirrorPods:
    """Keeps the mirror pods of one node: those of its static pods, and no others.

    Args:
        pods: the API's pods of the node.
        static: the static pods that the node is to run, None until they are known.
        running: the static pods that it runs; a mirror stays until its pod has ended.
        node: the node as the API holds it.
    """

    def __init__(
        self,
        client: Client,
        pods: Informer[Pod],
        static: Callable[[], Iterable[Pod] | None],
        running: Callable[[], Iterable[Pod]],
        node: Callable[[], Node],
    ) -> None:
        self._client = client
        self._pods = pods
        self._static = static
        self._running = running
        self._node = node
        self._changed = asyncio.Event()
        pods.add_indexer(MIRRORS, _mirrors)
        pods.add_handler(self._saw, lambda _, new: self._saw(new), self._saw)

    def changed(self) -> None:
        """Request a comparison: static pods came or went."""
        self._changed.set()

    def _saw(self, pod: Pod) -> None:
        if is_mirror(pod):
            self._changed.set()

    async def run(self) -> None:
        """Compare after every change, and every second until all mirrors are right."""
        await self._pods.synced()
        while True:
            self._changed.clear()
            settled = await self._compare()
            await clock.wait_for(self._changed, None if settled else RETRY_SECONDS)

    async def _compare(self) -> bool:
        """Create and delete mirrors; return whether none was missing or too many."""
        static = self._static()
        if static is None:
            return False
        wanted = {key_of(pod): pod for pod in static}
        ending = {key_of(pod) for pod in self._running() if not _is_wanted(pod, wanted)}
        settled = not ending
        for mirror in self._pods.by_index(MIRRORS, MIRRORS):
            key = key_of(mirror)
            if key not in ending and not (key in wanted and mirrors(mirror, wanted[key])):
                await self._delete(mirror)
                settled = False
        for key, pod in wanted.items():
            found = self._pods.get(key)
            if key in ending or (found is not None and mirrors(found, pod)):
                continue
            settled = False
            if found is None or is_mirror(found):
                await self._create(mirror_of(pod, self._node()))
        return settled

    async def _create(self, mirror: Pod) -> None:
        try:
            await self._client.create(mirror)
        except (ApiError, Unreachable) as error:
            if not is_already_exists(error):
                logger.warning("mirror pod %s cannot be created: %s", mirror.metadata.name, error)

    async def _delete(self, mirror: Pod) -> None:
        metadata = mirror.metadata
        try:
            await self._client.delete(
                Pod, metadata.name or "", metadata.namespace, grace_seconds=0, uid=metadata.uid or ""
            )
        except (ApiError, Unreachable) as error:
            if not is_not_found(error):
                logger.warning("mirror pod %s cannot be deleted: %s", metadata.name, error)


def _is_wanted(pod: Pod, wanted: Mapping[Key, Pod]) -> bool:
    found = wanted.get(key_of(pod))
    return found is not None and found.metadata.uid == pod.metadata.uid


def _mirrors(pod: Pod) -> tuple[str, ...]:
    return (MIRRORS,) if is_mirror(pod) else ()
