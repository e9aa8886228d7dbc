"""The labels and annotations that the kubelet leaves on sandboxes and containers.

They are how a restarted kubelet recognises its own: everything it must know about a container beyond
what the runtime keeps is written here when the container is made. Names are Kubernetes' own
(``pkg/kubelet/types/labels.go``, ``kuberuntime/labels.go``), so other tools can read them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from podling.api.core_v1 import Container, Pod
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
"""The node's side of the termination message file: read when the container ends."""


def container_hash(container: Container) -> str:
    """What must stay the same for a running container to be kept: its name and image.

    Everything else of a container's spec is either immutable or changed in place
    (``kubecontainer.HashContainer``).
    """
    text = msgspec.json.encode([container.name, container.image or ""])
    return hashlib.sha256(text).hexdigest()[:8]


def pod_labels(pod: Pod) -> dict[str, str]:
    """A sandbox's labels: the pod's own and who it is."""
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
    if message_host_path:
        annotations[TERMINATION_MESSAGE_HOST_PATH] = message_host_path
    return annotations


def hash_changed(container: Container, annotations: Mapping[str, str]) -> bool:
    """Whether a running container was made from another definition than ``container``'s."""
    found = annotations.get(CONTAINER_HASH)
    return found is not None and found != container_hash(container)
