"""Makes sure that the images a pod needs are on the node before its containers start.

Images of containers and images mounted as volumes are treated alike: pull policies, the queue of pulls (one
at a time unless configured otherwise), and the back-off after failures, kept per pod and image. Every
outcome is an event with Kubernetes' text. A failure is a ``StartFailure`` with the container's waiting
reason (``pkg/kubelet/images``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from podling import clock
from podling.api.core_v1 import Container, Pod, Secret
from podling.kubelet.backoff import RESET_AFTER, BackoffEntry, BackoffPolicy, next_entry
from podling.kubelet.containers.credentials import Keyring
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.failures import StartFailure
from podling.kubelet.pod_spec import field_path
from podling.machinery.durations import go_duration
from podling.runtime.failures import ImageFailure
from podling.runtime.image_service import Credentials, Image

BACKOFF_SHOWN_AFTER_SECONDS = 1.0
"""The delay after a failed pull before the container is synced again, to show its back-off."""


class ImageUnavailable(StartFailure):
    """The image is not on the node. ``retry_at``: the time of another try, on the steady clock."""

    def __init__(self, reason: str, message: str, retry_at: datetime | None = None) -> None:
        super().__init__(reason, message)
        self.retry_at = retry_at


class _Failed(Struct, frozen=True):
    entry: BackoffEntry
    message: str


def with_default_tag(image: str) -> str:
    """Return ``image`` with ``:latest`` if it names neither tag nor digest."""
    last = image.rpartition("/")[2]
    return image if ":" in last or "@" in last else f"{image}:latest"


def pull_policy(image: str, stated: str | None) -> str:
    """Return the policy in force: the stated one, else Always for ``latest`` and IfNotPresent otherwise."""
    return stated or ("Always" if with_default_tag(image).endswith(":latest") else "IfNotPresent")


class Wanted(Struct, frozen=True):
    """An image that a pod needs. ``path`` is the field that its events name; empty: the whole pod."""

    reference: str
    policy: str
    path: str = ""

    @classmethod
    def by_container(cls, pod: Pod, container: Container) -> Wanted:
        image = container.image or ""
        path = field_path(pod.spec, container.name)
        return cls(image, pull_policy(image, container.image_pull_policy), path)

    @classmethod
    def by_volumes(cls, pod: Pod) -> dict[str, Wanted]:
        """Return the images that the pod mounts as volumes, by volume."""
        return {
            volume.name: cls(reference, pull_policy(reference, volume.image.pull_policy))
            for volume in pod.spec.volumes
            if volume.image is not None and (reference := volume.image.reference or "")
        }


class ImageManager:
    """The images of one node's pods."""

    def __init__(self, deps: KubeletDeps) -> None:
        self._deps = deps
        self._keyring = Keyring(deps)
        self._policy = BackoffPolicy()
        self._failed: dict[tuple[str, str], _Failed] = {}
        config = deps.config
        places = 1 if config.serialize_image_pulls else config.max_parallel_image_pulls
        self._places = asyncio.Semaphore(places) if places > 0 else None

    async def ensure(self, pod: Pod, wanted: Wanted) -> Image:
        """Return the image, pulled if the policy says so. Raises ``ImageUnavailable``.

        An image that was loaded here (``podling image load``) is never pulled from a registry, not even with
        policy ``Always``. This differs from Kubernetes, where ``Always`` makes such images useless.
        """
        name = with_default_tag(wanted.reference)
        image = await self._inspect(pod, wanted, name)
        if image is not None and (wanted.policy != "Always" or image.local):
            there = "already present on machine and can be accessed by the pod"
            text = f'Container image "{wanted.reference}" {there}'
            self._record_event(pod, wanted, "Normal", "Pulled", text)
            return image
        if wanted.policy == "Never":
            message = f'Container image "{wanted.reference}" is not present with pull policy of Never'
            self._record_event(pod, wanted, "Warning", "ErrImageNeverPull", message)
            raise ImageUnavailable("ErrImageNeverPull", message)
        self._check_backoff(pod, wanted, name)
        return await self._pull(pod, wanted, name)

    async def _inspect(self, pod: Pod, wanted: Wanted, name: str) -> Image | None:
        try:
            return await self._deps.runtime.images.image_status(name)
        except ImageFailure as error:
            if error.reason == "InvalidImageName":
                message = f'Failed to apply default image tag "{wanted.reference}": {error}'
                self._record_event(pod, wanted, "Warning", "InspectFailed", message)
                raise ImageUnavailable("InvalidImageName", message) from error
            message = f'Failed to inspect image "{wanted.reference}": {error}'
            self._record_event(pod, wanted, "Warning", "InspectFailed", message)
            raise ImageUnavailable("ImageInspectError", message) from error

    def _check_backoff(self, pod: Pod, wanted: Wanted, name: str) -> None:
        failed = self._failed.get((pod.metadata.uid or "", name))
        if failed is None:
            return
        now = clock.steady_now()
        since = now - failed.entry.last_update
        if since > RESET_AFTER or since >= timedelta(seconds=failed.entry.seconds):
            return
        self._record_event(pod, wanted, "Normal", "BackOff", f'Back-off pulling image "{wanted.reference}"')
        raise ImageUnavailable(
            "ImagePullBackOff",
            f'Back-off pulling image "{wanted.reference}": ErrImagePull: {failed.message}',
            failed.entry.last_update + timedelta(seconds=failed.entry.seconds),
        )

    async def _pull(self, pod: Pod, wanted: Wanted, name: str) -> Image:
        credentials = await self._keyring.credentials(pod, name)
        self._record_event(pod, wanted, "Normal", "Pulling", f'Pulling image "{wanted.reference}"')
        queued = clock.monotonic()
        key = (pod.metadata.uid or "", name)
        try:
            began, image = await self._pull_in_turn(name, credentials)
        except ImageFailure as error:
            now = clock.steady_now()
            old = self._failed.get(key)
            entry = next_entry(old.entry if old else None, now, now, self._policy)
            self._failed[key] = _Failed(entry, str(error))
            message = f'Failed to pull image "{wanted.reference}": {error}'
            self._record_event(pod, wanted, "Warning", "Failed", message)
            soon = now + timedelta(seconds=BACKOFF_SHOWN_AFTER_SECONDS)
            raise ImageUnavailable(error.reason, str(error), soon) from error
        self._failed.pop(key, None)
        done = clock.monotonic()
        self._record_event(
            pod,
            wanted,
            "Normal",
            "Pulled",
            f'Successfully pulled image "{wanted.reference}" in {go_duration(done - began)} '
            f"({go_duration(done - queued)} including waiting). Image size: {image.size_bytes} bytes.",
        )
        return image

    async def _pull_in_turn(self, name: str, credentials: Sequence[Credentials]) -> tuple[float, Image]:
        """Pull when it is this pull's turn; return when that was, and the image. Raises ``ImageFailure``."""
        if self._places is None:
            began = clock.monotonic()
            return began, await self._deps.runtime.images.pull(name, credentials)
        async with self._places:
            began = clock.monotonic()
            return began, await self._deps.runtime.images.pull(name, credentials)

    async def find(self, name: str) -> Image | None:
        """Return an image of the node, for no pod. Raises ``ImageFailure``."""
        return await self._deps.runtime.images.image_status(with_default_tag(name))

    async def pull(self, name: str, secrets: Sequence[Secret]) -> Image:
        """Pull an image for no pod, without a policy and without a back-off. Raises ``ImageFailure``."""
        full = with_default_tag(name)
        _, image = await self._pull_in_turn(full, await self._keyring.credentials_in(secrets, full))
        return image

    def forget(self, pod_uid: str) -> None:
        """Drop the back-offs of a pod that is gone."""
        for key in [key for key in self._failed if key[0] == pod_uid]:
            del self._failed[key]

    def _record_event(self, pod: Pod, wanted: Wanted, type_: str, reason: str, message: str) -> None:
        self._deps.recorder.event(pod, type_, reason, message, field_path=wanted.path)
