"""The endpoints of a service: the addresses of its pods, and their readiness. Pure.

Upstream: ``k8s.io/endpointslice`` and ``pkg/controller/endpointslice``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from podling.api.core_v1 import Node, ObjectReference, Pod, Service, ServicePort
from podling.api.discovery_v1 import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
)
from podling.controllers.endpoints.slice_rules import (
    HEADLESS,
    MANAGED_BY,
    RESERVED,
    SERVICE_NAME,
    Identity,
    Ports,
    identity,
    without,
)
from podling.machinery.pods import is_ready, is_sidecar, is_terminal

MANAGER = "endpointslice-controller.k8s.io"
ZONE = "topology.kubernetes.io/zone"


def has_endpoints(service: Service) -> bool:
    """Return whether the service's endpoints are ours to keep."""
    return service.spec.type != "ExternalName" and bool(service.spec.selector)


def selects(service: Service, pod: Pod) -> bool:
    return bool(service.spec.selector) and service.spec.selector.items() <= pod.metadata.labels.items()


def address_types(service: Service) -> tuple[str, ...]:
    """Return the families of a service's endpoints (upstream: ``getAddressTypesForService``).

    A service that was stored before there were families has that of its address, a headless one both.
    """
    spec = service.spec
    if spec.ip_families:
        return spec.ip_families
    if is_headless(service):
        return ("IPv4", "IPv6")
    return ("IPv6",) if ":" in (spec.cluster_ip or "") else ("IPv4",)


def is_headless(service: Service) -> bool:
    return service.spec.cluster_ip in ("None", "")


def may_serve(pod: Pod) -> bool:
    """Return whether the pod has an address and has not ended."""
    return not is_terminal(pod) and bool(pod.status.pod_ips or pod.status.pod_ip)


def relevant(pod: Pod) -> tuple[object, ...]:
    """Return the fields of a pod that its endpoint depends on.

    Its node is not among them: a pod is bound before it has an address, and without one no endpoint.
    """
    metadata, spec, status = pod.metadata, pod.spec, pod.status
    return (
        metadata.deletion_timestamp is None,
        spec.hostname,
        spec.subdomain,
        status.pod_ips,
        status.pod_ip,
        is_ready(pod),
        is_terminal(pod),
    )


def is_concerned(service: Service, old: Pod, new: Pod, *, changed: bool) -> bool:
    """Return whether a service's endpoints follow from a pod's change.

    Args:
        changed: whether the pod's endpoint changed; without that, services count that begin or cease to
            select it.
    """
    before, after = selects(service, old), selects(service, new)
    return before != after or (changed and after)


def addresses_of(pod: Pod, type_: str) -> tuple[str, ...]:
    """Return the pod's addresses of one type, ``IPv4`` or ``IPv6``."""
    every = [each.ip or "" for each in pod.status.pod_ips] or [pod.status.pod_ip or ""]
    return tuple(ip for ip in every if ip and (":" in ip) == (type_ == "IPv6"))


def port_number(port: ServicePort, pod: Pod) -> int | None:
    """Return the pod's port behind a service port; a name is looked up among the ports of its containers."""
    target = port.target_port
    if target in (None, 0, ""):
        return port.port
    if isinstance(target, int):
        return target
    sidecars = (each for each in pod.spec.init_containers if is_sidecar(each))
    for container in (*pod.spec.containers, *sidecars):
        for each in container.ports:
            if each.name == target and (each.protocol or "TCP") == (port.protocol or "TCP"):
                return each.container_port
    return None


def ports_of(service: Service, pod: Pod) -> Ports:
    """Return the ports under which the pod serves; named ports that it does not have are left out."""
    found = []
    for port in service.spec.ports:
        number = port_number(port, pod)
        if number is not None:
            found.append(
                EndpointPort(
                    name=port.name or "",
                    port=number,
                    protocol=port.protocol or "TCP",
                    app_protocol=port.app_protocol,
                )
            )
    return tuple(found)


def endpoint_of(service: Service, pod: Pod, node: Node | None, type_: str) -> Endpoint:
    """Return the pod's endpoint, without hints."""
    serving, terminating = is_ready(pod), pod.metadata.deletion_timestamp is not None
    ready = bool(service.spec.publish_not_ready_addresses) or (serving and not terminating)
    in_subdomain = pod.spec.subdomain == service.metadata.name
    return Endpoint(
        addresses=addresses_of(pod, type_),
        conditions=EndpointConditions(ready=ready, serving=serving, terminating=terminating),
        hostname=pod.spec.hostname if pod.spec.hostname and in_subdomain else None,
        node_name=pod.spec.node_name or None,
        zone=(node.metadata.labels.get(ZONE) or None) if node is not None else None,
        target_ref=ObjectReference(
            kind="Pod", namespace=pod.metadata.namespace, name=pod.metadata.name, uid=pod.metadata.uid
        ),
    )


def without_node(service: Service, pods: Iterable[Pod], nodes: Mapping[str, Node]) -> list[Pod]:
    """Return the pods that are left out because their Node does not exist (yet)."""
    if service.spec.publish_not_ready_addresses:
        return []
    return [pod for pod in pods if may_serve(pod) and (pod.spec.node_name or "") not in nodes]


def desired(
    service: Service, pods: Iterable[Pod], nodes: Mapping[str, Node], type_: str
) -> dict[Ports, dict[Identity, Endpoint]]:
    """Return every endpoint of one address type that the service should have, by ports.

    The ports of a pod without an endpoint are among them: endpoints that it had count as removed.
    """
    groups: dict[Ports, dict[Identity, Endpoint]] = {}
    for pod in filter(may_serve, pods):
        group = groups.setdefault(ports_of(service, pod), {})
        node = nodes.get(pod.spec.node_name or "")
        if node is None and not service.spec.publish_not_ready_addresses:
            continue
        endpoint = endpoint_of(service, pod, node, type_)
        if endpoint.addresses:
            group[identity(endpoint)] = endpoint
    return groups


def labels_of(service: Service) -> dict[str, str]:
    """Return a slice's labels: the service's own, and ours."""
    own = without(service.metadata.labels, RESERVED)
    headless = {HEADLESS: ""} if is_headless(service) else {}
    return {**own, **headless, SERVICE_NAME: service.metadata.name or "", MANAGED_BY: MANAGER}
