"""The names of one cluster: its records, and the answers that follow from them. Pure.

Every rule is that of CoreDNS' ``kubernetes`` plugin with ``pods insecure`` and ``ttl 30``
(``plugin/kubernetes/{parse,kubernetes,reverse,ns}.go``, ``plugin/backend_lookup.go``), which implements the
Kubernetes DNS specification 1.1.0. ``*`` is an ordinary label: there are no wildcards. Two answers differ, on
purpose: the name ``dns-version`` exists for every type, and a pod's address has no names below it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from ipaddress import ip_address

from msgspec import Struct

from podling.network.dns.answers import (
    AAAA,
    AXFR,
    CNAME,
    IXFR,
    NS,
    NXDOMAIN,
    PTR,
    REFUSED,
    SOA,
    SRV,
    TXT,
    A,
    Answer,
    Labels,
    Record,
    Soa,
    Srv,
    address_record,
    is_below,
    labels_of,
    reverse_address,
)
from podling.network.dns.records import (
    NO_PORT,
    Address,
    Port,
    RecordsHead,
    SlicedRecords,
    decode_endpoints,
    service_key,
)
from podling.network.dns.service_index import ServiceIndex

TTL_SECONDS = 30
SCHEMA_VERSION = "1.1.0"
SCHEMA_TTL_SECONDS = 28800
CNAME_CHAIN_MAX = 10
DNS_SERVICE = ("kube-system", "kube-dns")

ANY_CHANGE = "*"
"""In ``Answer.depends``: the answer may change with every change."""
ANY_NAMESPACE = "namespaces"
"""In ``Answer.depends``: the answer may change with the set of namespaces."""

BYTES_MAX = 65535
"""The size of the largest message."""
_RECORD_BYTES_MIN = 16
_EQUAL_WEIGHTS = 101
"""From so many targets on every SRV record has the same weight, 1."""

_SVC, _POD = "svc", "pod"
_WEIGHT = 100


class Target(Struct, frozen=True):
    """One target of a name: an address or an external name, its port, and its name in SRV records."""

    host: str
    port: int
    name: str
    external: bool = False


class Zone:
    """Answers for the cluster's domain and, where it knows an address, for reverse names.

    Args:
        index: the records.
        domain: the cluster's domain.
        own_addresses: the server's addresses, for the zone's NS records while there is no Service for them.
    """

    def __init__(self, index: ServiceIndex, domain: str, own_addresses: tuple[str, ...] = ()) -> None:
        self.index = index
        self.domain = ".".join(labels_of(domain))
        self.labels = labels_of(domain)
        self._own = own_addresses

    def contains(self, labels: Labels) -> bool:
        return is_below(labels, self.labels)

    def lookup_reverse(self, labels: Labels, kind: int) -> Answer | None:
        """Return the answer to a question for an address; None if this cluster has no such address."""
        packed = reverse_address(labels) if kind == PTR else b""
        names = dict.fromkeys(self._names_of(packed)) if packed else {}
        if not names:
            return None
        return Answer(
            records=tuple(Record("", PTR, TTL_SECONDS, name) for name in names), depends=(ANY_CHANGE,)
        )

    def lookup(self, labels: Labels, kind: int, limit: int = BYTES_MAX) -> Answer:
        """Answer a question for a name below the cluster's domain.

        Of a large answer there are no more records than fill ``limit`` bytes, and one.
        """
        if kind in (AXFR, IXFR):
            return Answer(REFUSED)
        below = labels[: len(labels) - len(self.labels)]
        depends = _depends(below)
        if special := self._special(below, kind):
            return special
        targets = self._targets(below, kind, max(_EQUAL_WEIGHTS, limit // _RECORD_BYTES_MIN + 2))
        if targets is None:
            return Answer(NXDOMAIN, authority=(self.soa(),), depends=depends)
        found = self._answer(labels, kind, targets)
        return Answer(
            records=found.records,
            authority=() if found.records else (self.soa(),),
            additional=found.additional,
            follow=found.follow,
            depends=depends + found.depends,
        )

    def soa(self) -> Record:
        """Return the zone's start of authority; it also says how long denials may be cached."""
        domain = self.domain
        data = Soa(f"ns.dns.{domain}", f"hostmaster.{domain}", self.index.serial, minimum=TTL_SECONDS)
        return Record(domain, SOA, TTL_SECONDS, data)

    # ---- names with answers of their own

    def _special(self, below: Labels, kind: int) -> Answer | None:
        if not below and kind == SOA:
            return Answer(records=(self.soa(),), depends=(ANY_CHANGE,))
        if not below and kind == NS:
            servers = self._servers()
            names = dict.fromkeys(name for name, _ in servers)
            return Answer(
                records=tuple(Record("", NS, TTL_SECONDS, name) for name in names),
                additional=tuple(address_record(name, TTL_SECONDS, ip) for name, ip in servers),
                depends=(service_key(*DNS_SERVICE),),
            )
        if below == ("dns-version",):
            if kind != TXT:
                return Answer(authority=(self.soa(),))
            return Answer(records=(Record("", TXT, SCHEMA_TTL_SECONDS, SCHEMA_VERSION.encode()),))
        if below == ("ns", "dns"):
            found = [address_record("", TTL_SECONDS, ip) for _, ip in self._servers()]
            records = tuple(record for record in found if record.type == kind)
            denial = () if records else (self.soa(),)
            return Answer(records=records, authority=denial, depends=(service_key(*DNS_SERVICE),))
        return None

    def _servers(self) -> list[tuple[str, str]]:
        """Return the names and addresses of the cluster's DNS servers."""
        service = self.index.get(service_key(*DNS_SERVICE))
        if service is not None and service.cluster_ips:
            name = self._service_name(service)
            return [(name, ip) for ip in service.cluster_ips]
        return [(f"ns.dns.{self.domain}", ip) for ip in self._own]

    # ---- targets

    def _targets(self, below: Labels, kind: int, most: int) -> list[Target] | None:
        """Return the targets of a name; empty if it only has names below it, None if it does not exist.

        Those that add nothing to an answer of ``kind`` may be missing, but for the first one.
        """
        if not below:
            return []
        if below[-1] not in (_SVC, _POD):
            return None
        if len(below) == 1:
            return []
        namespace, rest = below[-2], below[:-2]
        if not rest:
            return [] if self.index.has_namespace(namespace) else None
        if below[-1] == _POD:
            return self._pod(namespace, rest) if len(rest) == 1 else None
        service = self.index.get(service_key(namespace, rest[-1]))
        if service is None or len(rest) > 3:
            return None
        return _first(self._service_targets(service, rest[:-1], kind), kind, most) or None

    def _pod(self, namespace: str, rest: Labels) -> list[Target] | None:
        """Return the address in a pod's name, whether or not there is such a pod (``pods insecure``)."""
        if not self.index.has_namespace(namespace):
            return None
        label = rest[0]
        plain = label.count("-") == 3 and "--" not in label
        ip = label.replace("-", "." if plain else ":")
        try:
            host = str(ip_address(ip))
        except ValueError:
            return None
        return [Target(host, 0, f"{label}.{namespace}.{_POD}.{self.domain}")]

    def _service_targets(self, service: SlicedRecords, left: Labels, kind: int) -> Iterator[Target]:
        """Yield the targets of a Service's name. ``left``: an endpoint, or a port and a protocol."""
        endpoint = left[0] if len(left) == 1 else ""
        port, protocol = (label.removeprefix("_") for label in left) if len(left) == 2 else ("", "")
        if service.external_name:
            if not left and not _is_address(service.external_name):
                yield Target(service.external_name, 0, self._service_name(service), external=True)
        elif service.headless or endpoint:
            yield from self._endpoint_targets(service, endpoint, port, protocol, kind)
        else:
            name = self._service_name(service)
            for each in service.ports:
                if _matches(each, port, protocol):
                    yield from (Target(ip, each.number, name) for ip in service.cluster_ips)

    def _endpoint_targets(
        self, service: SlicedRecords, endpoint: str, port: str, protocol: str, kind: int
    ) -> Iterator[Target]:
        exists = False
        for group in service.groups():
            ports = [each for each in group.ports if _matches(each, port, protocol)]
            for address in group.addresses if ports else ():
                if endpoint and endpoint != address.label.lower():
                    continue
                if exists and not _answers(address.ip, kind):
                    continue
                exists = True
                name = self._endpoint_name(service, address)
                yield from (Target(address.ip, each.number, name) for each in ports)

    def _service_name(self, service: RecordsHead) -> str:
        return f"{service.name}.{service.namespace}.{_SVC}.{self.domain}"

    def _endpoint_name(self, service: RecordsHead, address: Address) -> str:
        return f"{address.label}.{self._service_name(service)}"

    def _names_of(self, packed: bytes) -> Iterator[str]:
        """Yield the names of an address: the Service with this cluster IP, else its endpoints."""
        services = [found for key in self.index.owners(packed) if (found := self.index.get(key)) is not None]
        for service in services:
            if any(ip_address(ip).packed == packed for ip in service.cluster_ips):
                yield self._service_name(service)
                return
        text = str(ip_address(packed))
        is_short = len(packed) == 4
        for service in services:
            for data in map(bytes, service.endpoints):
                if is_short and text.encode() not in data:
                    continue
                for address in decode_endpoints(data).addresses:
                    # An address of IPv6 may be written in several ways.
                    if address.ip == text or (not is_short and ip_address(address.ip).packed == packed):
                        yield self._endpoint_name(service, address)

    # ---- records

    def _answer(self, labels: Labels, kind: int, targets: list[Target]) -> Answer:
        if kind in (A, AAAA):
            return self._addresses(labels, kind, targets, ("",))
        if kind == SRV:
            return _srv([target for target in targets if not target.external])
        if kind == CNAME and targets and targets[0].external:
            return Answer(records=(Record("", CNAME, TTL_SECONDS, _canonical(targets[0].host)),))
        return Answer()

    def _addresses(self, labels: Labels, kind: int, targets: list[Target], chain: tuple[str, ...]) -> Answer:
        """Return the address records of ``targets``; ``chain``: the owners of the CNAME records so far."""
        external = next((target for target in targets if target.external), None)
        if external is None:
            hosts = dict.fromkeys(target.host for target in targets)
            found = (address_record(chain[-1], TTL_SECONDS, host) for host in hosts)
            return Answer(records=tuple(record for record in found if record.type == kind))
        name = _canonical(external.host)
        target = labels_of(name)
        if target == labels or name in chain or len(chain) > CNAME_CHAIN_MAX:
            return Answer()
        alias = Record(chain[-1], CNAME, TTL_SECONDS, name)
        if not self.contains(target):
            return Answer(records=(alias,), follow=name)
        below = target[: len(target) - len(self.labels)]
        depends = _depends(below)
        next_targets = self._targets(below, kind, BYTES_MAX // _RECORD_BYTES_MIN) or []
        found_next = self._addresses(target, kind, next_targets, (*chain, name))
        if not found_next.records:
            return Answer(depends=depends + found_next.depends)
        return Answer(
            records=(alias, *found_next.records),
            follow=found_next.follow,
            depends=depends + found_next.depends,
        )


def _answers(ip: str, kind: int) -> bool:
    """Return whether an endpoint's address adds to an answer of ``kind``."""
    return kind == SRV or kind == (AAAA if ":" in ip else A)


def _first(targets: Iterable[Target], kind: int, most: int) -> list[Target]:
    """Return targets up to the one with which an answer of ``kind`` has ``most`` records."""
    found: list[Target] = []
    records: set[object] = set()
    for each in targets:
        found.append(each)
        records.add((each.name, each.port) if kind == SRV else each.host)
        if len(records) >= most:
            break
    return found


def _depends(below: Labels) -> tuple[str, ...]:
    """Return what the answer for a name depends on: its Service, or the existence of its namespace."""
    if below[2:] and below[-1] == _SVC:
        return (service_key(below[-2], below[-3]),)
    return (ANY_NAMESPACE,) if below[1:] else ()


def _srv(targets: list[Target]) -> Answer:
    """Return SRV records of equal weight, with the addresses of their targets."""
    weight = max(1, math.floor(100.0 / (_WEIGHT * len(targets)) * _WEIGHT)) if targets else 0
    records: dict[tuple[str, int], Record] = {}
    additional: dict[tuple[str, str], Record] = {}
    for target in targets:
        if target.port == NO_PORT:
            continue
        srv = Srv(0, weight, target.port, target.name)
        records.setdefault((target.name, target.port), Record("", SRV, TTL_SECONDS, srv))
        address = address_record(target.name, TTL_SECONDS, target.host)
        additional.setdefault((target.name, target.host), address)
    return Answer(records=tuple(records.values()), additional=tuple(additional.values()))


def _matches(port: Port, name: str, protocol: str) -> bool:
    """Return whether a port is meant; an empty name or protocol means every one."""
    return name in ("", port.name.lower()) and protocol in ("", port.protocol)


def _canonical(name: str) -> str:
    return name.lower().removesuffix(".")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
