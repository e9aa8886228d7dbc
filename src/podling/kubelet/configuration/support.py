"""Fields of ``KubeletConfiguration`` that Podling's kubelet does not have, and why. Pure.

A field is supported if ``KubeletConfig`` has one of its name (``mapping``). Of the others, some have no
effect in Kubernetes either; some may hold the one value that describes Podling; the rest is refused. So no
field of a file is ignored in silence.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

NO_EFFECT = frozenset(
    {
        "iptables_drop_bit",
        "iptables_masquerade_bit",
        "logging_flush_frequency",
        "logging_options_json_info_buffer_size",
        "logging_options_text_info_buffer_size",
        "streaming_connection_idle_timeout",
    }
)
"""Fields without effect in Kubernetes, or without the format of logs that they configure."""


class Unsupported(Struct, frozen=True):
    """Why a field is not supported, and the values that it may hold all the same: what Podling does."""

    reason: str
    accepted: tuple[object, ...] = ()


_OWN_CGROUPS = "the kubelet runs in the process of its cluster, and leaves the machine's other cgroups alone"
_CERTIFICATES = "the cluster's authority issues and renews the certificates of nodes"
_NO_LIMIT = "Podling does not limit its rate; priority and fairness of the API server does"
_DEBUG = "the kubelet's server has no such handler"
_RESERVED_CGROUP = "reserved resources are subtracted from allocatable, and enforced on pods only"

UNSUPPORTED: Mapping[str, Unsupported] = {
    "address": Unsupported("the kubelet's server listens at the address of its node"),
    "authentication_x509_client_ca_file": Unsupported(
        "client certificates are verified by the cluster's authority"
    ),
    "cgroup_driver": Unsupported("cgroups are written directly", ("cgroupfs",)),
    "cgroup_root": Unsupported("every cluster has a cgroup of its own, so that several can share a machine"),
    "config_map_and_secret_change_detection_strategy": Unsupported("informers watch both", ("Watch",)),
    "container_log_max_workers": Unsupported("logs are rotated one after the other", (1,)),
    "container_runtime_endpoint": Unsupported("--runtime chooses the runtime"),
    "content_type": Unsupported("the node and its API server agree on the encoding", ("application/json",)),
    "enable_contention_profiling": Unsupported(_DEBUG),
    "enable_controller_attach_detach": Unsupported("no volume needs to be attached", (True,)),
    "enable_debug_flags_handler": Unsupported(_DEBUG, (False,)),
    "enable_profiling_handler": Unsupported(_DEBUG, (False,)),
    "enable_server": Unsupported("port 0 switches the server off", (True,)),
    "event_burst": Unsupported(_NO_LIMIT),
    "event_record_qps": Unsupported(_NO_LIMIT, (0,)),
    "fail_cgroup_v1": Unsupported("version 1 of cgroups is supported, too", (False,)),
    "hairpin_mode": Unsupported("the rules of the pod network do this", ("hairpin-veth",)),
    "healthz_bind_address": Unsupported("the kubelet's own server shows its health"),
    "healthz_port": Unsupported("the kubelet's own server shows its health", (0,)),
    "image_pull_credentials_verification_policy": Unsupported(
        "an image of the node is there for all its pods", ("NeverVerify",)
    ),
    "image_service_endpoint": Unsupported("--runtime chooses the runtime"),
    "kernel_memcg_notification": Unsupported("memory is measured every ten seconds"),
    "kube_api_burst": Unsupported(_NO_LIMIT),
    "kube_api_qps": Unsupported(_NO_LIMIT, (0,)),
    "kube_reserved_cgroup": Unsupported(_RESERVED_CGROUP),
    "kubelet_cgroups": Unsupported(_OWN_CGROUPS),
    "local_storage_capacity_isolation": Unsupported("limits of local storage are enforced", (True,)),
    "logging_format": Unsupported("logs are text", ("text",)),
    "logging_options_json_split_stream": Unsupported("logs are text"),
    "logging_options_text_split_stream": Unsupported("logs go to one file"),
    "logging_verbosity": Unsupported("there is one level"),
    "logging_vmodule": Unsupported("there is one level"),
    "make_iptables_util_chains": Unsupported("the network is made by nftables", (False,)),
    "max_open_files": Unsupported("Podling raises its own limit as far as the machine lets it"),
    "oom_score_adj": Unsupported("the kubelet runs in the process of its cluster"),
    "pod_cidr": Unsupported("the cluster gives a node its addresses"),
    "pod_logs_dir": Unsupported("a node keeps the logs of its pods in its data directory"),
    "preloaded_images_verification_allowlist": Unsupported("an image of the node is there for all its pods"),
    "protect_kernel_defaults": Unsupported("no kernel flag is changed"),
    "qos_reserved": Unsupported("cgroups of QoS classes have no reservations"),
    "read_only_port": Unsupported("the kubelet serves nothing without authentication"),
    "registry_burst": Unsupported("pulls are limited by number, not by rate: maxParallelImagePulls"),
    "registry_pull_qps": Unsupported("pulls are limited by number, not by rate: maxParallelImagePulls", (0,)),
    "rotate_certificates": Unsupported(_CERTIFICATES, (True,)),
    "server_tls_bootstrap": Unsupported(_CERTIFICATES, (True,)),
    "show_hidden_metrics_for_version": Unsupported("no metric is hidden"),
    "system_cgroups": Unsupported(_OWN_CGROUPS),
    "system_reserved_cgroup": Unsupported(_RESERVED_CGROUP),
    "tls_cert_file": Unsupported(_CERTIFICATES),
    "tls_cipher_suites": Unsupported("the machine's OpenSSL chooses"),
    "tls_curve_preferences": Unsupported("the machine's OpenSSL chooses"),
    "tls_min_version": Unsupported("the machine's OpenSSL chooses"),
    "tls_private_key_file": Unsupported(_CERTIFICATES),
    "tracing_endpoint": Unsupported("there is no tracing"),
    "tracing_sampling_rate_per_million": Unsupported("there is no tracing"),
    "volume_plugin_dir": Unsupported("there are no plugins of third parties"),
    "volume_stats_agg_period": Unsupported("volumes are measured when they are asked for"),
}
