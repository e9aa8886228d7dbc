"""BroadcastJobs as manifests, and nodes and pods as kubelets would leave them."""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import Node, Pod
from podling.controllers.workloads.daemonset_rules import node_of
from podling.machinery.encoding import codec
from tests.support.clone_sets import Kruise


def job(image: str = "task:1", restart: str = "Never", **spec: Any) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": restart, "containers": [{"name": "main", "image": image}]}}
    return {
        "apiVersion": "apps.kruise.io/v1alpha1",
        "kind": "BroadcastJob",
        "metadata": {"name": "job", "namespace": "default"},
        "spec": {"template": template, **spec},
    }


async def add_node(kruise: Kruise, name: str, **spec: Any) -> None:
    """Create a node without a kubelet: pods for it stay Pending."""
    status = {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}}
    made = codec.from_plain({"metadata": {"name": name}, "spec": spec, "status": status}, Node)
    await kruise.client.create(made)
    held = await kruise.client.get(Node, name)
    await kruise.client.patch(Node, name, {"status": codec.to_plain(made)["status"]}, subresource="status")
    taints = [each for each in codec.to_plain(held.spec).get("taints", []) if "not-ready" not in each["key"]]
    await kruise.client.patch(Node, name, {"spec": {"taints": taints or None}})


async def pods(kruise: Kruise) -> dict[str, Pod]:
    """Return the job's pods by the nodes that they are for."""
    found = (await kruise.client.list(Pod, "default", label_selector="broadcastjob-name=job")).items
    return {node_of(each): each for each in found}


async def finish(kruise: Kruise, node: str, phase: str = "Succeeded") -> None:
    """Let the pod of a node end."""
    pod = (await pods(kruise))[node]
    status = {"status": {"phase": phase}}
    await kruise.client.patch(Pod, pod.metadata.name or "", status, "default", subresource="status")
    await kruise.wait(1)
