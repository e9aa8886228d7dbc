"""PodUnavailableBudgets of OpenKruise, and pods without a node that they protect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling.api.apps_v1 import ReplicaSet
from podling.api.core_v1 import Pod
from podling.api.meta_v1 import OwnerReference
from podling.client.typed_kinds import TypedClient
from podling.controllers.owner_references import controller_reference
from podling.machinery.encoding import codec
from podling_kruise.podunavailablebudget.types import PodUnavailableBudget, PodUnavailableBudgetStatus

LABELS = {"app": "web"}
SELECTOR = {"matchLabels": LABELS}
READY = {
    "phase": "Running",
    "conditions": [{"type": each, "status": "True"} for each in ("Ready", "ContainersReady")],
}


def budget(version: str = "v1beta1", name: str = "web", **spec: Any) -> dict[str, Any]:
    """Return a budget of pods ``app: web``, one of which may be unavailable; its spec by name."""
    made = {"selector": SELECTOR, "maxUnavailable": 1, **spec}
    return {
        "apiVersion": f"policy.kruise.io/{version}",
        "kind": "PodUnavailableBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {key: value for key, value in made.items() if value is not None},
    }


async def owner_of(client: TypedClient, replicas: int, name: str = "web") -> OwnerReference:
    """Create a replica set without a controller, and return the reference to it."""
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
    spec = {"replicas": replicas, "selector": SELECTOR, "template": template}
    plain = {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
    return controller_reference(await client.create(codec.from_plain(plain, ReplicaSet)))


async def ready_pod(
    client: TypedClient,
    name: str,
    *,
    owner: OwnerReference | None = None,
    labels: Mapping[str, str] = LABELS,
    annotations: Mapping[str, str] | None = None,
    status: Mapping[str, Any] = READY,
    **spec: Any,
) -> Pod:
    """Create a pod and let it be ready, without a node."""
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "labels": dict(labels)}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    if owner is not None:
        metadata["ownerReferences"] = [codec.to_plain(owner)]
    inner = {"containers": [{"name": "main", "image": "web:1"}], **spec}
    plain = {"metadata": metadata, "spec": {"nodeName": "nowhere", **inner}}
    await client.create(codec.from_plain(plain, Pod))
    return await client.patch(Pod, name, {"status": dict(status)}, "default", subresource="status")


async def status_of(client: TypedClient, name: str = "web") -> PodUnavailableBudgetStatus:
    return (await client.get(PodUnavailableBudget, name, "default")).status


async def numbers_of(client: TypedClient, name: str = "web") -> tuple[int, int, int, int]:
    """Return the allowed, the current, the desired and the total number of a budget's status."""
    found = await status_of(client, name)
    return (
        found.unavailable_allowed,
        found.current_available,
        found.desired_available,
        found.total_replicas,
    )
