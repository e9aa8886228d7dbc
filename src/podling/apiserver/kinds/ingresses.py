"""Ingresses and NetworkPolicies.

Upstream: ``pkg/apis/networking/validation``, ``pkg/registry/networking``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.networking_v1 import (
    HTTPIngressPath,
    Ingress,
    IngressBackend,
    IngressRule,
    NetworkPolicy,
    NetworkPolicyPeer,
    NetworkPolicyPort,
)
from podling.apiserver.kinds import checks
from podling.apiserver.kinds.base import Context, KindRules
from podling.apiserver.kinds.cells import AGE, NAME, age, or_none, selector_text
from podling.apiserver.kinds.checks import Errors
from podling.apiserver.kinds.filling import change, each, fill_empty
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.tables import Column

SPEC = Path("spec")
PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
POLICY_TYPES = ("Egress", "Ingress")


class IngressRules(KindRules[Ingress]):
    status_subresource = True
    generation = True
    columns = (
        NAME,
        Column("Class", description="Which controller serves it"),
        Column("Hosts", description="Host names it answers to"),
        Column("Address", description="Where it is reached"),
        Column("Ports", description="Ports it listens on"),
        AGE,
    )

    def validate(self, obj: Ingress, context: Context) -> Errors:
        spec = obj.spec
        errors: Errors = []
        if not spec.rules and spec.default_backend is None:
            text = "either `defaultBackend` or `rules` must be specified"
            errors.append(fields.invalid(SPEC, spec.rules, text))
        if spec.default_backend is not None:
            errors += _backend_errors(SPEC.child("defaultBackend"), spec.default_backend)
        for position, rule in enumerate(spec.rules):
            errors += _rule_errors(SPEC.child("rules").index(position), rule)
        for position, tls in enumerate(spec.tls):
            for number, host in enumerate(tls.hosts):
                errors += _host_errors(SPEC.child("tls").index(position).child("hosts").index(number), host)
        if spec.ingress_class_name is not None:
            errors += checks.dns_subdomain(SPEC.child("ingressClassName"), spec.ingress_class_name)
        return errors

    def validate_update(self, new: Ingress, old: Ingress, context: Context) -> Errors:
        return [] if context.subresource == "status" else self.validate(new, context)

    def row(self, obj: Ingress, now: datetime) -> Sequence[Any]:
        found = [each.ip or each.hostname or "" for each in obj.status.load_balancer.ingress]
        hosts = [rule.host for rule in obj.spec.rules if rule.host]
        return (
            obj.metadata.name,
            or_none(obj.spec.ingress_class_name),
            _hosts_text(hosts),
            ",".join(filter(None, found)),
            "80, 443" if obj.spec.tls else "80",
            age(obj, now),
        )


def _hosts_text(hosts: list[str]) -> str:
    if not hosts:
        return "*"
    text = ",".join(hosts[:3])
    return f"{text} + {len(hosts) - 3} more..." if len(hosts) > 3 else text


def _host_errors(path: Path, host: str) -> Errors:
    if names.parse_ip(host) is not None:
        return [fields.invalid(path, host, "must be a DNS name, not an IP address")]
    if "*" in host:
        return checks.invalid_each(path, host, names.wildcard_dns_subdomain_errors(host))
    return checks.dns_subdomain(path, host)


def _rule_errors(path: Path, rule: IngressRule) -> Errors:
    errors = _host_errors(path.child("host"), rule.host) if rule.host else []
    if rule.http is None:
        return errors
    here = path.child("http", "paths")
    if not rule.http.paths:
        errors.append(fields.required(here))
    for position, route in enumerate(rule.http.paths):
        errors += _path_errors(here.index(position), route)
    return errors


def _path_errors(path: Path, route: HTTPIngressPath) -> Errors:
    errors: Errors = []
    where, text = path.child("pathType"), route.path or ""
    if not route.path_type:
        errors.append(fields.required(where, "pathType must be specified"))
    else:
        errors += checks.one_of(where, route.path_type, PATH_TYPES)
    here, exact = path.child("path"), route.path_type in ("Exact", "Prefix")
    if (exact or text) and not text.startswith("/"):
        errors.append(fields.invalid(here, text, "must be an absolute path"))
    if exact:
        for wrong in ("//", "/./", "/../", "%2f", "%2F"):
            if wrong in text:
                errors.append(fields.invalid(here, text, f"must not contain '{wrong}'"))
        for ending in ("/..", "/."):
            if text.endswith(ending):
                errors.append(fields.invalid(here, text, f"cannot end with '{ending}'"))
    return errors + _backend_errors(path.child("backend"), route.backend)


def _backend_errors(path: Path, backend: IngressBackend) -> Errors:
    if backend.service is not None and backend.resource is not None:
        return [fields.invalid(path, "", "cannot set both resource and service backends")]
    if backend.service is None:
        if backend.resource is None:
            return [fields.required(path, "resource or service backend is required")]
        errors = [] if backend.resource.name else [fields.required(path.child("resource", "name"))]
        return errors + ([] if backend.resource.kind else [fields.required(path.child("resource", "kind"))])
    here, service = path.child("service"), backend.service
    if not service.name:
        errors = [fields.required(here.child("name"))]
    else:
        problems = names.dns_1035_label_errors(service.name)
        errors = checks.invalid_each(here.child("name"), service.name, problems)
    port = service.port
    if port is None or not (port.name or port.number):
        text = "port name or number is required"
        return [*errors, fields.required(here, text)]
    if port.name and port.number:
        text = "cannot set both port name & port number"
        return [*errors, fields.invalid(here, "", text)]
    where = here.child("port", "name" if port.name else "number")
    return errors + checks.port_or_name(where, port.name or port.number)


class NetworkPolicyRules(KindRules[NetworkPolicy]):
    generation = True
    columns = (NAME, Column("Pod-Selector", description="Which pods the policy is about"), AGE)

    def default(self, obj: NetworkPolicy) -> NetworkPolicy:
        def with_protocols(rule: Any) -> Any:
            return change(rule, ports=each(rule.ports, lambda port: fill_empty(port, protocol="TCP")))

        spec = change(
            obj.spec,
            ingress=each(obj.spec.ingress, with_protocols),
            egress=each(obj.spec.egress, with_protocols),
        )
        if not spec.policy_types:
            types = ("Ingress", "Egress") if spec.egress else ("Ingress",)
            spec = change(spec, policy_types=types)
        return change(obj, spec=spec)

    def validate(self, obj: NetworkPolicy, context: Context) -> Errors:
        spec = obj.spec
        errors = checks.label_selector(SPEC.child("podSelector"), spec.pod_selector)
        for position, rule in enumerate(spec.ingress):
            here = SPEC.child("ingress").index(position)
            errors += _ports_and_peers(here, rule.ports, here.child("from"), rule.from_)
        for position, out in enumerate(spec.egress):
            here = SPEC.child("egress").index(position)
            errors += _ports_and_peers(here, out.ports, here.child("to"), out.to)
        if len(spec.policy_types) > 2:
            text = "may not specify more than two policyTypes"
            return [*errors, fields.invalid(SPEC.child("policyTypes"), spec.policy_types, text)]
        for position, kind in enumerate(spec.policy_types):
            where = SPEC.child("policyTypes").index(position)
            errors += checks.required_one_of(where, kind, POLICY_TYPES)
        return errors

    def row(self, obj: NetworkPolicy, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, selector_text(obj.spec.pod_selector), age(obj, now)


def _ports_and_peers(
    path: Path, ports: Sequence[NetworkPolicyPort], peer_path: Path, peers: Sequence[NetworkPolicyPeer]
) -> Errors:
    errors: Errors = []
    for position, port in enumerate(ports):
        here = path.child("ports").index(position)
        errors += checks.one_of(here.child("protocol"), port.protocol, ("SCTP", "TCP", "UDP"))
        if port.port is not None:
            errors += checks.port_or_name(here.child("port"), port.port)
        if port.end_port is not None:
            errors += _end_port(here, port)
    for position, peer in enumerate(peers):
        errors += _peer_errors(peer_path.index(position), peer)
    return errors


def _end_port(path: Path, port: NetworkPolicyPort) -> Errors:
    where, end = path.child("endPort"), port.end_port or 0
    if port.port is None:
        return [fields.required(path.child("port"), "must be specified when `endPort` is specified")]
    if isinstance(port.port, str):
        return [fields.invalid(where, end, "may not be specified when `port` is non-numeric")]
    if end < port.port:
        return [fields.invalid(where, end, "must be greater than or equal to `port`")]
    return checks.port_number(where, end)


def _peer_errors(path: Path, peer: NetworkPolicyPeer) -> Errors:
    errors = checks.label_selector(path.child("podSelector"), peer.pod_selector)
    errors += checks.label_selector(path.child("namespaceSelector"), peer.namespace_selector)
    selects = peer.pod_selector is not None or peer.namespace_selector is not None
    if peer.ip_block is None:
        return errors if selects else [*errors, fields.required(path, "must specify a peer")]
    if selects:
        text = "may not specify both ipBlock and another peer"
        return [*errors, fields.forbidden(path, text)]
    here, block = path.child("ipBlock"), peer.ip_block
    if not block.cidr:
        return [*errors, fields.required(here.child("cidr"))]
    errors += checks.cidr(here.child("cidr"), block.cidr)
    for position, part in enumerate(block.except_):
        errors += checks.cidr(here.child("except").index(position), part)
    return errors
