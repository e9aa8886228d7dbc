"""The objects of the resource metrics API, and tables of them. Pure.

Upstream: metrics-server ``pkg/api``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.resource_metrics.samples import NodeSamples, Use, window_text
from podling.clock import seconds_precision
from podling.machinery import tables
from podling.machinery.quantity import ZERO, parse
from podling.machinery.resource import Resource
from podling.machinery.resource_metrics import (
    GROUP,
    VERSION,
    ContainerMetrics,
    NodeMetrics,
    PodMetrics,
)
from podling.machinery.tables import Column

NODES = Resource(GROUP, VERSION, "nodes", "", "NodeMetrics", namespaced=False, verbs=("get", "list"))
PODS = Resource(GROUP, VERSION, "pods", "", "PodMetrics", namespaced=True, verbs=("get", "list"))

COLUMNS = (
    Column("Name", format="name", description="Name of the resource"),
    Column("cpu", format="quantity"),
    Column("memory", format="quantity"),
    Column("Window", format="duration"),
)

Metrics = PodMetrics | NodeMetrics


def node_metrics(node: Node, held: NodeSamples | None, now: datetime) -> NodeMetrics | None:
    """Return the use of a node's machine; None if it is not known."""
    use = held.node_use() if held is not None else None
    if use is None:
        return None
    metadata = _metadata(node.metadata, now)
    at = seconds_precision(use.at)
    return NodeMetrics(
        metadata=metadata, timestamp=at, window=window_text(use.window), usage=use.quantities()
    )


def pod_metrics(pod: Pod, held: NodeSamples | None, now: datetime) -> PodMetrics | None:
    """Return the use of a pod's containers; None if it is not known. The oldest use dates the object."""
    metadata = pod.metadata
    uses = held.pod_use(metadata.namespace or "", metadata.name or "") if held is not None else None
    if not uses:
        return None
    oldest: Use = min(uses.values(), key=lambda use: use.at)
    containers = (ContainerMetrics(name=name, usage=use.quantities()) for name, use in sorted(uses.items()))
    return PodMetrics(
        metadata=_metadata(metadata, now),
        timestamp=seconds_precision(oldest.at),
        window=window_text(oldest.window),
        containers=tuple(containers),
    )


def _metadata(of: ObjectMeta, now: datetime) -> ObjectMeta:
    created = seconds_precision(now)
    return ObjectMeta(name=of.name, namespace=of.namespace, labels=of.labels, creation_timestamp=created)


def table(shown: Sequence[Metrics], version: str, include_object: str) -> dict[str, Any]:
    """Return a table of objects; without any it has no columns, as metrics-server answers."""
    rows = [{"cells": _cells(each), "object": _row_object(each, version, include_object)} for each in shown]
    return {
        "kind": "Table",
        "apiVersion": f"{tables.GROUP}/{version}",
        "metadata": {},
        "columnDefinitions": [column.definition() for column in COLUMNS] if rows else [],
        "rows": rows,
    }


def _cells(shown: Metrics) -> list[str]:
    usages = [shown.usage] if isinstance(shown, NodeMetrics) else [each.usage for each in shown.containers]
    return [shown.metadata.name or "", _sum(usages, "cpu"), _sum(usages, "memory"), shown.window]


def _sum(usages: Iterable[Mapping[str, str]], resource: str) -> str:
    return str(sum((parse(each[resource]) for each in usages), ZERO))


def _row_object(shown: Metrics, version: str, include_object: str) -> Any:
    if include_object == "None":
        return None
    if include_object == "Object":
        return shown
    kind = {"kind": "PartialObjectMetadata", "apiVersion": f"{tables.GROUP}/{version}"}
    return {**kind, "metadata": msgspec.to_builtins(shown.metadata)}
