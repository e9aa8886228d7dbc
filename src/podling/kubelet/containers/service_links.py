"""Environment variables with the addresses of the namespace's services.

Every container gets those of the ``kubernetes`` service; the others only where the pod has
``enableServiceLinks`` (the default). Services without a cluster address are left out
(``pkg/kubelet/envvars``).
"""

from __future__ import annotations

from collections.abc import Iterable

from podling.api.core_v1 import Pod, Service, ServicePort

MASTER_NAMESPACE = "default"
MASTER_SERVICE = "kubernetes"


def service_variables(pod: Pod, services: Iterable[Service]) -> dict[str, str]:
    """Return the variables of all services for ``pod``, in the services' order."""
    links = pod.spec.enable_service_links is not False
    chosen: dict[str, Service] = {}
    for service in services:
        name, namespace = service.metadata.name or "", service.metadata.namespace
        if service.spec.cluster_ip in (None, "", "None"):
            continue
        if namespace == MASTER_NAMESPACE and name == MASTER_SERVICE:
            chosen.setdefault(name, service)
        elif links and namespace == pod.metadata.namespace:
            chosen[name] = service
    result: dict[str, str] = {}
    for service in chosen.values():
        result.update(_variables(service))
    return result


def _variables(service: Service) -> dict[str, str]:
    prefix = (service.metadata.name or "").upper().replace("-", "_")
    address = service.spec.cluster_ip or ""
    ports = service.spec.ports
    result = {f"{prefix}_SERVICE_HOST": address}
    if ports:
        result[f"{prefix}_SERVICE_PORT"] = str(ports[0].port)
    for port in ports:
        if port.name:
            name = port.name.upper().replace("-", "_")
            result[f"{prefix}_SERVICE_PORT_{name}"] = str(port.port)
    for index, port in enumerate(ports):
        result.update(_link(prefix, address, port, first=index == 0))
    return result


def _link(prefix: str, address: str, port: ServicePort, *, first: bool) -> dict[str, str]:
    """Return the variables in the form of Docker's container links."""
    protocol = port.protocol or "TCP"
    host = f"[{address}]" if ":" in address else address
    url = f"{protocol.lower()}://{host}:{port.port}"
    name = f"{prefix}_PORT_{port.port}_{protocol.upper()}"
    result = {f"{prefix}_PORT": url} if first else {}
    return result | {
        name: url,
        f"{name}_PROTO": protocol.lower(),
        f"{name}_PORT": str(port.port),
        f"{name}_ADDR": address,
    }
