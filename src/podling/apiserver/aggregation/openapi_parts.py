"""The part of an aggregated API server's OpenAPI v2 document for its group, and its merge into ours. Pure.

Only the paths of its own group and version count, and the definitions that they need. A definition whose name
is taken is ours already: shared ones are Kubernetes' own.

Upstream: ``kube-openapi/pkg/aggregator`` (which renames definitions that differ).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from podling.machinery.openapi import openapi_proto
from podling.machinery.openapi.openapi import V2_REFERENCE


class Unusable(ValueError):
    """A document that cannot be made part of ours."""


def part_of(document: bytes, group: str, version: str) -> bytes:
    """Return the part of a document for one group and version: JSON with ``paths`` and ``definitions``.

    Raises ``Unusable``.
    """
    own = f"/apis/{group}/{version}/"
    try:
        whole = msgspec.json.decode(document, type=dict[str, dict[str, Any] | Any])
        paths = {path: item for path, item in whole.get("paths", {}).items() if path.startswith(own)}
        part = {"paths": paths, "definitions": dict(_needed(paths, whole.get("definitions", {})))}
        openapi_proto.v2_document(msgspec.json.encode(part))  # requests for that form get it, too
    except (msgspec.MsgspecError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise Unusable(str(error)) from None
    return msgspec.json.encode(part)


def _needed(paths: Any, definitions: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The definitions that are named from ``paths``, and from those. Raises ``KeyError`` for one that is
    not there."""
    seen: set[str] = set()
    waiting = list(_references(paths))
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += _references(definitions[name])
            yield name, definitions[name]


def _references(plain: Any) -> Iterator[str]:
    if isinstance(plain, dict):
        named = plain.get("$ref")
        if isinstance(named, str):
            yield named.removeprefix(V2_REFERENCE)
        for value in plain.values():
            yield from _references(value)
    elif isinstance(plain, list):
        for value in plain:
            yield from _references(value)


def with_parts(document: bytes, parts: Sequence[bytes]) -> bytes:
    """Our document with what others say of theirs."""
    whole = msgspec.json.decode(document)
    for part in parts:
        found = msgspec.json.decode(part)
        for section in ("paths", "definitions"):
            whole[section] = {**found[section], **whole[section]}
    return msgspec.json.encode(whole)
