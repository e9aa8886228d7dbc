"""Validation of Services.

Upstream: ``ValidateService`` and ``ValidateServiceUpdate`` in
``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

import ipaddress

from podling.api.core_v1 import Service, ServicePort, ServiceSpec
from podling.apiserver.kinds import checks
from podling.apiserver.kinds.checks import Errors
from podling.machinery import fields, names
from podling.machinery.fields import Path

SPEC = Path("spec")
HEADLESS = "None"
TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
TRAFFIC_POLICIES = ("Cluster", "Local")
FAMILIES = ("IPv4", "IPv6")
FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
DISTRIBUTIONS = ("PreferClose", "PreferSameNode", "PreferSameZone")
LONGEST_AFFINITY = 86400

_FOR_LOAD_BALANCERS = "may only be used when `type` is 'LoadBalancer'"


def is_headless(spec: ServiceSpec) -> bool:
    return spec.cluster_ip == HEADLESS or spec.cluster_ips[:1] == (HEADLESS,)


def externally_accessible(spec: ServiceSpec) -> bool:
    return spec.type in ("LoadBalancer", "NodePort") or (spec.type == "ClusterIP" and bool(spec.external_ips))


def needs_health_check(spec: ServiceSpec) -> bool:
    return spec.type == "LoadBalancer" and spec.external_traffic_policy == "Local"


def validate_service(service: Service) -> Errors:
    spec = service.spec
    errors: Errors = []
    if not spec.ports and not is_headless(spec) and spec.type != "ExternalName":
        errors.append(fields.required(SPEC.child("ports")))
    errors += _type_errors(spec)
    errors += _port_errors(SPEC.child("ports"), spec)
    errors += checks.labels(SPEC.child("selector"), spec.selector)
    errors += _affinity_errors(spec)
    errors += _address_errors(spec)
    for position, address in enumerate(spec.external_ips):
        errors += _external_ip(SPEC.child("externalIPs").index(position), address)
    errors += checks.required_one_of(SPEC.child("type"), spec.type, TYPES)
    errors += _repeated_ports(SPEC.child("ports"), spec)
    errors += _load_balancer(spec)
    return errors + _traffic(spec)


def _type_errors(spec: ServiceSpec) -> Errors:
    if spec.type in ("LoadBalancer", "NodePort") and is_headless(spec):
        text = f"may not be set to 'None' for {spec.type} services"
        return [fields.invalid(SPEC.child("clusterIPs").index(0), HEADLESS, text)]
    if spec.type != "ExternalName":
        return []
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
        if spec.type == "ClusterIP" and port.node_port:
            text = "may not be used when `type` is 'ClusterIP'"
            errors.append(fields.forbidden(here.child("nodePort"), text))
    return errors


def _repeated_ports(path: Path, spec: ServiceSpec) -> Errors:
    errors: Errors = []
    node_ports: set[tuple[str | None, int]] = set()
    ports: set[tuple[str | None, int]] = set()
    for position, port in enumerate(spec.ports):
        if port.node_port:
            if (port.protocol, port.node_port) in node_ports:
                errors.append(fields.duplicate(path.index(position).child("nodePort"), port.node_port))
            node_ports.add((port.protocol, port.node_port))
    for position, port in enumerate(spec.ports):
        if (port.protocol, port.port) in ports:
            shown = ServicePort(protocol=port.protocol, port=port.port)
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


def _address_errors(spec: ServiceSpec) -> Errors:
    """Cluster addresses and families; the first address is also in ``clusterIP``."""
    errors: Errors = []
    for position, family in enumerate(spec.ip_families):
        errors += checks.required_one_of(SPEC.child("ipFamilies").index(position), family, FAMILIES)
        if family in spec.ip_families[:position]:
            errors.append(fields.duplicate(SPEC.child("ipFamilies").index(position), family))
    errors += checks.one_of(SPEC.child("ipFamilyPolicy"), spec.ip_family_policy, FAMILY_POLICIES)
    here = SPEC.child("clusterIPs")
    if spec.cluster_ip and spec.cluster_ips and spec.cluster_ips[0] != spec.cluster_ip:
        errors.append(fields.invalid(here, spec.cluster_ips, "first value must match `clusterIP`"))
    if len(spec.cluster_ips) > 1 and HEADLESS in spec.cluster_ips:
        text = "'None' must be the first and only value"
        errors.append(fields.invalid(here, spec.cluster_ips, text))
    elif len(spec.cluster_ips) > 2:
        text = "may only hold up to 2 values"
        errors.append(fields.invalid(here, spec.cluster_ips, text))
    for position, address in enumerate(spec.cluster_ips):
        if address and address != HEADLESS:
            errors += checks.ip(here.index(position), address)
    return errors


def _external_ip(path: Path, address: str) -> Errors:
    """Not an address that means something special to every host."""
    parsed = names.parse_ip(address)
    if parsed is None:
        return checks.ip(path, address)
    local = ipaddress.ip_network("224.0.0.0/24" if parsed.version == 4 else "ff02::/16")
    problems = (
        (parsed.is_unspecified, f"may not be unspecified ({address})"),
        (parsed.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (parsed.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (parsed in local, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    )
    return [fields.invalid(path, address, text) for wrong, text in problems if wrong]


def _load_balancer(spec: ServiceSpec) -> Errors:
    errors: Errors = []
    here = SPEC.child("LoadBalancerSourceRanges")
    if spec.load_balancer_source_ranges:
        if spec.type != "LoadBalancer":
            errors.append(fields.forbidden(here, _FOR_LOAD_BALANCERS))
        for position, block in enumerate(spec.load_balancer_source_ranges):
            errors += checks.cidr(here.index(position), block.strip())
    if spec.allocate_load_balancer_node_ports is not None and spec.type != "LoadBalancer":
        errors.append(fields.forbidden(SPEC.child("allocateLoadBalancerNodePorts"), _FOR_LOAD_BALANCERS))
    if spec.load_balancer_class is not None:
        where = SPEC.child("loadBalancerClass")
        if spec.type != "LoadBalancer":
            errors.append(fields.forbidden(where, "may only be used when `type` is 'LoadBalancer'"))
        else:
            errors += checks.label_name(where, spec.load_balancer_class)
    return errors


def _traffic(spec: ServiceSpec) -> Errors:
    errors: Errors = []
    where = SPEC.child("externalTrafficPolicy")
    if externally_accessible(spec):
        errors += checks.required_one_of(where, spec.external_traffic_policy, TRAFFIC_POLICIES)
    elif spec.external_traffic_policy:
        text = "may only be set for externally-accessible services"
        errors.append(fields.invalid(where, spec.external_traffic_policy, text))
    if spec.health_check_node_port and not needs_health_check(spec):
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(fields.invalid(SPEC.child("healthCheckNodePort"), spec.health_check_node_port, text))
    where = SPEC.child("internalTrafficPolicy")
    errors += checks.one_of(where, spec.internal_traffic_policy, TRAFFIC_POLICIES)
    return errors + checks.one_of(SPEC.child("trafficDistribution"), spec.traffic_distribution, DISTRIBUTIONS)


def validate_service_change(new: Service, old: Service) -> Errors:
    """The first address and family stay, unless the Service comes from or goes to ``ExternalName``."""
    errors: Errors = []
    if "ExternalName" not in (new.spec.type, old.spec.type):
        for name, after, before in (
            ("clusterIPs", new.spec.cluster_ips, old.spec.cluster_ips),
            ("ipFamilies", new.spec.ip_families, old.spec.ip_families),
        ):
            if before and after[:1] != before[:1]:
                text = "may not change once set"
                errors.append(fields.invalid(SPEC.child(name).index(0), after[0] if after else None, text))
    if (
        needs_health_check(new.spec)
        and needs_health_check(old.spec)
        and new.spec.health_check_node_port != old.spec.health_check_node_port
    ):
        errors.append(fields.forbidden(SPEC.child("healthCheckNodePort"), checks.IMMUTABLE))
    return errors + validate_service(new)
