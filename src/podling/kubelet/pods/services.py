"""What every pod worker works with: the node's shared parts, in one frozen value."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from podling.api.core_v1 import Pod
from podling.kubelet.backoff import BackoffPolicy
from podling.kubelet.containers.container_spec import NodeFacts
from podling.kubelet.containers.container_start import ContainerStarter
from podling.kubelet.containers.images import ImageManager
from podling.kubelet.containers.pod_files import PodFiles
from podling.kubelet.containers.termination import Killer
from podling.kubelet.deps import KubeletDeps
from podling.kubelet.directories import Directories
from podling.kubelet.observation import Observer
from podling.kubelet.pods.admission import Waiting
from podling.kubelet.pods.resize import Pending
from podling.kubelet.pods.resizer import Resizer
from podling.kubelet.probes.prober import Prober
from podling.kubelet.status.status import Verdict
from podling.kubelet.status.status_manager import StatusManager
from podling.kubelet.volumes.manager import VolumeManager


@dataclass(frozen=True, slots=True)
class PodServices:
    """The shared parts of one kubelet."""

    deps: KubeletDeps
    directories: Directories
    observer: Observer
    statuses: StatusManager
    prober: Prober
    images: ImageManager
    volumes: VolumeManager
    files: PodFiles
    starter: ContainerStarter
    killer: Killer
    backoff: BackoffPolicy
    node: Callable[[], NodeFacts]
    """What containers may learn of the node, as of now."""
    admit: Callable[[Pod], Verdict | Waiting | None]
    """Whether the node takes a pod in: None, or why not, or that it must wait."""
    resizer: Resizer
    refuse_resize: Callable[[Pod], Pending | None]
    """Whether the node grants what a pod's changed spec wants: None, or why not."""
    room_changed: Callable[[], None]
    """Tell that a pod's going or shrinking may have made room for others."""
    service_links: Callable[[Pod], Awaitable[Mapping[str, str]]]
    """Returns the variables of a pod's services; waits until services are known, but not for static pods."""
