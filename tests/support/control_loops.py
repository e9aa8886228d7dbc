"""Controllers beside a real API server in memory, and the objects that their tests need."""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import (
    Binding,
    Container,
    Event,
    Node,
    NodeCondition,
    ObjectReference,
    Pod,
    PodCondition,
    PodSpec,
)
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client
from podling.testing import running

__all__ = ["add_node", "heartbeat", "make_ready", "pod", "running", "set_phase", "told"]


def pod(
    name: str,
    namespace: str = "default",
    *,
    node: str = "",
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> Pod:
    """Return a pod with one container; ``spec`` are further fields of its spec."""
    spec.setdefault("containers", (Container(name="main", image="busybox"),))
    return Pod(
        metadata=ObjectMeta(name=name, namespace=namespace, labels=labels or {}),
        spec=PodSpec(node_name=node, **spec),
    )


async def set_phase(client: Client, name: str, phase: str, *, ready: bool = False, **status: Any) -> Pod:
    """Write a pod's phase as a kubelet would."""
    condition = PodCondition(type="Ready", status="True" if ready else "False")
    plain = {"type": condition.type, "status": condition.status}
    patch = {"status": {"phase": phase, "conditions": [plain], **status}}
    return await client.patch(Pod, name, patch, "default", subresource="status")


async def make_ready(client: Client, namespace: str = "default") -> None:
    """Make every running pod ready now, as kubelets would."""
    from podling import clock

    for each in (await client.list(Pod, namespace)).items:
        if each.metadata.deletion_timestamp is None and each.status.phase in (None, "Pending"):
            ready = {
                "type": "Ready",
                "status": "True",
                "lastTransitionTime": clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
            patch = {"status": {"phase": "Running", "conditions": [ready]}}
            await client.patch(Pod, each.metadata.name or "", patch, namespace, subresource="status")


async def bind_pod(client: Client, pod: Pod, node: str) -> None:
    """Bind a pod to a node, as the scheduler does; without effect for one that is bound."""
    if not pod.spec.node_name:
        name = pod.metadata.name or ""
        binding = Binding(metadata=ObjectMeta(name=name), target=ObjectReference(kind="Node", name=node))
        await client.create_subresource(Pod, name, "binding", binding, pod.metadata.namespace)


async def add_node(client: Client, name: str, *, ready: str = "True", **labels: str) -> Node:
    """Create a node whose kubelet has reported once; a ready one no longer has the taint of new nodes."""
    node = await client.create(Node(metadata=ObjectMeta(name=name, labels=labels)))
    if ready == "True":
        await client.patch(Node, name, {"spec": {"taints": None}})
    return await heartbeat(client, node.metadata.name or "", ready=ready)


async def heartbeat(client: Client, name: str, *, ready: str = "True") -> Node:
    """Write a node's Ready condition with a new heartbeat, as a kubelet does."""
    from msgspec import structs

    from podling import clock

    node = await client.get(Node, name)
    condition = NodeCondition(
        type="Ready", status=ready, reason="KubeletReady", last_heartbeat_time=clock.now()
    )
    status = structs.replace(node.status, conditions=(condition,))
    return await client.update(structs.replace(node, status=status), subresource="status")


async def told(client: Client, namespace: str = "default") -> list[str]:
    """Return every event of a namespace as ``<type> <reason> <object>: <message>``, in the order of names."""
    events = (await client.list(Event, namespace)).items
    return [
        f"{event.type} {event.reason} {event.involved_object.name}: {event.message}"
        for event in sorted(events, key=_moment)
    ]


def _moment(event: Event) -> tuple[int, str]:
    name, _, moment = (event.metadata.name or "").rpartition(".")
    return int(moment, 16), name
