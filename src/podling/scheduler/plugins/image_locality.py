"""ImageLocality: a node that already has the pod's images starts it sooner.

An image counts with its size, less where few nodes have it: otherwise a popular image would gather all of
its pods on the first node that pulled it.
"""

from __future__ import annotations

import numpy as np

from podling.scheduler.cache import Cache
from podling.scheduler.framework import SCORE_MAX, Plugin, Scores
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.podfacts import PodFacts

MEBIBYTE = 1024 * 1024
THRESHOLD_MIN = 23 * MEBIBYTE
THRESHOLD_MAX_PER_CONTAINER = 1000 * MEBIBYTE


class ImageLocality(Plugin):
    name = "ImageLocality"

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        """Score by the images present; None where no node has any of them."""
        names = [
            with_tag(container.image or "") for container in (*pod.spec.init_containers, *pod.spec.containers)
        ]
        if not any(cache.image_rows(name) for name in names):
            return None
        sums = np.zeros(cache.capacity, np.int64)
        nodes = max(len(cache.rows), 1)
        for name in names:
            having = cache.image_rows(name)
            for row, size in having.items():
                sums[row] += int(size * (len(having) / nodes))
        highest = THRESHOLD_MAX_PER_CONTAINER * max(len(names), 1)
        clipped = np.clip(sums[rows], THRESHOLD_MIN, highest)
        return SCORE_MAX * (clipped - THRESHOLD_MIN) // (highest - THRESHOLD_MIN)


def with_tag(image: str) -> str:
    """Return the image's name as nodes report it: without a tag it means ``latest``."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
