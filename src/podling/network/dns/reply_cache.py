"""Replies that are bytes already: what most questions are answered from. Pure: calls take ``now``.

A query is looked up as it came, but for its identifier and the letters' case of its name; so EDNS options and
flags are part of the key, and a hit parses nothing. Replies of cluster names stay until a Service that they
were made from changes; those of other names until their TTL has to fall.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

ENTRIES_MAX = 16384
DEPENDING_MAX = 256
"""The most replies that one change has to forget. A client may put one question in any number of ways."""
_HEADER_BYTES = 12
_FOREVER = float("inf")


class Reply(Struct, gc=False):
    """One reply, without identifier and question. ``tails`` take turns; their order of addresses differs.

    Thousands of them live long. None is part of a cycle, so the garbage collector need not visit them.
    """

    head: bytes
    tails: tuple[bytes, ...]
    label: object
    """The labels of the reply in metrics."""
    until: float = _FOREVER
    turn: int = 0
    hits: int = 0
    """Hits that metrics do not count yet."""


def reply_key(query: bytes) -> bytes:
    """Return what a query's reply is found by; two queries with the same key get the same reply.

    For a name that holds a zero byte the key is merely never found: a stored key is made of a whole question.
    """
    end = query.find(b"\0", _HEADER_BYTES) + 5
    return query[2:_HEADER_BYTES] + query[_HEADER_BYTES:end].lower() + query[end:]


class ReplyCache:
    """Holds replies by query, and forgets those that depend on something that changed."""

    def __init__(self, entries_max: int = ENTRIES_MAX) -> None:
        self.replies: dict[bytes, Reply] = {}
        self._entries_max = entries_max
        self._depending: dict[str, set[bytes]] = {}
        self._needs: dict[bytes, tuple[str, ...]] = {}
        self.dropped: list[Reply] = []
        """Replies that are gone, but whose hits metrics may not have counted."""

    def get(self, query: bytes, now: float) -> bytes | None:
        """Return the response to a query, ready to be sent."""
        end = query.find(b"\0", _HEADER_BYTES) + 5
        question = query[_HEADER_BYTES:end]
        reply = self.replies.get(query[2:_HEADER_BYTES] + question.lower() + query[end:])
        if reply is None or reply.until <= now:
            return None
        reply.hits += 1
        tails = reply.tails
        if len(tails) == 1:
            return query[:2] + reply.head + question + tails[0]
        reply.turn += 1
        return query[:2] + reply.head + question + tails[reply.turn % len(tails)]

    def put(self, query: bytes, reply: Reply, depends: Iterable[str] = ()) -> None:
        """Keep the reply to ``query`` until one of ``depends`` changes."""
        key = reply_key(query)
        self._forget(key)
        while len(self.replies) >= self._entries_max:
            self._forget(next(iter(self.replies)))
        self.replies[key] = reply
        needs = tuple(depends)
        if needs:
            self._needs[key] = needs
        for each in needs:
            keys = self._depending.setdefault(each, set())
            if len(keys) >= DEPENDING_MAX:
                self._forget(next(iter(keys)))
                keys = self._depending.setdefault(each, set())
            keys.add(key)

    def changed(self, names: Iterable[str]) -> None:
        """Forget every reply that depends on one of ``names``."""
        for name in names:
            for key in list(self._depending.get(name, ())):
                self._forget(key)

    def clear(self) -> None:
        self.dropped += [reply for reply in self.replies.values() if reply.hits]
        self.replies.clear()
        self._depending.clear()
        self._needs.clear()

    def _forget(self, key: bytes) -> None:
        reply = self.replies.pop(key, None)
        if reply is None:
            return
        if reply.hits:
            self.dropped.append(reply)
        for name in self._needs.pop(key, ()):
            keys = self._depending[name]
            keys.discard(key)
            if not keys:
                del self._depending[name]
