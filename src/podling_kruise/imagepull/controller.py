"""ImagePullJobs: they write their image into NodeImages, a few at a time, until all nodes have ended.

Upstream: ``pkg/controller/imagepulljob``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import structs

from podling import clock, ids
from podling.api.core_v1 import Pod
from podling.client.base import Key
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import unless_gone
from podling_kruise.imagepull.job_rules import (
    next_nodes,
    nodes_of,
    progress_of,
    seconds_to_deadline,
    seconds_to_deletion,
    status_of,
    with_image,
)
from podling_kruise.imagepull.pull_secrets import PullSecrets
from podling_kruise.imagepull.types import ImagePullJob, NodeImage, SecretReference

FINALIZER = "apps.kruise.io/deletion-protection"


class ImagePullJobController(Controller):
    """One key for each job."""

    name: ClassVar[str] = "imagepulljob-controller"
    workers: ClassVar[int] = 3

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._jobs = context.informers.informer(ImagePullJob)
        self._jobs.add_handler(self.enqueue, self.enqueue_new)
        self._images = context.informers.informer(NodeImage)
        self._images.add_handler(self._of_image, lambda _, new: self._of_image(new), self._of_image)
        self._pods = context.informers.informer(Pod)
        self._pods.add_handler(self._of_pod, self._of_changed_pod, self._of_pod)
        self._secrets = PullSecrets(context.client)

    def _of_image(self, image: NodeImage) -> None:
        for job in self._jobs.values():
            if job.status.completion_time is None:
                self.enqueue(job)

    def _of_pod(self, pod: Pod) -> None:
        for job in self._jobs.values():
            ours = job.spec.pod_selector is not None and job.metadata.namespace == pod.metadata.namespace
            if ours and job.status.completion_time is None:
                self.enqueue(job)

    def _of_changed_pod(self, old: Pod, new: Pod) -> None:
        before, after = ((each.spec.node_name, each.metadata.labels) for each in (old, new))
        if before != after:
            self._of_pod(new)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        job = self._jobs.get(key)
        if job is None:
            return AwaitChange()
        if job.metadata.deletion_timestamp is not None or job.status.completion_time is not None:
            return await self._ended(job)
        if FINALIZER not in job.metadata.finalizers:
            await self._set_finalizer(job, wanted=True)
            return AwaitChange()
        now = clock.now()
        pods = [each for each in self._pods.values() if each.metadata.namespace == key.namespace]
        images = nodes_of(job, self._images.values(), pods)
        secrets = await self._secrets.claim(job)
        progress = progress_of(job, images, secrets)
        status = status_of(job, progress, len(images), now)
        if status.completion_time is None:
            for name in next_nodes(job, progress):
                await self._begin(job, name, secrets)
        if status != job.status:
            await self.write_status(structs.replace(job, status=status))
        left = seconds_to_deadline(job, status.start_time or now, now)
        return AwaitChange() if left is None else RequeueAfter(max(left, 0.0))

    async def _begin(self, job: ImagePullJob, node: str, secrets: Sequence[SecretReference]) -> None:
        """Write the image into one NodeImage, as it is stored now. A conflict is tried again."""
        with unless_gone():
            image = await self.client.get(NodeImage, node)
            changed = with_image(image, job, secrets, clock.now(), ids.uniform(0, 1))
            if changed != image:
                await self.client.update(changed)

    async def _ended(self, job: ImagePullJob) -> RequeueAfter | AwaitChange:
        metadata = job.metadata
        if FINALIZER in metadata.finalizers:
            await self._secrets.release(job)
            await self._set_finalizer(job, wanted=False)
        if metadata.deletion_timestamp is not None:
            return AwaitChange()
        left = seconds_to_deletion(job, clock.now())
        if left is None or left > 0:
            return AwaitChange() if left is None else RequeueAfter(left)
        with unless_gone():
            uid = metadata.uid or ""
            await self.client.delete(ImagePullJob, metadata.name or "", metadata.namespace, uid=uid)
        return AwaitChange()

    async def _set_finalizer(self, job: ImagePullJob, *, wanted: bool) -> None:
        metadata = job.metadata
        others = [each for each in metadata.finalizers if each != FINALIZER]
        patch: dict[str, Any] = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
        patch["finalizers"] = [*others, FINALIZER] if wanted else others
        with unless_gone():
            await self.client.patch(
                ImagePullJob, metadata.name or "", {"metadata": patch}, metadata.namespace
            )
