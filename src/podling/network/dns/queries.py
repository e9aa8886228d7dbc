"""Questions of clients: read, refused, answered. Pure.

A response repeats the identifier and the question of its client, so the letters' case is the client's.
Everything between and behind them is the same for equal questions, and is cached.
"""

from __future__ import annotations

import struct

import dnslib
from msgspec import Struct

from podling.network.dns.answers import BADVERS, FORMERR, NOTIMP, OPT, REFUSED, Labels
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
    UDP_BYTES_MIN,
    Encoded,
)

_OPCODE = 0x7800
DO = 0x8000
"""In the TTL of an OPT record: the client wants DNSSEC records."""


class Query(Struct, frozen=True):
    """The question of a client. ``question`` is its wire form, in the client's letters."""

    id: int
    flags: int
    labels: Labels
    type: int
    question: bytes
    edns: bool = False
    payload: int = UDP_BYTES_MIN
    """The largest answer that the client takes over UDP, at most ``UDP_BYTES_MAX``."""
    wants_dnssec: bool = False
    refusal: int = 0
    """The response code of a question that is not answered; 0: it is."""

    @property
    def key(self) -> tuple[bytes, bool, bool]:
        """Return the question as caches know it."""
        return self.question.lower(), self.wants_dnssec, bool(self.flags & CD)


def read_query(data: bytes) -> Query | None:
    """Read a question; None for what must not be answered at all: no header, or itself an answer."""
    if len(data) < HEADER_BYTES:
        return None
    number, flags, questions, answers, authorities, _ = struct.unpack_from("!6H", data)
    if flags & QR:
        return None
    if flags & _OPCODE:
        return Query(number, flags, (), 0, b"", refusal=NOTIMP)
    if questions != 1 or answers or authorities:
        return Query(number, flags, (), 0, b"", refusal=FORMERR)
    try:
        end = question_end(data)
        record = dnslib.DNSRecord.parse(data)
    except MALFORMED:
        return Query(number, flags, (), 0, b"", refusal=FORMERR)
    labels = tuple(label.decode().lower() for label in record.q.qname.label)
    question = data[HEADER_BYTES:end]
    options = [each for each in record.ar if each.rtype == OPT]
    query = Query(number, flags, labels, record.q.qtype, question)
    if len(options) > 1 or any("." in label for label in labels):
        return Query(number, flags, labels, query.type, question, refusal=FORMERR)
    refusal = 0 if record.q.qclass == IN else REFUSED
    if not options:
        return query if not refusal else Query(number, flags, labels, query.type, question, refusal=refusal)
    option = options[0]
    if (option.ttl >> 16) & 0xFF:
        refusal = BADVERS
    payload = max(UDP_BYTES_MIN, min(option.rclass, UDP_BYTES_MAX))
    dnssec = bool(option.ttl & DO)
    return Query(number, flags, labels, query.type, question, True, payload, dnssec, refusal)


def question_end(data: bytes) -> int:
    """Return the offset behind the question of a query; its name is not compressed. Raises ``ValueError``."""
    offset = HEADER_BYTES
    while length := data[offset] if offset < len(data) else 0xFF:
        if length > 63:
            raise ValueError("the question's name is malformed")
        offset += length + 1
    if offset + 5 > len(data):
        raise ValueError("the question is cut off")
    return offset + 5


def respond(query: Query, encoded: Encoded, limit: int) -> bytes:
    """Return the response to ``query``, at most ``limit`` bytes."""
    head, tail = parts(query, encoded, limit)
    return query.id.to_bytes(2, "big") + head + query.question + tail


def parts(query: Query, encoded: Encoded, limit: int) -> tuple[bytes, bytes]:
    """Return what a response to ``query`` has between its identifier and its question, and behind that."""
    option = _opt(query, encoded.flags) if query.edns else b""
    room = limit - HEADER_BYTES - len(query.question) - len(option)
    flags, counts, data = encoded.flags, encoded.counts, encoded.data
    if len(data) > room:
        fitting = sum(end <= room for end in encoded.ends)
        if fitting < counts[0] + counts[1]:
            flags |= TC
        kept = (min(fitting, counts[0]), min(max(fitting - counts[0], 0), counts[1]))
        counts = (*kept, max(fitting - counts[0] - counts[1], 0))
        data = data[: encoded.ends[fitting - 1] if fitting else 0]
    flags |= QR | query.flags & (RD | CD)
    if not query.flags & AD and not query.wants_dnssec:
        flags &= ~AD
    questions = 1 if query.question else 0
    head = struct.pack("!5H", flags, questions, counts[0], counts[1], counts[2] + bool(option))
    return head, data + option


def _opt(query: Query, flags: int) -> bytes:
    extended = query.refusal >> 4
    ttl = extended << 24 | (DO if query.wants_dnssec else 0)
    return struct.pack("!BHHIH", 0, OPT, UDP_BYTES_MAX, ttl, 0)


def refuse(query: Query, code: int) -> bytes:
    """Return a response that has nothing but a response code."""
    return respond(query, Encoded(RA | code & RCODE, (0, 0, 0), b""), UDP_BYTES_MIN)
