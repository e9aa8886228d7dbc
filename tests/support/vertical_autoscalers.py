"""Autoscalers and pods for the tests of ``podling_vpa``."""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import Pod
from podling.client.requests import SYSTEM, Target, WriteOptions
from podling.machinery.encoding import codec
from podling.testing import memory_cluster
from podling_vpa.extension import VpaExtension
from podling_vpa.types import Recommendation, VerticalPodAutoscaler

LABELS = {"app": "web"}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u-1", "controller": True}


def amounts(cpu: str = "", memory: str = "") -> dict[str, str]:
    """Return those of the amounts that are given."""
    return {name: text for name, text in (("cpu", cpu), ("memory", memory)) if text}


def container(name: str = "app", requests: Any = None, limits: Any = None) -> dict[str, Any]:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"name": name, "image": "app:1", "resources": resources}


def pod(*containers: dict[str, Any], name: str = "web-1-a", owner: Any = OWNER, **metadata: Any) -> Pod:
    """Return a running pod of a ReplicaSet; keywords are further fields of its metadata."""
    owners = [owner] if owner else []
    head = {"name": name, "namespace": "default", "labels": LABELS, "ownerReferences": owners, **metadata}
    spec = {"containers": list(containers) or [container()], "nodeName": "node-1"}
    plain = {"metadata": head, "spec": spec, "status": {"phase": "Running"}}
    return codec.from_plain(plain, Pod)


def recommended(
    name: str = "app", target: Any = None, lower: Any = None, upper: Any = None
) -> dict[str, Any]:
    """Return a recommendation for one container, as plain data."""
    found = {"containerName": name, "target": target or {}, "uncappedTarget": target or {}}
    return {**found, "lowerBound": lower or {}, "upperBound": upper or {}}


def recommendation(*containers: dict[str, Any]) -> Recommendation:
    return codec.from_plain({"containerRecommendations": list(containers)}, Recommendation)


def manifest(mode: str = "Recreate", *policies: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return an autoscaler of the Deployment ``web``."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    made: dict[str, Any] = {"targetRef": target, "updatePolicy": {"updateMode": mode}, **spec}
    if policies:
        made["resourcePolicy"] = {"containerPolicies": list(policies)}
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": made,
    }


def autoscaler(
    found: Recommendation | None = None, *policies: dict[str, Any], mode: str = "Recreate", **spec: Any
) -> VerticalPodAutoscaler:
    """Return an autoscaler with a recommendation in its status."""
    plain = manifest(mode, *policies, **spec)
    if found is not None:
        plain["status"] = {"recommendation": codec.to_plain(found)}
    return codec.from_plain(plain, VerticalPodAutoscaler)


async def create(plain: dict[str, Any], **gates: bool) -> tuple[VerticalPodAutoscaler, list[str]]:
    """Create an autoscaler as a client of HTTP does; return it and the warnings."""
    async with memory_cluster(extensions=[VpaExtension(gates)]) as plane:
        found = plane.server.catalogue.by_path("autoscaling.k8s.io", "v1", "verticalpodautoscalers")
        assert found is not None
        obj, warnings = codec.convert(plain, found.type, "Strict")
        options = WriteOptions(field_validation="Strict", warnings=warnings)
        stored = await plane.backend.create(Target(found, "default"), SYSTEM, obj, options)
        return codec.from_plain(stored.plain(), VerticalPodAutoscaler), options.warnings
