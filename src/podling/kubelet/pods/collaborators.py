"""The collaborators that all pod workers of one kubelet share, in one frozen value."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from podling.api.core_v1 import Pod
from podling.kubelet.backoff import BackoffPolicy
from podling.kubelet.containers.container_spec import NodeFacts
from podling.kubelet.containers.container_start import ContainerStarter
from podling.kubelet.containers.images import ImageManager
from podling.kubelet.containers.pod_files import PodFiles
from podling.kubelet.containers.termination import Killer
from podling.kubelet.containers.user_namespaces import UserNamespaces
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.directories import Directories
from podling.kubelet.kubelet_metrics import KubeletMetrics
from podling.kubelet.observation import Observer
from podling.kubelet.pods.admission import Waiting
from podling.kubelet.pods.resize import Pending
from podling.kubelet.pods.resizer import Resizer
from podling.kubelet.probes.prober import Prober
from podling.kubelet.reference_watches import ReferenceWatches
from podling.kubelet.status.status import Verdict
from podling.kubelet.status.status_manager import StatusManager
from podling.kubelet.topology.container_manager import ContainerManager
from podling.kubelet.volumes.volume_manager import VolumeManager


class PodServices(Struct, frozen=True):
    """The shared parts of one kubelet."""

    deps: KubeletDeps
    directories: Directories
    observer: Observer
    statuses: StatusManager
    prober: Prober
    images: ImageManager
    watches: ReferenceWatches
    volumes: VolumeManager
    users: UserNamespaces
    files: PodFiles
    starter: ContainerStarter
    killer: Killer
    backoff: BackoffPolicy
    node: Callable[[], NodeFacts]
    """Returns the node's present facts for containers."""
    admit: Callable[[Pod], Verdict | Waiting | None]
    """Returns None if the node admits a pod, else the reason, or that the pod must wait."""
    resizer: Resizer
    refuse_resize: Callable[[Pod], Pending | None]
    """Returns None if the node grants a pod's changed resources, else the reason."""
    resources_changed: Callable[[str], None]
    """Called when the pods may hold more or less than before, with why (``pods.resize``)."""
    metrics: KubeletMetrics
    assignments: ContainerManager
    """Assigns CPUs and memory to containers."""
    service_links: Callable[[Pod], Awaitable[Mapping[str, str]]]
    """Returns the variables of a pod's services; waits until services are known, but not for static pods."""
