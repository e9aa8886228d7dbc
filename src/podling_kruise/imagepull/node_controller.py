"""Pulls the images of the node's NodeImage, and reports there. Upstream: ``pkg/daemon/imagepuller``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar

from msgspec import structs

from podling import clock
from podling.api.core_v1 import Secret
from podling.client.base import Key
from podling.client.informer import Informer
from podling.client.runner import AwaitChange, RequeueAfter
from podling.clock import seconds_precision
from podling.kubelet.node_controllers import NodeContext, NodeController, PullFailed
from podling.kubelet.node_controllers import NodeImage as Found
from podling.machinery.durations import go_duration
from podling.machinery.errors import ApiError, is_conflict, is_not_found
from podling_kruise.imagepull.job_rules import TIMEOUT_SECONDS, TRIES
from podling_kruise.imagepull.node_rules import DEADLINE, with_tag_status, work_left
from podling_kruise.imagepull.references import full_reference
from podling_kruise.imagepull.types import (
    ALWAYS,
    FAILED,
    PULLING,
    SUCCEEDED,
    NodeImage,
    PullPolicy,
    SecretReference,
    TagSpec,
    TagStatus,
)

STEP_SECONDS, STEP_SECONDS_MAX = 1.0, 30.0
"""The waits between tries."""


class ImagePullNodeController(NodeController):
    """One key for each image and tag: ``Key(NAME, TAG)``. A run pulls, and ends with the last try."""

    name: ClassVar[str] = "kruise-daemon-imagepuller"
    workers: ClassVar[int] = 10
    backoff_seconds_max: ClassVar[float] = 50.0

    def __init__(self, context: NodeContext) -> None:
        super().__init__(context)
        self._images = context.images
        self._node = context.node_name
        self._recorder = context.recorder(self.name)
        self._wanted: Informer[NodeImage] = Informer(
            context.client, NodeImage, field_selector=f"metadata.name={context.node_name}"
        )
        self._wanted.add_handler(self._offer, lambda _, new: self._offer(new))

    def _offer(self, image: NodeImage) -> None:
        for name, spec in image.spec.images.items():
            for each in spec.tags:
                if work_left(image, name, each.tag) is not None:
                    self.queue.add(Key(name, each.tag))

    def informers(self) -> Iterator[Informer[Any]]:
        yield self._wanted

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        image = await self._fresh()
        wanted = work_left(image, key.namespace, key.name) if image is not None else None
        if image is None or wanted is None:
            return AwaitChange()
        began = clock.now()
        begun = TagStatus(
            tag=wanted.tag, phase=PULLING, start_time=seconds_precision(began), version=wanted.version
        )
        await self._report(key, begun)
        secrets = await self._secrets(image.spec.images[key.namespace].pull_secrets)
        try:
            found = await self._pull(key, wanted, secrets, began)
        except PullFailed as error:
            await self._end(image, key, wanted, structs.replace(begun, phase=FAILED, message=str(error)))
            return AwaitChange()
        held = f"{key.namespace}@{found.id}"
        await self._end(
            image, key, wanted, structs.replace(begun, phase=SUCCEEDED, progress=100, image_id=held)
        )
        return AwaitChange()

    async def _pull(self, key: Key, wanted: TagSpec, secrets: Sequence[Secret], began: datetime) -> Found:
        """Return the image after at most so many tries. Raises ``PullFailed``."""
        policy = wanted.pull_policy or PullPolicy()
        limit = TRIES if policy.backoff_limit is None or policy.backoff_limit < 0 else policy.backoff_limit
        seconds = TIMEOUT_SECONDS if policy.timeout_seconds is None else policy.timeout_seconds
        reference, step = full_reference(key.namespace, key.name), STEP_SECONDS
        failure = PullFailed(DEADLINE)
        for _ in range(limit + 1):
            left = _seconds_left(policy, began)
            if left is not None and left <= 0:
                raise PullFailed(DEADLINE)
            if self._is_over(key, wanted):
                raise PullFailed(f"pulling image {reference} is stopped")
            try:
                async with clock.timeout(seconds if left is None else min(seconds, left)):
                    return await self._once(reference, wanted, secrets)
            except TimeoutError:
                failure = PullFailed(f"pulling image {reference} is canceled")
            except PullFailed as error:
                failure = error
            await clock.sleep(step)
            step = min(2 * step, STEP_SECONDS_MAX)
        raise failure

    async def _once(self, reference: str, wanted: TagSpec, secrets: Sequence[Secret]) -> Found:
        if wanted.image_pull_policy != ALWAYS:
            found = await self._images.find(reference)
            if found is not None:
                return found
        return await self._images.pull(reference, secrets)

    def _is_over(self, key: Key, wanted: TagSpec) -> bool:
        """Return whether the tag is not wanted any more, or in another version."""
        image = self._wanted.get(Key("", self._node))
        found = work_left(image, key.namespace, key.name) if image is not None else None
        return found is None or found.version != wanted.version

    async def _end(self, image: NodeImage, key: Key, wanted: TagSpec, status: TagStatus) -> None:
        now = clock.now()
        await self._report(key, structs.replace(status, completion_time=seconds_precision(now)))
        head = f"Image {key.namespace}:{key.name}"
        if status.phase == SUCCEEDED:
            took = (now - (status.start_time or now)).total_seconds()
            text = f"{head}, ecalpsedTime {go_duration(max(took, 0.0))}"
            self._recorder.event(image, "Normal", "PullImageSucceed", text)
            return
        text = f"{head} {status.message}"
        for owner in wanted.owner_references:
            self._recorder.event(owner, "Warning", "PullImageFailed", text)
        self._recorder.event(image, "Warning", "PullImageFailed", text)

    async def _report(self, key: Key, status: TagStatus) -> None:
        """Write the status of one tag; other tags are reported by other runs at the same time."""
        while (image := await self._fresh()) is not None:
            spec = image.spec.images.get(key.namespace)
            versions = {each.tag: each.version for each in spec.tags} if spec is not None else {}
            if versions.get(key.name) != status.version:
                return
            try:
                changed = with_tag_status(image, key.namespace, status)
                await self.client.update(changed, subresource="status")
                return
            except ApiError as error:
                if not is_conflict(error):
                    raise

    async def _fresh(self) -> NodeImage | None:
        try:
            return await self.client.get(NodeImage, self._node)
        except ApiError as error:
            if is_not_found(error):
                return None
            raise

    async def _secrets(self, references: Sequence[SecretReference]) -> list[Secret]:
        """Return the secrets that are there; the registry decides about a pull without the others."""
        found = []
        for each in references:
            try:
                found.append(await self.client.get(Secret, each.name, each.namespace))
            except ApiError as error:
                if not is_not_found(error):
                    raise
        return found


def _seconds_left(policy: PullPolicy, began: datetime) -> float | None:
    if policy.active_deadline_seconds is None:
        return None
    end = began + timedelta(seconds=policy.active_deadline_seconds)
    return (end - clock.now()) / timedelta(seconds=1)
