"""The only door to randomness: identifiers, name suffixes, jitter and secrets.

A loop that owns a seeded generator (the virtual-time loop of ``podling.sim``) offers it as
``random_source``; elsewhere randomness comes from the operating system. Secrets always do.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import uuid
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Letters of generated names: no vowels and no look-alikes (apimachinery util/rand)."""

_system = random.SystemRandom()


def _source() -> random.Random:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return _system
    source = getattr(loop, "random_source", None)
    return source if isinstance(source, random.Random) else _system


def uid() -> str:
    """A new object UID (UUID version 4)."""
    return str(uuid.UUID(int=_source().getrandbits(128), version=4))


def suffix(length: int = 5) -> str:
    """A random name suffix of ``length`` characters, as ``generateName`` appends it."""
    return "".join(_source().choices(SUFFIX_ALPHABET, k=length))


def hex_id(length: int = 64) -> str:
    """A random identifier of ``length`` hexadecimal digits (containers, sandboxes)."""
    return f"{_source().getrandbits(length * 4):0{length}x}"


def uniform(low: float, high: float) -> float:
    """A number drawn evenly from [low, high]: jitter."""
    return _source().uniform(low, high)


def choice(options: Sequence[T]) -> T:
    """One of ``options``, drawn evenly."""
    return options[_source().randrange(len(options))]


def secret(length: int = 32) -> str:
    """An unguessable URL-safe string made from ``length`` bytes of the system's randomness."""
    return secrets.token_urlsafe(length)


def serial_number() -> int:
    """A serial number for a certificate: positive, 159 bits at most."""
    return secrets.randbits(159)
