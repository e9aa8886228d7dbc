"""The meaning of the proxy's rules, independent of how they are written. Pure.

A chain is a tuple of rules; a packet passes them in order until one decides. ``messages`` writes them for the
kernel.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec
from msgspec import Struct

ANY = ""
NODE = "node"
"""As a source: the node itself, by any of its addresses. Other sources are ranges of addresses."""
MEMORY = "affinity-"
"""The beginning of the names of memories."""
DROP = "drop"
"""As a verdict; other verdicts are names of chains, or empty in a set."""


class MarkForMasquerade(Struct, frozen=True, tag=True):
    """Give the connection the node's address as its source, if it comes from ``source``."""

    source: str = ANY


class GoTo(Struct, frozen=True, tag=True):
    """Decide by another chain, if the packet comes from ``source``."""

    chain: str
    source: str = ANY


class Allow(Struct, frozen=True, tag=True):
    """Leave packets from ``source`` to the chains that follow."""

    source: str


class Drop(Struct, frozen=True, tag=True):
    """Drop the packet."""


class Spread(Struct, frozen=True, tag=True):
    """Send the connection to one of the targets (address and port), chosen at random."""

    targets: tuple[bytes, ...]
    protocol: int


class Choose(Struct, frozen=True, tag=True):
    """Decide by one of the chains, chosen at random."""

    chains: tuple[str, ...]


class Stick(Struct, frozen=True, tag=True):
    """Decide by a chain, if its memory has the client."""

    memory: str
    chain: str


class Remember(Struct, frozen=True, tag=True):
    """Put the client into a memory; its time begins again."""

    memory: str


Rule = MarkForMasquerade | GoTo | Allow | Drop | Spread | Choose | Stick | Remember
Chain = tuple[Rule, ...]


class Element(NamedTuple):
    """A key of one of the table's sets or maps."""

    set: str
    key: bytes


def digest(rule: Rule) -> str:
    """Return the comment by which a rule is recognised in the kernel."""
    return hashlib.blake2b(msgspec.msgpack.encode(rule), digest_size=8).hexdigest()


def digests(chain: Chain) -> tuple[str, ...]:
    return tuple(map(digest, chain))


class ServiceRules(Struct, frozen=True):
    """All that one Service has in one table."""

    chains: dict[str, Chain] = {}
    elements: dict[Element, str] = {}
    """Keys and their verdicts."""
    memories: dict[str, int] = {}
    """The sets of session affinity, one for each endpoint, and how many seconds they remember a client."""


NOTHING = ServiceRules()
