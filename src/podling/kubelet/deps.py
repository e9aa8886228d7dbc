"""The collaborators of a kubelet, all passed in; the kubelet creates none of them itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import Pod
from podling.client.base import Client
from podling.client.events import Regarding
from podling.kubelet.config import KubeletConfig
from podling.kubelet.containers.subordinate_ids import read_subordinate_ids
from podling.kubelet.manifest_fetch import Fetch, fetch
from podling.kubelet.node.machine import Machine
from podling.kubelet.node_controllers import NodeControllerFactory
from podling.kubelet.shutdown.logind import Logind, connect_logind
from podling.kubelet.topology.machine_topology import MachineTopology
from podling.runtime.base import Runtime

KeepLease = Callable[[Lease, float], Awaitable[None]]


class Recorder(Protocol):
    """The recorder of events (``client.events.EventRecorder``)."""

    def event(
        self, obj: Regarding, type: str, reason: str, message: str, *, field_path: str = ""
    ) -> None: ...

    def annotated_event(
        self, obj: Regarding, annotations: Mapping[str, str], type: str, reason: str, message: str
    ) -> None: ...


class KubeletDeps(Struct, frozen=True):
    """A kubelet's collaborators. The creator of the runtime starts and closes it."""

    client: Client
    runtime: Runtime
    recorder: Recorder
    root_dir: Path
    node_name: str
    config: KubeletConfig
    complete_pod: Callable[[Pod], Pod]
    """Returns a static pod with the API's defaults. Raises ``ValueError`` if the API would refuse it."""
    topology: MachineTopology | None = None
    """The node's CPUs and NUMA nodes; None: the machine's own."""
    machine: Machine | None = None
    """The facts about the node's machine; None: those of the real one."""
    connect_logind: Callable[[], Awaitable[Logind]] = connect_logind
    """Returns the machine's login manager, whose shutdowns the kubelet delays. Raises ``LogindFailure``."""
    fetch_manifest: Fetch = fetch
    """Reads the manifest of static pods from a URL."""
    read_subordinate_ids: Callable[[], tuple[str, str] | None] = read_subordinate_ids
    """Returns what ``getsubids`` says of the user ``kubelet``. Raises ``ValueError`` if it fails."""
    keep_lease: KeepLease | None = None
    """Renews the node's lease, which was just renewed, every so many seconds in place of the kubelet; returns
    when the kubelet is to renew it itself."""
    swaps: Path = Path("/proc/swaps")
    """The kernel's list of swap areas."""
    node_controllers: Mapping[str, NodeControllerFactory] = field(default_factory=dict)
    """The controllers of extensions that run beside the kubelet, by name."""
