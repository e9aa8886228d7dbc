"""The shapes of ``/stats/summary``: ``k8s.io/kubelet/pkg/apis/stats/v1alpha1``.

Optional fields are absent if they are unknown. Accelerators and user-defined metrics have no source here.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field


class Stalled(Struct, rename="camel"):
    total: int
    avg10: float
    avg60: float
    avg300: float


class PressureUse(Struct, rename="camel"):
    full: Stalled
    some: Stalled


class CpuUse(Struct, rename="camel", omit_defaults=True):
    """CPU use; ``usageNanoCores`` is the rate, absent until it is known."""

    time: datetime
    usage_nano_cores: int | None = None
    usage_core_nano_seconds: int | None = None
    psi: PressureUse | None = None


class MemoryUse(Struct, rename="camel", omit_defaults=True):
    """Memory use; ``availableBytes`` is the limit less the working set, absent without a limit."""

    time: datetime
    available_bytes: int | None = None
    usage_bytes: int | None = None
    working_set_bytes: int | None = None
    rss_bytes: int | None = None
    page_faults: int | None = None
    major_page_faults: int | None = None
    psi: PressureUse | None = None


class IoUse(Struct, rename="camel", omit_defaults=True):
    time: datetime
    psi: PressureUse | None = None


class SwapUse(Struct, rename="camel", omit_defaults=True):
    time: datetime
    swap_available_bytes: int | None = None
    swap_usage_bytes: int | None = None


class InterfaceUse(Struct, rename="camel"):
    name: str
    rx_bytes: int
    rx_errors: int
    tx_bytes: int
    tx_errors: int


class NetworkUse(Struct, rename="camel", omit_defaults=True):
    """The network; name and counters are those of the default interface, if there is one."""

    time: datetime
    name: str = field(default="")
    rx_bytes: int | None = None
    rx_errors: int | None = None
    tx_bytes: int | None = None
    tx_errors: int | None = None
    interfaces: list[InterfaceUse] = field(default_factory=list)


class FsUse(Struct, rename="camel", omit_defaults=True):
    """A file system, and the part of it that one thing uses."""

    time: datetime
    available_bytes: int | None = None
    capacity_bytes: int | None = None
    used_bytes: int | None = None
    inodes_free: int | None = None
    inodes: int | None = None
    inodes_used: int | None = None


class ClaimReference(Struct, rename="camel"):
    name: str
    namespace: str


class VolumeUse(FsUse, rename="camel", omit_defaults=True, kw_only=True):
    name: str
    pvc_ref: ClaimReference | None = None


class ContainerUse(Struct, rename="camel", omit_defaults=True):
    name: str
    start_time: datetime
    cpu: CpuUse | None = None
    memory: MemoryUse | None = None
    io: IoUse | None = None
    rootfs: FsUse | None = None
    logs: FsUse | None = None
    swap: SwapUse | None = None


class PodReference(Struct, rename="camel"):
    name: str
    namespace: str
    uid: str


class ProcessCount(Struct):
    process_count: int


class PodUse(Struct, rename="camel", omit_defaults=True):
    pod_ref: PodReference
    start_time: datetime
    containers: list[ContainerUse]
    cpu: CpuUse | None = None
    memory: MemoryUse | None = None
    io: IoUse | None = None
    network: NetworkUse | None = None
    volume: list[VolumeUse] = field(default_factory=list)
    ephemeral_storage: FsUse | None = field(default=None, name="ephemeral-storage")
    process_stats: ProcessCount | None = field(default=None, name="process_stats")
    swap: SwapUse | None = None


class RuntimeUse(Struct, rename="camel", omit_defaults=True):
    image_fs: FsUse | None = None
    container_fs: FsUse | None = None


class ProcessLimit(Struct, omit_defaults=True):
    """The numbers of processes of the machine: the largest possible one and the present one."""

    time: datetime
    maxpid: int | None = None
    curproc: int | None = None


class NodeUse(Struct, rename="camel", omit_defaults=True):
    node_name: str
    start_time: datetime | None = None
    system_containers: list[ContainerUse] = field(default_factory=list)
    cpu: CpuUse | None = None
    memory: MemoryUse | None = None
    network: NetworkUse | None = None
    fs: FsUse | None = None
    runtime: RuntimeUse | None = None
    rlimit: ProcessLimit | None = None
    swap: SwapUse | None = None


class Summary(Struct):
    node: NodeUse
    pods: list[PodUse]
