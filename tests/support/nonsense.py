"""Random objects that decode but make little sense; rules must accept or refuse them without failing."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from podling.machinery.encoding.shapes import Kind, Shape, fields_of
from tests.support.choices import Choices

DECISIONS = 1_500
blobs = st.binary(min_size=DECISIONS, max_size=DECISIONS)
"""Bytes; enough for two objects."""

WORDS = (
    "", "a", "web", "main", "default", "-", "a/b", "/a", "../a", "a:b", "*", "A B", "ä", "\0", "a" * 300,
    "0", "1", "-1", "50%", "-1%", "150%", "{}", "$(A)", "10.0.0.1", "::1", "10.0.0.0/8", "10.0.0.0/99",
    "0 0 * * *", "61 * * * *", "@daily", "Europe/Berlin", "Always", "Never", "OnFailure", "TCP", "HTTP",
    "ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "None", "ClientIP", "Local", "Cluster", "In",
    "NotIn", "Exists", "DoesNotExist", "Gt", "Equal", "NoSchedule", "NoExecute", "kubernetes.io/hostname",
    "cpu", "memory", "hugepages-2Mi", "metadata.name", "metadata.labels['a']", "limits.cpu", "localhost/x",
    "Localhost", "RuntimeDefault", "RollingUpdate", "Recreate", "OnDelete", "Indexed", "NonIndexed", "Pod",
    "Container", "Utilization", "Resource", "kubernetes.io/tls", "kubernetes.io/dockerconfigjson",
    "kubernetes.io/config.mirror", "windows", "linux", "Terminating", "BestEffort", "PriorityClass",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 7, 80, 443, 65535, 65536, 99999, -(2**31), 2**31 - 1)
QUANTITIES = ("0", "1", "-1", "100m", "1Gi", "1.5", "1e3", "1e30", "7Ei", "0.1n", "500M", "1n")
TIMES = ("2026-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z")
MICRO_TIMES = ("2026-01-01T00:00:00.000000Z", "0001-01-01T00:00:00.000001Z")
DATA = ("", "YQ==", "e30=", "/w==", "YXV0aHM=")


def nonsense(choices: Choices, type_: type[Any], share: float = 0.5, depth: int = 9) -> dict[str, Any]:
    """Return plain data that fits ``type_``; about ``share`` of its fields are set, fewer at depth.

    Sometimes only the name and one more field: many types are a choice of one of their fields.
    """
    fields = fields_of(type_)
    if not fields:
        return {}
    names = list(fields)
    if depth < 8 and choices.chance(0.3):
        chosen = ["name", choices.one_of(names)]
    else:
        first = choices.below(len(names))  # decisions may run out: not always for the same fields
        chosen = [name for name in names[first:] + names[:first] if choices.chance(share)]
    return {name: _value(choices, fields[name], share * 0.9, depth) for name in chosen if name in fields}


def mixed(choices: Choices, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return some fields of one object and some of the other: a partial change."""
    found = {**one, **{name: value for name, value in other.items() if choices.chance(0.3)}}
    for name in sorted(one.keys() & other.keys()):
        if isinstance(one[name], dict) and isinstance(other[name], dict):
            found[name] = mixed(choices, one[name], other[name])
    return found


def _value(choices: Choices, shape: Shape, share: float, depth: int) -> Any:
    if shape.kind is Kind.STRUCT and shape.struct is not None:
        return nonsense(choices, shape.struct, share, depth - 1) if depth else {}
    if shape.kind is Kind.LIST and shape.element is not None:
        count = choices.one_of((0, 1, 1, 2, 3)) if depth else 0
        return [_value(choices, shape.element, share, depth - 1) for _ in range(count)]
    if shape.kind is Kind.MAP and shape.element is not None:
        keys = [choices.one_of(WORDS) for _ in range(choices.below(3))] if depth else ()
        return {key: _value(choices, shape.element, share, depth - 1) for key in keys}
    return choices.one_of(MICRO_TIMES if shape.micro else _SCALARS[shape.kind])


_SCALARS: dict[Kind, tuple[Any, ...]] = {
    Kind.STRING: WORDS,
    Kind.BYTES: DATA,
    Kind.QUANTITY: QUANTITIES,
    Kind.TIME: TIMES,
    Kind.INTEGER: NUMBERS,
    Kind.INT_OR_STRING: (*NUMBERS, *WORDS),
    Kind.NUMBER: (0.0, -1.5, 1e300),
    Kind.BOOLEAN: (True, False),
    Kind.ANY: ({}, {"a": [1, None]}, "x", 3),
}
