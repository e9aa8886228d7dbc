"""Writes of ImagePullJobs for the updates of workloads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podling.api.apps_v1 import ControllerRevision
from podling.client.base import ApiObject, Client, Unreachable, key_of
from podling.client.events import EventRecorder
from podling.client.informer import Informer
from podling.controllers.base import ControllerContext
from podling.controllers.children import BY_CONTROLLER, Children, controller_index
from podling.machinery.errors import ApiError, is_already_exists, unless_gone
from podling_kruise.imagepull.types import ImagePullJob
from podling_kruise.names import PREDOWNLOAD_CREATED, PREDOWNLOAD_IGNORED
from podling_kruise.predownload.download_plan import Download, is_decided, pull_job

CREATED, FAILED = "CreatedImagePullJob", "FailedCreateImagePullJob"


class Downloads:
    """Begins and ends the downloads of one kind of workload.

    Args:
        revisions: the revisions of these workloads.
        is_on: the feature gate; without it nothing is watched or written.
    """

    def __init__(
        self,
        context: ControllerContext,
        recorder: EventRecorder,
        revisions: Children[Any, ControllerRevision],
        *,
        is_on: bool,
    ) -> None:
        self._client: Client = context.client
        self._recorder, self._revisions = recorder, revisions
        self._jobs: Informer[ImagePullJob] | None = None
        if is_on:
            self._jobs = context.informers.informer(ImagePullJob)
            self._jobs.add_indexer(BY_CONTROLLER, controller_index)

    async def sync(
        self,
        owner: ApiObject,
        target: ControllerRevision,
        decide: Callable[[], Download | None],
        *,
        is_over: bool,
    ) -> None:
        """Begin the downloads of a revision once, or delete the jobs of an update that is over.

        Args:
            decide: returns the downloads; None if it is too early for them.
        """
        if self._jobs is None:
            return
        if is_over:
            for job in self._jobs.by_index(BY_CONTROLLER, owner.metadata.uid or ""):
                if job.metadata.deletion_timestamp is None:
                    await self._delete(job)
        elif not is_decided(target) and (plan := decide()) is not None:
            for container in plan.images:
                await self._create(owner, pull_job(owner, target.metadata.name or "", container, plan))
            await self._mark(owner, target, PREDOWNLOAD_IGNORED if plan.is_left_out else PREDOWNLOAD_CREATED)

    async def _create(self, owner: ApiObject, job: ImagePullJob) -> None:
        """Create a job. A refusal is an event: the update goes on without the download."""
        name = job.metadata.name
        try:
            await self._client.create(job)
        except (ApiError, Unreachable) as error:
            if not (isinstance(error, ApiError) and is_already_exists(error)):
                text = f"failed to create ImagePullJob {name}: {error}"
                self._recorder.event(owner, "Normal", FAILED, text)
            return
        text = f"created ImagePullJob {name} for image: {job.spec.image}"
        self._recorder.event(owner, "Normal", CREATED, text)

    async def _mark(self, owner: ApiObject, revision: ControllerRevision, label: str) -> None:
        metadata = revision.metadata
        patch = {"metadata": {"uid": metadata.uid, "labels": {label: "true"}}}
        with unless_gone():
            written = await self._client.patch(
                ControllerRevision, metadata.name or "", patch, metadata.namespace
            )
            self._revisions.wrote(key_of(owner), written)

    async def _delete(self, job: ImagePullJob) -> None:
        metadata = job.metadata
        with unless_gone():
            await self._client.delete(
                ImagePullJob,
                metadata.name or "",
                metadata.namespace,
                uid=metadata.uid or "",
                propagation="Background",
            )
