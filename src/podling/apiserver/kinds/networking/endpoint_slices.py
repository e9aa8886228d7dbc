"""EndpointSlices: the endpoints of a Service, in several objects.

Upstream: ``pkg/apis/discovery/validation``, ``pkg/registry/discovery/endpointslice``.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import datetime
from typing import Any

from podling.api.discovery_v1 import Endpoint, EndpointPort, EndpointSlice, ForNode, ForZone
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.address_warnings import ip_warnings
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, UNSET, age
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty, map_items
from podling.apiserver.kinds.networking.endpoints import PROTOCOLS, shorten
from podling.machinery import fields, label_checks, names
from podling.machinery.fields import Path
from podling.machinery.tables import Column

ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
MAX_ENDPOINTS = 1000
MAX_ADDRESSES = 100
MAX_PORTS = 20_000
MAX_HINTS = 8
MAX_TOPOLOGY_LABELS = 16
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


class EndpointSliceRules(KindRules[EndpointSlice]):
    columns = (
        NAME,
        Column("AddressType", description="IPv4, IPv6 or names"),
        Column("Ports", description="Ports of every endpoint"),
        Column("Endpoints", description="Addresses"),
        AGE,
    )

    def default(self, obj: EndpointSlice) -> EndpointSlice:
        ports = map_items(obj.ports, lambda port: fill_empty(fill_absent(port, name=""), protocol="TCP"))
        return change(obj, ports=ports)

    def prepare_create(self, obj: EndpointSlice, context: Context) -> EndpointSlice:
        endpoints = map_items(obj.endpoints, _without_topology)
        return change(obj, metadata=change(obj.metadata, generation=1), endpoints=endpoints)

    def prepare_update(self, new: EndpointSlice, old: EndpointSlice, context: Context) -> EndpointSlice:
        """Return the update with its generation.

        Changes of labels and of everything outside the metadata count.
        """
        if new.endpoints != old.endpoints:
            new = change(new, endpoints=map_items(new.endpoints, _without_topology))
        same = change(new, metadata=old.metadata) == old and new.metadata.labels == old.metadata.labels
        generation = (old.metadata.generation or 0) + (0 if same else 1)
        return change(new, metadata=change(new.metadata, generation=generation))

    def validate(self, obj: EndpointSlice, context: Context) -> Errors:
        return _slice_errors(obj, frozenset())

    def validate_update(self, new: EndpointSlice, old: EndpointSlice, context: Context) -> Errors:
        known = {address for endpoint in old.endpoints for address in endpoint.addresses}
        errors = checks.immutable(Path("addressType"), new.address_type, old.address_type)
        return _slice_errors(new, known) + errors

    def warnings(self, obj: EndpointSlice, old: EndpointSlice | None, context: Context) -> list[str]:
        found: list[str] = []
        if old is None and obj.address_type == "FQDN":
            found.append("spec.addressType: FQDN endpoints are deprecated")
        if obj.metadata.labels.get(MANAGED_BY) in CONTROLLERS:
            return found
        for position, endpoint in enumerate(obj.endpoints):
            here = Path("endpoints").index(position).child("addresses")
            for number, address in enumerate(endpoint.addresses):
                found += ip_warnings(here.index(number), address)
        return found

    def row(self, obj: EndpointSlice, now: datetime) -> Sequence[Any]:
        ports = [_port_text(port) for port in obj.ports]
        addresses = [address for endpoint in obj.endpoints for address in endpoint.addresses]
        return (
            obj.metadata.name,
            obj.address_type,
            shorten(ports) or UNSET,
            shorten(addresses) or UNSET,
            age(obj, now),
        )


def _port_text(port: EndpointPort) -> str:
    if port.port is not None:
        return str(port.port)
    return "*" if port.name is None else port.name


def _without_topology(endpoint: Endpoint) -> Endpoint:
    """Return the endpoint without ``deprecatedTopology``, which clients cannot set through v1."""
    return change(endpoint, deprecated_topology={}) if endpoint.deprecated_topology else endpoint


def _slice_errors(obj: EndpointSlice, known: Container[str]) -> Errors:
    """Return the errors in a slice. Addresses in ``known``, those of the stored object, stay valid."""
    errors = checks.required_one_of(Path("addressType"), obj.address_type, ADDRESS_TYPES)
    if len(obj.endpoints) > MAX_ENDPOINTS:
        errors.append(fields.too_many(Path("endpoints"), len(obj.endpoints), MAX_ENDPOINTS))
        return errors + _slice_port_errors(obj)
    for position, endpoint in enumerate(obj.endpoints):
        errors += _endpoint_errors(Path("endpoints").index(position), endpoint, obj.address_type, known)
    return errors + _slice_port_errors(obj)


def _endpoint_errors(path: Path, endpoint: Endpoint, address_type: str, known: Container[str]) -> Errors:
    here = path.child("addresses")
    errors: Errors = []
    if not endpoint.addresses:
        errors.append(fields.required(here, "must contain at least 1 address"))
    elif len(endpoint.addresses) > MAX_ADDRESSES:
        errors.append(fields.too_many(here, len(endpoint.addresses), MAX_ADDRESSES))
    for position, address in enumerate(endpoint.addresses):
        if address_type == "FQDN":
            errors += _domain_errors(here.index(position), address)
            continue
        if address_type not in ADDRESS_TYPES:
            continue
        problems = checks.ip(here.index(position), address, known)
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


def _domain_errors(path: Path, name: str) -> Errors:
    """Return the errors in a name of at least two labels, with or without a dot at the end."""
    if not name:
        return [fields.required(path)]
    name = name.removesuffix(".")
    problems = names.dns_subdomain_errors(name)
    if problems:
        return [fields.invalid(path, name, ",".join(problems))]
    labels = name.split(".")
    if len(labels) < 2:
        text = "should be a domain with at least two segments separated by dots"
        return [fields.invalid(path, name, text)]
    return [
        fields.invalid(path, label, ",".join(wrong))
        for label in labels
        if (wrong := names.dns_label_errors(label))
    ]


def _topology_errors(path: Path, endpoint: Endpoint) -> Errors:
    labels = endpoint.deprecated_topology
    errors: Errors = []
    if len(labels) > MAX_TOPOLOGY_LABELS:
        errors.append(fields.too_many(path, len(labels), MAX_TOPOLOGY_LABELS))
    return errors + label_checks.labels(path, labels)


def _zone_hint_errors(path: Path, zones: Sequence[ForZone]) -> Errors:
    if len(zones) > MAX_HINTS:
        return [fields.too_many(path, len(zones), MAX_HINTS)]
    errors: Errors = []
    for position, zone in enumerate(zones):
        here = path.index(position).child("name")
        errors += [fields.duplicate(here, zone.name)] if zone in zones[:position] else []
        errors += fields.invalid_each(here, zone.name, names.label_value_errors(zone.name))
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
