"""Image garbage collection: removes unused images to keep the disk free.

Every five minutes, if the disk use is above the high threshold, unused images are removed until it
should be at the low one, those unused for longest first. Images that have been unused for longer than the
maximum age, if there is one, are removed in any case. An image younger than the minimum age stays, for a
container may be about to use it. A node under disk pressure removes all unused images at once
(``pkg/kubelet/images/image_gc_manager.go``).

Images that were loaded here by hand (``podling image load``) are removed only under disk pressure.
Kubernetes does not know the difference, but no registry could bring them back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from podling import clock
from podling.api.core_v1 import Node, Pod
from podling.kubelet.containers.images import Wanted, with_default_tag
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.node.node_pressure import Observation
from podling.kubelet.node.node_usage import node_left
from podling.kubelet.rounds import Rounds
from podling.runtime.changes import Changes
from podling.runtime.failures import ImageFailure, RuntimeFailure
from podling.runtime.image_service import Image

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 300.0
IMAGE_DISK = "imagefs.available"


class GCFailure(Exception):
    """Images were not removed as needed. The text is for the node's event."""


class ImageTimes(Struct, frozen=True):
    """Times of an image. ``None``: before the kubelet started, or never."""

    detected: datetime | None = None
    used: datetime | None = None


def update_times(
    known: Mapping[str, ImageTimes],
    images: Iterable[Image],
    used: Collection[str],
    now: datetime,
    *,
    first: bool = False,
) -> dict[str, ImageTimes]:
    """Return the images' times after one more listing. ``first``: they were here before the kubelet."""
    fresh = ImageTimes(None if first else now)
    seen = {image.id: known.get(image.id, fresh) for image in images}
    return {id_: ImageTimes(old.detected, now) if id_ in used else old for id_, old in seen.items()}


def removable_images(
    images: Iterable[Image], seen: Mapping[str, ImageTimes], now: datetime, minimum_age: timedelta
) -> list[Image]:
    """Return the images that may be removed, those unused for longest first."""

    def order(image: Image) -> tuple[float, float]:
        found = seen[image.id]
        return _moment(found.used), _moment(found.detected)

    candidates = [
        image
        for image in images
        if not image.pinned
        and seen[image.id].used != now
        and now.timestamp() - _moment(seen[image.id].detected) >= minimum_age.total_seconds()
    ]
    return sorted(candidates, key=order)


def _moment(moment: datetime | None) -> float:
    return moment.timestamp() if moment is not None else 0.0


def bytes_to_free(disk: Observation, high_percent: int, low_percent: int) -> int:
    """Return the bytes to free if the disk use is above the high threshold, else 0."""
    available = min(disk.available, disk.capacity)
    if 100 - available * 100 // disk.capacity < high_percent:
        return 0
    return disk.capacity * (100 - low_percent) // 100 - available


