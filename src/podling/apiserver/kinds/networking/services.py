"""Services: defaults, updates and table.

Addresses and node ports are not chosen here, because that requires the other Services:
``registry/service_ip_allocator.py`` allocates them.

Upstream: ``pkg/registry/core/service``, ``pkg/apis/core/v1/defaults.go`` (``SetDefaults_Service``).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import (
    ClientIPConfig,
    LoadBalancerIngress,
    Service,
    ServicePort,
    SessionAffinityConfig,
)
from podling.apiserver.kinds.common.address_warnings import load_balancer_warnings
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, NONE, age, join_or_none, label_text, wide_column
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty, map_items
from podling.apiserver.kinds.networking.service_updates import clear_unused_fields, with_allocated
from podling.apiserver.kinds.networking.service_validation import (
    externally_accessible,
    validate_service,
    validate_service_change,
    validate_service_status,
)
from podling.apiserver.kinds.networking.service_warnings import (
    service_warnings,
)
from podling.machinery import names
from podling.machinery.tables import Column

CLIENT_IP_SECONDS = 10800
"""The default seconds for which ``sessionAffinity: ClientIP`` keeps a client on its pod."""

_WITH_NODE_PORTS = ("NodePort", "LoadBalancer")


class ServiceRules(KindRules[Service]):
    status_subresource = True
    create_on_update = True
    returns_deleted = True
    columns = (
        NAME,
        Column("Type", description="How the Service is reached"),
        Column("Cluster-IP", description="Address inside the cluster"),
        Column("External-IP", description="Addresses from outside"),
        Column("Port(s)", description="Ports, and the ports on every node"),
        AGE,
        wide_column("Selector", "Which pods are behind the Service"),
    )
    field_labels = ("spec.clusterIP", "spec.type")

    def name_errors(self, name: str) -> list[str]:
        """Return the errors in a name, which may begin with a digit: RFC 1035 no longer applies."""
        return names.dns_label_errors(name)

    def default(self, obj: Service) -> Service:
        spec = fill_empty(obj.spec, session_affinity="None", type="ClusterIP")
        if spec.session_affinity == "ClientIP":
            spec = change(spec, session_affinity_config=_default_affinity(spec.session_affinity_config))
        if spec.session_affinity == "None":
            spec = change(spec, session_affinity_config=None)
        spec = change(spec, ports=map_items(spec.ports, _default_port))
        if externally_accessible(spec):
            spec = fill_empty(spec, external_traffic_policy="Cluster")
        if spec.type in ("ClusterIP", *_WITH_NODE_PORTS):
            spec = fill_absent(spec, internal_traffic_policy="Cluster")
        if spec.type == "LoadBalancer":
            spec = fill_absent(spec, allocate_load_balancer_node_ports=True)
        if spec.cluster_ip and not spec.cluster_ips:
            spec = change(spec, cluster_ips=(spec.cluster_ip,))
        if spec.type != "LoadBalancer":
            return change(obj, spec=spec)
        balancer = change(
            obj.status.load_balancer, ingress=map_items(obj.status.load_balancer.ingress, _default_ip_mode)
        )
        return change(obj, spec=spec, status=change(obj.status, load_balancer=balancer))

    def prepare_update(self, new: Service, old: Service, context: Context) -> Service:
        if context.subresource == "status":
            return super().prepare_update(new, old, context)
        spec = clear_unused_fields(with_allocated(new.spec, old.spec), old.spec)
        return change(new, spec=spec, status=old.status)

    def validate(self, obj: Service, context: Context) -> Errors:
        return validate_service(obj)

    def validate_update(self, new: Service, old: Service, context: Context) -> Errors:
        if context.subresource == "status":
            return validate_service_status(new, old)
        return validate_service_change(new, old)

    def warnings(self, obj: Service, old: Service | None, context: Context) -> list[str]:
        return list(service_warnings(obj))

    def status_warnings(self, obj: Service) -> list[str]:
        return load_balancer_warnings([point.ip for point in obj.status.load_balancer.ingress])

    def selectable_fields(self, obj: Service) -> dict[str, str]:
        return {"spec.clusterIP": obj.spec.cluster_ip or "", "spec.type": obj.spec.type or ""}

    def row(self, obj: Service, now: datetime) -> Sequence[Any]:
        spec = obj.spec
        return (
            obj.metadata.name,
            spec.type,
            spec.cluster_ips[0] if spec.cluster_ips else NONE,
            external_address(obj),
            join_or_none(map(_port_text, spec.ports)),
            age(obj, now),
            label_text(spec.selector),
        )


def _default_port(port: ServicePort) -> ServicePort:
    return fill_empty(port, protocol="TCP", target_port=port.target_port or port.port)


def _default_ip_mode(ingress: LoadBalancerIngress) -> LoadBalancerIngress:
    """Return the ingress point with the default ``ipMode: VIP``, for addresses on a node."""
    return fill_absent(ingress, ip_mode="VIP") if ingress.ip else ingress


def _default_affinity(config: SessionAffinityConfig | None) -> SessionAffinityConfig:
    if config is None or config.client_ip is None or config.client_ip.timeout_seconds is None:
        return SessionAffinityConfig(client_ip=ClientIPConfig(timeout_seconds=CLIENT_IP_SECONDS))
    return config


def external_address(service: Service) -> str:
    """Return the EXTERNAL-IP cell."""
    spec = service.spec
    if spec.type == "ExternalName":
        return spec.external_name or ""
    if spec.type != "LoadBalancer":
        return join_or_none(spec.external_ips)
    found = {each.ip or each.hostname or "" for each in service.status.load_balancer.ingress} - {""}
    return ",".join([*sorted(found), *spec.external_ips]) or "<pending>"


def _port_text(port: ServicePort) -> str:
    if port.node_port:
        return f"{port.port}:{port.node_port}/{port.protocol}"
    return f"{port.port}/{port.protocol}"
