"""The health of a node by its heartbeats, and the conditions of a node without them. Pure.

A sign of life is a *change*: of the Ready condition's heartbeat time, or of the lease's renew time. When it
happened is read from our own clock, never from the node's, so clocks may differ. A node is given up
after a grace period since its last sign, or since its creation without any (``ControllerOptions``).

Upstream: ``tryUpdateNodeHealth`` in ``pkg/controller/nodelifecycle``.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct, structs
from msgspec.structs import replace

from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import Node, NodeCondition
from podling.clock import seconds_precision
from podling.controllers.options import ControllerOptions
from podling.machinery.conditions import find

WATCHED_CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class Health(Struct, frozen=True):
    """A node's heartbeat and lease as last seen, and the time of their last change on our clock."""

    uid: str
    heartbeat: datetime | None
    lease_renewed: datetime | None
    sign_of_life: datetime


def observe(
    health: Health | None, node: Node, lease: Lease | None, now: datetime, renewed_at: datetime | None = None
) -> Health:
    """``health`` after another look at the node and its lease.

    Args:
        renewed_at: the time at which a look would have seen the lease's last renewal; None: now.
    """
    ready = find(node.status.conditions, "Ready")
    heartbeat = ready.last_heartbeat_time if ready else None
    renewed = lease.spec.renew_time if lease else None
    uid = node.metadata.uid or ""
    if health is None or health.uid != uid:
        first = now if ready is not None else min(now, node.metadata.creation_timestamp or now)
        health = Health(uid, heartbeat, None, first)
    elif health.heartbeat != heartbeat:
        health = replace(health, heartbeat=heartbeat, sign_of_life=now)
    if renewed is not None and health.lease_renewed != renewed:
        sign = max(health.sign_of_life, renewed_at or now)
        health = replace(health, lease_renewed=renewed, sign_of_life=sign)
    return health


def is_silent(health: Health, node: Node, now: datetime, options: ControllerOptions) -> bool:
    """Return whether the node's last sign of life is too long ago."""
    return now > silent_after(health, node, options)


def silent_after(health: Health, node: Node, options: ControllerOptions) -> datetime:
    """Return the time after which the node is given up unless it gives another sign of life."""
    ready = find(node.status.conditions, "Ready")
    started, monitored = options.node_startup_grace_period, options.node_monitor_grace_period
    return health.sign_of_life + timedelta(seconds=started if ready is None else monitored)


def silent_conditions(node: Node, now: datetime) -> tuple[NodeCondition, ...]:
    """Return the conditions of a node that fell silent: the same tuple when they say so already."""
    conditions = node.status.conditions
    for type_ in WATCHED_CONDITIONS:
        present = find(conditions, type_)
        if present is None:
            conditions = (*conditions, _never_posted(type_, node, now))
        elif present.status != "Unknown":
            unknown = structs.replace(
                present,
                status="Unknown",
                reason="NodeStatusUnknown",
                message="Kubelet stopped posting node status.",
                last_transition_time=seconds_precision(now),
            )
            conditions = tuple(unknown if each is present else each for each in conditions)
    return conditions


def _never_posted(type_: str, node: Node, now: datetime) -> NodeCondition:
    return NodeCondition(
        type=type_,
        status="Unknown",
        reason="NodeStatusNeverUpdated",
        message="Kubelet never posted node status.",
        last_heartbeat_time=node.metadata.creation_timestamp,
        last_transition_time=seconds_precision(now),
    )
