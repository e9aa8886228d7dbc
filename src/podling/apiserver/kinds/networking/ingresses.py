"""Ingresses. Upstream: ``pkg/apis/networking/validation``, ``pkg/registry/networking/ingress``."""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import datetime
from typing import Any

from podling.api.networking_v1 import (
    HTTPIngressPath,
    Ingress,
    IngressBackend,
    IngressRule,
    IngressSpec,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.address_warnings import load_balancer_warnings
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age, value_or_none
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.tables import Column

SPEC = Path("spec")
PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_NOT_AN_ADDRESS = "must be a DNS name, not an IP address"

SHOWN_HOSTS = 3
"""The number of hosts that the table shows."""


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
        errors = _spec_errors(obj.spec, None)
        annotation = obj.metadata.annotations.get(CLASS_ANNOTATION)
        if annotation is not None and obj.spec.ingress_class_name not in (None, annotation):
            where = Path("annotations").child(CLASS_ANNOTATION)
            text = "must match `ingressClassName` when both are specified"
            errors.append(fields.invalid(where, annotation, text))
        return errors

    def validate_update(self, new: Ingress, old: Ingress, context: Context) -> Errors:
        if context.subresource == "status":
            return _status_errors(new, {point.ip for point in old.status.load_balancer.ingress})
        return _spec_errors(new.spec, old.spec)

    def warnings(self, obj: Ingress, old: Ingress | None, context: Context) -> list[str]:
        """Return the warnings about a new object; updates have none."""
        if old is not None or obj.spec.ingress_class_name is not None:
            return []
        if CLASS_ANNOTATION not in obj.metadata.annotations:
            return []
        return [
            f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"
        ]

    def status_warnings(self, obj: Ingress) -> list[str]:
        return load_balancer_warnings([point.ip for point in obj.status.load_balancer.ingress])

    def row(self, obj: Ingress, now: datetime) -> Sequence[Any]:
        found = {each.ip or each.hostname or "" for each in obj.status.load_balancer.ingress} - {""}
        return (
            obj.metadata.name,
            value_or_none(obj.spec.ingress_class_name),
            _hosts_text(obj.spec.rules),
            ",".join(sorted(found)),
            "80, 443" if obj.spec.tls else "80",
            age(obj, now),
        )


def _hosts_text(rules: Sequence[IngressRule]) -> str:
    """Return the first hosts, and the number of further rules, including those without a host."""
    hosts = [(position, rule.host) for position, rule in enumerate(rules) if rule.host][:SHOWN_HOSTS]
    text = ",".join(host for _, host in hosts) or "*"
    cut = len(hosts) == SHOWN_HOSTS and hosts[-1][0] < len(rules) - 1
    return f"{text} + {len(rules) - SHOWN_HOSTS} more..." if cut else text


def _spec_errors(spec: IngressSpec, old: IngressSpec | None) -> Errors:
    """Return the errors in a spec. Invalid secret names in ``old``, the stored spec, stay valid."""
    errors: Errors = []
    if not spec.rules and spec.default_backend is None:
        text = "either `defaultBackend` or `rules` must be specified"
        errors.append(fields.invalid(SPEC, spec.rules, text))
    if spec.default_backend is not None:
        errors += _backend_errors(SPEC.child("defaultBackend"), spec.default_backend)
    for position, rule in enumerate(spec.rules):
        errors += _rule_errors(SPEC.child("rules").index(position), rule)
    lenient = old is not None and any(_secret_errors(SPEC, tls.secret_name) for tls in old.tls)
    for position, tls in enumerate(spec.tls):
        here = SPEC.child("tls").index(position)
        for number, host in enumerate(tls.hosts):
            errors += _name_errors(here.child("hosts").index(number), host)
        errors += [] if lenient else _secret_errors(here.child("secretName"), tls.secret_name)
    if spec.ingress_class_name is not None:
        errors += checks.dns_subdomain(SPEC.child("ingressClassName"), spec.ingress_class_name)
    return errors


def _secret_errors(path: Path, name: str | None) -> Errors:
    return checks.dns_subdomain(path, name) if name else []


def _name_errors(path: Path, host: str) -> Errors:
    if "*" in host:
        return fields.invalid_each(path, host, names.wildcard_dns_subdomain_errors(host))
    return checks.dns_subdomain(path, host)


def _host_errors(path: Path, host: str) -> Errors:
    errors: Errors = []
    if names.parse_ip(host) is not None:
        errors.append(fields.invalid(path, host, _NOT_AN_ADDRESS))
    return errors + _name_errors(path, host)


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
    where, here, text = path.child("pathType"), path.child("path"), route.path or ""
    if not route.path_type:
        return [fields.required(where, "pathType must be specified")]
    errors: Errors = []
    if route.path_type not in PATH_TYPES:
        errors.append(fields.not_supported(where, route.path_type, PATH_TYPES))
    elif route.path_type == "ImplementationSpecific":
        if text and not text.startswith("/"):
            errors.append(fields.invalid(here, text, "must be an absolute path"))
    else:
        errors += _absolute_path_errors(here, text)
    return errors + _backend_errors(path.child("backend"), route.backend)


def _absolute_path_errors(path: Path, text: str) -> Errors:
    errors = [] if text.startswith("/") else [fields.invalid(path, text, "must be an absolute path")]
    for wrong in ("//", "/./", "/../", "%2f", "%2F"):
        if wrong in text:
            errors.append(fields.invalid(path, text, f"must not contain '{wrong}'"))
    for ending in ("/..", "/."):
        if text.endswith(ending):
            errors.append(fields.invalid(path, text, f"cannot end with '{ending}'"))
    return errors


def _backend_errors(path: Path, backend: IngressBackend) -> Errors:
    service, resource = backend.service, backend.resource
    if service is not None and resource is not None:
        return [fields.invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return reference_errors(path.child("resource"), resource)
    if service is None:
        return [fields.invalid(path, "", "resource or service backend is required")]
    where, port = path.child("service"), service.port
    if service.name:
        errors = checks.dns_label(where.child("name"), service.name)
    else:
        errors = [fields.required(where.child("name"))]
    if not (port.name or port.number):
        return [*errors, fields.required(path, "port name or number is required")]
    if port.name and port.number:
        return [*errors, fields.invalid(path, "", "cannot set both port name & port number")]
    here = where.child("port", "name" if port.name else "number")
    return errors + checks.port_or_name(here, port.name or port.number)


def reference_errors(path: Path, reference: Any) -> Errors:
    """Check a reference by group, kind and name: to a backend, or to the parameters of a class."""
    errors: Errors = []
    if reference.api_group is not None:
        errors += checks.dns_subdomain(path.child("apiGroup"), reference.api_group)
    for name, value in (("kind", reference.kind), ("name", reference.name)):
        where = path.child(name)
        errors += (
            fields.invalid_each(where, value, names.path_segment_errors(value))
            if value
            else [fields.required(where, f"{name} is required")]
        )
    return errors


def _status_errors(obj: Ingress, known: Container[str | None]) -> Errors:
    """Return the errors in the status. Addresses in ``known``, those of the stored object, stay valid."""
    path = Path("status.loadBalancer.ingress")
    errors: Errors = []
    for position, point in enumerate(obj.status.load_balancer.ingress):
        here = path.index(position)
        if point.ip and point.ip not in known:
            errors += checks.ip(here.child("ip"), point.ip)
        if point.hostname:
            where = here.child("hostname")
            errors += checks.dns_subdomain(where, point.hostname)
            if names.parse_ip(point.hostname) is not None:
                errors.append(fields.invalid(where, point.hostname, _NOT_AN_ADDRESS))
    return errors
