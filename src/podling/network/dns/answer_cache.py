"""Answers of other servers, kept for their time. Pure: every call takes ``now``, in seconds that only rise.

Times are those of CoreDNS' ``cache 30``: successes and denials for at most 30 seconds and at least 5,
failures for 5. A denial is kept only if its SOA record says for how long; TTLs of 0 and cut answers are
not kept.
"""

from __future__ import annotations

from msgspec import Struct

from podling.network.dns.answers import ANY, CNAME, NOERROR, NXDOMAIN, SERVFAIL
from podling.network.dns.encoding import TC, Encoded, aged
from podling.network.dns.responses import Response

SECONDS_MAX = 30
SECONDS_MIN = 5
FAILURE_SECONDS = 5
ENTRIES_MAX = 9984
BYTES_MAX = 8 * 1024 * 1024

SUCCESS, DENIAL = "success", "denial"
Key = tuple[bytes, bool, bool]


class Kept(Struct, frozen=True, gc=False):
    """One answer, the moment at which it was kept, and for how many seconds."""

    encoded: Encoded
    kind: str
    since: float
    seconds: int

    def left(self, now: float) -> int:
        return self.seconds - int(now - self.since)


def seconds_to_keep(response: Response, kind: int) -> tuple[str, int]:
    """Return what a response is, a success or a denial, and for how long it may be kept; 0: not at all."""
    encoded, answered = response.encoded, kind in response.types or (kind == ANY and response.types)
    if response.rcode == SERVFAIL:
        return DENIAL, FAILURE_SECONDS
    if encoded.flags & TC or response.rcode not in (NOERROR, NXDOMAIN):
        return DENIAL, 0
    if response.rcode == NOERROR and answered:
        return SUCCESS, _limited(encoded.seconds)
    if response.rcode == NOERROR and kind == CNAME and response.types:
        return SUCCESS, _limited(encoded.seconds)
    return DENIAL, _limited(min(response.denial_seconds, encoded.seconds))


def _limited(seconds: int) -> int:
    return max(SECONDS_MIN, min(seconds, SECONDS_MAX)) if seconds > 0 else 0


class AnswerCache:
    """Holds answers by question; the oldest are dropped for new ones."""

    def __init__(self, entries_max: int = ENTRIES_MAX, bytes_max: int = BYTES_MAX) -> None:
        self._entries_max, self._bytes_max = entries_max, bytes_max
        self._kept: dict[Key, Kept] = {}
        self._bytes = 0
        self.evictions = 0

    def count(self, kind: str) -> int:
        return sum(each.kind == kind for each in self._kept.values())

    def get(self, key: Key, now: float) -> tuple[Encoded, str, float] | None:
        """Return an answer with the TTLs that are left, its kind, and the moment at which they fall."""
        found = self._kept.get(key)
        if found is None:
            return None
        left = found.left(now)
        if left <= 0:
            self._drop(key)
            return None
        return aged(found.encoded, left), found.kind, found.since + (found.seconds - left + 1)

    def put(self, key: Key, encoded: Encoded, kind: str, seconds: int, now: float) -> None:
        """Keep an answer, for more than 0 seconds."""
        if key in self._kept:
            self._drop(key)
        self._kept[key] = Kept(encoded, kind, now, seconds)
        self._bytes += _size(key, encoded)
        while len(self._kept) > self._entries_max or self._bytes > self._bytes_max:
            self._drop(next(iter(self._kept)))
            self.evictions += 1

    def clear(self) -> None:
        self._kept.clear()
        self._bytes = 0

    def _drop(self, key: Key) -> None:
        self._bytes -= _size(key, self._kept.pop(key).encoded)


def _size(key: Key, encoded: Encoded) -> int:
    return len(key[0]) + len(encoded.data) + 64 * len(encoded.ends) + 512
