"""Deletion of nodes that leave: a node may not delete its own object, but may request it.

A node that deletes its object and registers again loses what administrators have put on it to hold it back:
taints, and labels that nodes may not set. So a request is granted where there is nothing of that kind, and
else an administrator deletes the node.
"""

from __future__ import annotations

from typing import ClassVar

from podling.api.core_v1 import Node
from podling.client.base import Key
from podling.client.runner import AwaitChange
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import ApiError, is_conflict, is_not_found

ANNOTATION = "podling.dev/leaves"
"""The annotation with which a node requests its deletion."""
OWN_TAINTS = "node.kubernetes.io/"
"""The prefix of taints that the cluster's controllers set and remove."""
RESTRICTED_DOMAIN = "node-restriction.kubernetes.io"


def restraint(node: Node) -> str:
    """Return what holds a node back that its deletion would remove; empty without any. Pure."""
    for taint in node.spec.taints:
        if not taint.key.startswith(OWN_TAINTS):
            return f"taint {taint.key}"
    for label in sorted(node.metadata.labels):
        domain = label.partition("/")[0]
        if domain == RESTRICTED_DOMAIN or domain.endswith(f".{RESTRICTED_DOMAIN}"):
            return f"label {label}"
    return ""


class NodeLeaveController(Controller):
    """The keys are nodes."""

    name: ClassVar[str] = "node-leave-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._nodes = context.informers.informer(Node)
        self._nodes.add_handler(self._look, lambda old, new: self._look(new))

    def _look(self, node: Node) -> None:
        if ANNOTATION in node.metadata.annotations:
            self.enqueue(node)

    async def reconcile(self, key: Key) -> AwaitChange:
        node = self._nodes.get(key)
        if node is None or ANNOTATION not in node.metadata.annotations or restraint(node):
            return AwaitChange()
        metadata = node.metadata
        try:
            await self.client.delete(
                Node, key.name, uid=metadata.uid or "", resource_version=metadata.resource_version or ""
            )
        except ApiError as error:
            if not is_not_found(error) and not is_conflict(error):  # a changed node comes again
                raise
        return AwaitChange()
