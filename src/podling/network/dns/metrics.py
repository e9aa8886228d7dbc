"""Figures of cluster DNS, counted for every question as plain numbers; ``metrics_page`` writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from podling.machinery.histograms import Histogram
from podling.network.dns.answers import RCODE_NAMES, TYPE_NAMES
from podling.network.dns.reply_cache import Reply

SIZE_BUCKETS = (0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16000, 32000, 48000, 64000)
TIME_BUCKETS = tuple(0.00025 * 2**number for number in range(16))


class Label(Struct, frozen=True, gc=False):
    """The labels of one reply.

    ``plugin`` is CoreDNS' name of the part that answered, ``cached`` the kind of cached answer (empty: it was
    none), ``payload`` the size that the client takes, ``size`` that of the reply.
    """

    proto: str
    family: str
    type: int
    rcode: int
    plugin: str
    size: int
    cached: str
    payload: int


class Metrics:
    """The figures of this process."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, str]] = Counter()
        self.responses: Counter[tuple[str, str]] = Counter()
        self.durations = Histogram(TIME_BUCKETS)
        self.request_sizes = {proto: Histogram(SIZE_BUCKETS) for proto in ("udp", "tcp")}
        self.response_sizes = {proto: Histogram(SIZE_BUCKETS) for proto in ("udp", "tcp")}
        self.hits: Counter[str] = Counter()
        self.misses = 0
        self.forwards: dict[tuple[str, str], Histogram] = {}
        self.probe_failures: Counter[str] = Counter()
        self.rejects = 0
        """Questions refused because too many others were on their way."""
        self.broken = 0
        """Questions for which every server had failed before."""
        self.panics = 0
        self.dropped: Counter[str] = Counter()
        """Packets left without an answer, by the reason."""

    def count(self, label: Label, times: int = 1) -> None:
        """Count ``times`` replies of one kind."""
        self.requests[label.proto, label.family, TYPE_NAMES.get(label.type, "other")] += times
        plugin = "cache" if label.cached else label.plugin
        self.responses[_name(label.rcode), plugin] += times
        for sizes, value in ((self.request_sizes, label.payload), (self.response_sizes, label.size)):
            sizes[label.proto] = sizes[label.proto].with_more(value, times)
        if label.cached:
            self.hits[label.cached] += times
        else:
            self.misses += times

    def count_hits(self, replies: Iterable[Reply]) -> None:
        """Count what the reply cache has answered since the last call."""
        for reply in replies:
            if reply.hits and isinstance(reply.label, Label):
                self.count(reply.label, reply.hits)
                reply.hits = 0

    def forwarded(self, server: str, rcode: int, seconds: float) -> None:
        self.forwards.setdefault((server, _name(rcode)), Histogram(TIME_BUCKETS)).observe(seconds)


def _name(rcode: int) -> str:
    return RCODE_NAMES.get(rcode, str(rcode))
