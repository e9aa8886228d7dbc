"""A node's way out of its cluster: its pods move elsewhere, as budgets allow, and its object is deleted.

Everything is done with the node's own rights. Upstream: ``kubectl drain`` (``k8s.io/kubectl/pkg/drain``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podling import clock
from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import DeleteOptions, ObjectMeta
from podling.api.policy_v1 import Eviction
from podling.client.base import Client
from podling.controllers.nodes.node_leave import ANNOTATION, restraint
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.pods import is_mirror, is_terminal

LOOK_SECONDS = 0.2
RETRY_SECONDS = 1.0
"""The wait after a budget has refused an eviction (kubectl: 5 s)."""
DELETED_SECONDS = 10.0
"""The time that the deletion of the node's object may take."""
TOO_MANY_REQUESTS = 429


class CannotLeave(Exception):
    """The node stays; the text says why."""


def to_evict(pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods that leave before their node does. Pure.

    The pods of DaemonSets would come back, static pods belong to the machine, and those that have ended keep
    nothing running.
    """
    return [
        pod
        for pod in pods
        if not is_mirror(pod)
        and not is_terminal(pod)
        and not any(each.kind == "DaemonSet" and each.controller for each in pod.metadata.owner_references)
    ]


async def drain(client: Client, node: str, seconds: float) -> int:
    """Let no new pods in, evict those that are there, and wait for their end. Return their number.

    Raises ``CannotLeave`` after ``seconds``, ``ApiError`` and ``Unreachable``.
    """
    await client.patch(Node, node, {"spec": {"unschedulable": True}})
    deadline = clock.monotonic() + seconds
    gone: set[str] = set()
    refused = ""
    while left := to_evict(await own_pods(client, node)):
        for pod in left:
            gone.add(pod.metadata.uid or "")
            if pod.metadata.deletion_timestamp is None:
                refused = await _evict(client, pod) or refused
        if clock.monotonic() >= deadline:
            raise CannotLeave(_remaining(left, refused))
        await clock.sleep(RETRY_SECONDS if refused else LOOK_SECONDS)
        refused = ""
    return len(gone)


def _remaining(left: Sequence[Pod], refused: str) -> str:
    names = ", ".join(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in left)
    why = f" ({refused})" if refused else ""
    return (
        f"these pods have not ended: {names}{why}; the node takes no new ones. Wait longer with --timeout, "
        "or end them here with --force"
    )


async def _evict(client: Client, pod: Pod) -> str:
    """Evict a pod; return why a budget refuses it."""
    metadata = pod.metadata
    body = Eviction(
        metadata=ObjectMeta(name=metadata.name, namespace=metadata.namespace), delete_options=DeleteOptions()
    )
    try:
        await client.create_subresource(Pod, metadata.name or "", "eviction", body, metadata.namespace)
    except ApiError as error:
        if error.code == TOO_MANY_REQUESTS:
            return str(error)
        if not is_not_found(error):
            raise
    return ""


async def own_pods(client: Client, node: str) -> Sequence[Pod]:
    """Return the pods of a node."""
    return (await client.list(Pod, field_selector=f"spec.nodeName={node}")).items


async def remove(client: Client, node: str) -> str:
    """Delete what is left of the pods of a node without containers, and request the deletion of the node.

    Return why it is not deleted; empty if it is.
    """
    for pod in await own_pods(client, node):
        try:
            await client.delete(Pod, pod.metadata.name or "", pod.metadata.namespace, grace_seconds=0)
        except ApiError as error:
            if not is_not_found(error):
                raise
    try:
        found = await client.patch(Node, node, {"metadata": {"annotations": {ANNOTATION: "true"}}})
        if held := restraint(found):
            return f"an administrator has given it the {held}"
        deadline = clock.monotonic() + DELETED_SECONDS
        while clock.monotonic() < deadline:
            await client.get(Node, node)
            await clock.sleep(LOOK_SECONDS)
    except ApiError as error:
        if is_not_found(error):
            return ""
        raise
    return "node-leave-controller has not deleted it"
