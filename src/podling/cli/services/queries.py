"""Collecting what ``podling why service/NAME`` needs to know, over the API and by connections to pods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from podling import clock
from podling.api.apps_v1 import DaemonSet, Deployment, ReplicaSet, StatefulSet
from podling.api.core_v1 import Node, Pod, ReplicationController, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.api.networking_v1 import NetworkPolicy, ServiceCIDR
from podling.cli.common_options import NoAnswer
from podling.cli.evidence import Explanation
from podling.cli.explain_absent import explain_absent_service
from podling.cli.recorded_events import events_of
from podling.cli.services.evidence import PortProbe, ServiceEvidence, target_of
from podling.cli.services.explain import explain_service
from podling.client.base import Client
from podling.client.kubeconfig import Connection
from podling.controllers.endpoints.endpoint_rules import addresses_of, has_endpoints, selects
from podling.controllers.endpoints.slice_rules import SERVICE_NAME
from podling.machinery.pods import is_ready, is_terminal

EXPLAINED_MAX = 5
"""Pods that are not Ready have their own explanation, up to this number."""
PROBED_MAX = 5
"""Pods whose ports are tried."""
MAKERS = (Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController)
SIMULATED = "sim://"
WELL = Explanation(healthy=True, area="none", reason="Ready", text="Nothing is wrong.")

ExplainPod = Callable[[Pod], Awaitable[Explanation]]
ExplainWorkload = Callable[[Any], Awaitable[Explanation]]


async def why_service(
    client: Client,
    name: str,
    namespace: str,
    explain_pod: ExplainPod,
    explain_workload: ExplainWorkload,
    connection: Connection | None,
) -> Explanation:
    """The answer for ``service/name``. Raises ``NoAnswer`` when there is no such Service, ``ApiError``.

    Args:
        connection: the API server, for connections to pods; without it none are made.
    """
    every = (await client.list(Service)).items
    services = {(each.metadata.namespace or "", each.metadata.name or ""): each for each in every}
    service = services.get((namespace, name))
    if service is None:
        raise NoAnswer(explain_absent_service(name, namespace, list(services)))
    pods = (await client.list(Pod)).items
    mine = [
        pod
        for pod in pods
        if has_endpoints(service) and pod.metadata.namespace == namespace and selects(service, pod)
    ]
    nodes = (await client.list(Node)).items
    slices = (await client.list(EndpointSlice, namespace, label_selector=f"{SERVICE_NAME}={name}")).items
    return explain_service(
        ServiceEvidence(
            service=service,
            now=clock.now(),
            slices=slices,
            selected=await _explained(mine, explain_pod),
            pods=pods,
            makers=[] if mine else await _makers(client, service, explain_workload),
            events=await events_of(client, service),
            nodes=nodes,
            policies=(await client.list(NetworkPolicy, namespace)).items,
            probes=await _probes(connection, service, mine, nodes) if connection is not None else (),
            ranges=await _ranges(client),
            services=services,
        )
    )


async def _explained(pods: Iterable[Pod], explain_pod: ExplainPod) -> list[tuple[Pod, Explanation]]:
    answers, count = [], 0
    for pod in pods:
        ill = not is_ready(pod) and not is_terminal(pod) and count < EXPLAINED_MAX
        count += ill
        answers.append((pod, await explain_pod(pod) if ill else WELL))
    return answers


async def _makers(
    client: Client, service: Service, explain_workload: ExplainWorkload
) -> list[tuple[Any, Explanation]]:
    """Return the workloads whose template has the labels that the Service selects."""
    selector = service.spec.selector
    found: list[tuple[Any, Explanation]] = []
    for kind in MAKERS if selector else ():
        each: Any
        for each in (await client.list(kind, service.metadata.namespace)).items:
            template = getattr(each.spec, "template", None)
            labels = template.metadata.labels if template is not None else {}
            owned = any(ref.controller for ref in each.metadata.owner_references)
            if selector.items() <= labels.items() and not owned:
                found.append((each, await explain_workload(each)))
    return found


async def _ranges(client: Client) -> tuple[str, ...]:
    stored = (await client.list(ServiceCIDR)).items
    return tuple(cidr for each in stored for cidr in each.spec.cidrs)


async def _probes(
    connection: Connection, service: Service, pods: Iterable[Pod], nodes: Iterable[Node]
) -> list[PortProbe]:
    from podling.cli.services.port_probe import Target, probe_ports

    simulated = {
        node.metadata.name
        for node in nodes
        if (node.status.node_info.container_runtime_version or "").startswith(SIMULATED)
    }
    ready = [pod for pod in pods if is_ready(pod) and pod.spec.node_name not in simulated][:PROBED_MAX]
    targets = {
        Target(pod.metadata.namespace or "", pod.metadata.name or "", addresses[0], target): None
        for pod in ready
        for port in service.spec.ports
        if (port.protocol or "TCP") == "TCP"
        and (target := target_of(port, pod)) is not None
        and (addresses := addresses_of(pod, next(iter(service.spec.ip_families), "IPv4")))
    }
    return await probe_ports(connection, list(targets))
