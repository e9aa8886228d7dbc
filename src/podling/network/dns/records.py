"""The values that cluster DNS answers from: what a Service and its endpoints mean for names. Pure.

The node's process computes them from API objects (``service_records``) and sends them to the DNS process,
which keeps each Service in its encoded form: 50,000 endpoints then take a few megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Struct

NO_PORT = -1
"""The number of the port that stands for "no ports": address records exist, SRV records do not (CoreDNS)."""


class Port(Struct, frozen=True, array_like=True):
    """One named port; ``protocol`` is in lower case, as in names."""

    name: str
    protocol: str
    number: int


ANY_PORT = Port("", "", NO_PORT)


class Address(Struct, frozen=True, array_like=True):
    """One endpoint that is ready; ``hostname`` is empty if its label follows from the address."""

    ip: str
    hostname: str = ""

    @property
    def label(self) -> str:
        """Return the endpoint's own label below its Service."""
        return self.hostname or address_label(self.ip)


class Endpoints(Struct, frozen=True, array_like=True):
    """The addresses of one EndpointSlice, with the ports that all of them have."""

    ports: tuple[Port, ...]
    addresses: tuple[Address, ...]


class RecordsHead(Struct, frozen=True, array_like=True):
    """The records of one Service without its endpoints."""

    namespace: str
    name: str
    cluster_ips: tuple[str, ...] = ()
    """Empty for a headless Service and for an external name."""
    external_name: str = ""
    ports: tuple[Port, ...] = ()

    @property
    def headless(self) -> bool:
        return not self.cluster_ips and not self.external_name

    @property
    def key(self) -> str:
        return service_key(self.namespace, self.name)


class SlicedRecords(RecordsHead, frozen=True, array_like=True):
    """Everything that names of one Service are answered from, with each EndpointSlice still encoded.

    A question, or the change of one slice, decodes only the slices that it needs.
    """

    endpoints: tuple[msgspec.Raw, ...] = ()

    def groups(self) -> Iterator[Endpoints]:
        return map(decode_endpoints, self.endpoints)


def service_key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


def address_label(ip: str) -> str:
    """Return the label that CoreDNS gives an endpoint without a hostname: ``1-2-3-4``, ``fd00--1``."""
    if "." in ip:
        return ip.replace(".", "-")
    label = ip.replace(":", "-")
    return f"{label}0" if label.endswith("-") else label


_encoder = msgspec.msgpack.Encoder()
_sliced_decoder = msgspec.msgpack.Decoder(SlicedRecords)
_endpoints_decoder = msgspec.msgpack.Decoder(Endpoints)


def encode_records(records: RecordsHead) -> bytes:
    return _encoder.encode(records)


def decode_sliced(data: bytes) -> SlicedRecords:
    """Raises ``msgspec.DecodeError`` where anything but the endpoints cannot be read."""
    return _sliced_decoder.decode(data)


def encode_endpoints(endpoints: Endpoints) -> bytes:
    return _encoder.encode(endpoints)


def decode_endpoints(data: bytes | msgspec.Raw) -> Endpoints:
    """Raises ``msgspec.DecodeError``."""
    return _endpoints_decoder.decode(data)
