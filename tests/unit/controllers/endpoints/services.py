"""A Service, its pods and their node, for tests of endpoints."""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import (
    Container,
    Node,
    Pod,
    PodCondition,
    PodIP,
    PodSpec,
    PodStatus,
    Service,
    ServicePort,
    ServiceSpec,
)
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.endpoints import endpoint_rules as rules


def service(*ports: ServicePort, **spec: Any) -> Service:
    spec.setdefault("selector", {"app": "web"})
    return Service(
        metadata=ObjectMeta(name="web", namespace="default", uid="s1", labels={"team": "a"}),
        spec=ServiceSpec(ports=ports or (ServicePort(port=80, target_port=8080, protocol="TCP"),), **spec),
    )


def running_pod(name: str, ip: str = "10.0.0.1", *, ready: bool = True, **spec: Any) -> Pod:
    spec.setdefault("containers", (Container(name="main"),))
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", uid=name, labels={"app": "web"}),
        spec=PodSpec(node_name="n1", **spec),
        status=PodStatus(
            phase="Running",
            pod_ip=ip,
            pod_ips=(PodIP(ip=ip),),
            conditions=(PodCondition(type="Ready", status=str(ready)),),
        ),
    )


NODES = {"n1": Node(metadata=ObjectMeta(name="n1", labels={rules.ZONE: "a"}))}
