"""From a question to its answer: static hosts, then the cluster, then the cache, then other servers.

The order is that of CoreDNS' plugins. ``answer`` decides at once where it can; only what must be queried of
other servers waits (``forward``).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from podling import clock
from podling.network.dns.answer_cache import AnswerCache, seconds_to_keep
from podling.network.dns.answers import (
    ANY,
    NXDOMAIN,
    REFUSED,
    SERVFAIL,
    Answer,
)
from podling.network.dns.encoding import (
    RA,
    TCP_BYTES_MAX,
    UDP_BYTES_MAX,
    Encoded,
    Malformed,
    aged,
    encode,
)
from podling.network.dns.exchange import NoAnswer
from podling.network.dns.forwarder import Forwarder, Overload
from podling.network.dns.hosts import Hosts
from podling.network.dns.queries import Query
from podling.network.dns.responses import joined, question_for
from podling.network.dns.settings import Server, Settings, stub_for, usable
from podling.network.dns.zone import Zone


class Resolved(Struct, frozen=True):
    """An answer, and how long it may be repeated: until a change in ``depends``, or until ``until``.

    Other settings, static hosts among them, end every answer and need no mention in ``depends``.
    ``until`` is a moment of the monotonic clock; 0: it must not be repeated.
    """

    encoded: Encoded
    plugin: str
    until: float = float("inf")
    depends: tuple[str, ...] = ()
    cached: str = ""


class Resolver:
    """Answers questions.

    Args:
        zone: the names of the cluster.
        own: our own addresses, which are never queried.
    """

    def __init__(self, zone: Zone, forwarder: Forwarder, own: Sequence[Server]) -> None:
        self.zone = zone
        self.cache = AnswerCache()
        self.hosts = Hosts("")
        self._forwarder = forwarder
        self._own = tuple(own)
        self._stubs: dict[str, tuple[Server, ...]] = {}
        self._upstreams: tuple[Server, ...] = ()

    def use(self, settings: Settings, node_servers: Sequence[Server]) -> None:
        """Take other settings; ``node_servers`` are those of the node's own ``resolv.conf``."""
        self.hosts = Hosts(settings.hosts)
        self._stubs = {domain: usable(found, self._own) for domain, found in settings.stub_domains.items()}
        self._upstreams = usable(settings.upstreams or node_servers, self._own)
        self.cache.clear()
        stubs = (server for servers in self._stubs.values() for server in servers)
        self._forwarder.use((*self._upstreams, *stubs))

    def answer(self, query: Query, limit: int) -> Resolved | None:
        """Answer a question at once; None if other servers must be queried.

        No more records are encoded than fill ``limit`` bytes.
        """
        answer = self.hosts.lookup(query.labels, query.type)
        if answer is not None:
            return Resolved(encode(answer, query.question, limit), "hosts")
        answer = self._cluster(query, limit)
        if answer is not None and not answer.follow:
            if answer.rcode == NXDOMAIN and not self.zone.index.synced:
                return Resolved(encode(Answer(SERVFAIL), query.question, limit), "kubernetes", until=0)
            encoded = encode(answer, query.question, limit)
            return Resolved(encoded, "kubernetes", depends=answer.depends)
        if query.type == ANY and answer is None:  # a question of no use but for floods (RFC 8482)
            return Resolved(Encoded(RA | REFUSED, (0, 0, 0), b""), "forward")
        found = self.cache.get(query.key, clock.monotonic())
        if found is None:
            return None
        encoded, kind, until = found
        depends = answer.depends if answer is not None else ()
        return Resolved(encoded, "cache", until, depends, kind)

    def _cluster(self, query: Query, limit: int) -> Answer | None:
        if self.zone.contains(query.labels):
            return self.zone.lookup(query.labels, query.type, limit)
        return self.zone.lookup_reverse(query.labels, query.type)

    async def forward(self, query: Query) -> Resolved:
        """Query other servers. Fails with SERVFAIL, or REFUSED under too much load.

        As in CoreDNS, an answer SERVFAIL of a server is cached, and its silence is not.
        """
        answer = self._cluster(query, TCP_BYTES_MAX)
        try:
            if answer is not None and answer.follow:
                return await self._follow(query, answer)
            return await self._query(query)
        except Overload:
            return _failure(REFUSED)
        except (NoAnswer, Malformed):
            return _failure(SERVFAIL)

    async def _query(self, query: Query) -> Resolved:
        outcome = await self._forwarder.forward(self._servers(query.labels), query)
        kind, seconds = seconds_to_keep(outcome.response, query.type)
        encoded = outcome.response.encoded
        now = clock.monotonic()
        if not seconds:
            return Resolved(encoded, "forward", until=0)
        self.cache.put(query.key, encoded, kind, seconds, now)
        return Resolved(aged(encoded, seconds), "forward", now + 1)

    async def _follow(self, query: Query, answer: Answer) -> Resolved:
        """Resolve the name that an external name stands for, and append its records.

        Without an answer the CNAME record stands alone, as in CoreDNS.
        """
        question = question_for(answer.follow, query.type)
        labels = tuple(answer.follow.split("."))
        onward = Query(0, query.flags, labels, query.type, question, True, UDP_BYTES_MAX, query.wants_dnssec)
        hosts = self.hosts.lookup(labels, query.type)
        if hosts is not None:
            records = tuple(replace(record, owner=answer.follow) for record in hosts.records)
            encoded = encode(Answer(records=(*answer.records, *records)), query.question)
            return Resolved(encoded, "kubernetes", depends=answer.depends)
        try:
            outcome = await self._forwarder.forward(self._servers(labels), onward)
        except (NoAnswer, Overload):
            return Resolved(encode(answer, query.question), "kubernetes", until=0)
        encoded = joined(query, answer, answer.follow, outcome.response)
        kind, seconds = seconds_to_keep(outcome.response, query.type)
        now = clock.monotonic()
        if seconds:
            self.cache.put(query.key, encoded, kind, seconds, now)
            encoded = aged(encoded, seconds)
        return Resolved(encoded, "kubernetes", now + 1 if seconds else 0, answer.depends)

    def _servers(self, labels: Sequence[str]) -> tuple[Server, ...]:
        stub = stub_for(tuple(labels), self._stubs)
        return self._stubs[stub] if stub else self._upstreams


def _failure(rcode: int) -> Resolved:
    return Resolved(Encoded(RA | rcode, (0, 0, 0), b""), "forward", until=0)
