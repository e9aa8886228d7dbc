"""Addresses of what a proxy request or a webhook names: ports of pods, ready endpoints of Services. Pure.

The name in the URL of a proxy may say more than a name: ``[scheme:]name[:port]``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable

from msgspec import Struct

from podling.api.core_v1 import Pod, Service
from podling.api.discovery_v1 import Endpoint, EndpointSlice
from podling.machinery import errors
from podling.machinery.numbers import is_number

PORT_MAX = 65535
SERVICE_NAME = "kubernetes.io/service-name"

PodNamed = Callable[[str], Pod | None]
"""Finds a pod of the service's namespace."""


class Destination(Struct, frozen=True):
    """A name in a proxy URL, taken apart."""

    scheme: str
    name: str
    port: str


def destination(text: str) -> Destination:
    """``https:web:8443`` in its parts. Raises 400."""
    parts = text.split(":")
    if len(parts) == 1:
        return Destination("http", text, "")
    if len(parts) == 2:
        return Destination("http", parts[0], parts[1])
    if len(parts) == 3 and parts[0] in ("", "http", "https"):
        return Destination(parts[0] or "http", parts[1], parts[2])
    raise errors.bad_request(f'invalid proxy request "{text}"')


def pod_address(pod: Pod, port: str) -> tuple[str, int]:
    """Return the address of a pod: the port given by number or name, else its first. Raises 400."""
    address = pod.status.pod_ips[0].ip if pod.status.pod_ips else pod.status.pod_ip or ""
    if not address:
        raise errors.bad_request(f"pod {pod.metadata.name} has no address")
    refuse_local(address)
    ports = [each for container in pod.spec.containers for each in container.ports]
    if is_number(port):
        if int(port) > PORT_MAX:
            why = f"dial tcp: address {port}: invalid port"
            raise errors.service_unavailable(f"error trying to reach service: {why}")
        return address, int(port)
    if port:
        ports = [each for each in ports if each.name == port]
    if not ports:
        return address, 80 if not port else _no_port("pod", pod.metadata.name, port)
    return address, ports[0].container_port


def service_addresses(
    service: Service, slices: Iterable[EndpointSlice], port: str, pod_named: PodNamed | None = None
) -> list[tuple[str, int]]:
    """Return every ready endpoint behind one port of a service. Raises 503 when there is none.

    An EndpointSlice may name any address. With ``pod_named`` only those are taken that pods of the service's
    namespace have, so that a tenant who may write EndpointSlices cannot reach services of the node through
    the server. Webhooks and APIServices, which only administrators write, go anywhere.
    """
    name = service.metadata.name
    if port.isascii() and port.isdigit():
        known = [each for each in service.spec.ports if str(each.port) == port]
        if not known:
            raise errors.service_unavailable(f'no service port {port} found for service "{name}"')
        port = known[0].name or ""
    found: list[tuple[str, int]] = []
    for each in slices:
        if each.metadata.labels.get(SERVICE_NAME) != name:
            continue
        numbers = [own.port for own in each.ports if (own.name or "") == port and own.port]
        ready = [end for end in each.endpoints if end.conditions.ready is not False]
        found += [
            (address, number)
            for end in ready
            for address in end.addresses
            if pod_named is None or _is_pod_address(end, address, service.metadata.namespace, pod_named)
            for number in numbers
        ]
    if not found:
        raise errors.service_unavailable(f'no endpoints available for service "{name}"')
    return found


def _is_pod_address(end: Endpoint, address: str, namespace: str | None, pod_named: PodNamed) -> bool:
    """Return whether the endpoint names a pod of this namespace that has the address (upstream:
    ``isValidAddress`` in ``pkg/registry/core/service/storage``)."""
    ref = end.target_ref
    if ref is None or ref.namespace != namespace or ref.kind not in (None, "", "Pod"):
        return False
    pod = pod_named(ref.name or "")
    return pod is not None and any(each.ip == address for each in pod.status.pod_ips)


def _no_port(kind: str, name: str | None, port: str) -> int:
    raise errors.service_unavailable(f'no service port "{port}" found for {kind} "{name}"')


def refuse_local(address: str) -> None:
    """Raise 400 for an address that may be this host: the server must not send requests to itself."""
    ip = ipaddress.ip_address(address)
    if ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified:
        raise errors.bad_request("address not allowed")
