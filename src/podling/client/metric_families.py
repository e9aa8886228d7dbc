"""Families of metrics as bytes, for the process that shows them: ``prometheus_client`` objects and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct


class _Sample(Struct, frozen=True, array_like=True, gc=False):
    name: str
    labels: dict[str, str]
    value: float


class _Family(Struct, frozen=True, array_like=True):
    name: str
    documentation: str
    type: str
    samples: list[_Sample]


_read = msgspec.msgpack.Decoder(list[_Family]).decode


def encode_families(families: Iterable[Any]) -> bytes:
    """Return the families that a collector gives, as bytes."""
    found = [
        _Family(
            family.name,
            family.documentation,
            family.type,
            [_Sample(sample.name, sample.labels, float(sample.value)) for sample in family.samples],
        )
        for family in families
    ]
    return msgspec.msgpack.encode(found)


def check_families(data: bytes) -> None:
    """Raise ``msgspec.MsgspecError`` unless ``data`` is what ``encode_families`` returns."""
    _read(data)


def decode_families(data: bytes) -> Iterator[Any]:
    """Yield the families that ``encode_families`` encoded. Raises ``msgspec.MsgspecError``."""
    from prometheus_client.core import Metric

    for family in _read(data):
        metric = Metric(family.name, family.documentation, family.type)
        for sample in family.samples:
            metric.add_sample(sample.name, sample.labels, sample.value)
        yield metric
