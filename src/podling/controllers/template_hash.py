"""The hash of a pod template, by which its replica set or revision is named.

Upstream: ``pkg/controller/controller_utils.go`` ComputeHash, with ``SafeEncodeString``.
"""

from __future__ import annotations

from msgspec import json

from podling.api.core_v1 import PodTemplateSpec
from podling.ids import SUFFIX_ALPHABET


def template_hash(template: PodTemplateSpec, collisions: int | None) -> str:
    """Return a short safe name for a template, another one for every collision."""
    return safe_hash(json.encode(template) + (str(collisions).encode() if collisions is not None else b""))


def safe_hash(text: bytes) -> str:
    """Return a short safe name for a text: its hash, FNV-1a with 32 bits, in the letters of suffixes."""
    value = 2166136261
    for byte in text:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return "".join(SUFFIX_ALPHABET[ord(digit) % len(SUFFIX_ALPHABET)] for digit in str(value))
