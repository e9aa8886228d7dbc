"""The type ``KubeletConfiguration`` of ``kubelet.config.k8s.io/v1beta1``, for strict decoding. Pure.

Every field of upstream's type is here, supported or not (``k8s.io/kubelet/config/v1beta1/types.go``).
A field with the value None, or the zero value of its type, is not given, as in Go. Durations are texts.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api.core_v1 import Taint
from podling.api.markers import INT32
from podling.kubelet.configuration.grace_periods import PriorityGracePeriod
from podling.kubelet.configuration.names import json_name

GROUP, VERSION, KIND = "kubelet.config.k8s.io", "v1beta1", "KubeletConfiguration"
API_VERSION = f"{GROUP}/{VERSION}"

Int32 = Annotated[int, INT32]


class X509Authentication(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    client_ca_file: str = ""


class WebhookAuthentication(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    enabled: bool | None = None
    cache_ttl: str = ""


class AnonymousAuthentication(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    enabled: bool | None = None


class Authentication(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    x509: X509Authentication = field(default_factory=X509Authentication)
    webhook: WebhookAuthentication = field(default_factory=WebhookAuthentication)
    anonymous: AnonymousAuthentication = field(default_factory=AnonymousAuthentication)


class WebhookAuthorization(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    cache_authorized_ttl: str = ""
    cache_unauthorized_ttl: str = ""


class Authorization(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    mode: str = ""
    webhook: WebhookAuthorization = field(default_factory=WebhookAuthorization)


class MemorySwap(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    swap_behavior: str = ""


class CrashLoopBackOff(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    max_container_restart_period: str | None = None


class UserNamespaces(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    ids_per_pod: int | None = None


class MemoryReservation(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    numa_node: Int32 = 0
    limits: dict[str, str] = field(default_factory=dict)


class JsonLogging(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    split_stream: bool = False
    info_buffer_size: str = ""


class LoggingOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    text: JsonLogging = field(default_factory=JsonLogging)
    json: JsonLogging = field(default_factory=JsonLogging)


class VerbosityOfModule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    file_pattern: str = ""
    verbosity: int = 0


class Logging(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    format: str = ""
    flush_frequency: int | str = 0
    verbosity: int = 0
    vmodule: tuple[VerbosityOfModule, ...] = ()
    options: LoggingOptions = field(default_factory=LoggingOptions)


class Tracing(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    endpoint: str | None = None
    sampling_rate_per_million: Int32 | None = None


class KubeletConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename=json_name):
    group_version_kind: ClassVar[tuple[str, str, str]] = (GROUP, VERSION, KIND)

    api_version: str = API_VERSION
    kind: str = KIND
    enable_server: bool | None = None
    static_pod_path: str = ""
    pod_logs_dir: str = ""
    sync_frequency: str = ""
    file_check_frequency: str = ""
    http_check_frequency: str = ""
    static_pod_url: str = ""
    static_pod_url_header: dict[str, tuple[str, ...]] = field(default_factory=dict)
    address: str = ""
    port: Int32 = 0
    read_only_port: Int32 = 0
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    tls_cipher_suites: tuple[str, ...] = ()
    tls_curve_preferences: tuple[int, ...] = ()
    tls_min_version: str = ""
    rotate_certificates: bool = False
    server_tls_bootstrap: bool = False
    authentication: Authentication = field(default_factory=Authentication)
    authorization: Authorization = field(default_factory=Authorization)
    registry_pull_qps: Int32 | None = None
    registry_burst: Int32 = 0
    image_pull_credentials_verification_policy: str = ""
    preloaded_images_verification_allowlist: tuple[str, ...] = ()
    event_record_qps: Int32 | None = None
    event_burst: Int32 = 0
    enable_debugging_handlers: bool | None = None
    enable_contention_profiling: bool = False
    healthz_port: Int32 | None = None
    healthz_bind_address: str = ""
    oom_score_adj: Int32 | None = None
    cluster_domain: str = ""
    cluster_dns: tuple[str, ...] = ()
    streaming_connection_idle_timeout: str = ""
    node_status_update_frequency: str = ""
    node_status_report_frequency: str = ""
    node_lease_duration_seconds: Int32 = 0
    image_minimum_gc_age: str = ""
    image_maximum_gc_age: str = ""
    image_gc_high_threshold_percent: Int32 | None = None
    image_gc_low_threshold_percent: Int32 | None = None
    volume_stats_agg_period: str = ""
    kubelet_cgroups: str = ""
    system_cgroups: str = ""
    cgroup_root: str = ""
    cgroups_per_qos: bool | None = None
    cgroup_driver: str = ""
    cpu_manager_policy: str = ""
    single_process_oom_kill: bool | None = None
    cpu_manager_policy_options: dict[str, str] = field(default_factory=dict)
    cpu_manager_reconcile_period: str = ""
    memory_manager_policy: str = ""
    topology_manager_policy: str = ""
    topology_manager_scope: str = ""
    topology_manager_policy_options: dict[str, str] = field(default_factory=dict)
    qos_reserved: dict[str, str] = field(default_factory=dict)
    runtime_request_timeout: str = ""
    hairpin_mode: str = ""
    max_pods: Int32 = 0
    pod_cidr: str = ""
    pod_pids_limit: int | None = None
    resolv_conf: str | None = None
    run_once: bool = False
    cpu_cfs_quota: bool | None = None
    cpu_cfs_quota_period: str | None = None
    node_status_max_images: Int32 | None = None
    max_open_files: int = 0
    content_type: str = ""
    kube_api_qps: Int32 | None = None
    kube_api_burst: Int32 = 0
    serialize_image_pulls: bool | None = None
    max_parallel_image_pulls: Int32 | None = None
    eviction_hard: dict[str, str] = field(default_factory=dict)
    eviction_soft: dict[str, str] = field(default_factory=dict)
    eviction_soft_grace_period: dict[str, str] = field(default_factory=dict)
    eviction_pressure_transition_period: str = ""
    eviction_max_pod_grace_period: Int32 = 0
    eviction_minimum_reclaim: dict[str, str] = field(default_factory=dict)
    merge_default_eviction_settings: bool | None = None
    pods_per_core: Int32 = 0
    enable_controller_attach_detach: bool | None = None
    protect_kernel_defaults: bool = False
    make_iptables_util_chains: bool | None = None
    iptables_masquerade_bit: Int32 | None = None
    iptables_drop_bit: Int32 | None = None
    feature_gates: dict[str, bool] = field(default_factory=dict)
    fail_swap_on: bool | None = None
    memory_swap: MemorySwap = field(default_factory=MemorySwap)
    container_log_max_size: str = ""
    container_log_max_files: Int32 | None = None
    container_log_max_workers: Int32 | None = None
    container_log_monitor_interval: str | None = None
    config_map_and_secret_change_detection_strategy: str = ""
    system_reserved: dict[str, str] = field(default_factory=dict)
    kube_reserved: dict[str, str] = field(default_factory=dict)
    reserved_system_cpus: str = ""
    show_hidden_metrics_for_version: str = ""
    system_reserved_cgroup: str = ""
    kube_reserved_cgroup: str = ""
    enforce_node_allocatable: tuple[str, ...] | None = None
    allowed_unsafe_sysctls: tuple[str, ...] = ()
    volume_plugin_dir: str = ""
    provider_id: str = ""
    kernel_memcg_notification: bool = False
    logging: Logging = field(default_factory=Logging)
    enable_system_log_handler: bool | None = None
    enable_system_log_query: bool | None = None
    shutdown_grace_period: str = ""
    shutdown_grace_period_critical_pods: str = ""
    shutdown_grace_period_by_pod_priority: tuple[PriorityGracePeriod, ...] = ()
    crash_loop_back_off: CrashLoopBackOff = field(default_factory=CrashLoopBackOff)
    reserved_memory: tuple[MemoryReservation, ...] = ()
    enable_profiling_handler: bool | None = None
    enable_debug_flags_handler: bool | None = None
    seccomp_default: bool | None = None
    memory_throttling_factor: float | None = None
    memory_reservation_policy: str = ""
    register_with_taints: tuple[Taint, ...] = ()
    register_node: bool | None = None
    tracing: Tracing | None = None
    local_storage_capacity_isolation: bool | None = None
    container_runtime_endpoint: str = ""
    image_service_endpoint: str = ""
    fail_cgroup_v1: bool | None = None
    user_namespaces: UserNamespaces | None = None
