"""Pods of the API as small records, and the pods of the policies that follow from them and from leases. Pure.

A cluster may have ten thousand pods, and each node needs the addresses and labels of all of them, so the
informer holds these records and not the objects.
"""

from __future__ import annotations

from msgspec import Struct

from podling.api.core_v1 import Pod
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.pods import is_mirror, is_sidecar, is_terminal
from podling.network.leases import Lease
from podling.network.policy.values import NamedPort, PolicyPod

_RUNTIME_LABELS = "io.kubernetes.pod."
"""Labels that the kubelet adds to sandboxes; no pod has them."""


class PodRecord(Struct, frozen=True, kw_only=True):
    """The part of a pod that is held. Only name, namespace, UID, revision and labels are in ``metadata``."""

    metadata: ObjectMeta
    node: str
    host_network: bool
    mirror: bool
    ended: bool
    addresses: tuple[str, ...]
    ports: tuple[NamedPort, ...]
    kind: str = "Pod"
    api_version: str = "v1"


def pod_record(pod: Pod) -> PodRecord:
    """Return the record of a pod."""
    known, spec, status = pod.metadata, pod.spec, pod.status
    containers = (*filter(is_sidecar, spec.init_containers), *spec.containers)
    return PodRecord(
        metadata=ObjectMeta(
            name=known.name,
            namespace=known.namespace,
            uid=known.uid,
            resource_version=known.resource_version,
            labels=known.labels,
        ),
        node=spec.node_name or "",
        host_network=bool(spec.host_network),
        mirror=is_mirror(pod),
        ended=is_terminal(pod),
        addresses=tuple(each.ip for each in status.pod_ips) or ((status.pod_ip,) if status.pod_ip else ()),
        ports=tuple(
            NamedPort(port.name, port.protocol or "TCP", port.container_port)
            for container in containers
            for port in container.ports
            if port.name
        ),
    )


def remote_pod(record: PodRecord) -> PolicyPod | None:
    """Return a pod of another node as a peer; None for one without an address of its own."""
    if record.host_network or record.ended or not record.addresses:
        return None
    namespace = record.metadata.namespace or ""
    return PolicyPod(
        key=f"{namespace}/{record.metadata.name}",
        namespace=namespace,
        labels=record.metadata.labels,
        addresses=record.addresses,
        ports=record.ports,
    )


def local_key(sandbox_id: str) -> str:
    """Return the key of a pod of this node: two sandboxes of one pod are two pods."""
    return f"sandbox {sandbox_id}"


def local_pod(lease: Lease, record: PodRecord | None) -> PolicyPod:
    """Return the pod to which an address of this node is leased.

    ``record`` is the API's pod of its name, if there is one. It counts if it is this very pod, whose labels
    may have changed since it was started. The mirror of a static pod has another UID.
    """
    pod = lease.pod
    if record is None or not (record.mirror or record.metadata.uid == pod.uid):
        labels = {key: value for key, value in pod.labels if not key.startswith(_RUNTIME_LABELS)}
        return _local(lease, labels)
    return _local(lease, record.metadata.labels, record.ports, record.ended)


def _local(
    lease: Lease, labels: dict[str, str], ports: tuple[NamedPort, ...] = (), ended: bool = False
) -> PolicyPod:
    return PolicyPod(
        key=local_key(lease.sandbox_id),
        namespace=lease.pod.namespace,
        labels=labels,
        addresses=lease.addresses,
        ports=ports,
        local=True,
        ended=ended,
    )
