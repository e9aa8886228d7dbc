"""Services with one failure each, their pods and nodes, and the explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Event, Node, Pod, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.api.networking_v1 import NetworkPolicy
from podling.cli.evidence import Explanation
from podling.cli.services.evidence import ServiceEvidence
from podling.cli.services.explain import explain_service
from tests.support.ailing_pods import NOW

WELL = Explanation(healthy=True, area="none", reason="Ready", text="Nothing is wrong.")
ILL = Explanation(area="crash", reason="CrashLoopBackOff", text="It keeps ending.", advice="Look.")


def service(*ports: dict[str, Any], status: Any = None, **spec: Any) -> Service:
    """Return the Service ``web`` of namespace ``shop``, which selects ``app=web``."""
    plain = {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "10.96.0.7",
            "clusterIPs": ["10.96.0.7"],
            "selector": {"app": "web"},
            "ports": list(ports) or [{"port": 80, "protocol": "TCP", "targetPort": 8080}],
        }
        | spec,
        "status": status or {},
    }
    return msgspec.convert(plain, Service)


def pod(
    name: str = "web-1",
    *,
    ready: bool = True,
    namespace: str = "shop",
    phase: str = "Running",
    labels: dict[str, str] | None = None,
) -> Pod:
    container = {"name": "main", "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]}
    plain = {
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {"app": "web"}},
        "spec": {"nodeName": "one", "containers": [container]},
        "status": {
            "phase": phase,
            "podIP": "10.88.0.5",
            "podIPs": [{"ip": "10.88.0.5"}],
            "conditions": [{"type": "Ready", "status": str(ready)}],
        },
    }
    return msgspec.convert(plain, Pod)


def slice_of(*ready: bool, node: str | None = "one") -> EndpointSlice:
    """Return a slice with an endpoint for each of ``ready``."""
    endpoints = [
        {"addresses": [f"10.88.0.{number}"], "conditions": {"ready": state}, "nodeName": node}
        for number, state in enumerate(ready, 5)
    ]
    plain = {"addressType": "IPv4", "endpoints": endpoints, "ports": [{"port": 8080}]}
    return msgspec.convert(plain, EndpointSlice)


def policy(name: str, **spec: Any) -> NetworkPolicy:
    plain = {"metadata": {"name": name, "namespace": "shop"}, "spec": {"policyTypes": ["Ingress"]} | spec}
    return msgspec.convert(plain, NetworkPolicy)


def deployment(replicas: int = 2) -> Deployment:
    template = {"metadata": {"labels": {"app": "web"}}}
    spec = {"replicas": replicas, "template": template, "selector": {}}
    return msgspec.convert({"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}, Deployment)


def event(reason: str, message: str) -> Event:
    plain = {
        "reason": reason,
        "message": message,
        "lastTimestamp": "2026-01-01T11:59:30Z",
        "involvedObject": {},
    }
    return msgspec.convert(plain, Event)


NODES = tuple(msgspec.convert({"metadata": {"name": name}}, Node) for name in ("one", "two"))


def ask(
    about: Service | None = None, pods: Sequence[Pod] = (), slices: Sequence[EndpointSlice] = (), **facts: Any
) -> Explanation:
    """Explain a Service; pods that are not Ready have the explanation ``ILL``."""
    found = about or service()
    selector = found.spec.selector
    selected = [
        (each, WELL if each.status.conditions[0].status == "True" else ILL)
        for each in pods
        if selector and each.metadata.namespace == "shop" and selector.items() <= each.metadata.labels.items()
    ]
    facts.setdefault("nodes", NODES[:1])
    facts.setdefault("ranges", ("10.96.0.0/12",))
    evidence = ServiceEvidence(found, NOW, slices=slices, selected=selected, pods=pods, **facts)
    return explain_service(evidence)
