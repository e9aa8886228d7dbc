"""Questions to other servers, and their responses. Pure.

Records of a response keep their bytes, so that every type passes through unchanged.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import dnslib
from dnslib.label import DNSBuffer
from msgspec import Struct

from podling.network.dns.answers import OPT, SOA, Answer
from podling.network.dns.encoding import (
    AD,
    CD,
    HEADER_BYTES,
    IN,
    MALFORMED,
    QR,
    RA,
    RCODE,
    RD,
    TC,
    UDP_BYTES_MAX,
    Encoded,
    Malformed,
    NameBuffer,
    encode,
)
from podling.network.dns.queries import DO, Query, question_end


class Response(Struct, frozen=True):
    """An upstream's response, read. ``question`` is what it says that it answers, in lower case."""

    id: int
    question: bytes
    encoded: Encoded
    rcode: int
    denial_seconds: int = -1
    """The time for which the SOA record lets a denial be cached; -1: there is none."""
    types: Sequence[int] = ()
    """The types of the records in the answer section."""


def read_response(data: bytes) -> Response:
    """Read an upstream's response. Raises ``Malformed``.

    Its OPT record is removed. Records keep their bytes, so their names may point to each other.
    """
    try:
        return _read_response(data)
    except MALFORMED as error:
        raise Malformed(str(error)) from None


def _read_response(data: bytes) -> Response:
    if len(data) < HEADER_BYTES:
        raise ValueError("no header")
    number, flags, questions, *counts = struct.unpack_from("!6H", data)
    if not flags & QR or questions != 1:
        raise ValueError("no response to one question")
    base = question_end(data)
    buffer = DNSBuffer(data)
    buffer.offset = base
    ends: list[int] = []
    ttls: list[int] = []
    kept = [0, 0, 0]
    types: list[int] = []
    least, denial = 0x7FFFFFFF, -1
    for section, count in enumerate(counts):
        for _ in range(count):
            start = buffer.offset
            buffer.decode_name()
            kind, _, ttl, length = buffer.unpack("!HHIH")
            content = buffer.get(length)
            if kind == OPT:
                if section != 2 or buffer.offset != len(data):
                    return _without_options(data)
                data = data[:start]
                break
            ttls.append(buffer.offset - length - 6 - base)
            ends.append(buffer.offset - base)
            kept[section] += 1
            least = min(least, ttl & 0x7FFFFFFF)
            if section == 0:
                types.append(kind)
            if kind == SOA and section == 1:
                denial = min(ttl, int.from_bytes(content[-4:], "big"))
    seconds = least if ends else 0
    encoded = Encoded(
        flags & (TC | AD | RCODE) | RA,
        (kept[0], kept[1], kept[2]),
        data[base : base + (ends[-1] if ends else 0)],
        tuple(ends),
        tuple(ttls),
        seconds,
    )
    return Response(number, data[HEADER_BYTES:base].lower(), encoded, flags & RCODE, denial, tuple(types))


def _without_options(data: bytes) -> Response:
    """Read a response whose OPT record is not the last one: it is encoded anew without it."""
    record = dnslib.DNSRecord.parse(data)
    record.ar = [each for each in record.ar if each.rtype != OPT]
    if any(each.rtype == OPT for each in (*record.rr, *record.auth)):
        raise ValueError("an OPT record among the answers")
    return _read_response(record.pack())


def upstream_query(number: int, query: Query, *, edns: bool = True) -> bytes:
    """Return the message that forwards the question of ``query``."""
    flags = RD | AD | query.flags & CD
    head = struct.pack("!6H", number, flags, 1, 0, 0, int(edns))
    option = struct.pack("!BHHIH", 0, OPT, UDP_BYTES_MAX, DO if query.wants_dnssec else 0, 0)
    return head + query.question.lower() + (option if edns else b"")


def question_for(name: str, kind: int) -> bytes:
    """Return the wire form of a question. Raises ``Malformed`` for a name that cannot be encoded."""
    buffer = NameBuffer()
    try:
        buffer.encode_name_nocompress(name.encode())
    except MALFORMED as error:
        raise Malformed(str(error)) from None
    return bytes(buffer.data) + struct.pack("!HH", kind, IN)


def joined(query: Query, first: Answer, name: str, rest: Response) -> Encoded:
    """Return ``first``, whose last record leads to ``name``, followed by an upstream's answers for that name.

    The upstream's names are encoded anew, because they point to places in its own message.
    Raises ``Malformed``.
    """
    try:
        question = question_for(name, query.type)
        start = bytes(HEADER_BYTES) + question + rest.encoded.data
        source = DNSBuffer(start)
        source.offset = HEADER_BYTES + len(question)
        head = encode(first, query.question)
        buffer = NameBuffer(bytes(HEADER_BYTES) + query.question + head.data)
        buffer.offset = len(buffer.data)
        base = HEADER_BYTES + len(query.question)
        ends, ttls = list(head.ends), list(head.ttls)
        for _ in range(rest.encoded.counts[0]):
            record = dnslib.RR.parse(source)
            length = buffer.offset
            record.pack(buffer)
            probe = DNSBuffer(bytes(buffer.data))
            probe.offset = length
            probe.decode_name()
            ttls.append(probe.offset + 4 - base)
            ends.append(buffer.offset - base)
    except MALFORMED as error:
        raise Malformed(str(error)) from None
    total = head.counts[0] + rest.encoded.counts[0]
    seconds = min(head.seconds, rest.encoded.seconds) if rest.encoded.counts[0] else head.seconds
    return Encoded(
        head.flags | rest.encoded.flags & TC,
        (total, 0, 0),
        bytes(buffer.data[base:]),
        tuple(ends),
        tuple(ttls),
        seconds,
    )
