"""Answers on the wire: encoded once, then cut to a size, rotated and aged as bytes. Pure.

``dnslib`` encodes names and records. What is added here works on encoded answers, because they are cached:
where each record ends (to cut), and where its TTL is (to age it).
"""

from __future__ import annotations

import struct

import dnslib
from dnslib.bimap import BimapError
from dnslib.buffer import BufferError as DnsBufferError
from dnslib.dns import DNSError
from dnslib.label import DNSBuffer, DNSLabelError
from msgspec import Struct

from podling.network.dns.answers import AAAA, CNAME, NS, PTR, TXT, A, Answer, Record, Soa, Srv

HEADER_BYTES = 12
UDP_BYTES_MIN = 512
UDP_BYTES_MAX = 1232
"""The largest datagram that is sent: it fits through every link without fragments (DNS flag day 2020)."""
TCP_BYTES_MAX = 65535

QR, AA, TC, RD, RA, AD, CD = 0x8000, 0x0400, 0x0200, 0x0100, 0x0080, 0x0020, 0x0010
RCODE = 0x000F
IN = 1
_POINTER_MAX = 0x3FFF
_QUESTION_POINTER = b"\xc0\x0c"

MALFORMED = (DNSError, DnsBufferError, DNSLabelError, BimapError, ValueError, struct.error)


class Malformed(Exception):
    """A message that cannot be read."""


class Encoded(Struct, frozen=True, gc=False):
    """An answer without its header and question.

    ``ends`` are the offsets behind each record within ``data``; ``ttls`` those of the TTLs, which lie there.
    ``counts``: answers, authority, additional. ``seconds``: the least TTL.
    """

    flags: int
    counts: tuple[int, int, int]
    data: bytes
    ends: tuple[int, ...] = ()
    ttls: tuple[int, ...] = ()
    seconds: int = 0


class NameBuffer(DNSBuffer):  # type: ignore[misc]  # it has no types
    """A buffer that makes no pointers to places that a pointer cannot reach."""

    def encode_name(self, name: object) -> None:
        known = len(self.names)
        super().encode_name(name)
        while self.offset > _POINTER_MAX and len(self.names) > known:
            self.names.popitem()


def encode(answer: Answer, question: bytes, limit: int = TCP_BYTES_MAX, flags: int = AA | RA) -> Encoded:
    """Encode ``answer`` behind ``question``; no more records than fill ``limit`` bytes are encoded.

    An answer that is not whole then has TC set (additional records may be missing without it).
    """
    buffer = NameBuffer(bytes(HEADER_BYTES) + question)
    buffer.offset = len(buffer.data)
    base = buffer.offset
    _remember_question(buffer, question)
    ends: list[int] = []
    ttls: list[int] = []
    counts = [0, 0, 0]
    for section, records in enumerate((answer.records, answer.authority, answer.additional)):
        for record in records:
            if buffer.offset > limit:
                break
            ttls.append(_encode_record(buffer, record) - base)
            ends.append(buffer.offset - base)
            counts[section] += 1
    cut = counts[0] < len(answer.records) or counts[1] < len(answer.authority)
    every = (*answer.records, *answer.authority, *answer.additional)
    return Encoded(
        flags | answer.rcode | (TC if cut else 0),
        (counts[0], counts[1], counts[2]),
        bytes(buffer.data[base:]),
        tuple(ends),
        tuple(ttls),
        min((record.ttl for record in every), default=0),
    )


def _remember_question(buffer: NameBuffer, question: bytes) -> None:
    """Let later names point into the question's name."""
    offset, places = HEADER_BYTES, []
    while length := buffer.data[offset]:
        places.append((offset, bytes(buffer.data[offset + 1 : offset + 1 + length]).lower()))
        offset += length + 1
    for number, (place, _) in enumerate(places):
        buffer.names[tuple(label for _, label in places[number:])] = place


def _encode_record(buffer: NameBuffer, record: Record) -> int:
    """Append one record; return the offset of its TTL."""
    if record.owner:
        buffer.encode_name(record.owner.encode())
    else:
        buffer.append(_QUESTION_POINTER)
    buffer.pack("!HH", record.type, IN)
    place = int(buffer.offset)
    buffer.pack("!I", record.ttl)
    if isinstance(record.data, bytes) and record.type in (A, AAAA):
        buffer.pack("!H", len(record.data))
        buffer.append(record.data)
        return place
    length = buffer.offset
    buffer.pack("!H", 0)
    _data(record).pack(buffer)
    buffer.update(length, "!H", buffer.offset - length - 2)
    return place


def _data(record: Record) -> dnslib.RD:
    """Return the data as ``dnslib`` has it. Names are given as bytes: text would load the tables of IDNA."""
    match record.data:
        case Srv(priority, weight, port, target):
            return dnslib.SRV(priority, weight, port, target.encode())
        case Soa(primary, mailbox, serial, refresh, retry, expire, minimum):
            times = (serial & 0xFFFFFFFF, refresh, retry, expire, minimum)
            return dnslib.SOA(primary.encode(), mailbox.encode(), times)
        case str(name):
            return {CNAME: dnslib.CNAME, NS: dnslib.NS, PTR: dnslib.PTR}[record.type](name.encode())
        case data:
            return dnslib.TXT([data]) if record.type == TXT else dnslib.RD(data)


def rotations(encoded: Encoded, most: int) -> list[bytes]:
    """Return the data with its address records in rotated order, at most ``most`` variants.

    Clients that take the first address then spread over all of them (CoreDNS' ``loadbalance``). Only answers
    that are nothing but addresses of the name in question have variants: no record points to another.
    """
    answers = encoded.counts[0]
    starts = (0, *encoded.ends)
    records = [encoded.data[starts[number] : starts[number + 1]] for number in range(answers)]
    plain = all(each[:2] == _QUESTION_POINTER and each[3] in (A, AAAA) and not each[2] for each in records)
    if answers < 2 or not plain or encoded.counts[1:] != (0, 0):
        return [encoded.data]
    step = max(1, answers // most)
    return [b"".join(records[first:] + records[:first]) for first in range(0, answers, step)][:most]


def with_data(encoded: Encoded, data: bytes) -> Encoded:
    """Return ``encoded`` with other data of the same shape."""
    return Encoded(encoded.flags, encoded.counts, data, encoded.ends, encoded.ttls, encoded.seconds)


def aged(encoded: Encoded, seconds: int) -> Encoded:
    """Return an answer whose every TTL is ``seconds``."""
    data = bytearray(encoded.data)
    ttl = seconds.to_bytes(4, "big")
    for place in encoded.ttls:
        data[place : place + 4] = ttl
    return with_data(encoded, bytes(data))
