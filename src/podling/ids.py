"""Randomness, only here: identifiers, name suffixes, jitter and secrets.

A loop that owns a seeded generator (the virtual-time loop of ``podling.sim``) offers it as
``random_source``; elsewhere a generator of the process' own makes it, seeded by the operating system.
Secrets always come from there.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

Generator = random.Random

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Letters of generated names: no vowels and no look-alikes (apimachinery util/rand)."""

SECRET_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"

_UUID_RANDOM = (1 << 128) - 1 & ~(0xF000 << 64 | 0xC000 << 48)
"""The bits of a UUID that are random: all but its version and its variant (RFC 9562)."""
_UUID_VERSION_4 = 0x4000 << 64 | 0x8000 << 48

_system = random.Random()
os.register_at_fork(after_in_child=_system.seed)


def _source() -> random.Random:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return _system
    source = getattr(loop, "random_source", None)
    return source if isinstance(source, random.Random) else _system


def uid() -> str:
    """Return a new object UID (UUID version 4)."""
    number = _source().getrandbits(128) & _UUID_RANDOM | _UUID_VERSION_4
    digits = number.to_bytes(16, "big").hex("-", 2)  # in groups of four
    return f"{digits[:4]}{digits[5:24]}{digits[24:29]}{digits[30:34]}{digits[35:]}"


def suffix(length: int = 5) -> str:
    """Return a random name suffix of ``length`` characters, as ``generateName`` appends it."""
    return "".join(_source().choices(SUFFIX_ALPHABET, k=length))


def hex_id(length: int = 64) -> str:
    """Return a random identifier of ``length`` hexadecimal digits (containers, sandboxes)."""
    return f"{_source().getrandbits(length * 4):0{length}x}"


def uniform(low: float, high: float) -> float:
    """Return a number drawn evenly from [low, high]: jitter."""
    return _source().uniform(low, high)


def below(count: int) -> int:
    """Return an integer drawn evenly from 0 to ``count`` - 1."""
    return _source().randrange(count)


def choice(options: Sequence[T]) -> T:
    """One of ``options``, drawn evenly."""
    return options[_source().randrange(len(options))]


def generator(seed: int) -> Generator:
    """Return a generator for values that only a seed decides."""
    return Generator(seed)


def secret(length: int = 32) -> str:
    """Return an unguessable URL-safe string made from ``length`` bytes of the system's randomness."""
    return secrets.token_urlsafe(length)


def secret_letters(length: int) -> str:
    """Return ``length`` unguessable letters and digits, as bootstrap tokens have them."""
    return "".join(secrets.choice(SECRET_ALPHABET) for _ in range(length))


def unguessable(bits: int) -> int:
    """Return a number of so many bits that no observer of earlier ones can foretell."""
    return secrets.randbits(bits)


def serial_number() -> int:
    """Return a serial number for a certificate: positive, 159 bits at most."""
    return secrets.randbits(159)
