"""The status of an Advanced DaemonSet. Pure. Upstream: ``storeDaemonSetStatus``."""

from __future__ import annotations

from msgspec import structs

from podling.controllers.workloads.daemonset_rules import Counts
from podling_kruise.daemonset.types import DaemonSet, DaemonSetStatus


def status_of(owner: DaemonSet, found: Counts, revision: str, collisions: int) -> DaemonSetStatus:
    """Return the status with the counts. ``revision`` is the hash of the update revision."""
    return structs.replace(
        owner.status,
        observed_generation=owner.metadata.generation or 0,
        desired_number_scheduled=found.desired,
        current_number_scheduled=found.current,
        number_misscheduled=found.misscheduled,
        number_ready=found.ready,
        updated_number_scheduled=found.updated,
        number_available=found.available,
        number_unavailable=max(0, found.desired - found.available),
        collision_count=collisions or None,
        update_revision=revision,
    )
