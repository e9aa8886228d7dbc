"""Endpoints and EndpointSlices: which addresses are behind a Service.

Upstream: ``pkg/apis/core/validation`` (``ValidateEndpoints``), ``pkg/apis/discovery/validation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import EndpointAddress, Endpoints, EndpointSubset
from podling.api.discovery_v1 import Endpoint, EndpointSlice, ForNode, ForZone
from podling.apiserver.kinds import checks
from podling.apiserver.kinds.base import Context, KindRules
from podling.apiserver.kinds.cells import AGE, NAME, NONE, UNSET, age
from podling.apiserver.kinds.checks import Errors
from podling.apiserver.kinds.filling import change, each, fill_absent, fill_empty
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.tables import Column

PROTOCOLS = ("SCTP", "TCP", "UDP")
ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
MAX_ENDPOINTS = 1000
MAX_ADDRESSES = 100
MAX_PORTS = 20_000
MAX_HINTS = 8
MAX_TOPOLOGY_LABELS = 16
SHOWN = 3
"""How many addresses or ports a row shows before it counts the rest."""


class EndpointsRules(KindRules[Endpoints]):
    deprecation = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    create_on_update = True
    columns = (NAME, Column("Endpoints", description="Addresses and ports that are ready"), AGE)

    def default(self, obj: Endpoints) -> Endpoints:
        def filled(subset: EndpointSubset) -> EndpointSubset:
            return change(subset, ports=each(subset.ports, lambda port: fill_empty(port, protocol="TCP")))

        return change(obj, subsets=each(obj.subsets, filled))

    def validate(self, obj: Endpoints, context: Context) -> Errors:
        errors: Errors = []
        for position, subset in enumerate(obj.subsets):
            errors += _subset_errors(Path("subsets").index(position), subset)
        return errors

    def row(self, obj: Endpoints, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, _endpoints_text(obj), age(obj, now)


def _subset_errors(path: Path, subset: EndpointSubset) -> Errors:
    errors: Errors = []
    if not subset.addresses and not subset.not_ready_addresses:
        errors.append(fields.required(path, "must specify `addresses` or `notReadyAddresses`"))
    for name, addresses in (
        ("addresses", subset.addresses),
        ("notReadyAddresses", subset.not_ready_addresses),
    ):
        for position, address in enumerate(addresses):
            errors += _address_errors(path.child(name).index(position), address)
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


def _address_errors(path: Path, address: EndpointAddress) -> Errors:
    errors = checks.ip(path.child("ip"), address.ip)
    if address.hostname:
        errors += checks.dns_label(path.child("hostname"), address.hostname)
    if address.node_name is not None:
        errors += checks.dns_subdomain(path.child("nodeName"), address.node_name)
    return errors + checks.ordinary_ip(path.child("ip"), address.ip)


def _endpoints_text(obj: Endpoints) -> str:
    found: list[str] = []
    for subset in obj.subsets:
        if not subset.ports:
            found += [address.ip for address in subset.addresses]
        for port in subset.ports:
            found += [_with_port(address.ip, port.port) for address in subset.addresses]
    return shortened(found) or NONE


def _with_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def shortened(items: Sequence[str]) -> str:
    """The first few of a list, and how many more there are."""
    text = ",".join(items[:SHOWN])
    return f"{text} + {len(items) - SHOWN} more..." if len(items) > SHOWN else text


class EndpointSliceRules(KindRules[EndpointSlice]):
    columns = (
        NAME,
        Column("AddressType", description="IPv4, IPv6 or names"),
        Column("Ports", description="Ports of every endpoint"),
        Column("Endpoints", description="Addresses"),
        AGE,
    )

    def default(self, obj: EndpointSlice) -> EndpointSlice:
        ports = each(obj.ports, lambda port: fill_empty(fill_absent(port, name=""), protocol="TCP"))
        return change(obj, ports=ports)

    def prepare_create(self, obj: EndpointSlice, context: Context) -> EndpointSlice:
        return change(obj, metadata=change(obj.metadata, generation=1))

    def prepare_update(self, new: EndpointSlice, old: EndpointSlice, context: Context) -> EndpointSlice:
        """Everything but the metadata is content, and counted."""
        same = change(new, metadata=old.metadata) == old
        generation = (old.metadata.generation or 0) + (0 if same else 1)
        return change(new, metadata=change(new.metadata, generation=generation))

    def validate(self, obj: EndpointSlice, context: Context) -> Errors:
        errors = checks.required_one_of(Path("addressType"), obj.address_type, ADDRESS_TYPES)
        if len(obj.endpoints) > MAX_ENDPOINTS:
            errors.append(fields.too_many(Path("endpoints"), len(obj.endpoints), MAX_ENDPOINTS))
            return errors + _slice_port_errors(obj)
        for position, endpoint in enumerate(obj.endpoints):
            errors += _endpoint_errors(Path("endpoints").index(position), endpoint, obj.address_type)
        return errors + _slice_port_errors(obj)

    def validate_update(self, new: EndpointSlice, old: EndpointSlice, context: Context) -> Errors:
        errors = checks.immutable(Path("addressType"), new.address_type, old.address_type)
        return self.validate(new, context) + errors

    def row(self, obj: EndpointSlice, now: datetime) -> Sequence[Any]:
        ports = [str(port.port) if port.port is not None else "*" for port in obj.ports]
        addresses = [address for endpoint in obj.endpoints for address in endpoint.addresses]
        return (
            obj.metadata.name,
            obj.address_type,
            shortened(ports) or UNSET,
            shortened(addresses) or UNSET,
            age(obj, now),
        )


def _endpoint_errors(path: Path, endpoint: Endpoint, address_type: str) -> Errors:
    here = path.child("addresses")
    errors: Errors = []
    if not endpoint.addresses:
        errors.append(fields.required(here, "must contain at least 1 address"))
    elif len(endpoint.addresses) > MAX_ADDRESSES:
        errors.append(fields.too_many(here, len(endpoint.addresses), MAX_ADDRESSES))
    for position, address in enumerate(endpoint.addresses):
        if address_type == "FQDN":
            errors += checks.dns_subdomain(here.index(position), address)
            continue
        problems = checks.ip(here.index(position), address)
        if not problems and (":" in address) != (address_type == "IPv6"):
            text = f"must be an {address_type} address"
            problems = [fields.invalid(here.index(position), address, text)]
        errors += problems + checks.ordinary_ip(here.index(position), address)
    if endpoint.node_name is not None:
        errors += checks.dns_subdomain(path.child("nodeName"), endpoint.node_name)
    if endpoint.hostname is not None:
        errors += checks.dns_label(path.child("hostname"), endpoint.hostname)
    errors += _topology_errors(path.child("deprecatedTopology"), endpoint)
    if endpoint.hints is not None:
        errors += _zone_hint_errors(path.child("hints", "forZones"), endpoint.hints.for_zones)
        errors += _node_hint_errors(path.child("hints", "forNodes"), endpoint.hints.for_nodes)
    return errors


def _topology_errors(path: Path, endpoint: Endpoint) -> Errors:
    labels = endpoint.deprecated_topology
    errors: Errors = []
    if len(labels) > MAX_TOPOLOGY_LABELS:
        errors.append(fields.too_many(path, len(labels), MAX_TOPOLOGY_LABELS))
    return errors + checks.labels(path, labels)


def _zone_hint_errors(path: Path, zones: Sequence[ForZone]) -> Errors:
    if len(zones) > MAX_HINTS:
        return [fields.too_many(path, len(zones), MAX_HINTS)]
    errors: Errors = []
    for position, zone in enumerate(zones):
        here = path.index(position).child("name")
        errors += [fields.duplicate(here, zone.name)] if zone in zones[:position] else []
        errors += checks.invalid_each(here, zone.name, names.label_value_errors(zone.name))
    return errors


def _node_hint_errors(path: Path, nodes: Sequence[ForNode]) -> Errors:
    if len(nodes) > MAX_HINTS:
        return [fields.too_many(path, len(nodes), MAX_HINTS)]
    errors: Errors = []
    for position, node in enumerate(nodes):
        here = path.index(position).child("name")
        errors += [fields.duplicate(here, node.name)] if node in nodes[:position] else []
        errors += checks.dns_subdomain(here, node.name)
    return errors


def _slice_port_errors(obj: EndpointSlice) -> Errors:
    path = Path("ports")
    if len(obj.ports) > MAX_PORTS:
        return [fields.too_many(path, len(obj.ports), MAX_PORTS)]
    errors: Errors = []
    seen: set[str] = set()
    for position, port in enumerate(obj.ports):
        here, name = path.index(position), port.name or ""
        if name:
            errors += checks.dns_label(here.child("name"), name)
        errors += [fields.duplicate(here.child("name"), name)] if name in seen else []
        seen.add(name)
        errors += checks.required_one_of(here.child("protocol"), port.protocol, PROTOCOLS)
        if port.app_protocol is not None:
            errors += checks.label_name(here.child("appProtocol"), port.app_protocol)
    return errors
