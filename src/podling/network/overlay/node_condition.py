"""The node's condition ``NetworkUnavailable``: whether its pods reach those of other nodes.

While it is True, the node lifecycle controller taints the node with
``node.kubernetes.io/network-unavailable``, and no new pods come. The kubelet registers the node with it; this
module ends it. Reasons are those of Kubernetes' route controller (``cloud-provider/controllers/route``), the
messages of problems our own.
"""

from __future__ import annotations

import logging
from datetime import datetime

import msgspec

from podling import clock
from podling.api.core_v1 import Node, NodeCondition
from podling.client.base import Client, PatchType, Unreachable
from podling.machinery.conditions import find
from podling.machinery.errors import ApiError

logger = logging.getLogger(__name__)

TYPE = "NetworkUnavailable"
READY = "RouteCreated"
READY_MESSAGE = "RouteController created a route"
NOT_READY = "NoRouteCreated"


def condition_for(node: Node, problem: str, now: datetime) -> NodeCondition | None:
    """Return the condition that the node should have; None if it has it already. Pure."""
    before = find(node.status.conditions, TYPE)
    status, reason, message = ("True", NOT_READY, problem) if problem else ("False", READY, READY_MESSAGE)
    if before is not None and (before.status, before.reason, before.message) == (status, reason, message):
        return None
    unchanged = before is not None and before.status == status
    return NodeCondition(
        type=TYPE,
        status=status,
        reason=reason,
        message=message,
        last_heartbeat_time=now,
        last_transition_time=before.last_transition_time if before is not None and unchanged else now,
    )


def is_registered(node: Node) -> bool:
    """Return whether the kubelet has reported the node's status once. Pure.

    Before that, a write of ours would conflict with its own.
    """
    return find(node.status.conditions, "Ready") is not None


class NetworkCondition:
    """Writes the condition."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def write(self, node: Node | None, problem: str) -> None:
        """Write the condition if it changed. A failed write is repeated with the next change of the node."""
        if node is None or not is_registered(node):
            return
        wanted = condition_for(node, problem, clock.now())
        if wanted is None:
            return
        patch = {"status": {"conditions": [msgspec.to_builtins(wanted)]}}
        try:
            await self._client.patch(
                Node,
                node.metadata.name or "",
                patch,
                patch_type=PatchType.STRATEGIC,
                subresource="status",
            )
        except (ApiError, Unreachable) as error:
            logger.warning("the node's condition %s could not be written: %s", TYPE, error)
