"""ImageListPullJobs: they keep an ImagePullJob for each image, until all of these have ended.

Upstream: ``pkg/controller/imagelistpulljob``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import structs

from podling import clock
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import Children
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.workloads.pod_control import slow_start
from podling.machinery.errors import ApiError, unless_gone
from podling_kruise.imagelistpull.list_rules import (
    actions_of,
    by_image,
    hash_of,
    new_job,
    seconds_to_deletion,
    status_of,
)
from podling_kruise.imagelistpull.types import ImageListPullJob
from podling_kruise.imagepull.types import ImagePullJob
from podling_kruise.names import REVISION_HASH


class ImageListPullJobController(Controller):
    """One key for each ImageListPullJob."""

    name: ClassVar[str] = "imagelistpulljob-controller"
    workers: ClassVar[int] = 3

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        informers = context.informers
        self._lists = informers.informer(ImageListPullJob)
        self._lists.add_handler(self.enqueue, self.enqueue_new)
        self._jobs: Children[ImageListPullJob, ImagePullJob] = Children(
            context.client, self._lists, informers.informer(ImagePullJob), self.queue, lambda owner: None
        )
        self._recorder = context.recorder(self.name)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        owner = self._lists.get(key)
        if owner is None or owner.metadata.deletion_timestamp is not None:
            return AwaitChange()
        digest = hash_of(owner.spec)
        if owner.metadata.labels.get(REVISION_HASH) != digest:
            await self._set_hash(owner, digest)
            return AwaitChange()
        if owner.status.completion_time is not None:
            return await self._delete_when_old(owner)
        if not self._jobs.settled(key):
            return AwaitChange()
        jobs = by_image(self._jobs.owned(owner))
        status = status_of(owner, jobs, clock.now())
        actions = actions_of(owner, jobs, digest)
        await self._create(owner, actions.create, digest)
        await self._delete(owner, actions.delete)
        if status != owner.status:
            await self.write_status(structs.replace(owner, status=status))
        return AwaitChange()

    async def _set_hash(self, owner: ImageListPullJob, digest: str) -> None:
        metadata = owner.metadata
        patch = {"metadata": {"uid": metadata.uid, "labels": {REVISION_HASH: digest}}}
        with unless_gone():
            await self.client.patch(ImageListPullJob, metadata.name or "", patch, metadata.namespace)

    async def _create(self, owner: ImageListPullJob, images: Sequence[str], digest: str) -> None:
        """Create ImagePullJobs. Raises the first failure."""

        async def create(number: int) -> None:
            made = await self.client.create(new_job(owner, images[number], digest))
            self._jobs.wrote(key_of(owner), made)

        failure = await slow_start(len(images), create)
        if failure is None:
            if images:
                self._event(owner, "Successful create ImagePullJob", f"Create {len(images)} ImagePullJob")
            return
        if isinstance(failure, ApiError) and not is_namespace_terminating(failure):
            text = f"Error creating ImagePullJob: {failure}"
            self._recorder.event(owner, "Warning", "FailedCreate", text)
        raise failure

    async def _delete(self, owner: ImageListPullJob, jobs: Sequence[ImagePullJob]) -> None:
        for job in jobs:
            metadata = job.metadata
            with unless_gone():
                uid = metadata.uid or ""
                await self.client.delete(ImagePullJob, metadata.name or "", metadata.namespace, uid=uid)
            self._jobs.deleted(key_of(owner), job)
        if jobs:
            self._event(owner, "Successful delete ImagePullJob", f"Delete {len(jobs)} ImagePullJob")

    def _event(self, owner: ImageListPullJob, reason: str, text: str) -> None:
        self._recorder.event(owner, "Normal", reason, text)

    async def _delete_when_old(self, owner: ImageListPullJob) -> RequeueAfter | AwaitChange:
        left = seconds_to_deletion(owner, clock.now())
        if left is None or left > 0:
            return AwaitChange() if left is None else RequeueAfter(left)
        metadata = owner.metadata
        with unless_gone():
            await self.client.delete(
                ImageListPullJob,
                metadata.name or "",
                metadata.namespace,
                uid=metadata.uid or "",
                propagation="Background",
            )
        return AwaitChange()
