"""Indexes over the shared pod informer, under the names that several controllers use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from podling.api.core_v1 import Pod
from podling.client.informer import Informer

BY_NODE = "node"
BY_LABEL = "label"


def _node(pod: Pod) -> Iterable[str]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()


def index_pods_by_node(pods: Informer[Pod]) -> None:
    """Make ``pods.by_index(BY_NODE, <node name>)`` work."""
    pods.add_indexer(BY_NODE, _node)


def _labels(pod: Pod) -> Iterable[str]:
    namespace = pod.metadata.namespace
    return [f"{namespace}/{name}={text}" for name, text in pod.metadata.labels.items()]


def index_pods_by_label(pods: Informer[Pod]) -> None:
    """Make ``pods_with`` work."""
    pods.add_indexer(BY_LABEL, _labels)


def pods_with(pods: Informer[Pod], namespace: str, labels: Mapping[str, str]) -> list[Pod]:
    """Return the namespace's pods that carry all of ``labels`` (at least one), in key order.

    Only the pods with the rarest of the labels are looked at, not all of the namespace.
    """
    wanted = [f"{namespace}/{name}={text}" for name, text in labels.items()]
    rarest = min(wanted, key=lambda value: pods.count_index(BY_LABEL, value))
    found = pods.by_index(BY_LABEL, rarest)
    if len(wanted) == 1:
        return list(found)
    return [pod for pod in found if labels.items() <= pod.metadata.labels.items()]
