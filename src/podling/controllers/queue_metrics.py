"""The controllers' queues as metrics, under Kubernetes' names of metrics and of queues.

The queues count; all else is computed when the metrics are read.
Source of names and labels: ``component-base/metrics/prometheus/workqueue``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podling.client.workqueue import WorkQueue
from podling.machinery.histograms import counters, gauges, histograms

_OWN_NAMES = {
    "certificatesigningrequest-signing-controller": "certificate",
    "clusterrole-aggregation-controller": "ClusterRoleAggregator",
    "endpoints-controller": "endpoint",
    "endpointslice-controller": "endpoint_slice",
    "endpointslice-mirroring-controller": "endpoint_slice_mirroring",
    "garbage-collector-controller": "garbage_collector_attempt_to_delete",
    "node-ipam-controller": "cidrallocator_node",
    "node-lifecycle-controller": "node_lifecycle_controller",
    "persistentvolumeclaim-protection-controller": "pvcprotection",
    "persistentvolume-protection-controller": "pvprotection",
    "persistentvolume-binder-controller": "claims",
    "replicationcontroller-controller": "replicationmanager",
    "resourcequota-controller": "resource_quota_controller_resource_changes",
    "root-ca-certificate-publisher-controller": "root_ca_cert_publisher",
    "kube-apiserver-serving-clustertrustbundle-publisher-controller": (
        "ca_cert_publisher_cluster_trust_bundles"
    ),
    "pod-garbage-collector-controller": "orphaned_pods_nodes",
    "service-cidr-controller": "ipaddresses",
    "taint-eviction-controller": "noexec_taint_pod",
    "ttl-after-finished-controller": "ttl_jobs_to_delete",
    "ttl-controller": "ttlcontroller",
    "volumeattributesclass-protection-controller": "vacprotection",
}
"""Kubernetes' names of queues that differ from their controllers' names."""


def queue_name(controller: str) -> str:
    """``replicaset-controller`` works on the queue ``replicaset``."""
    found = _OWN_NAMES.get(controller)
    return found or controller.removesuffix("-controller").replace("-", "_")


def queue_families(queues: Mapping[str, WorkQueue[Any]]) -> Iterator[Any]:
    """Yield the families of ``prometheus_client``. ``queues``: by their controllers' names."""
    named = {(queue_name(controller),): queue for controller, queue in queues.items()}
    held = {name: queue.held_seconds() for name, queue in named.items()}
    label = ("name",)
    yield counters(
        "workqueue_adds",
        "[ALPHA] Total number of adds handled by workqueue",
        label,
        {name: queue.adds for name, queue in named.items()},
    )
    yield counters(
        "workqueue_retries",
        "[ALPHA] Total number of retries handled by workqueue",
        label,
        {name: queue.retries for name, queue in named.items()},
    )
    yield gauges(
        "workqueue_depth",
        "[ALPHA] Current depth of workqueue",
        label,
        {name: len(queue) for name, queue in named.items()},
    )
    yield gauges(
        "workqueue_unfinished_work_seconds",
        "[ALPHA] How many seconds of work has done that is in progress and hasn't been observed by "
        "work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by "
        "observing the rate at which this increases.",
        label,
        {name: sum(seconds) for name, seconds in held.items()},
    )
    yield gauges(
        "workqueue_longest_running_processor_seconds",
        "[ALPHA] How many seconds has the longest running processor for workqueue been running.",
        label,
        {name: max(seconds, default=0.0) for name, seconds in held.items()},
    )
    yield histograms(
        "workqueue_queue_duration_seconds",
        "[ALPHA] How long in seconds an item stays in workqueue before being requested.",
        label,
        {name: queue.waited for name, queue in named.items()},
    )
    yield histograms(
        "workqueue_work_duration_seconds",
        "[ALPHA] How long in seconds processing an item from workqueue takes.",
        label,
        {name: queue.worked for name, queue in named.items()},
    )
