"""Validation of Services.

Upstream: ``ValidateService`` and ``ValidateServiceUpdate`` in
``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from podling.api.core_v1 import LoadBalancerIngress, Service, ServiceSpec
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.networking.service_addresses import (
    HEADLESS,
    address_change_errors,
    address_errors,
    is_headless,
)
from podling.machinery import fields, label_checks, names
from podling.machinery.fields import Path

SPEC, ANNOTATIONS = Path("spec"), Path("metadata.annotations")
TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
TRAFFIC_POLICIES = ("Cluster", "Local")
IP_MODES = ("Proxy", "VIP")
DISTRIBUTIONS = ("PreferClose", "PreferSameNode", "PreferSameZone")
LONGEST_AFFINITY = 86400
SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"

_NOTHING = ServiceSpec()
_FOR_LOAD_BALANCERS = "may only be used when `type` is 'LoadBalancer'"


def externally_accessible(spec: ServiceSpec) -> bool:
    return spec.type in ("LoadBalancer", "NodePort") or (spec.type == "ClusterIP" and bool(spec.external_ips))


def needs_health_check(spec: ServiceSpec) -> bool:
    return spec.type == "LoadBalancer" and spec.external_traffic_policy == "Local"


def validate_service(service: Service, old: ServiceSpec = _NOTHING) -> Errors:
    """Return the errors in a Service. Invalid addresses in ``old``, the stored spec, stay valid."""
    spec, annotations = service.spec, service.metadata.annotations
    errors = _topology_errors(annotations)
    if not spec.ports and not is_headless(spec) and spec.type != "ExternalName":
        errors.append(fields.required(SPEC.child("ports")))
    errors += _type_errors(spec)
    errors += _port_errors(SPEC.child("ports"), spec)
    errors += label_checks.labels(SPEC.child("selector"), spec.selector)
    errors += _affinity_errors(spec)
    errors += address_errors(spec, old.cluster_ips)
    for position, address in enumerate(spec.external_ips):
        here = SPEC.child("externalIPs").index(position)
        if address not in old.external_ips:
            errors += checks.ip(here, address) or checks.ordinary_ip(here, address)
    errors += checks.required_one_of(SPEC.child("type"), spec.type, TYPES)
    errors += _duplicate_port_errors(SPEC.child("ports"), spec)
    errors += _load_balancer_errors(
        spec, annotations, {block.strip() for block in old.load_balancer_source_ranges}
    )
    return errors + _traffic_errors(spec)


def _type_errors(spec: ServiceSpec) -> Errors:
    if spec.type != "ExternalName":
        return _headless_errors(spec) if spec.type in ("LoadBalancer", "NodePort") else []
    text = "may not be set for ExternalName services"
    errors = [
        fields.forbidden(SPEC.child(name), text)
        for name, value in (
            ("clusterIPs", spec.cluster_ips),
            ("ipFamilies", spec.ip_families),
            ("ipFamilyPolicy", spec.ip_family_policy),
        )
        if value
    ]
    name = (spec.external_name or "").removesuffix(".")
    where = SPEC.child("externalName")
    return errors + (checks.dns_subdomain(where, name) if name else [fields.required(where)])


def _headless_errors(spec: ServiceSpec) -> Errors:
    if not is_headless(spec):
        return []
    text = f"may not be set to 'None' for {spec.type} services"
    return [fields.invalid(SPEC.child("clusterIPs").index(0), HEADLESS, text)]


def _port_errors(path: Path, spec: ServiceSpec) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for position, port in enumerate(spec.ports):
        here = path.index(position)
        if not port.name:
            errors += [fields.required(here.child("name"))] if len(spec.ports) > 1 else []
        else:
            errors += checks.dns_label(here.child("name"), port.name)
            errors += [fields.duplicate(here.child("name"), port.name)] if port.name in seen else []
            seen.add(port.name)
        errors += checks.port_number(here.child("port"), port.port)
        errors += checks.required_one_of(here.child("protocol"), port.protocol, ("SCTP", "TCP", "UDP"))
        errors += checks.port_or_name(here.child("targetPort"), port.target_port)
        if port.app_protocol is not None:
            errors += checks.label_name(here.child("appProtocol"), port.app_protocol)
    return errors


def _duplicate_port_errors(path: Path, spec: ServiceSpec) -> Errors:
    errors: Errors = []
    if spec.type == "ClusterIP":
        text = "may not be used when `type` is 'ClusterIP'"
        for position, port in enumerate(spec.ports):
            where = path.index(position).child("nodePort")
            errors += [fields.forbidden(where, text)] if port.node_port else []
    node_ports: set[tuple[str | None, int]] = set()
    ports: set[tuple[str | None, int]] = set()
    for position, port in enumerate(spec.ports):
        if port.node_port:
            if (port.protocol, port.node_port) in node_ports:
                errors.append(fields.duplicate(path.index(position).child("nodePort"), port.node_port))
            node_ports.add((port.protocol, port.node_port))
    for position, port in enumerate(spec.ports):
        if (port.protocol, port.port) in ports:
            shown = {"port": port.port, "protocol": port.protocol}
            errors.append(fields.duplicate(path.index(position), shown))
        ports.add((port.protocol, port.port))
    return errors


def _affinity_errors(spec: ServiceSpec) -> Errors:
    where = SPEC.child("sessionAffinity")
    errors = checks.required_one_of(where, spec.session_affinity, ("ClientIP", "None"))
    config, here = spec.session_affinity_config, SPEC.child("sessionAffinityConfig")
    if spec.session_affinity == "None" and config is not None:
        errors.append(fields.forbidden(here, "must not be set when session affinity is None"))
    if spec.session_affinity == "ClientIP" and config is not None and config.client_ip is not None:
        seconds = config.client_ip.timeout_seconds
        if seconds is not None and not 0 < seconds <= LONGEST_AFFINITY:
            text = f"must be greater than 0 and less than {LONGEST_AFFINITY}"
            errors.append(fields.invalid(here.child("clientIP", "timeoutSeconds"), seconds, text))
    return errors


def _topology_errors(annotations: Mapping[str, str]) -> Errors:
    """Return an error if the older annotation differs from the newer one."""
    mode, hints = annotations.get(TOPOLOGY_MODE), annotations.get(TOPOLOGY_HINTS)
    if mode is None or hints is None or mode == hints:
        return []
    text = f"must match annotations[{TOPOLOGY_HINTS}] when both are specified"
    return [fields.invalid(ANNOTATIONS.key(TOPOLOGY_MODE), mode, text)]


def _source_range_errors(spec: ServiceSpec, annotations: Mapping[str, str], known: Container[str]) -> Errors:
    """Return the errors in a load balancer's source ranges, from the field or the older annotation."""
    noted = annotations.get(SOURCE_RANGES)
    if spec.load_balancer_source_ranges:
        here, indexed = SPEC.child("LoadBalancerSourceRanges"), True
        blocks: Sequence[str] = spec.load_balancer_source_ranges
    elif noted is not None:
        here, indexed = ANNOTATIONS.key(SOURCE_RANGES), False
        blocks = noted.split(",") if noted.strip() else ()
    else:
        return []
    errors = [] if spec.type == "LoadBalancer" else [fields.forbidden(here, _FOR_LOAD_BALANCERS)]
    for position, block in enumerate(blocks):
        errors += checks.cidr(here.index(position) if indexed else here, block.strip(), known)
    return errors


