"""The hash of a pod template, by which its replica set or revision is named.

Upstream: ``pkg/controller/controller_utils.go`` ComputeHash, with ``SafeEncodeString``.
"""

from __future__ import annotations

from msgspec import json

from podling.api.core_v1 import PodTemplateSpec
from podling.ids import SUFFIX_ALPHABET


def template_hash(template: PodTemplateSpec, collisions: int | None) -> str:
    """Return a short safe name for a template, another one for every collision."""
    text = json.encode(template) + (str(collisions).encode() if collisions is not None else b"")
    value = 2166136261  # FNV-1a, 32 bits
    for byte in text:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return "".join(SUFFIX_ALPHABET[ord(digit) % len(SUFFIX_ALPHABET)] for digit in str(value))
