"""Removing the images that no container uses, when the disk runs short. Pinned images stay."""

from __future__ import annotations

import logging
from collections.abc import Collection

from podling.runtime.failures import ImageFailure, RuntimeFailure
from podling.runtime.image_service import ImageService

logger = logging.getLogger(__name__)


async def collect_images(images: ImageService, used: Collection[str]) -> int:
    """Remove every image that is not in use; returns how many bytes that should have freed."""
    freed = 0
    for image in await images.list_images():
        if image.id in used or image.pinned:
            continue
        try:
            for name in image.tags or image.digests or (image.id,):
                await images.remove_image(name)
        except (ImageFailure, RuntimeFailure) as error:
            logger.warning("image %s could not be removed: %s", image.id, error)
            continue
        freed += image.size_bytes
    return freed
