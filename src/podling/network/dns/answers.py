"""Questions, resource records and answers, as plain values. Pure.

A record owned by the name in question has an empty ``owner``: on the wire it is a pointer to the question,
which keeps the letters' case that the client used.
"""

from __future__ import annotations

from ipaddress import ip_address

from msgspec import Struct

A, NS, CNAME, SOA, PTR, MX, TXT, AAAA, SRV, OPT = 1, 2, 5, 6, 12, 15, 16, 28, 33, 41
IXFR, AXFR, ANY = 251, 252, 255
TYPE_NAMES = {
    A: "A",
    NS: "NS",
    CNAME: "CNAME",
    SOA: "SOA",
    PTR: "PTR",
    MX: "MX",
    TXT: "TXT",
    AAAA: "AAAA",
    SRV: "SRV",
    35: "NAPTR",
    43: "DS",
    46: "RRSIG",
    47: "NSEC",
    48: "DNSKEY",
    64: "SVCB",
    65: "HTTPS",
    IXFR: "IXFR",
    AXFR: "AXFR",
    ANY: "ANY",
}
"""Names of types in metrics; all others are ``other``, as CoreDNS has it."""

NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED, BADVERS = 0, 1, 2, 3, 4, 5, 16
RCODE_NAMES = {
    NOERROR: "NOERROR",
    FORMERR: "FORMERR",
    SERVFAIL: "SERVFAIL",
    NXDOMAIN: "NXDOMAIN",
    NOTIMP: "NOTIMP",
    REFUSED: "REFUSED",
    BADVERS: "BADVERS",
}

TTL_HOSTS_SECONDS = 3600
"""The TTL of static hosts (CoreDNS, ``plugin/hosts``)."""

Labels = tuple[str, ...]
"""A name as its labels in lower case, without the root's empty one."""


class Srv(Struct, frozen=True):
    priority: int
    weight: int
    port: int
    target: str


class Soa(Struct, frozen=True):
    """The data of a start of authority; times are seconds."""

    primary: str
    mailbox: str
    serial: int
    refresh: int = 7200
    retry: int = 1800
    expire: int = 86400
    minimum: int = 30


class Record(Struct, frozen=True):
    """One resource record of class IN.

    ``data``: packed bytes of an address, text of a TXT record, a name, or the fields of SRV and SOA.
    """

    owner: str
    type: int
    ttl: int
    data: bytes | str | Srv | Soa


class Answer(Struct, frozen=True):
    """The content of a response.

    ``follow``: the name at the end of the CNAME records in ``records``, which is to be resolved elsewhere and
    appended; empty if the answer is complete.
    ``depends``: the Services (keys) whose change may change this answer.
    """

    rcode: int = NOERROR
    records: tuple[Record, ...] = ()
    authority: tuple[Record, ...] = ()
    additional: tuple[Record, ...] = ()
    follow: str = ""
    depends: tuple[str, ...] = ()


def address_record(owner: str, ttl: int, ip: str) -> Record:
    """Return the A or AAAA record of an address."""
    address = ip_address(ip)
    return Record(owner, A if address.version == 4 else AAAA, ttl, address.packed)


def labels_of(name: str) -> Labels:
    """Return a name's labels in lower case; a trailing dot does not count."""
    stripped = name.lower().removesuffix(".")
    return tuple(stripped.split(".")) if stripped else ()


def is_below(labels: Labels, zone: Labels) -> bool:
    """Return whether a name is ``zone`` or below it."""
    return len(labels) >= len(zone) and labels[len(labels) - len(zone) :] == zone


def reverse_address(labels: Labels) -> bytes:
    """Return the packed address that a name of a reverse zone stands for; empty if it is none."""
    try:
        if labels[-2:] == ("in-addr", "arpa") and len(labels) == 6:
            return ip_address(".".join(reversed(labels[:-2]))).packed
        if labels[-2:] == ("ip6", "arpa") and len(labels) == 34:
            if any(len(label) != 1 for label in labels[:-2]):
                return b""
            return bytes.fromhex("".join(reversed(labels[:-2])))
    except ValueError:
        return b""
    return b""
