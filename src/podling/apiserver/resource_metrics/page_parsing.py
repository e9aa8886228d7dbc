"""Reading a kubelet's ``/metrics/resource``: the samples of its node and of its containers. Pure.

Upstream: metrics-server ``pkg/scraper/client/resource/decode.go``. Unlike there, a container that uses no CPU
or no memory counts: simulated containers may use none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from msgspec import Struct, structs

NODE_CPU, NODE_MEMORY = "node_cpu_usage_seconds_total", "node_memory_working_set_bytes"
CPU, MEMORY = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
START = "container_start_time_seconds"
NANOSECONDS = 1_000_000_000

_sample = re.compile(r"([a-z_]+)(?:\{(.*)\})? (\S+)(?: (-?[0-9]+))?").fullmatch
_labels = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"').findall

ContainerKey = tuple[str, str, str]
"""Namespace, pod and container."""


class Point(Struct, frozen=True):
    """A measurement. ``started``: when the counter was zero; None if not known."""

    at: datetime
    cpu_nanoseconds: int
    memory_bytes: int
    started: datetime | None = None


class NodeSample(Struct, frozen=True):
    """The content of a page: containers by pod (namespace and name) and name."""

    node: Point | None
    pods: dict[tuple[str, str], dict[str, Point]]


class _Parts(Struct):
    cpu: float | None = None
    memory: float | None = None
    started: float | None = None
    at: int = 0


def parse_page(text: str, now: datetime) -> NodeSample:
    """Return the samples of a page; those without a time are of ``now``. Raises ``ValueError``."""
    node, containers = _Parts(), dict[ContainerKey, _Parts]()
    for name, labels, value, milliseconds in _samples(text.splitlines()):
        at = milliseconds or int(now.timestamp() * 1000)
        if name == NODE_CPU:
            node.cpu, node.at = value, at
        elif name == NODE_MEMORY:
            node.memory = value
        elif name in (CPU, MEMORY, START):
            found = dict(_labels(labels))
            key = (found.get("namespace", ""), found.get("pod", ""), found.get("container", ""))
            parts = containers.setdefault(key, _Parts())
            if name == CPU:
                parts.cpu, parts.at = value, at
            elif name == MEMORY:
                parts.memory = value
            else:
                parts.started = value
    return NodeSample(_point(node), _by_pod(containers.items()))


def _samples(lines: Iterable[str]) -> Iterable[tuple[str, str, float, int]]:
    for line in lines:
        if line and not line.startswith("#"):
            match = _sample(line)
            if match is None:
                raise ValueError(f"no sample: {line[:100]!r}")
            name, labels, value, at = match.groups()
            yield name, labels or "", float(value), int(at or 0)


def _by_pod(found: Iterable[tuple[ContainerKey, _Parts]]) -> dict[tuple[str, str], dict[str, Point]]:
    """Return the complete containers; a pod with an incomplete one is left out."""
    pods: dict[tuple[str, str], dict[str, Point]] = {}
    incomplete = set()
    for (namespace, pod, container), parts in found:
        point = _point(parts)
        if point is None:
            incomplete.add((namespace, pod))
            continue
        if parts.started is not None:
            point = structs.replace(point, started=datetime.fromtimestamp(parts.started, UTC))
        pods.setdefault((namespace, pod), {})[container] = point
    for key in incomplete:
        pods.pop(key, None)
    return pods


def _point(parts: _Parts) -> Point | None:
    if parts.cpu is None or parts.memory is None or parts.cpu < 0 or parts.memory < 0:
        return None
    at = datetime.fromtimestamp(parts.at / 1000, UTC)
    return Point(at, int(parts.cpu * NANOSECONDS), int(parts.memory))