class ImageCollector:
    """Removes images of one node.

    Args:
        pods: returns the pods on the node.
        changes: notes that a pod has come or gone, or the node has changed.
    """

    def __init__(
        self,
        deps: KubeletDeps,
        pods: Callable[[], Iterable[Pod]],
        node: Callable[[], Node],
        changes: Changes,
    ) -> None:
        self._deps = deps
        self._pods = pods
        self._node = node
        self._seen: dict[str, ImageTimes] = {}
        self._rounds = Rounds(INTERVAL_SECONDS, deps, changes)

    async def run(self) -> None:
        """Keep the disk free until cancelled."""
        config = self._deps.config
        if config.image_gc_high_threshold_percent == 100 and not config.image_maximum_gc_age:
            return
        began = clock.now()
        failed = False
        try:
            await self._candidates(began, first=True)
        except RuntimeFailure as error:
            logger.warning("the node's images could not be listed: %s", error)
        settled = False
        with self._rounds.follow():
            while True:
                await self._rounds.next(settled=settled)
                try:
                    settled = await self._collect(began)
                except (GCFailure, RuntimeFailure, ImageFailure, OSError) as error:
                    logger.warning("images could not be collected: %s", error)
                    if failed:
                        # One failure may be chance: Kubernetes sends an event from the second one on.
                        self._warn("ImageGCFailed", str(error))
                    failed, settled = True, False
                else:
                    failed = False

    async def remove_unused(self) -> int:
        """Remove all unused images; return the bytes that this should have freed."""
        candidates = await self._candidates(clock.now())
        return sum([image.size_bytes for image in candidates if not await self._remove(image)])

    async def _collect(self, began: datetime) -> bool:
        """Remove the images that are to go; return whether another round would find nothing else to do.

        Raises ``GCFailure``, ``RuntimeFailure``, ``ImageFailure``.
        """
        config, now = self._deps.config, clock.now()
        candidates = [
            image for image in await self._candidates(now) if not await self._is_loaded_locally(image)
        ]
        oldest = timedelta(seconds=config.image_maximum_gc_age)
        if oldest and now - began > oldest:
            old = [image for image in candidates if self._unused_since(image) < (now - oldest).timestamp()]
            candidates = [image for image in candidates if image not in old]
            for image in old:
                await self._remove(image)
        disk = (await node_left(self._deps, self._node())).get(IMAGE_DISK)
        if disk is None or disk.capacity == 0:
            text = "invalid capacity 0 on image filesystem"
            self._warn("InvalidDiskCapacity", text)
            raise GCFailure(text)
        high, low = config.image_gc_high_threshold_percent, config.image_gc_low_threshold_percent
        wanted = bytes_to_free(disk, high, low)
        if wanted > 0:
            await self._free(candidates, wanted)
        return wanted <= 0 and not oldest

    async def _free(self, candidates: Iterable[Image], wanted: int) -> None:
        """Remove images until ``wanted`` bytes should be free. Raises ``GCFailure`` if they are not."""
        freed = 0
        errors: list[str] = []
        for image in candidates:
            error = await self._remove(image)
            errors += [error] if error else []
            freed += 0 if error else image.size_bytes
            if freed >= wanted:
                break
        if errors:
            why = ", ".join(errors)
            text = f"wanted to free {wanted} bytes, but freed {freed} bytes space"
            raise GCFailure(f"{text} with errors in image deletion: {why}")
        if freed < wanted:
            text = (
                "Failed to garbage collect required amount of images. "
                f"Attempted to free {wanted} bytes, but only found {freed} bytes eligible to free."
            )
            self._warn("FreeDiskSpaceFailed", text)
            raise GCFailure(text)

    async def _candidates(self, now: datetime, *, first: bool = False) -> list[Image]:
        """List images and those in use; return the images that may be removed, in order."""
        images = await self._deps.runtime.images.list_images()
        used = await self._used_images() | {image.id for image in images if image.in_use}
        self._seen = update_times(self._seen, images, used, now, first=first)
        minimum = timedelta(seconds=self._deps.config.image_minimum_gc_age)
        return removable_images(images, self._seen, now, minimum)

    async def _used_images(self) -> set[str]:
        """Return the images of all containers, ended ones included, and of image volumes."""
        runtime = self._deps.runtime
        used = {container.image_id for container in await runtime.list_containers()}
        for pod in self._pods():
            for wanted in Wanted.by_volumes(pod).values():
                image = await runtime.images.image_status(with_default_tag(wanted.reference))
                used |= {image.id} if image is not None else set()
        return used

    def _unused_since(self, image: Image) -> float:
        return _moment(self._seen[image.id].used)

    async def _is_loaded_locally(self, image: Image) -> bool:
        images = self._deps.runtime.images
        found = [await images.image_status(name) for name in image.tags]
        return any(status is not None and status.local for status in found)

    async def _remove(self, image: Image) -> str:
        """Remove an image with all its names; return the error's text, empty after success."""
        logger.info("removing image %s to free %d bytes", image.id, image.size_bytes)
        try:
            for name in image.tags or image.digests or (image.id,):
                await self._deps.runtime.images.remove_image(name)
        except (ImageFailure, RuntimeFailure) as error:
            logger.warning("image %s could not be removed: %s", image.id, error)
            return str(error)
        self._seen.pop(image.id, None)
        return ""

    def _warn(self, reason: str, text: str) -> None:
        self._deps.recorder.event(self._node(), "Warning", reason, text)