def _load_balancer_errors(spec: ServiceSpec, annotations: Mapping[str, str], known: Container[str]) -> Errors:
    errors = _source_range_errors(spec, annotations, known)
    if spec.allocate_load_balancer_node_ports is not None and spec.type != "LoadBalancer":
        errors.append(fields.forbidden(SPEC.child("allocateLoadBalancerNodePorts"), _FOR_LOAD_BALANCERS))
    if spec.load_balancer_class is not None:
        where = SPEC.child("loadBalancerClass")
        if spec.type != "LoadBalancer":
            errors.append(fields.forbidden(where, "may only be used when `type` is 'LoadBalancer'"))
        else:
            errors += checks.label_name(where, spec.load_balancer_class)
    return errors


def _traffic_errors(spec: ServiceSpec) -> Errors:
    errors: Errors = []
    where = SPEC.child("externalTrafficPolicy")
    if externally_accessible(spec):
        errors += checks.required_one_of(where, spec.external_traffic_policy, TRAFFIC_POLICIES)
    elif spec.external_traffic_policy:
        text = "may only be set for externally-accessible services"
        errors.append(fields.invalid(where, spec.external_traffic_policy, text))
    here, port = SPEC.child("healthCheckNodePort"), spec.health_check_node_port
    if needs_health_check(spec):
        # A port of 0 is valid here: an allocator assigns it to a new Service afterwards.
        errors += checks.port_number(here, port) if port else []
    elif port:
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(fields.invalid(here, port, text))
    where = SPEC.child("internalTrafficPolicy")
    if spec.internal_traffic_policy is None and spec.type in ("ClusterIP", "LoadBalancer", "NodePort"):
        errors.append(fields.required(where))
    errors += checks.one_of(where, spec.internal_traffic_policy, TRAFFIC_POLICIES)
    return errors + checks.one_of(SPEC.child("trafficDistribution"), spec.traffic_distribution, DISTRIBUTIONS)


def validate_service_change(new: Service, old: Service) -> Errors:
    """Return the errors in a changed Service, and in its immutable fields."""
    errors = address_change_errors(new.spec, old.spec)
    if new.spec.type == old.spec.type == "LoadBalancer":
        where, name = SPEC.child("loadBalancerClass"), new.spec.load_balancer_class
        if name != old.spec.load_balancer_class:
            errors.append(fields.invalid(where, name, "may not change once set"))
    if (
        needs_health_check(new.spec)
        and needs_health_check(old.spec)
        and new.spec.health_check_node_port != old.spec.health_check_node_port
    ):
        errors.append(fields.forbidden(SPEC.child("healthCheckNodePort"), checks.IMMUTABLE))
    return errors + validate_service(new, old.spec)


def validate_service_status(service: Service, old: Service) -> Errors:
    """Return the errors in the load balancer status: only LoadBalancer Services have one."""
    known = {point.ip for point in old.status.load_balancer.ingress}
    path, points = Path("status.loadBalancer.ingress"), service.status.load_balancer.ingress
    if points and service.spec.type != "LoadBalancer":
        return [fields.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    errors: Errors = []
    for position, point in enumerate(points):
        here = path.index(position)
        errors += _ip_mode_errors(here, point, known)
        if point.hostname:
            where = here.child("hostname")
            errors += checks.dns_subdomain(where, point.hostname)
            if names.parse_ip(point.hostname) is not None:
                errors.append(fields.invalid(where, point.hostname, "must be a DNS name, not an IP address"))
    return errors


def _ip_mode_errors(path: Path, point: LoadBalancerIngress, known: Container[str | None]) -> Errors:
    where = path.child("ipMode")
    if not point.ip:
        text = "may not be specified when `ip` is not set"
        return [] if point.ip_mode is None else [fields.forbidden(where, text)]
    errors = [] if point.ip in known else checks.ip(path.child("ip"), point.ip)
    if point.ip_mode is None:
        return [*errors, fields.required(where, "must be specified when `ip` is set")]
    return errors + checks.one_of(where, point.ip_mode, IP_MODES)
