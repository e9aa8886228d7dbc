"""The sizes of the running containers' writable layers, measured in bounded time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path

from podling.files.trees import TreeMeter, TreeSize

logger = logging.getLogger(__name__)


class LayerSizes:
    """Meters of layers by container. Measuring may be called from several threads."""

    def __init__(self) -> None:
        self._meters: dict[str, TreeMeter] = {}
        self._measuring = threading.Lock()

    def measure(self, layers: Mapping[str, Path]) -> dict[str, TreeSize]:
        """Return the use of the disk by each of ``layers``; the meters of all others are dropped.

        A layer that cannot be read counts as nothing, and keeps no other from being measured.
        """
        with self._measuring:
            self._meters = {name: self._meters.get(name) or TreeMeter(path) for name, path in layers.items()}
            return {name: _measured(meter) for name, meter in self._meters.items()}


def _measured(meter: TreeMeter) -> TreeSize:
    try:
        return meter.measure()
    except OSError as error:
        logger.warning("a writable layer cannot be measured: %s", error)
        return TreeSize()
