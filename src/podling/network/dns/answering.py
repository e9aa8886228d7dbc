"""From the bytes of a question to those of its response, for UDP and TCP alike."""

from __future__ import annotations

from msgspec.structs import replace

from podling import clock
from podling.network.dns.answer_cache import DENIAL, SUCCESS
from podling.network.dns.encoding import RCODE, TC, TCP_BYTES_MAX, rotations, with_data
from podling.network.dns.metrics import Label, Metrics
from podling.network.dns.queries import Query, parts, refuse, respond
from podling.network.dns.reply_cache import Reply, ReplyCache
from podling.network.dns.resolver import Resolved, Resolver

UDP, TCP = "udp", "tcp"
VARIANTS_MAX = 8
"""The orders of addresses that a reply takes turns with."""


class Answering:
    """Answers questions, counts them, and keeps what may be repeated over UDP.

    ``proto`` is UDP or TCP, ``family`` CoreDNS' label: 1 for IPv4, 2 for IPv6.
    """

    def __init__(self, resolver: Resolver, replies: ReplyCache, metrics: Metrics) -> None:
        self._resolver, self._replies, self._metrics = resolver, replies, metrics

    def at_once(self, query: Query, data: bytes, proto: str, family: str) -> bytes | None:
        """Return the response to a question; None if other servers must be queried."""
        if query.refusal:
            response = refuse(query, query.refusal)
            self._metrics.count(_label(query, proto, family, "", response))
            return response
        resolved = self._resolver.answer(query, _limit(query, proto))
        return None if resolved is None else self._response(query, data, resolved, proto, family)

    async def later(self, query: Query, data: bytes, proto: str, family: str) -> bytes:
        """Return the response to a question for which other servers are queried."""
        resolved = await self._resolver.forward(query)
        return self._response(query, data, resolved, proto, family)

    def _response(self, query: Query, data: bytes, resolved: Resolved, proto: str, family: str) -> bytes:
        response = respond(query, resolved.encoded, _limit(query, proto))
        label = _label(query, proto, family, resolved.plugin, response, resolved.cached)
        self._metrics.count(label)
        if proto == UDP and resolved.until > clock.monotonic():
            self._keep(query, data, resolved, label)
        return response

    def _keep(self, query: Query, data: bytes, resolved: Resolved, label: Label) -> None:
        encoded = resolved.encoded
        head, tail = parts(query, encoded, query.payload)
        tails: tuple[bytes, ...] = (tail,)
        if not head[0] << 8 & TC:
            orders = rotations(encoded, VARIANTS_MAX)
            tails = tuple(parts(query, with_data(encoded, each), query.payload)[1] for each in orders)
        kind = SUCCESS if encoded.counts[0] and not label.rcode else DENIAL
        counted = replace(label, cached=label.cached or kind)
        self._replies.put(data, Reply(head, tails, counted, resolved.until), resolved.depends)


def _limit(query: Query, proto: str) -> int:
    return query.payload if proto == UDP else TCP_BYTES_MAX


def _label(query: Query, proto: str, family: str, plugin: str, response: bytes, cached: str = "") -> Label:
    rcode = query.refusal or response[3] & RCODE
    return Label(proto, family, query.type, rcode, plugin, len(response), cached, _limit(query, proto))
