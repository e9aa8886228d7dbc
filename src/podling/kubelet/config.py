"""The kubelet's configuration: names and defaults of ``kubelet.config.k8s.io/v1beta1``.

Only supported fields are here, so none is ignored. Durations are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from podling.api.core_v1 import Taint
from podling.kubelet.configuration.grace_periods import PriorityGracePeriod


class MemoryReservation(Struct, frozen=True):
    """Memory and huge pages of one NUMA node that containers do not get."""

    numa_node: int
    limits: Mapping[str, str]


class KubeletConfig(Struct, frozen=True, kw_only=True):
    """The configuration of one kubelet. Defaults are Kubernetes' unless stated otherwise."""

    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    """The gates that differ from their defaults (``machinery.feature_gates``)."""

    # The node as it registers itself.
    register_node: bool = True
    node_labels: Mapping[str, str] = field(default_factory=dict)
    node_annotations: Mapping[str, str] = field(default_factory=dict)
    register_with_taints: tuple[Taint, ...] = ()
    node_addresses: tuple[str, ...] = ()
    """The node's IP addresses, first the primary one; empty: the machine's own."""
    external_addresses: tuple[str, ...] = ()
    """Addresses of the node at which others reach it from outside of the cluster: ExternalIP."""
    hostname: str = ""
    """The node's hostname; empty: the node's name."""
    provider_id: str = ""
    network_unavailable: bool = False
    """Register the node with the condition NetworkUnavailable: another component sets it to False once there
    is a way to the pods of other nodes."""
    capacity: Mapping[str, str] = field(default_factory=dict)
    """Resources of the node; each replaces the detected amount."""
    system_reserved: Mapping[str, str] = field(default_factory=dict)
    kube_reserved: Mapping[str, str] = field(default_factory=dict)
    reserved_system_cpus: str = ""
    """The CPUs kept for the system and the kubelet, as ``0-1``. They replace the reserved amounts of CPU."""
    max_pods: int = 110
    pods_per_core: int = 0
    """The number of pods for each CPU, at most ``max_pods`` in all; 0: ``max_pods`` alone counts."""
    port: int = 10250
    """The port of the kubelet's own server; 0: no server."""
    enable_debugging_handlers: bool = True
    """The server runs commands, forwards ports and shows logs."""
    enable_system_log_handler: bool = True
    """The server shows the files below ``/var/log`` of the machine."""
    enable_system_log_query: bool = False
    """It answers queries of the logs of services, too."""
    authentication_anonymous_enabled: bool = False
    """Requests without credentials are those of ``system:anonymous``."""
    authentication_webhook_enabled: bool = True
    """Bearer tokens are reviewed by the API server."""
    authentication_webhook_cache_ttl: float = 120.0
    authorization_mode: str = "Webhook"
    """``Webhook``: the API server reviews access; ``AlwaysAllow``: every authenticated client has it."""
    authorization_webhook_cache_authorized_ttl: float = 300.0
    authorization_webhook_cache_unauthorized_ttl: float = 30.0

    # Heartbeats.
    node_status_update_frequency: float = 10.0
    node_status_report_frequency: float = 300.0
    node_lease_duration_seconds: int = 40
    node_status_max_images: int = 50
    """The images in the node's status; -1: all."""

    # The runtime.
    runtime_request_timeout: float = 120.0
    """The deadline of one runtime call; does not apply to pulls, commands and streams."""

    # Loops.
    sync_frequency: float = 60.0
    housekeeping_interval: float = 2.0
    rounds_offset: float = 0.0
    """The seconds after the common moments at which the kubelet makes its rounds (``clock.aligned``)."""
    relist_interval: float = 5.0
    """The interval between full listings of the runtime, which find what its events missed."""
    skip_idle_rounds: bool = True
    """Skip the rounds of these loops, and of others, before which nothing changed, if the runtime reports its
    changes and no files are written. False: make every round."""

    # Static pods.
    static_pod_path: Path | None = None
    """The directory whose files are pods of this node, or one such file; None: no static pods."""
    file_check_frequency: float = 1.0
    """The interval between two readings of it. Kubernetes' default is 20 s."""

    static_pod_url: str = ""
    """The URL of a manifest of pods of this node; empty: none."""
    static_pod_url_header: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Headers of the requests for it, which may be secret."""
    http_check_frequency: float = 20.0
    """The interval between two readings of it."""

    # Containers.
    crash_loop_back_off_max: float = 300.0
    container_log_max_size_bytes: int = 10 * 1024 * 1024
    """The size at which a log is rotated; negative: never."""
    container_log_monitor_interval: float = 10.0
    container_log_max_files: int = 5
    """A container's log files, the current one included; at least 2."""
    pod_pids_limit: int = -1
    user_namespaces_ids_per_pod: int = 65536
    """The users and groups of a pod with ``hostUsers: false``; a multiple of 65,536."""
    serialize_image_pulls: bool = True
    max_parallel_image_pulls: int = 0
    """The limit of parallel pulls, if pulls are parallel; 0: no limit."""
    image_gc_high_threshold_percent: int = 85
    """The disk use at which images are removed; 100: never because of disk use."""
    image_gc_low_threshold_percent: int = 80
    """The disk use at which the removal of images stops."""
    image_minimum_gc_age: float = 120.0
    image_maximum_gc_age: float = 0.0
    """The age at which an unused image is removed in any case; 0: no limit."""
    fail_swap_on: bool = True
    """Do not start on a machine with swap."""
    memory_swap_swap_behavior: str = ""
    """``memorySwap.swapBehavior``: ``NoSwap``, also if it is empty, or ``LimitedSwap``."""
    memory_throttling_factor: float = 0.9
    """The part of a container's memory at which the kernel slows it down (feature gate ``MemoryQoS``)."""
    memory_reservation_policy: str = "None"
    """``None``, or ``TieredReservation``: requested memory is kept for its container (``MemoryQoS``)."""
    cgroup_root: str = "/podling"
    cgroups_per_qos: bool = True
    enforce_node_allocatable: tuple[str, ...] = ("pods",)
    """``pods``: all pods together get no more than is left by what is reserved."""
    single_process_oom_kill: bool = False
    """True if the kernel may kill one process of a container that runs out of memory and spare the others.
    On a machine with cgroup v1 this is always so."""
    cpu_cfs_quota: bool = True
    cpu_cfs_quota_period: float = 0.1
    allowed_unsafe_sysctls: tuple[str, ...] = ()
    seccomp_default: bool = False
    docker_config: Path | None = None
    """The node's own registry logins (a docker ``config.json``)."""
    seccomp_profile_root: Path = Path("/var/lib/kubelet/seccomp")

    # CPUs and memory that belong to single containers.
    cpu_manager_policy: str = "none"
    """``none``, or ``static``: CPUs of their own for Guaranteed pods that request whole ones."""
    cpu_manager_policy_options: Mapping[str, str] = field(default_factory=dict)
    cpu_manager_reconcile_period: float = 10.0
    memory_manager_policy: str = "None"
    """``None``, or ``Static``: memory of certain NUMA nodes for Guaranteed pods."""
    reserved_memory: tuple[MemoryReservation, ...] = ()
    topology_manager_policy: str = "none"
    topology_manager_scope: str = "container"
    topology_manager_policy_options: Mapping[str, str] = field(default_factory=dict)

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
    """Hard thresholds by signal. Kubernetes' defaults are 10 % and 15 % of the disks; a node that shares its
    disk with its user's files would then evict and reject pods too often."""
    eviction_soft: Mapping[str, str] = field(default_factory=dict)
    eviction_soft_grace_period: Mapping[str, float] = field(default_factory=dict)
    eviction_minimum_reclaim: Mapping[str, str] = field(default_factory=dict)
    """The amount by signal beyond its threshold that an eviction is to free."""
    eviction_max_pod_grace_period: int = 0
    eviction_pressure_transition_period: float = 300.0

    # The node's own end.
    shutdown_grace_period: float = 0.0
    """The time by which pods delay a shutdown of the machine; 0: not at all."""
    shutdown_grace_period_critical_pods: float = 0.0
    """The part of it that is reserved for critical pods, which end last."""
    shutdown_grace_period_by_pod_priority: tuple[PriorityGracePeriod, ...] = ()
    """The same for more groups, in place of both."""

    # Name resolution inside pods.
    cluster_dns: tuple[str, ...] = ()
    cluster_domain: str = "cluster.local"
    resolv_conf: Path | None = Path("/etc/resolv.conf")

    # The files that containers see.
    write_files: bool = True
    """Volumes, ``/etc/hosts`` and the like are written for containers to read. False for a runtime without
    real files (simulation): sources are still looked up, and missing ones reported."""
