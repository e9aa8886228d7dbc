"""The objects of ``metrics.k8s.io/v1beta1``: the use of pods and nodes.

They are computed and never stored. Source: ``k8s.io/metrics/pkg/apis/metrics/v1beta1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from podling.api.meta_v1 import ListMeta, ObjectMeta

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
GROUP_VERSION = f"{GROUP}/{VERSION}"


class ContainerMetrics(Struct, frozen=True, kw_only=True):
    """The use of one container: quantities by resource."""

    name: str = ""
    usage: Mapping[str, str] = field(default_factory=dict)


class PodMetrics(Struct, frozen=True, kw_only=True, rename="camel"):
    """The use of a pod's containers over ``window`` (a Go duration), which ended at ``timestamp``."""

    kind: str = "PodMetrics"
    api_version: str = GROUP_VERSION
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    timestamp: datetime
    window: str
    containers: tuple[ContainerMetrics, ...] = ()


class NodeMetrics(Struct, frozen=True, kw_only=True, rename="camel"):
    """The use of a node's machine over ``window`` (a Go duration), which ended at ``timestamp``."""

    kind: str = "NodeMetrics"
    api_version: str = GROUP_VERSION
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    timestamp: datetime
    window: str
    usage: Mapping[str, str] = field(default_factory=dict)


class PodMetricsList(Struct, frozen=True, kw_only=True, rename="camel"):
    kind: str = "PodMetricsList"
    api_version: str = GROUP_VERSION
    metadata: ListMeta = field(default_factory=lambda: ListMeta())
    items: tuple[PodMetrics, ...] = ()


class NodeMetricsList(Struct, frozen=True, kw_only=True, rename="camel"):
    kind: str = "NodeMetricsList"
    api_version: str = GROUP_VERSION
    metadata: ListMeta = field(default_factory=lambda: ListMeta())
    items: tuple[NodeMetrics, ...] = ()
