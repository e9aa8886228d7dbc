"""Endpoints: the older kind for the endpoints of a Service.

Upstream: ``ValidateEndpoints`` in ``pkg/apis/core/validation``, ``pkg/registry/core/endpoint``.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import EndpointAddress, Endpoints, EndpointSubset
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.address_warnings import ip_warnings
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, NONE, age
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_empty, map_items
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.tables import Column

PROTOCOLS = ("SCTP", "TCP", "UDP")
ENDPOINTS_MANAGED_BY = "endpoints.kubernetes.io/managed-by"
ENDPOINTS_CONTROLLER = "endpoint-controller"
SHOWN = 3
"""The number of addresses or ports that a row shows; it counts the rest."""


class EndpointsRules(KindRules[Endpoints]):
    deprecation = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    create_on_update = True
    columns = (NAME, Column("Endpoints", description="Addresses and ports that are ready"), AGE)

    def default(self, obj: Endpoints) -> Endpoints:
        def default_ports(subset: EndpointSubset) -> EndpointSubset:
            return change(
                subset, ports=map_items(subset.ports, lambda port: fill_empty(port, protocol="TCP"))
            )

        return change(obj, subsets=map_items(obj.subsets, default_ports))

    def validate(self, obj: Endpoints, context: Context) -> Errors:
        return _subsets_errors(obj, frozenset())

    def validate_update(self, new: Endpoints, old: Endpoints, context: Context) -> Errors:
        return _subsets_errors(new, {address.ip for _, address in _addresses(old)})

    def warnings(self, obj: Endpoints, old: Endpoints | None, context: Context) -> list[str]:
        if obj.metadata.labels.get(ENDPOINTS_MANAGED_BY) == ENDPOINTS_CONTROLLER:
            return []
        return [
            text for path, address in _addresses(obj) for text in ip_warnings(path.child("ip"), address.ip)
        ]

    def row(self, obj: Endpoints, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, _endpoints_text(obj), age(obj, now)


def _addresses(obj: Endpoints) -> Iterator[tuple[Path, EndpointAddress]]:
    """Yield the path and value of each address, ready or not."""
    for position, subset in enumerate(obj.subsets):
        here = Path("subsets").index(position)
        for number, address in enumerate(subset.addresses):
            yield here.child("addresses").index(number), address
        for number, address in enumerate(subset.not_ready_addresses):
            yield here.child("notReadyAddresses").index(number), address


def _subsets_errors(obj: Endpoints, known: Container[str]) -> Errors:
    """Return the errors in the subsets. Addresses in ``known``, those of the stored object, stay valid."""
    errors: Errors = []
    for position, subset in enumerate(obj.subsets):
        errors += _subset_errors(Path("subsets").index(position), subset, known)
    return errors


def _subset_errors(path: Path, subset: EndpointSubset, known: Container[str]) -> Errors:
    errors: Errors = []
    if not subset.addresses and not subset.not_ready_addresses:
        errors.append(fields.required(path, "must specify `addresses` or `notReadyAddresses`"))
    for name, addresses in (
        ("addresses", subset.addresses),
        ("notReadyAddresses", subset.not_ready_addresses),
    ):
        for position, address in enumerate(addresses):
            errors += _address_errors(path.child(name).index(position), address, known)
    for position, port in enumerate(subset.ports):
        here = path.child("ports").index(position)
        if not port.name:
            errors += [fields.required(here.child("name"))] if len(subset.ports) > 1 else []
        else:
            errors += checks.dns_label(here.child("name"), port.name)
        errors += checks.port_number(here.child("port"), port.port)
        errors += checks.required_one_of(here.child("protocol"), port.protocol, PROTOCOLS)
        if port.app_protocol is not None:
            errors += checks.label_name(here.child("appProtocol"), port.app_protocol)
    return errors


def _address_errors(path: Path, address: EndpointAddress, known: Container[str]) -> Errors:
    errors = checks.ip(path.child("ip"), address.ip, known)
    if address.hostname:
        errors += checks.dns_label(path.child("hostname"), address.hostname)
    if address.node_name is not None:
        errors += checks.dns_subdomain(path.child("nodeName"), address.node_name)
    return errors + checks.ordinary_ip(path.child("ip"), address.ip)


def _endpoints_text(obj: Endpoints) -> str:
    """Return the ENDPOINTS cell; empty if there are addresses but none is ready."""
    if not obj.subsets:
        return NONE
    found: list[str] = []
    for subset in obj.subsets:
        if not subset.ports:
            found += [address.ip for address in subset.addresses]
        for port in subset.ports:
            found += [_with_port(address.ip, port.port) for address in subset.addresses]
    return shorten(found)


def _with_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def shorten(items: Sequence[str]) -> str:
    """Return the first items of a list and the number of further ones."""
    text = ",".join(items[:SHOWN])
    return f"{text} + {len(items) - SHOWN} more..." if len(items) > SHOWN else text
