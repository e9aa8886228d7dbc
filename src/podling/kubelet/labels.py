"""The labels and annotations that the kubelet sets on sandboxes and containers.

A restarted kubelet recognises its pods by them. Everything that it must know about a container beyond the
runtime's own record is written here when the container is created. Names are Kubernetes' own
(``pkg/kubelet/types/labels.go``, ``kuberuntime/labels.go``), so other tools can read them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from podling.api.core_v1 import Container, Pod
from podling.kubelet.downward import label_or_annotation
from podling.runtime.grace import POD_TERMINATION_GRACE

POD_NAME = "io.kubernetes.pod.name"
POD_NAMESPACE = "io.kubernetes.pod.namespace"
POD_UID = "io.kubernetes.pod.uid"
CONTAINER_NAME = "io.kubernetes.container.name"

CONTAINER_HASH = "io.kubernetes.container.hash"
RESTART_COUNT = "io.kubernetes.container.restartCount"
TERMINATION_MESSAGE_PATH = "io.kubernetes.container.terminationMessagePath"
TERMINATION_MESSAGE_POLICY = "io.kubernetes.container.terminationMessagePolicy"
TERMINATION_MESSAGE_HOST_PATH = "podling.dev/termination-message-host-path"
"""The termination message file's path on the node, read when the container ends."""
METADATA_ENVIRONMENT = "podling.dev/metadata-environment"
"""The variables that a container took from labels and annotations of its pod, with their values then."""


def container_hash(container: Container) -> str:
    """Return a hash of the name and image: a running container is replaced when they change.

    Everything else of a container's spec is either immutable or changed in place
    (``kubecontainer.HashContainer``).
    """
    text = msgspec.json.encode([container.name, container.image or ""])
    return hashlib.sha256(text).hexdigest()[:8]


def pod_labels(pod: Pod) -> dict[str, str]:
    """Return a sandbox's labels: the pod's own and its identity."""
    return {
        **pod.metadata.labels,
        POD_NAME: pod.metadata.name or "",
        POD_NAMESPACE: pod.metadata.namespace or "",
        POD_UID: pod.metadata.uid or "",
    }


def container_labels(pod: Pod, container: Container) -> dict[str, str]:
    return {
        CONTAINER_NAME: container.name,
        POD_NAME: pod.metadata.name or "",
        POD_NAMESPACE: pod.metadata.namespace or "",
        POD_UID: pod.metadata.uid or "",
    }


def container_annotations(
    pod: Pod, container: Container, attempt: int, message_host_path: str
) -> dict[str, str]:
    annotations = {
        CONTAINER_HASH: container_hash(container),
        RESTART_COUNT: str(attempt),
        TERMINATION_MESSAGE_PATH: container.termination_message_path or "/dev/termination-log",
        TERMINATION_MESSAGE_POLICY: container.termination_message_policy or "File",
    }
    grace = pod.spec.termination_grace_period_seconds
    if grace is not None:
        annotations[POD_TERMINATION_GRACE] = str(grace)
    if variables := metadata_environment(pod, container):
        annotations[METADATA_ENVIRONMENT] = msgspec.json.encode(variables).decode()
    if message_host_path:
        annotations[TERMINATION_MESSAGE_HOST_PATH] = message_host_path
    return annotations


def metadata_environment(pod: Pod, container: Container) -> dict[str, str]:
    """Return the variables of a container that are labels and annotations of its pod, as these are now."""
    found = {}
    for variable in container.env:
        source = variable.value_from.field_ref if variable.value_from is not None else None
        value = label_or_annotation(pod, source.field_path) if source is not None else None
        if value is not None and not variable.value:
            found[variable.name] = value
    return found


def hash_changed(container: Container, annotations: Mapping[str, str]) -> bool:
    """Return whether a running container was created from another definition than ``container``'s."""
    found = annotations.get(CONTAINER_HASH)
    return found is not None and found != container_hash(container)
