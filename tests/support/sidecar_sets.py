"""SidecarSets, and objects of other custom kinds, beside an API server in memory with OpenKruise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling.api.core_v1 import Pod
from podling.client.requests import SYSTEM, Target, WriteOptions
from podling.machinery.encoding import codec
from podling_kruise.sidecarset.types import SidecarSet
from tests.support.clone_sets import Kruise
from tests.support.kubelet_node import NODE

LABELS = {"app": "web"}


async def create(kruise: Kruise, plain: Mapping[str, Any], field_validation: str = "Strict") -> list[str]:
    """Create an object of a custom kind as a client of HTTP does; return the warnings."""
    group, _, version = plain["apiVersion"].partition("/")
    plural = f"{plain['kind'].lower()}s"
    resource = kruise.plane.server.catalogue.by_path(group, version, plural)
    assert resource is not None
    obj, warnings = codec.convert(dict(plain), resource.type, field_validation)
    options = WriteOptions(field_validation=field_validation, warnings=warnings)
    namespace = plain["metadata"].get("namespace", "")
    await kruise.plane.backend.create(Target(resource, namespace), SYSTEM, obj, options)
    return options.warnings


def sidecar_set(name: str = "sidecars", *, version: str = "v1beta1", **spec: Any) -> dict[str, Any]:
    """Return a SidecarSet with the container ``agent``; further fields of its spec by name."""
    made = {
        "selector": {"matchLabels": LABELS},
        "containers": [{"name": "agent", "image": "agent:1"}],
        **spec,
    }
    return {
        "apiVersion": f"apps.kruise.io/{version}",
        "kind": "SidecarSet",
        "metadata": {"name": name},
        "spec": {key: value for key, value in made.items() if value is not None},
    }


def pod(name: str = "web", *, node: str = "", labels: Mapping[str, str] = LABELS, **spec: Any) -> Pod:
    """Return a pod with the container ``main``."""
    inner = {"containers": [{"name": "main", "image": "web:1"}], **spec}
    if node:
        inner["nodeName"] = node
    metadata = {"name": name, "namespace": "default", "labels": dict(labels)}
    return codec.from_plain({"metadata": metadata, "spec": inner}, Pod)


async def run_pods(kruise: Kruise, count: int = 1, **spec: Any) -> list[Pod]:
    """Create pods on the simulated node, and wait until they run."""
    for number in range(count):
        await kruise.client.create(pod(f"web-{number}", node=NODE, **spec))
    await kruise.wait()
    return await kruise.pods()


async def get_set(kruise: Kruise, name: str = "sidecars") -> SidecarSet:
    return await kruise.client.get(SidecarSet, name)


async def change_set(kruise: Kruise, name: str = "sidecars", **spec: Any) -> None:
    await kruise.client.patch(SidecarSet, name, {"spec": spec})


def images(pod: Pod) -> dict[str, str]:
    return {each.name: each.image for each in pod.spec.containers}


def names(pod: Pod) -> list[str]:
    return [each.name for each in pod.spec.containers]
