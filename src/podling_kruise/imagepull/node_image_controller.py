"""NodeImages beside their nodes: creation, labels, tags that are over, nodes that do not respond.

Upstream: ``pkg/controller/nodeimage``.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import structs

from podling import clock
from podling.api.core_v1 import Node, ObjectReference
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import unless_gone
from podling_kruise.imagepull.node_rules import (
    remaining_spec,
    seconds_to_creation,
    silences,
    with_tag_status,
)
from podling_kruise.imagepull.types import ImagePullJob, NodeImage


class NodeImageController(Controller):
    """One key for each node."""

    name: ClassVar[str] = "nodeimage-controller"
    workers: ClassVar[int] = 3

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._nodes = context.informers.informer(Node)
        self._nodes.add_handler(self.enqueue, self._of_changed_node, self.enqueue)
        self._images = context.informers.informer(NodeImage)
        self._images.add_handler(self.enqueue, self.enqueue_new, self.enqueue)
        self._jobs = context.informers.informer(ImagePullJob)
        self._jobs.add_handler(None, None, self._of_deleted_job)
        self._recorder = context.recorder(self.name)

    def _of_changed_node(self, old: Node, new: Node) -> None:
        if (
            old.metadata.labels != new.metadata.labels
            or self._images.get(Key("", new.metadata.name or "")) is None
        ):
            self.enqueue(new)

    def _of_deleted_job(self, job: ImagePullJob) -> None:
        for image in self._images.values():
            self.enqueue(image)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        node, image, now = self._nodes.get(key), self._images.get(key), clock.now()
        if node is None or node.metadata.deletion_timestamp is not None:
            if image is not None:
                with unless_gone():
                    await self.client.delete(NodeImage, key.name, uid=image.metadata.uid or "")
            return AwaitChange()
        if image is None:
            wait = seconds_to_creation(node, now)
            if wait is None or wait > 0:
                return AwaitChange() if wait is None else RequeueAfter(wait)
            metadata = ObjectMeta(name=key.name, labels=node.metadata.labels)
            await self.client.create(NodeImage(metadata=metadata))
            return AwaitChange()
        spec, next_end = remaining_spec(image, self._has_job, now)
        metadata = structs.replace(image.metadata, labels=node.metadata.labels)
        changed = structs.replace(image, metadata=metadata, spec=spec)
        if changed != image:
            await self.client.update(changed)
            return AwaitChange()
        next_silence = await self._fail_silent(image)
        waits = [each for each in (next_end, next_silence) if each is not None]
        return RequeueAfter(min(waits)) if waits else AwaitChange()

    async def _fail_silent(self, image: NodeImage) -> float | None:
        """Fail the tags that the node has not seen to; return the time to the next look."""
        found, wait = silences(image, clock.now())
        changed = image
        for each in found:
            changed = with_tag_status(changed, each.name, each.status)
            where = f"on node {image.metadata.name} for {each.status.message}"
            text = f"Failed to pull image {each.reference} {where}"
            for owner in each.owners:
                self._recorder.event(owner, "Warning", "PullImageFailed", text)
            self._recorder.event(image, "Warning", "PullImageFailed", text)
        if changed is not image:
            await self.client.update(changed, subresource="status")
        return wait

    def _has_job(self, owner: ObjectReference) -> bool:
        if owner.kind != "ImagePullJob":
            return True
        job = self._jobs.get(Key(owner.namespace or "", owner.name or ""))
        return job is not None and job.metadata.uid == owner.uid
