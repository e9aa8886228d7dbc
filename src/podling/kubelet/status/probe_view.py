"""Verdicts of a pod's probes, by container id, as input of plans and statuses. Pure.

A verdict belongs to one container, not to a name: a restarted container starts without any. A missing
entry means that there is no verdict (yet).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct, field

from podling.api.core_v1 import Container


class ProbeResult(Enum):
    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class ProbeView(Struct, frozen=True):
    """Results that passed their thresholds, by container id."""

    startup: Mapping[str, ProbeResult] = field(default_factory=dict)
    liveness: Mapping[str, ProbeResult] = field(default_factory=dict)
    readiness: Mapping[str, ProbeResult] = field(default_factory=dict)

    def started(self, container: Container, container_id: str) -> bool:
        """Return whether a running container has finished starting up."""
        if container.startup_probe is None:
            return True
        return self.startup.get(container_id) is ProbeResult.SUCCESS

    def ready(self, container: Container, container_id: str) -> bool:
        """Return whether a running container is ready for traffic."""
        if not self.started(container, container_id):
            return False
        if container.readiness_probe is None:
            return True
        return self.readiness.get(container_id) is ProbeResult.SUCCESS

    def failed_liveness(self, container_id: str) -> bool:
        return self.liveness.get(container_id) is ProbeResult.FAILURE

    def failed_startup(self, container_id: str) -> bool:
        return self.startup.get(container_id) is ProbeResult.FAILURE


NO_PROBES = ProbeView()
