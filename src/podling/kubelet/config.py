"""The kubelet's configuration: names and defaults of ``kubelet.config.k8s.io/v1beta1``.

Only what the kubelet acts on is here, so a field that is here is never ignored. Durations are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from podling.api.core_v1 import Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletConfig:
    """How one kubelet behaves. Defaults are Kubernetes' where nothing else is said."""

    # The node as it registers itself.
    register_node: bool = True
    node_labels: Mapping[str, str] = field(default_factory=dict)
    register_with_taints: tuple[Taint, ...] = ()
    node_addresses: tuple[str, ...] = ()
    """The node's IP addresses, first the primary one; empty: the machine's own."""
    hostname: str = ""
    """The node's hostname; empty: the node's name."""
    provider_id: str = ""
    capacity: Mapping[str, str] = field(default_factory=dict)
    """Resources that the node says it has; each replaces what the machine shows."""
    system_reserved: Mapping[str, str] = field(default_factory=dict)
    kube_reserved: Mapping[str, str] = field(default_factory=dict)
    max_pods: int = 110
    port: int = 10250
    """Where the kubelet's own server listens; 0: it has none."""

    # Heartbeats.
    node_status_update_frequency: float = 10.0
    node_status_report_frequency: float = 300.0
    node_lease_duration_seconds: int = 40

    # The runtime.
    runtime_request_timeout: float = 120.0
    """How long the runtime may take for one call; what takes its time by itself (pulls, commands, streams)
    is not meant."""

    # Loops.
    sync_frequency: float = 60.0
    housekeeping_interval: float = 2.0
    relist_interval: float = 5.0
    """How often the runtime is listed in whole: the safety net under its events."""

    # Static pods.
    static_pod_path: Path | None = None
    """The directory whose files are pods of this node, or one such file; None: no static pods."""

    # Containers.
    crash_loop_back_off_max: float = 300.0
    container_log_max_size_bytes: int = 10 * 1024 * 1024
    """A log that reaches this size is rotated; negative: never."""
    container_log_max_files: int = 5
    """A container's log files, the current one included; at least 2."""
    pod_pids_limit: int = -1
    serialize_image_pulls: bool = True
    max_parallel_image_pulls: int = 0
    """With pulls in parallel: how many at most; 0: as many as there are."""
    image_gc_high_threshold_percent: int = 85
    """How full the disk may be before images go; 100: never by fullness."""
    image_gc_low_threshold_percent: int = 80
    """How full the disk should be at most after images went."""
    image_minimum_gc_age: float = 120.0
    image_maximum_gc_age: float = 0.0
    """An image unused for longer goes in any case; 0: there is no such age."""
    cgroup_root: str = "/podling"
    cgroups_per_qos: bool = True
    single_process_oom_kill: bool = False
    """Whether the kernel may kill one process of a container that runs out of memory and leave the others;
    on a machine with cgroup v1 it can do nothing else."""
    cpu_cfs_quota: bool = True
    cpu_cfs_quota_period: float = 0.1
    allowed_unsafe_sysctls: tuple[str, ...] = ()
    seccomp_default: bool = False
    docker_config: Path | None = None
    """The node's own registry logins (a docker ``config.json``)."""
    seccomp_profile_root: Path = Path("/var/lib/kubelet/seccomp")

    # Pressure. Each map of hard thresholds replaces the defaults entirely.
    eviction_hard: Mapping[str, str] = field(
        default_factory=lambda: {
            "memory.available": "100Mi",
            "nodefs.available": "5%",
            "nodefs.inodesFree": "5%",
            "imagefs.available": "5%",
            "imagefs.inodesFree": "5%",
        }
    )
    """By signal. Kubernetes asks for 10 % and 15 % of the disks; a node that shares its disk with its
    user's files would then too often refuse all work."""
    eviction_soft: Mapping[str, str] = field(default_factory=dict)
    eviction_soft_grace_period: Mapping[str, float] = field(default_factory=dict)
    eviction_max_pod_grace_period: int = 0
    eviction_pressure_transition_period: float = 300.0

    # Name resolution inside pods.
    cluster_dns: tuple[str, ...] = ()
    cluster_domain: str = "cluster.local"
    resolv_conf: Path | None = Path("/etc/resolv.conf")

    # The files that containers see.
    write_files: bool = True
    """Volumes, ``/etc/hosts`` and the like are written for containers to read. False where nothing ever
    reads them (a simulated runtime): then sources are still looked up, and missing ones reported."""
