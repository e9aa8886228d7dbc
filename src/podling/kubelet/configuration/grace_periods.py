"""The grace periods of pods at a node's shutdown, as files and ``KubeletConfig`` hold them. Pure."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from podling.api.markers import INT32
from podling.kubelet.configuration.names import json_name


class PriorityGracePeriod(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    """An item of ``shutdownGracePeriodByPodPriority``."""

    priority: Annotated[int, INT32] = 0
    shutdown_grace_period_seconds: int = 0
